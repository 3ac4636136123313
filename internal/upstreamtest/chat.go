package upstreamtest

import (
	"fmt"
	"net/http"
)

// chat has the shapes of OpenAI's chat completions.
type chat struct{ question }

func (c chat) whole() object {
	text := c.reply.text(c.turn)
	said := object{"role": "assistant", "content": text, "refusal": nil}
	if c.reply.Thinking != "" {
		said["reasoning_content"] = c.reply.Thinking
	}
	if t := c.reply.Tool; t != nil {
		said["tool_calls"] = []object{c.call(t.Arguments)}
	}
	o := c.object("chat.completion", object{"index": 0, "message": said, "logprobs": nil, "finish_reason": c.finish()})
	o["usage"] = c.usage()
	return o
}

func (c chat) events() [][]byte {
	events := [][]byte{c.chunk(object{"role": "assistant", "content": ""}, nil)}
	for _, word := range pieces(c.reply.Thinking) {
		events = append(events, c.chunk(object{"reasoning_content": word}, nil))
	}
	for _, word := range pieces(c.reply.text(c.turn)) {
		events = append(events, c.chunk(object{"content": word}, nil))
	}
	if t := c.reply.Tool; t != nil {
		half := len(t.Arguments) / 2
		rest := object{"index": 0, "function": object{"arguments": t.Arguments[half:]}}
		events = append(events,
			c.chunk(object{"tool_calls": []object{c.call(t.Arguments[:half])}}, nil),
			c.chunk(object{"tool_calls": []object{rest}}, nil))
	}
	events = append(events, c.chunk(object{}, c.finish()))
	if c.StreamOptions.IncludeUsage {
		last := c.object("chat.completion.chunk")
		last["usage"] = c.usage()
		events = append(events, data(last))
	}
	return append(events, []byte("data: [DONE]\n\n"))
}

func (c chat) chunk(delta object, finish any) []byte {
	return data(c.object("chat.completion.chunk", object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}))
}

func (c chat) object(kind string, choices ...object) object {
	if choices == nil {
		choices = []object{}
	}
	return object{
		"id": fmt.Sprintf("chatcmpl-fake%d", c.turn), "object": kind, "created": 1700000000,
		"model": c.Model, "choices": choices,
	}
}

func (c chat) call(arguments string) object {
	t := c.reply.Tool
	return object{"index": 0, "id": t.ID, "type": "function", "function": object{"name": t.Name, "arguments": arguments}}
}

func (c chat) finish() string {
	if c.reply.Tool != nil {
		return "tool_calls"
	}
	return "stop"
}

func (c chat) usage() object {
	u := c.reply.usage(c.reply.text(c.turn))
	in := u.Input + u.CacheRead
	return object{
		"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead},
	}
}

func (chat) failure(status int, message string) object {
	kind, code := "invalid_request_error", any(nil)
	switch {
	case status == http.StatusUnauthorized:
		code = "invalid_api_key"
	case status == http.StatusTooManyRequests:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

func (c chat) failureEvent() []byte {
	return data(c.failure(http.StatusInternalServerError, "the fake model broke off"))
}

func data(o object) []byte { return fmt.Appendf(nil, "data: %s\n\n", o.encode()) }
