package wire

import (
	"bytes"

	"mooring"
)

// messagesDialect reads Anthropic's messages.
func messagesDialect() dialect {
	return dialect{
		talk:        "messages",
		lists:       true,
		holdsResult: holdsToolResult,
		read:        (*reader).messages,
		judge:       needsMessage,
		system:      "system",
		terminator:  "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		lastEvent:   shortEvent,
		form:        (*normal).object,
		part:        messagesPart,
		join:        joinMessages,
		render:      func(r *rendering, message []byte) { r.content(member(message, "content")) },
		answer:      messagesAnswer,
		usage:       func(a *assembly) mooring.Usage { return messagesUsage(mergeObjects(a.usage, a.usageEnd)) },
		ends:        messagesEnds,
		event:       messagesEvent,
		message:     messagesMessage,
		whole:       messagesWhole,
		fault:       messagesFault,
		faultFor:    messagesFaultType,
	}
}

// holdsToolResult says whether a content has a part that is what a tool gave.
func holdsToolResult(content []byte) bool {
	if !bytes.Contains(content, []byte("tool_result")) {
		return false
	}
	for part := range elements(content) {
		if string(inner(member(part, "type"))) == "tool_result" {
			return true
		}
	}
	return false
}

// messagesPart normalises a part of a message's content.
func messagesPart(n *normal, kind, part []byte) {
	switch string(kind) {
	case "tool_use":
		n.call(member(part, "id"), member(part, "name"), member(part, "input"))
	case "tool_result":
		n.result(member(part, "tool_use_id"), member(part, "content"), member(part, "is_error"), messagesResultPart)
	case "image":
		messagesImage(n, part)
	default:
		n.opaque(part)
	}
}

// messagesResultPart normalises what a tool gave that is no text; results do not nest.
func messagesResultPart(n *normal, kind, part []byte) {
	if string(kind) == "image" {
		messagesImage(n, part)
		return
	}
	n.opaque(part)
}

// messagesImage gives an image the form that it has in the other protocols.
func messagesImage(n *normal, part []byte) {
	source := member(part, "source")
	switch string(inner(member(source, "type"))) {
	case "base64":
		n.encoded(plain(member(source, "data")))
	case "url":
		n.image(member(source, "url"))
	default:
		n.opaque(part)
	}
}

// messagesAnswer reads a buffered answer.
func messagesAnswer(body []byte) Answer {
	var a Answer
	var kind, failure []byte
	for name, v := range members(body) {
		switch string(name) {
		case "type":
			kind = inner(v)
		case "id":
			a.ID = readable(plain(v))
		case "model":
			a.Model = readable(plain(v))
		case "usage":
			a.Usage = messagesUsage(v)
		case "stop_reason":
			a.Finish = readable(plain(v))
		case "container":
			a.Container = readable(plain(member(v, "id")))
		case "content":
			a.Message = messageOf(v)
		case "error":
			failure = v
		}
	}
	if string(kind) == "error" || (present(failure) && a.Message == nil) {
		a.Err, a.Message = answerError(failure), nil
	}
	return a
}

// messageOf makes the assistant message of a raw content; nil where there is none.
func messageOf(content []byte) []byte {
	if !present(content) {
		return nil
	}
	out := appendStringMember([]byte{'{'}, "role", []byte("assistant"))
	return append(appendMember(out, "content", content), '}')
}

// messagesUsage reads a usage object. Writes to a cache are told apart by how long it lives, else they count as the short kind.
func messagesUsage(raw []byte) mooring.Usage {
	var u mooring.Usage
	var written mooring.Tokens
	for name, v := range members(raw) {
		switch string(name) {
		case "input_tokens":
			u.Input = count(v)
		case "output_tokens":
			u.Output = count(v)
		case "cache_read_input_tokens":
			u.CacheRead = count(v)
		case "cache_creation_input_tokens":
			written = count(v)
		case "cache_creation":
			u.CacheWrite5m = count(member(v, "ephemeral_5m_input_tokens"))
			u.CacheWrite1h = count(member(v, "ephemeral_1h_input_tokens"))
		}
	}
	if !u.CacheWrite5m.Known && !u.CacheWrite1h.Known {
		u.CacheWrite5m = written
	}
	return u
}

// mergeObjects gives the members of both objects; where both have one, the second's counts unless it is null.
func mergeObjects(first, second []byte) []byte {
	if len(first) == 0 {
		return second
	}
	if len(second) == 0 {
		return first
	}
	out := []byte{'{'}
	for name, v := range members(first) {
		if later := member(second, string(name)); present(later) {
			v = later
		}
		out = appendMember(out, string(name), v)
	}
	for name, v := range members(second) {
		if member(first, string(name)) == nil {
			out = appendMember(out, string(name), v)
		}
	}
	return append(out, '}')
}

func messagesFault(dst []byte, e AnswerError) []byte {
	object := appendMember([]byte{'{'}, "type", appendText(nil, []byte(e.Type)))
	object = appendMember(object, "message", appendText(nil, []byte(e.Message)))
	dst = append(dst, "event: error\ndata: "...)
	dst = appendStringMember(append(dst, '{'), "type", []byte("error"))
	dst = appendMember(dst, "error", append(object, '}'))
	return append(dst, "}\n\n"...)
}

func messagesFaultType(code mooring.Code) string {
	switch kindOfCode(code) {
	case mooring.KindInvalid, mooring.KindConflict:
		return "invalid_request_error"
	case mooring.KindDenied:
		return "permission_error"
	case mooring.KindNotFound:
		return "not_found_error"
	case mooring.KindBusy:
		return "rate_limit_error"
	case mooring.KindStore:
		return "overloaded_error"
	case mooring.KindUpstreamFailure, mooring.KindInternal:
		return "api_error"
	}
	return "api_error"
}
