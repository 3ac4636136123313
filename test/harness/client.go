package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
)

// Style is how a client tells which conversation it speaks in, and what it sends of it.
type Style int

// The styles: a session header and the new message alone; a session header and the history; the history alone.
const (
	Lone Style = iota
	Historied
	Nameless
)

// Protocols that clients speak.
const (
	Chat     = "/v1/chat/completions"
	Messages = "/v1/messages"
)

// Client is one that holds a conversation, one question after the other. It is used by one goroutine at a time.
type Client struct {
	Key      string
	Style    Style
	Protocol string
	Streams  bool
	Ledger   *Ledger
	Replicas []*Replica // it goes from one to the next with each request
	Balanced bool       // a load balancer's way: where a connection is refused, or 503 shutting_down comes, the next one is asked at once

	http    *http.Client
	next    int
	asked   int
	history []message
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// NewTransport is one for many clients of one machine.
func NewTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
}

// NewClient makes the i-th client of a crowd: neighbours differ in all that they can differ in.
func NewClient(i int, key string, l *Ledger, replicas []*Replica, transport http.RoundTripper) *Client {
	return &Client{
		Key: key, Style: Style(i % 3), Protocol: []string{Chat, Chat, Messages, Messages}[i/3%4], Streams: i/2%2 == 0, Ledger: l, Replicas: replicas,
		http: &http.Client{Transport: transport, Timeout: Patience}, next: i,
	}
}

// Ask puts the next question.
func (c *Client) Ask(ctx context.Context) *Seen {
	c.asked++
	return c.put(ctx, 1)
}

// Again puts the same question once more, as SDKs do of their own accord.
func (c *Client) Again(ctx context.Context, last *Seen) *Seen { return c.put(ctx, last.Attempt+1) }

func (c *Client) put(ctx context.Context, attempt int) *Seen {
	s := c.once(ctx, attempt)
	for passed := 1; c.Balanced && s.goesOn() && passed < 3*len(c.Replicas); passed++ {
		s = c.once(ctx, attempt)
		s.Passed = passed
	}
	if s.Outcome == Answered {
		c.history = append(c.history, message{"user", s.Question.Text()}, message{"assistant", s.Text})
	}
	if ctx.Err() == nil || s.Outcome == Answered { // one that the program itself broke off says nothing
		c.Ledger.Note(s)
	}
	return s
}

// goesOn says that a load balancer would ask another replica.
func (s *Seen) goesOn() bool {
	return s.Outcome == NotThere || s.Outcome == Refused && s.Status == http.StatusServiceUnavailable && s.Code == "shutting_down"
}

func (c *Client) once(ctx context.Context, attempt int) *Seen {
	r := c.Replicas[c.next%len(c.Replicas)]
	c.next++
	s := &Seen{
		Question: Question{c.Key, c.asked}, Client: c, Replica: r.Name, Protocol: c.Protocol, Stream: c.Streams, Attempt: attempt, Began: Now(),
	}
	c.send(ctx, r.URL, s)
	return s
}

func (c *Client) send(ctx context.Context, base string, s *Seen) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+c.Protocol, bytes.NewReader(c.body(s.Question)))
	if err != nil {
		s.Outcome, s.Note = Muddled, err.Error()
		return
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Style != Nameless {
		req.Header.Set("X-Session-Id", c.Key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		s.Ended, s.Note = Now(), err.Error()
		s.Outcome = outcomeOf(err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	s.read(res)
	if s.Ended.Sub(s.Began) >= Patience {
		s.Outcome = Hung
	}
}

func outcomeOf(err error) Outcome {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return NotThere
	case errors.As(err, &timeout) && timeout.Timeout():
		return Hung
	}
	return Cut
}

func (c *Client) body(q Question) []byte {
	var all []message
	if c.Style != Lone {
		all = append(all, c.history...)
	}
	b, err := json.Marshal(map[string]any{
		"model": "fake-1", "max_tokens": 99, "stream": c.Streams, "messages": append(all, message{"user", q.Text()}),
	})
	if err != nil {
		panic(fmt.Sprintf("harness: a request is no JSON: %v", err)) // it is made of strings
	}
	return b
}
