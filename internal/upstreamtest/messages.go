package upstreamtest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// messages has the shapes of Anthropic's messages.
type messages struct{ question }

func (m messages) whole() object {
	content := []object{}
	if m.reply.Thinking != "" {
		content = append(content, object{"type": "thinking", "thinking": m.reply.Thinking, "signature": "c2lnbmVk"})
	}
	if text := m.reply.text(m.turn); text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	if t := m.reply.Tool; t != nil {
		content = append(content, object{"type": "tool_use", "id": t.ID, "name": t.Name, "input": json.RawMessage(t.Arguments)})
	}
	o := m.object(content)
	o["stop_reason"] = m.finish()
	o["usage"] = m.usage()
	return o
}

func (m messages) events() [][]byte {
	start := m.object([]object{})
	usage := m.usage()
	start["usage"] = usage
	events := [][]byte{named("message_start", object{"message": start}), named("ping", object{})}
	index := 0
	block := func(open object, deltas ...object) {
		events = append(events, named("content_block_start", object{"index": index, "content_block": open}))
		for _, d := range deltas {
			events = append(events, named("content_block_delta", object{"index": index, "delta": d}))
		}
		events = append(events, named("content_block_stop", object{"index": index}))
		index++
	}
	if m.reply.Thinking != "" {
		deltas := deltas("thinking_delta", "thinking", pieces(m.reply.Thinking)...)
		signature := object{"type": "signature_delta", "signature": "c2lnbmVk"}
		block(object{"type": "thinking", "thinking": "", "signature": ""}, append(deltas, signature)...)
	}
	if text := m.reply.text(m.turn); text != "" {
		block(object{"type": "text", "text": ""}, deltas("text_delta", "text", pieces(text)...)...)
	}
	if t := m.reply.Tool; t != nil {
		half := len(t.Arguments) / 2
		block(object{"type": "tool_use", "id": t.ID, "name": t.Name, "input": object{}},
			deltas("input_json_delta", "partial_json", t.Arguments[:half], t.Arguments[half:])...)
	}
	return append(events,
		named("message_delta", object{
			"delta": object{"stop_reason": m.finish(), "stop_sequence": nil},
			"usage": object{"output_tokens": usage["output_tokens"]},
		}),
		named("message_stop", object{}))
}

func deltas(kind, field string, texts ...string) []object {
	out := make([]object, len(texts))
	for i, t := range texts {
		out[i] = object{"type": kind, field: t}
	}
	return out
}

func (m messages) object(content []object) object {
	return object{
		"id": fmt.Sprintf("msg_fake%d", m.turn), "type": "message", "role": "assistant", "model": m.Model,
		"content": content, "stop_reason": nil, "stop_sequence": nil,
	}
}

func (m messages) finish() string {
	if m.reply.Tool != nil {
		return "tool_use"
	}
	return "end_turn"
}

func (m messages) usage() object {
	u := m.reply.usage(m.reply.text(m.turn))
	return object{
		"input_tokens": u.Input, "output_tokens": u.Output,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite5m + u.CacheWrite1h,
		"cache_creation": object{
			"ephemeral_5m_input_tokens": u.CacheWrite5m, "ephemeral_1h_input_tokens": u.CacheWrite1h,
		},
	}
}

func (messages) failure(status int, message string) object {
	kinds := map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error",
		http.StatusNotFound: "not_found_error", http.StatusRequestEntityTooLarge: "request_too_large",
		http.StatusTooManyRequests: "rate_limit_error", 529: "overloaded_error",
	}
	kind, known := kinds[status]
	switch {
	case known:
	case status >= http.StatusInternalServerError:
		kind = "api_error"
	default:
		kind = "invalid_request_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_fake"}
}

func (m messages) failureEvent() []byte {
	return named("error", m.failure(529, "the fake model broke off"))
}

func named(name string, fields object) []byte {
	fields["type"] = name
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, fields.encode())
}
