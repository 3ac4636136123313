package wire

import (
	"bytes"
	"slices"
	"strconv"
)

// The kinds of a chat answer's pieces: names of the message's members.
const (
	chatContent   = "content"
	chatRefusal   = "refusal"
	chatReasoning = "reasoning_content"
	chatToolCall  = "tool_calls"
	chatFunction  = "function_call"
)

func chatEnds(_, data []byte) bool { return string(bytes.TrimSpace(data)) == doneData }

// chatEvent adds a chunk to the answer.
func chatEvent(a *assembly, _, data []byte) EventClass { return chunk(a, data, chatChoice) }

// chunk adds a chunk of chat's shape, which completions have too but for what a choice holds.
func chunk(a *assembly, data []byte, add func(a *assembly, choice []byte) EventClass) EventClass {
	if kindOf(bytes.TrimSpace(data)) != '{' || !wellFormed(data) {
		return Content
	}
	var choices, failure []byte
	class := Content
	for name, v := range members(data) {
		switch string(name) {
		case "id":
			a.once(&a.id, v)
		case "model":
			a.once(&a.model, v)
		case "created":
			a.created = append(a.created[:0], v...)
		case "usage":
			class = Opening
			if kindOf(v) == '{' {
				a.usage = append(a.usage[:0], v...)
			}
		case "choices":
			class, choices = Opening, v
		case "error":
			failure = v
		}
	}
	before := a.size
	for choice := range elements(choices) {
		class = max(class, add(a, choice))
	}
	if !present(failure) {
		return class
	}
	a.err = answerError(failure)
	if a.size == before {
		return Error
	}
	return class
}

// chatChoice adds a choice's delta; of several choices only the first is kept.
func chatChoice(a *assembly, choice []byte) EventClass {
	var index, delta, finish []byte
	for name, v := range members(choice) {
		switch string(name) {
		case "index":
			index = v
		case "delta":
			delta = v
		case "finish_reason":
			finish = inner(v)
		}
	}
	a.choice(index, len(finish) > 0)
	if present(index) && string(index) != "0" {
		return Content
	}
	class := chatDelta(a, delta)
	if len(finish) > 0 {
		a.finish = append(a.finish[:0], finish...)
		return Content
	}
	return class
}

// maxChoices is how many the API allows to ask for.
const maxChoices = 128

// choice notes that a choice has come, and whether it says why it stopped. One without an index is the first.
func (a *assembly) choice(rawIndex []byte, finished bool) {
	index, err := strconv.Atoi(string(rawIndex))
	if err != nil {
		index = 0
	}
	if index < 0 || index >= maxChoices {
		return
	}
	for len(a.choices) <= index {
		a.choices = append(a.choices, false)
	}
	a.choices[index] = a.choices[index] || finished
}

func chatDelta(a *assembly, delta []byte) EventClass {
	before := a.size
	for name, v := range members(delta) {
		switch string(name) {
		case "content":
			chatText(a, chatContent, v)
		case "refusal":
			chatText(a, chatRefusal, v)
		case "reasoning_content", "reasoning":
			chatText(a, chatReasoning, v)
		case "tool_calls":
			for call := range elements(v) {
				chatCallDelta(a, call)
			}
		case "function_call":
			if kindOf(v) == '{' {
				chatFunctionDelta(a, a.at(chatFunction, 0), v)
			}
		}
	}
	if a.size == before {
		return Opening
	}
	return Content
}

// chatText adds to one of the answer's texts. Some servers stream lists of parts.
func chatText(a *assembly, kind string, v []byte) {
	if text := inner(v); len(text) > 0 {
		a.grow(&a.at(kind, 0).text, text)
		return
	}
	for part := range elements(v) {
		if text, ok := partText(part); ok && len(inner(text)) > 0 {
			a.grow(&a.at(kind, 0).text, inner(text))
		}
	}
}

