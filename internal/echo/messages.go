package echo

import "net/http"

// messages answers in the shape of Anthropic's messages.
func (m *Model) messages(req *http.Request, body []byte) *http.Response {
	q, refusal := ask(req, body)
	if refusal != nil {
		return refusal
	}
	id := "msg_" + identity(body)
	if q.Stream {
		return streamed(req, q.messageEvents(id))
	}
	answer := q.messageObject(id, object{"type": "text", "text": q.reply()})
	answer["stop_reason"] = "end_turn"
	answer["usage"] = object{"input_tokens": q.inputTokens(), "output_tokens": words(q.reply())}
	return whole(req, http.StatusOK, answer)
}

func countTokens(req *http.Request, body []byte) *http.Response {
	q, refusal := ask(req, body)
	if refusal != nil {
		return refusal
	}
	return whole(req, http.StatusOK, object{"input_tokens": q.inputTokens()})
}

func (q question) messageEvents(id string) []event {
	start := q.messageObject(id)
	start["usage"] = object{"input_tokens": q.inputTokens(), "output_tokens": 0}
	events := []event{
		named("message_start", object{"message": start}),
		named("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}}),
	}
	for _, word := range pieces(q.reply()) {
		events = append(events, named("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": word}}))
	}
	return append(events,
		named("content_block_stop", object{"index": 0}),
		named("message_delta", object{
			"delta": object{"stop_reason": "end_turn", "stop_sequence": nil},
			"usage": object{"output_tokens": words(q.reply())},
		}),
		named("message_stop", object{}),
	)
}

func (q question) messageObject(id string, content ...object) object {
	if content == nil {
		content = []object{} // as message_start opens
	}
	return object{
		"id": id, "type": "message", "role": "assistant", "model": q.Model,
		"content": content, "stop_reason": nil, "stop_sequence": nil,
	}
}

func named(name string, fields object) event {
	fields["type"] = name
	return event{name: name, data: fields.encode()}
}
