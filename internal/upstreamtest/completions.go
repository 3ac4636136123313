package upstreamtest

import "fmt"

// completions has the shapes of OpenAI's completions, which are chat's but for what a choice holds.
type completions struct{ chat }

func (c completions) whole() object {
	o := c.object(c.choice(c.reply.text(c.turn), "stop"))
	o["usage"] = c.usage()
	return o
}

func (c completions) events() [][]byte {
	var events [][]byte
	for _, word := range pieces(c.reply.text(c.turn)) {
		events = append(events, data(c.object(c.choice(word, nil))))
	}
	events = append(events, data(c.object(c.choice("", "stop"))))
	if c.StreamOptions.IncludeUsage {
		last := c.object()
		last["usage"] = c.usage()
		events = append(events, data(last))
	}
	return append(events, []byte("data: [DONE]\n\n"))
}

func (completions) choice(text string, finish any) object {
	return object{"index": 0, "text": text, "logprobs": nil, "finish_reason": finish}
}

func (c completions) object(choices ...object) object {
	o := c.chat.object("text_completion", choices...)
	o["id"] = fmt.Sprintf("cmpl-fake%d", c.turn)
	return o
}
