// Package upstreamtest owns a model server for tests: it answers as the APIs of OpenAI and Anthropic do, keeps every
// request byte for byte, and fails on command.
//
// Nothing of the product imports it, and it never opens a connection of its own. A Server's goroutines are those of its
// HTTP server; Close ends the requests that still wait and waits for them.
package upstreamtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Options are what a server is, apart from its replies. The zero value is a plain HTTP server on a free port.
type Options struct {
	Addr   string           // where it listens; "127.0.0.1:0" where empty
	TLS    bool             // HTTPS with HTTP/2; Server.Roots holds the certificate to trust
	Models []string         // what /v1/models lists; "fake-1" where empty
	Now    func() time.Time // time.Now where nil
}

// Server is a model server. Its methods may be called at any time, from any goroutine.
type Server struct {
	URL string

	options Options
	addr    string

	mu       sync.Mutex // guards the fields below
	http     *httptest.Server
	stop     context.CancelFunc
	requests []*Request
	arrived  chan struct{} // closed and made anew with every request
	number   int           // of the last request
	turns    int           // POST requests so far
	queue    []script
	standing script
	paths    map[string]Reply
}

// script is a reply that is known beforehand, or the function that makes it from the request.
type script struct {
	reply Reply
	fn    func(*Request) Reply
}

// New starts a plain server that ends with the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	return NewWith(tb, Options{})
}

// NewWith starts a server that ends with the test.
func NewWith(tb testing.TB, o Options) *Server {
	tb.Helper()
	s, err := Start(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server outside a test; the caller closes it.
func Start(o Options) (*Server, error) {
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	if len(o.Models) == 0 {
		o.Models = []string{"fake-1"}
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // a server for tests tells the time of its recordings by the real clock
	}
	s := &Server{options: o, addr: o.Addr, arrived: make(chan struct{}), paths: map[string]Reply{}}
	if err := s.Up(); err != nil {
		return nil, err
	}
	return s, nil
}

// Up listens again after Down, on the same address.
func (s *Server) Up() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.addr)
	if err != nil {
		cancel()
		return fmt.Errorf("listen on %s: %w", s.addr, err)
	}
	s.addr, s.stop = listener.Addr().String(), cancel
	s.http = s.serve(ctx, listener)
	s.URL = s.http.URL
	return nil
}

func (s *Server) serve(ctx context.Context, listener net.Listener) *httptest.Server {
	server := &httptest.Server{
		Listener:    listener,
		EnableHTTP2: s.options.TLS,
		Config: &http.Server{
			Handler:           s,
			ReadHeaderTimeout: time.Minute,
			BaseContext:       func(net.Listener) context.Context { return ctx },
			ConnContext:       rememberTap,
		},
	}
	if s.options.TLS {
		server.StartTLS()
		return server
	}
	server.Listener = tapListener{listener}
	server.Start()
	return server
}

// Down ends what runs and stops listening: connections are refused from now on.
func (s *Server) Down() {
	s.mu.Lock()
	server, stop := s.http, s.stop
	s.http = nil
	s.mu.Unlock()
	if server == nil {
		return
	}
	stop()
	server.CloseClientConnections()
	server.Close()
}

// Close ends the server for good.
func (s *Server) Close() { s.Down() }

// Roots holds the certificate of a server with TLS.
func (s *Server) Roots() *x509.CertPool {
	s.mu.Lock()
	defer s.mu.Unlock()
	pool := x509.NewCertPool()
	if s.http != nil && s.http.Certificate() != nil {
		pool.AddCert(s.http.Certificate())
	}
	return pool
}

// ClientTLS is what a client needs to trust a server with TLS.
func (s *Server) ClientTLS() *tls.Config {
	return &tls.Config{RootCAs: s.Roots(), MinVersion: tls.VersionTLS12}
}

// Queue adds replies, each for one coming POST request; when there are none left the standing one answers.
func (s *Server) Queue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range replies {
		s.queue = append(s.queue, script{reply: r})
	}
}

// QueueFunc adds one reply that depends on the request.
func (s *Server) QueueFunc(fn func(*Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, script{fn: fn})
}

// Always sets the standing reply to POST requests; the zero Reply is the one from the start.
func (s *Server) Always(r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing = script{reply: r}
}

// AlwaysFunc makes the standing reply depend on the request.
func (s *Server) AlwaysFunc(fn func(*Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standing = script{fn: fn}
}

// On sets the reply of one path, whatever the method: it takes nothing from the queue.
func (s *Server) On(path string, r Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths[path] = r
}

// Rotate gives a standing reply that names another session in the given header with every answer: PREFIX-1, PREFIX-2 and so on.
func Rotate(header, prefix string) func(*Request) Reply {
	var mu sync.Mutex
	n := 0
	return func(*Request) Reply {
		mu.Lock()
		defer mu.Unlock()
		n++
		return Reply{Header: http.Header{http.CanonicalHeaderKey(header): {fmt.Sprintf("%s-%d", prefix, n)}}}
	}
}
