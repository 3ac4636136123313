package wire

import "mooring"

// doneData is the data of the event that ends a chat stream.
const doneData = "[DONE]"

// chatDialect reads OpenAI's chat completions.
func chatDialect() dialect {
	return dialect{
		talk:       "messages",
		lists:      true,
		read:       (*reader).messages,
		judge:      needsMessage,
		terminator: "data: " + doneData + "\n\n",
		lastEvent:  shortEvent,
		form:       (*normal).object,
		part:       chatPart,
		extras:     chatExtras,
		join:       joinMessages,
		render:     chatRender,
		answer:     chatAnswer,
		usage:      func(a *assembly) mooring.Usage { return chatUsage(a.usage) },
		ends:       chatEnds,
		event:      chatEvent,
		message:    chatMessage,
		whole:      chatWhole,
		fault:      chatFault,
		faultFor:   chatFaultType,
	}
}

// chatPart normalises a part of a message's content.
func chatPart(n *normal, kind, part []byte) {
	switch string(kind) {
	case "image_url":
		n.image(member(part, "image_url"))
	case "refusal":
		n.refusal(member(part, "refusal"))
	default:
		n.opaque(part)
	}
}

// chatExtras normalises tool calls and their results. Reasoning, audio and other members are left out: clients drop them.
func chatExtras(n *normal, h *held) {
	n.refusal(h.refusal)
	for call := range elements(h.calls) {
		chatCall(n, call)
	}
	if present(h.function) {
		n.call(nil, member(h.function, "name"), member(h.function, "arguments"))
	}
	if present(h.result) {
		n.id('r', h.result)
	}
}

func chatCall(n *normal, call []byte) {
	if function := member(call, "function"); present(function) {
		n.call(member(call, "id"), member(function, "name"), member(function, "arguments"))
		return
	}
	if custom := member(call, "custom"); present(custom) {
		n.custom(member(call, "id"), member(custom, "name"), member(custom, "input"))
		return
	}
	n.without(call, func(name, value []byte) bool { return string(name) == "index" || !present(value) })
}

// chatAnswer reads a buffered answer: its first choice.
func chatAnswer(body []byte) Answer {
	return firstChoice(body, func(choice []byte) []byte {
		if message := member(choice, "message"); kindOf(message) == '{' {
			return message
		}
		return nil
	})
}

// firstChoice reads an answer of chat's shape, which completions have too but for what a choice holds.
func firstChoice(body []byte, message func(choice []byte) []byte) Answer {
	var a Answer
	var choices, failure []byte
	for name, v := range members(body) {
		switch string(name) {
		case "id":
			a.ID = readable(plain(v))
		case "model":
			a.Model = readable(plain(v))
		case "usage":
			a.Usage = chatUsage(v)
		case "choices":
			choices = v
		case "error":
			failure = v
		}
	}
	for choice := range elements(choices) {
		if index := member(choice, "index"); present(index) && string(index) != "0" {
			continue
		}
		a.Finish = readable(plain(member(choice, "finish_reason")))
		a.Message = message(choice)
		break
	}
	if present(failure) && a.Message == nil {
		a.Err = answerError(failure)
	}
	return a
}

// chatUsage reads a usage object. Tokens of a cache are part of prompt_tokens there, and counted apart here;
// what is written is kept for some minutes.
func chatUsage(raw []byte) mooring.Usage {
	var u mooring.Usage
	for name, v := range members(raw) {
		switch string(name) {
		case "prompt_tokens":
			u.Input = count(v)
		case "completion_tokens":
			u.Output = count(v)
		case "prompt_tokens_details":
			u.CacheRead = count(member(v, "cached_tokens"))
			u.CacheWrite5m = count(member(v, "cache_write_tokens"))
		}
	}
	return lessCached(u)
}

// lessCached takes the tokens of a cache out of an input that counts them in.
func lessCached(u mooring.Usage) mooring.Usage {
	if u.Input.Known {
		u.Input.N = max(0, u.Input.N-u.CacheRead.N-u.CacheWrite5m.N)
	}
	return u
}

func chatFault(dst []byte, e AnswerError) []byte {
	object := appendMember([]byte{'{'}, "message", appendText(nil, []byte(e.Message)))
	object = appendMember(object, "type", appendText(nil, []byte(e.Type)))
	object = appendMember(object, "param", []byte("null"))
	object = appendMember(object, "code", appendText(nil, []byte(e.Code)))
	dst = append(dst, "data: "...)
	dst = appendMember(append(dst, '{'), "error", append(object, '}'))
	return append(dst, "}\n\n"...)
}

func chatFaultType(code mooring.Code) string {
	switch kindOfCode(code) {
	case mooring.KindInvalid, mooring.KindNotFound, mooring.KindConflict:
		return "invalid_request_error"
	case mooring.KindDenied:
		return "authentication_error"
	case mooring.KindBusy:
		return "rate_limit_error"
	case mooring.KindUpstreamFailure, mooring.KindStore, mooring.KindInternal:
		return "server_error"
	}
	return "server_error"
}
