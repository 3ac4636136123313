package serve_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/serve"
)

// client has its own connections and ends them with the test.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime)
	started1, gate := make(chan struct{}), make(chan struct{})
	h := s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		close(started1)
		<-gate
		io.WriteString(w, "two")
	}))
	url := started(t, s, h)
	r, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	<-started1

	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	<-s.Draining()
	late, reached := ask(t, s, request{})
	defer late.Body.Close()
	if reached || late.Header.Get("Connection") != "close" || late.Header.Get("Retry-After") != "1" {
		t.Errorf("a late request reached %v with %v, want Connection: close and Retry-After", reached, late.Header)
	}
	wantProblem(t, late, http.StatusServiceUnavailable, mooring.CodeShuttingDown)

	close(gate)
	body, err := io.ReadAll(r.Body)
	if string(body) != "one two" || err != nil {
		t.Errorf("the running stream gave %q, %v, want it whole", body, err)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		conn.Close()
		t.Error("a connection was accepted after Shutdown")
	}
}

// A client that keeps its connection hears of a drain as an answer, not as a connection that breaks.
func TestKeptConnectionsHearOfADrain(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime, func(o *serve.Options) { o.Lull = time.Hour })
	url := started(t, s, s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "fine") })))
	clients := []*http.Client{client(t), client(t)}
	get := func(c *http.Client) *http.Response {
		t.Helper()
		r, err := c.Get(url)
		if err != nil {
			t.Fatalf("a client with a kept connection: %v, want an answer", err)
		}
		t.Cleanup(func() { r.Body.Close() })
		return r
	}
	for _, c := range clients {
		io.Copy(io.Discard, get(c).Body) //nolint:bodyclose // get has it closed
	}
	down := make(chan error, 1)
	go func() { down <- s.Shutdown(context.Background()) }()
	<-s.Draining()
	for _, c := range clients {
		r := get(c) //nolint:bodyclose // as above
		wantProblem(t, r, http.StatusServiceUnavailable, mooring.CodeShuttingDown)
		io.Copy(io.Discard, r.Body)
	}
	if err := <-down; err != nil { // nobody is left to wait for
		t.Errorf("Shutdown: %v", err)
	}
}

func TestCloseEndsWhatRuns(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime)
	running := make(chan struct{})
	ended := make(chan error, 1)
	url := started(t, s, s.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(running)
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	})))
	answered := make(chan bool, 1)
	go func() {
		defer close(answered)
		r, err := client(t).Get(url)
		if err != nil {
			t.Errorf("the client of a request that is given up gets %v, want an answer", err)
			return
		}
		defer r.Body.Close()
		wantProblem(t, r, http.StatusServiceUnavailable, mooring.CodeShuttingDown)
		answered <- r.Header.Get("Retry-After") != ""
	}()
	<-running
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(expired); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown while something runs = %v, want the context's error", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	select {
	case cause := <-ended:
		if got := mooring.CodeOf(cause); got != mooring.CodeShuttingDown {
			t.Errorf("cause = %v, want shutting_down", cause)
		}
	default:
		t.Error("Close did not wait for the handler")
	}
	if later := <-answered; !later {
		t.Error("the answer does not say when to try again")
	}
}

// A stream that is given up at the end of a drain still says why it ends.
func TestCloseLetsTheTailOut(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime)
	url := started(t, s, s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "one ")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		io.WriteString(w, string(mooring.CodeOf(context.Cause(r.Context()))))
	})))
	r, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	if body, err := io.ReadAll(r.Body); string(body) != "one shutting_down" || err != nil {
		t.Errorf("the stream gave %q, %v, want its tail", body, err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestCloseBeforeStart(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{})
	addr, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if conn, err := net.Dial("tcp", addr.String()); err == nil {
		conn.Close()
		t.Error("the address is still taken")
	}
}

func TestListenNamesTheAddress(t *testing.T) {
	t.Parallel()
	if _, err := newServer(t, serve.Rules{}).Listen(t.Context(), "127.0.0.1:x"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:x") {
		t.Errorf("error = %v, want one that names the address", err)
	}
}

func TestDribbledHeaderIsDropped(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime, func(o *serve.Options) { o.HeaderTimeout = 50 * time.Millisecond })
	conn := dial(t, started(t, s, s.Wrap(http.NotFoundHandler())))
	io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	if _, err := io.ReadAll(conn); errors.Is(err, errTooLong) {
		t.Error("the connection is still open")
	}
}

// C030: what cannot stand in a header never reaches a handler.
func TestControlCharactersInHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime)
	url := started(t, s, s.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the handler saw %q", r.Header)
	})))
	for _, value := range []string{"a\x00b", "a\x01b", "a\x7fb", "a\rb", "a\nSet-Cookie b"} {
		conn := dial(t, url)
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Session-Id: "+value+"\r\n\r\n")
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusBadRequest || len(r.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("%q: answer = %d %v, want a bare 400", value, r.StatusCode, r.Header)
		}
	}
}

// errTooLong is what reading from a connection of dial gives where the server leaves it open.
var errTooLong error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string        { return "still open" }
func (timeoutError) Is(target error) bool { return target == errTooLong }

type rawConn struct{ net.Conn }

func (c rawConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return n, errTooLong
	}
	return n, err
}

func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return rawConn{conn}
}
