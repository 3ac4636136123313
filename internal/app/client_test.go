package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

// line is a message of a client's history.
type line struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// client is one that keeps its history and sends all of it each time.
type client struct {
	p       *product
	path    string   // of the route
	more    string   // members of the body before the messages
	headers []string // of each request
	history []line
}

const (
	messagesRoute  = "/v1/messages"
	responsesRoute = "/v1/responses"
)

func (p *product) client(headers ...string) *client {
	return &client{p: p, path: chatPath, headers: headers}
}

// say sends a question with all that was said before, and keeps the answer.
func (c *client) say(text any) *reply {
	c.p.t.Helper()
	c.history = append(c.history, line{"user", text})
	r := c.send().want(http.StatusOK)
	c.history = append(c.history, line{"assistant", c.answer(r)})
	return r
}

// send sends the history as it is.
func (c *client) send() *reply {
	c.p.t.Helper()
	return c.p.call(http.MethodPost, c.path, c.body(), c.headers...)
}

func (c *client) body() string {
	list, err := json.Marshal(c.history)
	if err != nil {
		c.p.t.Fatal(err)
	}
	name := "messages"
	if c.path == responsesRoute {
		name = "input"
	}
	return fmt.Sprintf(`{"model":"fake-1","max_tokens":99,%s%q:%s}`, c.more, name, list)
}

// answer reads the text of an answer, buffered or streamed.
func (c *client) answer(r *reply) string {
	c.p.t.Helper()
	if strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") {
		return textOf(r.body)
	}
	switch c.path {
	case messagesRoute:
		return fmt.Sprint(r.get("content", 0, "text"))
	case responsesRoute:
		for i := range 9 {
			if r.get("output", i, "type") == "message" {
				return fmt.Sprint(r.get("output", i, "content", 0, "text"))
			}
		}
		c.p.t.Fatalf("no message in %s", r.body)
	}
	return fmt.Sprint(r.get("choices", 0, "message", "content"))
}

// textOf puts the text of a stream together, of whatever protocol.
func textOf(stream []byte) string {
	var out strings.Builder
	for line := range strings.Lines(string(stream)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		var chunk struct {
			Type    string `json:"type"`
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
			Delta json.RawMessage `json:"delta"`
		}
		if json.Unmarshal([]byte(data), &chunk) != nil {
			continue
		}
		for _, c := range chunk.Choices {
			out.WriteString(c.Delta.Content)
		}
		var text string
		var part struct {
			Text string `json:"text"`
		}
		switch chunk.Type {
		case "response.output_text.delta":
			_ = json.Unmarshal(chunk.Delta, &text)
		case "content_block_delta":
			_ = json.Unmarshal(chunk.Delta, &part)
		}
		out.WriteString(text + part.Text)
	}
	return out.String()
}

// sentTo is the messages of the last request that a server got, as "role: text".
func sentTo(t *testing.T, s *upstreamtest.Server) []string {
	t.Helper()
	var body struct {
		Messages []line `json:"messages"`
	}
	if err := json.Unmarshal(s.LastPost(t).Body(), &body); err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(body.Messages))
	for i, m := range body.Messages {
		out[i] = fmt.Sprint(m.Role, ": ", m.Content)
	}
	return out
}

// listed are the internal ids of the sessions, the newest activity first.
func (p *product) listed() []string {
	p.t.Helper()
	r := p.call(http.MethodGet, "/api/sessions?limit=200", "").want(http.StatusOK)
	list, _ := r.get("sessions").([]any)
	out := make([]string, len(list))
	for i := range list {
		out[i] = fmt.Sprint(r.get("sessions", i, "id"))
	}
	return out
}

// field is a member of a session.
func (p *product) field(session, name string) any {
	p.t.Helper()
	return p.call(http.MethodGet, "/api/sessions/"+session, "").want(http.StatusOK).get(name)
}

// written are the files of the store, and the log, that hold a word.
func (p *product) written(word string) []string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		if bytes.Contains(data, []byte(word)) {
			out = append(out, filepath.Base(name))
		}
	}
	if strings.Contains(p.log.String(), word) {
		out = append(out, "the log")
	}
	return out
}
