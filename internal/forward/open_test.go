package forward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/upstream"
	"mooring/internal/upstreamtest"
)

// answers is an upstream without a network.
type answers func(r *http.Request) (*http.Response, error)

func (f answers) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHeaderThatComesAsTimeIsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := target(t, upstream.Spec{Timeout: time.Second, Builtin: answers(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
		})})
		res, err := engine().Open(t.Context(), call(u, buffered, nil))
		if err == nil {
			res.Close()
		}
		if _, failures := u.Requests(); mooring.CodeOf(err) != mooring.CodeUpstreamTimeout || failures != 1 || u.InFlight() != 0 {
			t.Errorf("error = %v with %d failures, %d in flight; want upstream_timeout, 1 and 0", err, failures, u.InFlight())
		}
	})
}

func TestChangeOfProtocol(t *testing.T) {
	t.Parallel()
	body, upstreamSide := io.Pipe()
	u := target(t, upstream.Spec{Builtin: answers(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: http.Header{"Upgrade": {"x"}}, Body: body}, nil
	})})
	res, err := engine().Open(t.Context(), call(u, buffered, nil))
	if err == nil {
		res.Close()
	}
	if mooring.CodeOf(err) != mooring.CodeUpstreamError || !errors.Is(err, forward.ErrUnusable) || u.InFlight() != 0 {
		t.Errorf("error = %v, %d in flight; want upstream_error and none", err, u.InFlight())
	}
	if _, err := upstreamSide.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the connection is still read from: %v", err)
	}
}

func TestWhichAnswersCountAsLost(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		reply upstreamtest.Reply
		early bool
	}{
		"an answer":                       {upstreamtest.Reply{}, false},
		"one that breaks off":             {upstreamtest.Reply{Fault: upstreamtest.Cut}, true},
		"an error that says 200":          {upstreamtest.Reply{Body: []byte(`{"error":{"message":"no"}}`)}, true},
		"a status, which decides":         {upstreamtest.Failure(http.StatusNotFound), true},
		"a page":                          {upstreamtest.HTML(http.StatusOK), false},
		"an answer beyond limits.answer":  {upstreamtest.Reply{Text: strings.Repeat("x", 2<<20)}, false},
		"a failure beyond limits.answer":  {upstreamtest.Reply{Status: http.StatusInternalServerError, Body: []byte(strings.Repeat("x", 2<<20))}, true},
		"a stream that is too large":      {upstreamtest.Reply{Events: []string{say(strings.Repeat("x", 2<<20)), done}}, false},
		"a stream that stops short":       {upstreamtest.Reply{Events: []string{say("x")}}, true},
		"a stream for whom wanted none":   {upstreamtest.Reply{Events: []string{`data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n", done}}, false},
		"a stream without its blank line": {upstreamtest.Reply{Events: []string{say("x"), "data: [DONE]"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(of.reply)
			out := open(t, call(target(t, upstream.Spec{URL: s.URL}), buffered, nil)).Whole()
			if out.Early != of.early || (out.State == mooring.Failed) == (out.Code == "" && out.Reason == "") {
				t.Errorf("early = %v (%s %s %s), want %v", out.Early, out.State, out.Code, out.Reason, of.early)
			}
		})
	}
}

func TestKeptConnectionsThatBreak(t *testing.T) {
	t.Parallel()
	for _, header := range []http.Header{nil, {"Idempotency-Key": {"k"}}, {"X-Idempotency-Key": {"k"}}} {
		t.Run("a request that was sent is never sent again", func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(upstreamtest.Reply{}, upstreamtest.Reply{Fault: upstreamtest.Lost})
			u := target(t, upstream.Spec{URL: s.URL})
			first, err := engine().Open(t.Context(), call(u, buffered, nil))
			if err != nil {
				t.Fatal(err)
			}
			first.Whole()
			first.Close()
			res, err := engine().Open(t.Context(), call(u, buffered, header))
			if err == nil {
				res.Close()
			}
			if posts := s.Posts(); mooring.CodeOf(err) != mooring.CodeUpstreamError || len(posts) != 2 {
				t.Errorf("error = %v after %d requests, want upstream_error after 2", err, len(posts))
			}
			for name, values := range header {
				if got := s.LastPost(t).Header.Get(name); got != values[0] {
					t.Errorf("%s = %q, want %q", name, got, values[0])
				}
			}
		})
	}
	t.Run("a request of which nothing was sent is sent once more", func(t *testing.T) {
		t.Parallel()
		s := upstreamtest.New(t)
		var broken atomic.Bool
		transport := &http.Transport{}
		transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &fragile{Conn: c, broken: &broken}, err
		}
		t.Cleanup(transport.CloseIdleConnections)
		u := target(t, upstream.Spec{URL: s.URL, Builtin: transport})
		first, err := engine().Open(t.Context(), call(u, buffered, nil))
		if err != nil {
			t.Fatal(err)
		}
		first.Whole()
		first.Close()
		broken.Store(true)
		second := open(t, call(u, buffered, nil))
		if out := second.Whole(); out.State != mooring.Completed || len(s.Posts()) != 2 {
			t.Errorf("%s after %d requests, want completed after 2", out.State, len(s.Posts()))
		}
		if got := string(s.LastPost(t).Body()); got != buffered {
			t.Errorf("body = %q, want %q", got, buffered)
		}
	})
}

// fragile is a connection that takes nothing any more once it is broken; those that are made later are whole.
type fragile struct {
	net.Conn
	broken *atomic.Bool
}

func (f *fragile) Write(p []byte) (int, error) {
	if f.broken.CompareAndSwap(true, false) {
		return 0, net.ErrClosed
	}
	return f.Conn.Write(p)
}
