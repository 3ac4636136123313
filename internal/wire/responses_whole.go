package wire

import "slices"

// responsesMessage is what the model says, as clients send it back: the item, or the list of items.
func responsesMessage(a *assembly) []byte {
	if m := outputMessage(member(a.response, "output")); m != nil {
		return m
	}
	if m := outputMessage(a.output()); m != nil {
		return m
	}
	if a.ended && a.err == nil {
		return []byte(emptyOutput)
	}
	return nil
}

// output is the list of items that has come so far, in their order.
func (a *assembly) output() []byte {
	var items []*piece
	for i := range a.pieces {
		if p := &a.pieces[i]; p.kind == itemOpen || p.kind == itemDone {
			items = append(items, p)
		}
	}
	slices.SortStableFunc(items, func(x, y *piece) int { return x.index - y.index })
	out := []byte{'['}
	for _, p := range items {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = a.appendItem(out, p)
	}
	return append(out, ']')
}

// appendItem appends an item: what opened it, with what has grown in the place of what was empty then.
func (a *assembly) appendItem(dst []byte, item *piece) []byte {
	if item.kind == itemDone && kindOf(item.head) == '{' {
		return append(dst, item.head...)
	}
	grown := a.grownIn(item)
	dst = append(dst, '{')
	if len(item.head) == 0 && len(grown) > 0 {
		dst = appendUnopened(dst, grown[0].kind)
	}
	for name, v := range members(item.head) {
		if !slices.ContainsFunc(grown, func(p *piece) bool { return growsIn(p.kind) == string(name) }) {
			dst = appendMember(dst, string(name), v)
		}
	}
	for len(grown) > 0 {
		in := growsIn(grown[0].kind)
		n := 1
		for n < len(grown) && growsIn(grown[n].kind) == in {
			n++
		}
		dst = appendGrown(dst, in, grown[:n])
		grown = grown[n:]
	}
	return append(dst, '}')
}

// grownIn gives the texts of an item, by the member that they are in and their order there.
func (a *assembly) grownIn(item *piece) []*piece {
	var out []*piece
	for i := range a.pieces {
		if p := &a.pieces[i]; p.index == item.index && growsIn(p.kind) != "" {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(x, y *piece) int {
		if x, y := growsIn(x.kind), growsIn(y.kind); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return x.part - y.part
	})
	return out
}

// growsIn names the member of an item that a text is in.
func growsIn(kind string) string {
	switch kind {
	case itemText, itemNo, itemThink:
		return "content"
	case itemSum:
		return "summary"
	case itemArgs, itemInput, itemCode:
		return kind
	}
	return ""
}

func appendGrown(dst []byte, in string, texts []*piece) []byte {
	if in != "content" && in != "summary" {
		return appendStringMember(dst, in, texts[0].text)
	}
	dst = append(appendMember(dst, in, nil), '[')
	for i, p := range texts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendStringMember(append(dst, '{'), "type", []byte(p.kind))
		name := "text"
		if p.kind == itemNo {
			name = itemNo
		}
		dst = append(appendStringMember(dst, name, p.text), '}')
	}
	return append(dst, ']')
}

// appendUnopened begins an item that no event opened.
func appendUnopened(dst []byte, grown string) []byte {
	kind := "message"
	switch grown {
	case itemThink, itemSum:
		kind = "reasoning"
	case itemArgs:
		kind = "function_call"
	case itemInput:
		kind = "custom_tool_call"
	case itemCode:
		kind = "code_interpreter_call"
	}
	dst = appendStringMember(dst, "type", []byte(kind))
	if kind == "message" {
		dst = appendStringMember(dst, "role", []byte(roleAssistant))
	}
	return dst
}

// responsesWhole is the buffered answer that a stream stands for: the response of its last event, or one made of what came.
func responsesWhole(a *assembly, _ []byte) []byte {
	output := a.output()
	if len(a.response) > 0 && bare(output) {
		return a.response
	}
	out := []byte{'{'}
	for name, v := range members(a.response) {
		if string(name) != "output" {
			out = appendMember(out, string(name), v)
		}
	}
	if len(a.response) == 0 {
		out = a.appendAbout(out)
	}
	return append(appendMember(out, "output", output), '}')
}

func (a *assembly) appendAbout(out []byte) []byte {
	if len(a.id) > 0 {
		out = appendStringMember(out, "id", a.id)
	}
	out = appendStringMember(out, "object", []byte("response"))
	if len(a.created) > 0 {
		out = appendMember(out, "created_at", a.created)
	}
	out = appendStringMember(out, "status", []byte(statusCompleted))
	if len(a.model) > 0 {
		out = appendStringMember(out, "model", a.model)
	}
	if len(a.usage) > 0 {
		out = appendMember(out, "usage", a.usage)
	}
	return out
}
