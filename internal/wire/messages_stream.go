package wire

import (
	"bytes"
	"strconv"
)

// The kinds of a messages answer's blocks that grow.
const (
	blockText     = "text"
	blockThinking = "thinking"
	blockTool     = "tool_use"
	blockOther    = "other"
)

const messageStop = "message_stop"

func messagesEnds(name, data []byte) bool {
	return string(name) == messageStop || string(inner(member(data, "type"))) == messageStop
}

// messagesEvent adds an event to the answer. The type in the data counts; some servers leave the event's name out.
func messagesEvent(a *assembly, name, data []byte) EventClass {
	if kindOf(bytes.TrimSpace(data)) != '{' || !wellFormed(data) {
		return Content
	}
	if kind := inner(member(data, "type")); len(kind) > 0 {
		name = kind
	}
	switch string(name) {
	case "ping":
		return None
	case "message_start":
		messagesStart(a, member(data, "message"))
		return Opening
	case "content_block_start":
		return messagesBlock(a, data)
	case "content_block_delta":
		return messagesDelta(a, data)
	case "content_block_stop":
		return Opening
	case "message_delta":
		messagesFinish(a, data)
		return Content
	case "error":
		a.err = answerError(member(data, "error"))
		return Error
	}
	return Content
}

func messagesStart(a *assembly, message []byte) {
	for name, v := range members(message) {
		switch string(name) {
		case "id":
			a.once(&a.id, v)
		case "model":
			a.once(&a.model, v)
		case "usage":
			if kindOf(v) == '{' {
				a.usage = append(a.usage[:0], v...)
			}
		}
	}
}

func messagesFinish(a *assembly, data []byte) {
	if reason := inner(member(member(data, "delta"), "stop_reason")); len(reason) > 0 {
		a.finish = append(a.finish[:0], reason...)
	}
	if id := inner(member(member(member(data, "delta"), "container"), "id")); len(id) > 0 {
		a.container = append(a.container[:0], id...)
	}
	if usage := member(data, "usage"); kindOf(usage) == '{' {
		a.usageEnd = append(a.usageEnd[:0], usage...)
	}
}

// messagesBlock opens a block.
func messagesBlock(a *assembly, data []byte) EventClass {
	head := member(data, "content_block")
	kind := blockKind(inner(member(head, "type")))
	p := a.add(kind, blockIndex(data))
	a.grow(&p.head, head)
	if kind == blockText || kind == blockThinking {
		a.grow(&p.text, inner(member(head, kind)))
		a.grow(&p.signature, inner(member(head, "signature")))
	}
	if (kind == blockText || kind == blockThinking) && len(p.text) == 0 {
		return Opening
	}
	return Content
}

func blockKind(kind []byte) string {
	switch string(kind) {
	case blockText:
		return blockText
	case blockThinking:
		return blockThinking
	case blockTool:
		return blockTool
	}
	return blockOther
}

// messagesDelta adds to the block of its index; a block that was never opened is opened by the delta's kind.
func messagesDelta(a *assembly, data []byte) EventClass {
	index := blockIndex(data)
	class := Opening
	for name, v := range members(member(data, "delta")) {
		more := inner(v)
		if len(more) == 0 {
			continue
		}
		switch string(name) {
		case "text":
			a.grow(&a.block(blockText, index).text, more)
		case "thinking":
			a.grow(&a.block(blockThinking, index).text, more)
		case "signature":
			a.grow(&a.block(blockThinking, index).signature, more)
		case "partial_json":
			a.grow(&a.block(blockTool, index).text, more)
		default:
			continue
		}
		class = Content
	}
	return class
}

// block gives the open block of an index; it is made where there is none.
func (a *assembly) block(kind string, index int) *piece {
	for i := len(a.pieces) - 1; i >= 0; i-- {
		if a.pieces[i].index == index {
			return &a.pieces[i]
		}
	}
	return a.add(kind, index)
}

func blockIndex(data []byte) int {
	index, err := strconv.Atoi(string(member(data, "index")))
	if err != nil {
		return 0
	}
	return index
}

// messagesMessage is the assistant message as clients send it back.
func messagesMessage(a *assembly) []byte {
	if len(a.pieces) == 0 && len(a.finish) == 0 && !a.ended {
		return nil
	}
	content := []byte{'['}
	for i := range a.pieces {
		if i > 0 {
			content = append(content, ',')
		}
		content = appendBlock(content, &a.pieces[i])
	}
	return messageOf(append(content, ']'))
}

// appendBlock appends a block: what opened it, with what has grown in the place of what was empty then.
func appendBlock(dst []byte, p *piece) []byte {
	dst = append(dst, '{')
	if len(p.head) == 0 {
		dst = appendStringMember(dst, "type", []byte(p.kind))
	}
	grown := p.kind
	if p.kind == blockTool || (p.kind == blockOther && len(p.text) > 0) {
		grown = "input"
	}
	for name, v := range members(p.head) {
		if string(name) == grown || (string(name) == "signature" && len(p.signature) > 0) {
			continue
		}
		dst = appendMember(dst, string(name), v)
	}
	switch grown {
	case blockText, blockThinking:
		dst = appendStringMember(dst, grown, p.text)
	case "input":
		dst = appendMember(dst, grown, blockInput(p))
	}
	if len(p.signature) > 0 {
		dst = appendStringMember(dst, "signature", p.signature)
	}
	return append(dst, '}')
}

// blockInput is a tool call's input. One that broke off is kept as the text that it is.
func blockInput(p *piece) []byte {
	if len(p.text) == 0 {
		if input := member(p.head, "input"); present(input) {
			return input
		}
		return []byte("{}")
	}
	input := unquote(nil, quoted(p.text))
	if wellFormed(input) {
		return input
	}
	return append(appendStringMember([]byte{'{'}, "partial_json", p.text), '}')
}

// messagesWhole is the buffered answer that a stream stands for.
func messagesWhole(a *assembly, message []byte) []byte {
	out := []byte{'{'}
	if len(a.id) > 0 {
		out = appendStringMember(out, "id", a.id)
	}
	out = appendStringMember(out, "type", []byte("message"))
	out = appendStringMember(out, "role", []byte("assistant"))
	if len(a.model) > 0 {
		out = appendStringMember(out, "model", a.model)
	}
	out = appendMember(out, "content", member(message, "content"))
	if len(a.finish) > 0 {
		out = appendStringMember(out, "stop_reason", a.finish)
	} else {
		out = appendMember(out, "stop_reason", []byte("null"))
	}
	out = appendMember(out, "stop_sequence", []byte("null"))
	if usage := mergeObjects(a.usage, a.usageEnd); len(usage) > 0 {
		out = appendMember(out, "usage", usage)
	}
	return append(out, '}')
}
