package echo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// question is the little that the model reads of a request, in any protocol.
type question struct {
	Model         string        `json:"model"`
	Stream        bool          `json:"stream"`
	System        text          `json:"system"`
	Instructions  text          `json:"instructions"`
	Messages      []message     `json:"messages"`
	Input         input         `json:"input"`
	Prompt        input         `json:"prompt"`
	StreamOptions streamOptions `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role    string `json:"role"`
	Content text   `json:"content"`
}

// input is what responses and completions have in the place of messages: a text, or a list.
type input []message

// UnmarshalJSON never fails on valid JSON, as text.
func (in *input) UnmarshalJSON(b []byte) error {
	var plain string
	if json.Unmarshal(b, &plain) == nil {
		*in = input{{Role: "user", Content: text(plain)}}
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(b, &list) != nil {
		return nil //nolint:nilerr // neither text nor list: nothing to repeat
	}
	for _, raw := range list {
		m := message{Role: "user"}
		if json.Unmarshal(raw, &m.Content) == nil && m.Content == "" {
			m = message{}
			_ = json.Unmarshal(raw, &m) // what is no message says nothing
		}
		*in = append(*in, m)
	}
	return nil
}

// text reads a string, or the text parts of a list; everything else is empty.
type text string

// UnmarshalJSON never fails on valid JSON: what is no text says nothing to this model.
func (t *text) UnmarshalJSON(b []byte) error {
	var plain string
	if json.Unmarshal(b, &plain) == nil {
		*t = text(plain)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(b, &parts) != nil {
		return nil //nolint:nilerr // neither text nor parts: nothing to repeat
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	*t = text(strings.Join(texts, "\n"))
	return nil
}

// ask decodes a request that has messages, or gives the answer that refuses it.
func ask(req *http.Request, body []byte) (question, *http.Response) {
	q, refusal := hear(req, body)
	if refusal == nil && len(q.Messages) == 0 {
		refusal = dialectOf(req.URL.Path).fail(req, http.StatusBadRequest, "messages: at least one message is required")
	}
	return q, refusal
}

// hear decodes a request that may say nothing.
func hear(req *http.Request, body []byte) (question, *http.Response) {
	var q question
	if err := json.Unmarshal(body, &q); err != nil {
		return q, dialectOf(req.URL.Path).fail(req, http.StatusBadRequest, "the body is not a JSON request of this route")
	}
	if q.Model == "" {
		q.Model = Name
	}
	return q, nil
}

// said are the messages, wherever the protocol has them.
func (q question) said() []message { return slices.Concat(q.Messages, q.Input, q.Prompt) }

// mostRepeated bounds the answer to a pasted book.
const mostRepeated = 4000

const howToGoOn = "I am echo, the model built into Mooring: I only repeat. For a real model set OPENAI_API_KEY or " +
	"ANTHROPIC_API_KEY, or name an upstream in mooring.yaml, and start Mooring again."

func (q question) reply() string {
	said := strings.TrimSpace(q.lastUserText())
	if said == "" {
		return "You said nothing that I can repeat.\n\n" + howToGoOn
	}
	if runes := []rune(said); len(runes) > mostRepeated {
		said = string(runes[:mostRepeated]) + "…"
	}
	return "You said: " + said + "\n\n" + howToGoOn
}

// lastUserText passes over user messages without text, such as tool results.
func (q question) lastUserText() string {
	for _, m := range slices.Backward(q.said()) {
		if m.Role == "user" && m.Content != "" {
			return string(m.Content)
		}
	}
	return ""
}

// inputTokens counts words, which is what this model calls a token.
func (q question) inputTokens() int {
	n := words(string(q.System)) + words(string(q.Instructions))
	for _, m := range q.said() {
		n += words(string(m.Content))
	}
	return n
}

func words(s string) int { return len(strings.Fields(s)) }