// chatCallDelta adds a piece of a tool call. Pieces of several calls may alternate; their index tells them apart. Servers
// that number all calls 0 open each with an id of its own, and those that number none go on with the last.
func chatCallDelta(a *assembly, call []byte) {
	var rawIndex, id, kind, function []byte
	for name, v := range members(call) {
		switch string(name) {
		case "index":
			rawIndex = v
		case "id":
			id = inner(v)
		case "type":
			kind = inner(v)
		case "function", "custom":
			function = v
		}
	}
	index, err := strconv.Atoi(string(rawIndex))
	if err != nil {
		index = max(0, a.count(chatToolCall)-1)
	}
	p := a.at(chatToolCall, index)
	if len(id) > 0 && len(p.id) > 0 && !bytes.Equal(p.id, id) {
		if err != nil {
			index++
		}
		p = a.add(chatToolCall, index)
	}
	if len(p.id) == 0 {
		a.grow(&p.id, id)
	}
	if len(p.head) == 0 {
		a.grow(&p.head, kind)
	}
	chatFunctionDelta(a, p, function)
}

func chatFunctionDelta(a *assembly, p *piece, function []byte) {
	for name, v := range members(function) {
		switch string(name) {
		case "name":
			a.once(&p.name, v)
		case "arguments", "input":
			a.grow(&p.text, inner(v))
		}
	}
}

func (a *assembly) count(kind string) int {
	n := 0
	for i := range a.pieces {
		if a.pieces[i].kind == kind {
			n++
		}
	}
	return n
}

// chatMessage is the assistant message as clients send it back.
func chatMessage(a *assembly) []byte {
	if len(a.pieces) == 0 && len(a.finish) == 0 && !a.ended {
		return nil
	}
	out := appendStringMember([]byte{'{'}, "role", []byte("assistant"))
	calls := a.calls()
	switch content := a.find(chatContent); {
	case content != nil:
		out = appendStringMember(out, chatContent, content.text)
	case len(calls) > 0 || a.find(chatRefusal) != nil || a.find(chatFunction) != nil:
		out = appendMember(out, chatContent, []byte("null"))
	default:
		out = appendStringMember(out, chatContent, nil)
	}
	for _, kind := range []string{chatRefusal, chatReasoning} {
		if p := a.find(kind); p != nil {
			out = appendStringMember(out, kind, p.text)
		}
	}
	if p := a.find(chatFunction); p != nil {
		out = append(appendFunction(appendMember(out, chatFunction, []byte{'{'}), p, "arguments"), '}')
	}
	if len(calls) > 0 {
		out = appendCalls(appendMember(out, chatToolCall, nil), calls)
	}
	return append(out, '}')
}

// calls gives the tool calls by index.
func (a *assembly) calls() []*piece {
	var out []*piece
	for i := range a.pieces {
		if a.pieces[i].kind == chatToolCall {
			out = append(out, &a.pieces[i])
		}
	}
	slices.SortStableFunc(out, func(x, y *piece) int { return x.index - y.index })
	return out
}

func appendCalls(out []byte, calls []*piece) []byte {
	out = append(out, '[')
	for i, p := range calls {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '{')
		if len(p.id) > 0 {
			out = appendStringMember(out, "id", p.id)
		}
		kind, argument := "function", "arguments"
		if string(p.head) == "custom" {
			kind, argument = "custom", "input"
		}
		out = appendStringMember(out, "type", []byte(kind))
		out = append(appendFunction(appendMember(out, kind, []byte{'{'}), p, argument), "}}"...)
	}
	return append(out, ']')
}

func appendFunction(out []byte, p *piece, argument string) []byte {
	out = appendStringMember(out, "name", p.name)
	return appendStringMember(out, argument, p.text)
}

// chatWhole is the buffered answer that a stream stands for.
func chatWhole(a *assembly, message []byte) []byte {
	choice := appendMember([]byte{'{'}, "index", []byte{'0'})
	return wholeOf(a, "chat.completion", appendMember(choice, "message", message))
}

// wholeOf puts a choice, which is not closed yet, into an answer.
func wholeOf(a *assembly, kind string, choice []byte) []byte {
	out := []byte{'{'}
	if len(a.id) > 0 {
		out = appendStringMember(out, "id", a.id)
	}
	out = appendStringMember(out, "object", []byte(kind))
	if len(a.created) > 0 {
		out = appendMember(out, "created", a.created)
	}
	if len(a.model) > 0 {
		out = appendStringMember(out, "model", a.model)
	}
	finish := []byte("stop")
	if len(a.finish) > 0 {
		finish = a.finish
	}
	choice = appendStringMember(choice, "finish_reason", finish)
	out = append(appendMember(out, "choices", append([]byte{'['}, choice...)), "}]"...)
	if len(a.usage) > 0 {
		out = appendMember(out, "usage", a.usage)
	}
	return append(out, '}')
}
