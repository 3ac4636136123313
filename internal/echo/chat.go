package echo

import "net/http"

// chat answers in the shape of OpenAI's chat completions.
func (m *Model) chat(req *http.Request, body []byte) *http.Response {
	q, refusal := ask(req, body)
	if refusal != nil {
		return refusal
	}
	c := completion{question: q, id: "chatcmpl-" + identity(body), created: m.now().Unix()}
	if q.Stream {
		return streamed(req, c.events())
	}
	answer := c.object("chat.completion", object{
		"index":         0,
		"message":       object{"role": "assistant", "content": q.reply(), "refusal": nil},
		"logprobs":      nil,
		"finish_reason": "stop",
	})
	answer["usage"] = c.usage()
	return whole(req, http.StatusOK, answer)
}

type completion struct {
	question
	id      string
	created int64
}

// events are the role, each word, the end, the usage where it was asked for, and the mark behind them.
func (c completion) events() []event {
	events := []event{c.chunk(object{"role": "assistant", "content": ""}, nil)}
	for _, word := range pieces(c.reply()) {
		events = append(events, c.chunk(object{"content": word}, nil))
	}
	events = append(events, c.chunk(object{}, "stop"))
	if c.StreamOptions.IncludeUsage {
		last := c.object("chat.completion.chunk")
		last["usage"] = c.usage()
		events = append(events, event{data: last.encode()})
	}
	return append(events, event{data: []byte("[DONE]")})
}

func (c completion) chunk(delta object, finish any) event {
	choice := object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}
	return event{data: c.object("chat.completion.chunk", choice).encode()}
}

func (c completion) object(kind string, choices ...object) object {
	if choices == nil {
		choices = []object{} // clients expect a list, empty in the usage chunk
	}
	return object{"id": c.id, "object": kind, "created": c.created, "model": c.Model, "choices": choices}
}

func (c completion) usage() object {
	in, out := c.inputTokens(), words(c.reply())
	return object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}
