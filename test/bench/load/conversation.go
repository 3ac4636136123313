package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

type client struct {
	options
	http *http.Client
}

// answer is what one request cost: time to the whole answer and to its first byte, both from the moment of sending.
type answer struct {
	total, first time.Duration
	body         []byte
}

var errCutShort = errors.New("stream without [DONE]")

func (c *client) ask(v *conversation) (answer, error) {
	history := v.next()
	body, err := json.Marshal(map[string]any{"model": c.model, "stream": c.stream, "messages": history})
	if err != nil {
		return answer{}, fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.header != "" {
		req.Header.Set(c.header, v.id())
	}
	start := time.Now() //nolint:forbidigo // it measures
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("ask: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	a, err := read(res.Body, start)
	switch {
	case err != nil:
		return a, fmt.Errorf("read answer: %w", err)
	case res.StatusCode != http.StatusOK:
		return a, fmt.Errorf("status %d: %.200s", res.StatusCode, a.body)
	case c.stream && !bytes.Contains(a.body, []byte("[DONE]")):
		return a, fmt.Errorf("%w: %d bytes", errCutShort, len(a.body))
	}
	return a, nil
}

func read(body io.Reader, start time.Time) (answer, error) {
	head := make([]byte, 4096)
	n, err := body.Read(head)
	a := answer{first: time.Since(start), body: head[:n:n]}
	if err == nil {
		var rest []byte
		rest, err = io.ReadAll(body)
		a.body = append(a.body, rest...)
	}
	a.total = time.Since(start)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return a, err
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// conversation grows by one exchange a turn and starts anew under another id after the last one.
type conversation struct {
	worker, number, turns int
	filler                string
	history               []message
}

func newConversation(worker int, o options) *conversation {
	const words = "please summarise the following text "
	return &conversation{worker: worker, turns: o.turns, filler: strings.Repeat(words, max(1, o.size/len(words)))}
}

func (v *conversation) id() string {
	return fmt.Sprintf("5e55%04x-%04x-4000-8000-%012x", v.worker>>16&0xffff, v.worker&0xffff, v.number)
}

func (v *conversation) startAnew() {
	v.number++
	v.history = nil
}

func (v *conversation) next() []message {
	if len(v.history) >= 2*v.turns {
		v.startAnew()
	}
	if v.history == nil {
		v.history = append(v.history, message{"system", "You are terse."})
	}
	text := fmt.Sprintf("conversation %d-%d, turn %d: %s", v.worker, v.number, len(v.history)/2, v.filler)
	v.history = append(v.history, message{"user", text})
	return v.history
}

var (
	deltaText = regexp.MustCompile(`"delta":\{"content":"([^"]*)"`)
	wholeText = regexp.MustCompile(`"role":"assistant","content":"([^"]*)"`)
)

func (v *conversation) heard(body []byte) {
	var text strings.Builder
	for _, m := range deltaText.FindAllSubmatch(body, -1) {
		text.Write(m[1])
	}
	if m := wholeText.FindSubmatch(body); m != nil {
		text.Write(m[1])
	}
	v.history = append(v.history, message{"assistant", text.String()})
}
