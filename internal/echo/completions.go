package echo

import "net/http"

// completions answers in the shape of OpenAI's completions.
func (m *Model) completions(req *http.Request, body []byte) *http.Response {
	q, refusal := hear(req, body)
	if refusal != nil {
		return refusal
	}
	c := completion{question: q, id: "cmpl-" + identity(body), created: m.now().Unix()}
	if q.Stream {
		return streamed(req, c.textEvents())
	}
	answer := c.object(textKind, textChoice(q.reply(), "stop"))
	answer["usage"] = c.usage()
	return whole(req, http.StatusOK, answer)
}

const textKind = "text_completion"

func textChoice(text string, finish any) object {
	return object{"index": 0, "text": text, "logprobs": nil, "finish_reason": finish}
}

// textEvents are each word, the end, the usage where it was asked for, and the mark behind them.
func (c completion) textEvents() []event {
	var events []event
	for _, word := range pieces(c.reply()) {
		events = append(events, event{data: c.object(textKind, textChoice(word, nil)).encode()})
	}
	events = append(events, event{data: c.object(textKind, textChoice("", "stop")).encode()})
	if c.StreamOptions.IncludeUsage {
		last := c.object(textKind)
		last["usage"] = c.usage()
		events = append(events, event{data: last.encode()})
	}
	return append(events, event{data: []byte("[DONE]")})
}
