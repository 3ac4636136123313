package wire

import (
	"bytes"
	"slices"
	"strconv"
)

// The kinds of an answer's pieces: items, and the texts that grow in one.
const (
	itemOpen  = "item"
	itemDone  = "item, done"
	itemText  = "output_text"
	itemNo    = "refusal"
	itemThink = "reasoning_text"
	itemSum   = "summary_text"
	itemArgs  = "arguments"
	itemInput = "input"
	itemCode  = "code"
)

// responsesEnds says that an event is the last one. It holds the response, so it is read as well.
func responsesEnds(name, data []byte) bool {
	if kind := inner(member(data, "type")); len(kind) > 0 {
		name = kind
	}
	return endOf(name) != ""
}

// endOf gives the status that a terminal event's name tells; empty for another event.
func endOf(name []byte) string {
	switch string(name) {
	case "response.completed":
		return statusCompleted
	case "response.incomplete":
		return "incomplete"
	case "response.failed":
		return statusFailed
	case "response.cancelled":
		return statusCancelled
	}
	return ""
}

// responsesData is what is read of an event; raw values.
type responsesData struct {
	kind                  []byte // unquoted
	output, inside        []byte
	item, part, response  []byte
	delta, whole, failure []byte
}

func readResponsesData(data []byte) responsesData {
	var e responsesData
	for name, v := range members(data) {
		switch string(name) {
		case "type":
			e.kind = inner(v)
		case "output_index":
			e.output = v
		case "content_index", "summary_index":
			e.inside = v
		case "item":
			e.item = v
		case "part":
			e.part = v
		case "response":
			e.response = v
		case "delta":
			e.delta = v
		case "text", "refusal", "arguments", "input", "code":
			e.whole = v
		case "error":
			e.failure = v
		}
	}
	return e
}

// responsesEvent adds an event to the answer. The type in the data counts; some servers leave the event's name out.
func responsesEvent(a *assembly, name, data []byte) EventClass {
	if kindOf(bytes.TrimSpace(data)) != '{' || !wellFormed(data) {
		return Content
	}
	e := readResponsesData(data)
	if len(e.kind) == 0 {
		e.kind = name
	}
	if status := endOf(e.kind); status != "" {
		return responsesEnd(a, e.response, status)
	}
	switch string(e.kind) {
	case "ping", "keepalive":
		return None
	case "response.created", "response.in_progress", "response.queued":
		r := readResponse(e.response)
		a.about(&r)
		return Opening
	case "response.output_item.added":
		return a.openItem(number(e.output), e.item)
	case "response.output_item.done":
		a.closeItem(number(e.output), e.item)
		return Content
	case "response.content_part.added", "response.reasoning_summary_part.added":
		return a.openPart(&e)
	}
	switch {
	case present(e.failure):
		a.err = answerError(e.failure)
		return Error
	case string(e.kind) == "error":
		a.err = answerError(data)
		return Error
	}
	return a.more(&e)
}

func number(raw []byte) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return 0
	}
	return n
}

// about keeps what a response says of itself.
func (a *assembly) about(r *response) {
	a.once(&a.id, r.id)
	a.once(&a.model, r.model)
	if len(r.created) > 0 {
		a.created = append(a.created[:0], r.created...)
	}
	if kindOf(r.usage) == '{' {
		a.usage = append(a.usage[:0], r.usage...)
	}
}

// responsesEnd reads a terminal event. Its response is the whole answer, and takes the place of what came piece by piece; some
// servers leave the output out of it.
func responsesEnd(a *assembly, object []byte, status string) EventClass {
	r := readResponse(object)
	if kindOf(object) == '{' {
		a.grow(&a.response, object)
		if outputMessage(r.output) != nil {
			a.dropPieces(func(*piece) bool { return true })
		}
	}
	a.about(&r)
	if len(inner(r.status)) == 0 {
		r.status = quoted([]byte(status))
	}
	if a.finish = append(a.finish[:0], inner(r.finish())...); len(a.finish) == 0 {
		a.finish = append(a.finish, status...)
	}
	switch a.err = r.failure(); {
	case a.err == nil && status == statusFailed:
		a.err = answerError(r.err)
	case a.err == nil:
		return End
	}
	return Error
}

