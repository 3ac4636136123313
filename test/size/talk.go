package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	"mooring/internal/upstreamtest"
	"mooring/test/harness"
)

// kind is how a client talks. All lengths are bytes, and a middle: half to one and a half times as much.
type kind struct {
	name         string
	fewer        int // so many times fewer sessions than chats
	turns        int // of a session
	instructions int // sent with each request, and not kept
	question     int
	results      int // of a tool, in turns after the first; 0 where there are no tools
	answer       int
}

// kinds are a chat as people hold it, and a coding agent's work: a task, then one tool result after the other.
func kinds() []kind {
	return []kind{
		{name: "chat", fewer: 1, turns: 5, instructions: 500, question: 200, answer: 1200},
		{name: "agent", fewer: 4, turns: 20, instructions: 15_000, question: 600, results: 4000, answer: 500},
	}
}

// talk makes up what is said: words as they come in texts, few of them often and most of them seldom.
type talk struct {
	kind

	chance *rand.Rand // of the client and of the model, which speak in turns
}

// text has about so many bytes.
func (t *talk) text(n int) string {
	n = n/2 + t.chance.IntN(n)
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(word(min(int(t.chance.ExpFloat64()*600), 4999)))
		b.WriteByte(' ')
	}
	return b.String()
}

func word(i int) string {
	syllables := []string{"ka", "lo", "mi", "ren", "tu", "sha", "vor", "ne", "bil", "da", "pe", "gor", "fi", "zu", "har", "quo"}
	var b strings.Builder
	for i += 16; i > 0; i /= 16 {
		b.WriteString(syllables[i%16])
	}
	return b.String()
}

func (t *talk) answer(*harness.Asked) upstreamtest.Reply {
	return upstreamtest.Reply{Text: t.text(t.kind.answer)}
}

// message is one of the history that the client sends whole with each request.
type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// hold plays all sessions, one turn after the other.
func (t *talk) hold(ctx context.Context, r *harness.Replica, b *bill) error {
	for range b.sessions {
		if err := t.session(ctx, r, b); err != nil {
			return err
		}
	}
	return nil
}

func (t *talk) session(ctx context.Context, r *harness.Replica, b *bill) error {
	id := fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", t.chance.Uint32(), t.chance.IntN(1<<16), t.chance.IntN(1<<12), t.chance.IntN(1<<12), t.chance.Uint64()&0xffffffffffff)
	history := []message{{Role: "system", Content: t.text(t.instructions)}}
	for n := range t.turns {
		next := message{Role: "user", Content: t.text(t.question)}
		if n > 0 && t.results > 0 {
			next.Content = "Output of step " + fmt.Sprint(n) + ":\n" + t.text(t.results)
		}
		history = append(history, next)
		said, err := t.turn(ctx, r, id, history)
		if err != nil {
			return err
		}
		history = append(history, message{Role: "assistant", Content: said})
		b.turns++
		b.messages += 2
		b.heard += int64(len(next.Content) + len(said))
	}
	return nil
}

func (t *talk) turn(ctx context.Context, r *harness.Replica, id string, history []message) (string, error) {
	body, err := json.Marshal(map[string]any{"model": "size-model", "messages": history})
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+harness.Chat, bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", id)
	req.Header.Set("User-Agent", "OpenAI/Python 2.9.0")
	res, err := r.Send(req)
	if err != nil {
		return "", fmt.Errorf("ask: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%w: %s %.200s", errAnswer, res.Status, text)
	}
	var said struct {
		Choices []struct{ Message message }
	}
	if err := json.Unmarshal(text, &said); err != nil || len(said.Choices) != 1 {
		return "", fmt.Errorf("%w: %.200s", errAnswer, text)
	}
	return said.Choices[0].Message.Content, nil
}
