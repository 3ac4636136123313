package upstreamtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Request is one request as it came. Its fields stand still once the server has handed it out, but for what the methods tell.
type Request struct {
	Number int // 1 for the server's first request
	Turn   int // 1 for its first POST, 0 for other methods
	Method string
	Target string // as in the request line: path and query
	Path   string
	Proto  string
	Host   string
	Header http.Header
	Head   []byte // request line and headers byte for byte, with their order and spelling; nil on HTTPS
	At     time.Time

	mu    sync.Mutex // guards the fields below
	body  []byte
	gone  time.Time
	whole bool // the last write is under way
	done  chan struct{}
}

// Body is what has been read of the request's body: all of it, but for replies that answer early.
func (r *Request) Body() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body
}

// JSON is the body decoded; it fails the test where that cannot be.
func (r *Request) JSON(tb testing.TB) map[string]any {
	tb.Helper()
	var v map[string]any
	if err := json.Unmarshal(r.Body(), &v); err != nil {
		tb.Fatalf("request %d to %s is no JSON object: %v", r.Number, r.Path, err)
	}
	return v
}

// Gone is when the client went away before it had its whole answer; zero where it stayed.
func (r *Request) Gone() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone
}

// Done is closed when the server has nothing more to send, or the client has gone.
func (r *Request) Done() <-chan struct{} { return r.done }

func (r *Request) leave(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.whole && r.gone.IsZero() {
		r.gone = at
	}
}

// complete is called before the last write: a client that leaves when it has read that one has its whole answer.
func (r *Request) complete() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.whole = true
}

func (r *Request) read(body io.Reader) error {
	b, err := io.ReadAll(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.body = b
	return err
}

// wants reads what decides the shape of an ordinary answer.
func (r *Request) wants() (w wants) {
	w.Model = "fake-1"
	if json.Unmarshal(r.Body(), &w) != nil {
		return wants{Model: "fake-1"}
	}
	return w
}

type wants struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// Requests are all that came so far, in their order.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.requests...)
}

// Posts are the POST requests that came so far.
func (s *Server) Posts() []*Request {
	var posts []*Request
	for _, r := range s.Requests() {
		if r.Turn > 0 {
			posts = append(posts, r)
		}
	}
	return posts
}

// LastPost is the newest POST request; it fails the test where there is none.
func (s *Server) LastPost(tb testing.TB) *Request {
	tb.Helper()
	posts := s.Posts()
	if len(posts) == 0 {
		tb.Fatal("no POST request reached the model server")
	}
	return posts[len(posts)-1]
}

// WaitPosts waits until at least n POST requests have come and gives them.
func (s *Server) WaitPosts(ctx context.Context, n int) ([]*Request, error) {
	for {
		s.mu.Lock()
		arrived := s.arrived
		s.mu.Unlock()
		if posts := s.Posts(); len(posts) >= n {
			return posts, nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %d requests, %d came: %w", n, len(s.Posts()), ctx.Err())
		}
	}
}

// Forget drops the recorded requests and the queue; the standing replies stay.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.queue, s.number, s.turns = nil, nil, 0, 0
}

// begin numbers a request and picks its reply.
func (s *Server) begin(r *http.Request) (*Request, script) {
	rec := &Request{
		Method: r.Method, Target: r.RequestURI, Path: r.URL.Path, Proto: r.Proto, Host: r.Host,
		Header: r.Header.Clone(), Head: headOf(r.Context()), At: s.options.Now(), done: make(chan struct{}),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	rec.Number = s.number
	if r.Method == http.MethodPost {
		s.turns++
		rec.Turn = s.turns
	}
	return rec, s.pick(r)
}

// pick is called with mu held.
func (s *Server) pick(r *http.Request) script {
	if reply, ok := s.paths[r.URL.Path]; ok {
		return script{reply: reply}
	}
	if r.Method != http.MethodPost {
		return script{}
	}
	if len(s.queue) == 0 {
		return s.standing
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	return next
}

// announce lists the request and wakes those who wait for it: its body is there, unless the reply is an early one.
func (s *Server) announce(rec *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, rec)
	close(s.arrived)
	s.arrived = make(chan struct{})
}