// dropPieces forgets pieces that something else stands for now.
func (a *assembly) dropPieces(which func(*piece) bool) {
	a.pieces = slices.DeleteFunc(a.pieces, func(p piece) bool {
		drop := which(&p)
		if drop {
			a.size -= pieceCost + len(p.head) + len(p.text)
		}
		return drop
	})
}

// item gives the open item of an index, nil where there is none.
func (a *assembly) item(index int) *piece {
	for i := len(a.pieces) - 1; i >= 0; i-- {
		if p := &a.pieces[i]; p.index == index && (p.kind == itemOpen || p.kind == itemDone) {
			if p.kind == itemOpen {
				return p
			}
			return nil
		}
	}
	return nil
}

// openItem begins an item. One that holds nothing yet is an opening.
func (a *assembly) openItem(index int, raw []byte) EventClass {
	p := a.item(index)
	if p == nil {
		p = a.add(itemOpen, index)
	}
	a.size -= len(p.head)
	p.head = p.head[:0]
	a.grow(&p.head, raw)
	switch kind := inner(member(raw, "type")); string(kind) {
	case "message", "reasoning":
		if bare(member(raw, "content")) && bare(member(raw, "summary")) {
			return Opening
		}
	}
	return Content
}

// bare says that a list holds nothing.
func bare(list []byte) bool {
	for range elements(list) {
		return false
	}
	return true
}

// closeItem puts a whole item in the place of what came of it. Servers that number all items 0 close each before the next.
func (a *assembly) closeItem(index int, raw []byte) {
	p := a.item(index)
	if p == nil {
		p = a.add(itemDone, index)
	}
	a.size -= len(p.head)
	p.kind, p.head = itemDone, p.head[:0]
	a.grow(&p.head, raw)
	a.dropPieces(func(p *piece) bool { return p.index == index && p.kind != itemOpen && p.kind != itemDone })
}

// grown gives the piece of a text in an item. The last one is nearly always it.
func (a *assembly) grown(kind string, index, part int) *piece {
	for i := len(a.pieces) - 1; i >= 0; i-- {
		if p := &a.pieces[i]; p.index == index && p.part == part && p.kind == kind {
			return p
		}
	}
	if a.item(index) == nil {
		a.add(itemOpen, index)
	}
	p := a.add(kind, index)
	p.part = part
	return p
}

// openPart begins a part of an item's content or summary.
func (a *assembly) openPart(e *responsesData) EventClass {
	kind := inner(member(e.part, "type"))
	text := member(e.part, "text")
	if string(kind) == itemNo {
		text = member(e.part, "refusal")
	}
	if len(inner(text)) == 0 {
		return Opening
	}
	if grows := pieceKind(kind); grows != "" {
		a.grow(&a.grown(grows, number(e.output), number(e.inside)).text, inner(text))
	}
	return Content
}

// more adds what a delta brings. The whole text comes behind its deltas, or instead of them.
func (a *assembly) more(e *responsesData) EventClass {
	name, ok := bytes.CutPrefix(e.kind, []byte("response."))
	if !ok {
		return Content
	}
	if base, isDelta := bytes.CutSuffix(name, []byte(".delta")); isDelta {
		if kind := pieceKind(base); kind != "" && len(inner(e.delta)) > 0 {
			a.grow(&a.grown(kind, number(e.output), number(e.inside)).text, inner(e.delta))
		}
		return Content
	}
	if base, isDone := bytes.CutSuffix(name, []byte(".done")); isDone {
		if kind := pieceKind(base); kind != "" && len(inner(e.whole)) > 0 {
			p := a.grown(kind, number(e.output), number(e.inside))
			a.size -= len(p.text)
			p.text = p.text[:0]
			a.grow(&p.text, inner(e.whole))
		}
	}
	return Content
}

// pieceKind gives the kind of a text that grows, by the name of its part or of its events; empty for another.
func pieceKind(name []byte) string {
	switch string(name) {
	case "output_text":
		return itemText
	case "refusal":
		return itemNo
	case "reasoning_text":
		return itemThink
	case "summary_text", "reasoning_summary_text":
		return itemSum
	case "function_call_arguments", "mcp_call_arguments":
		return itemArgs
	case "custom_tool_call_input":
		return itemInput
	case "code_interpreter_call_code":
		return itemCode
	}
	return ""
}
