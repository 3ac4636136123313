package app_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// sawItGo waits until the upstream has seen its client go.
func sawItGo(t *testing.T, r *upstreamtest.Request, left time.Time) {
	t.Helper()
	<-r.Done()
	if r.Gone().IsZero() {
		t.Fatal("the upstream call ran to its end")
	}
	if late := r.Gone().Sub(left); late > 2*time.Second {
		t.Errorf("the upstream saw the close after %v, want within 2 s", late)
	}
}

// A client that closes its half of the connection looks like one that has gone: it gets no answer, least of all an empty 200.
func TestHalfClosedClient(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"buffered": "", "streamed": `"stream":true,`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			u.Always(upstreamtest.Reply{Delay: 500 * time.Millisecond})
			p := start(t, one(u))
			var d net.Dialer
			c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(p.base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := p.request(http.MethodPost, chatPath, chatBody("hi", more), "X-Session-Id", "s").Write(c); err != nil {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if got, _ := io.ReadAll(c); len(got) > 0 {
				t.Errorf("answer = %q, want none", got)
			}
		})
	}
}

func TestClientLeaves(t *testing.T) {
	t.Parallel()
	const more = "sessions: {concurrency: queue}\n" // a place that is not given back would block the next turn
	t.Run("C062 H-30 after the third delta", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+more)
		u.Queue(upstreamtest.Reply{Text: "one two three four", Fault: upstreamtest.Stall, At: 4})
		l := p.open(chatPath, chatBody("hi", `"stream":true,`), "X-Session-Id", "s")
		l.until("three ")
		left := time.Now()
		l.leave()
		sawItGo(t, u.LastPost(t), left)
		if got := p.turnOf("s")["state"]; got != "cancelled" {
			t.Errorf("turn is %v, want cancelled", got)
		}
		if diff := cmp.Diff([]string{"user: hi", "assistant: one two three "}, p.texts("s")); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
		if got := p.turnState(p.stream("s", "go on").want(http.StatusOK)); got != "completed" {
			t.Errorf("next turn is %v, want completed", got)
		}
		if up := p.call(http.MethodGet, "/api/upstreams", "").want(http.StatusOK).get("upstreams", 0, "in_flight"); up != 0.0 {
			t.Errorf("in flight = %v, want 0", up)
		}
	})
	for name, body := range map[string]string{
		"C062 H-30 before the first byte": chatBody("hi", `"stream":true,`),
		"C062 H-30 a buffered call":       chatBody("hi", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u)+more)
			u.Queue(upstreamtest.Reply{Fault: upstreamtest.Hang})
			p.abandon(u, body, "X-Session-Id", "s")
			sawItGo(t, u.LastPost(t), time.Now())
			if got := p.turnOf("s"); got["state"] != "cancelled" || got["error_code"] != nil {
				t.Errorf("turn is %v with %v, want cancelled without a code", got["state"], got["error_code"])
			}
			if got := p.chat("s", "go on").want(http.StatusOK); p.turnState(got) != "completed" {
				t.Errorf("next turn is %v, want completed", p.turnState(got))
			}
			if diff := cmp.Diff([]string{"user: hi", "user: go on", "assistant: This is answer 2."}, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a client that leaves marks no upstream as ill", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Reply{Fault: upstreamtest.Hang})
		p.abandon(u, chatBody("hi", ""), "X-Session-Id", "s")
		p.turnOf("s")
		if up := p.call(http.MethodGet, "/api/upstreams", "").want(http.StatusOK).get("upstreams", 0, "health"); up != "healthy" {
			t.Errorf("health = %v, want healthy", up)
		}
	})
}

func TestCancelledUsage(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		path, body string
		at         int
		input      any
	}{
		"C063 usage that never arrived is unknown": {chatPath, chatBody("hi", `"stream":true,"stream_options":{"include_usage":true},`), 4, nil},
		"C063 usage that has arrived is kept":      {messagesPath, messagesBody("hi", `"stream":true,`), 6, 9.0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u)+"prices: {\"*\": {input: 1, output: 2}}\n")
			u.Queue(upstreamtest.Reply{Text: "one two three four", Fault: upstreamtest.Stall, At: of.at})
			l := p.open(of.path, of.body, "X-Session-Id", "s")
			l.until("three ")
			l.leave()
			turn := p.turnOf("s")
			if turn["state"] != "cancelled" || usageOf(turn, "input_tokens") != of.input {
				t.Errorf("turn is %v with %v, want cancelled with input %v", turn["state"], turn["usage"], of.input)
			}
			if of.input == nil && usageOf(turn, "output_tokens") != nil {
				t.Errorf("usage = %v, want unknown", turn["usage"])
			}
			if diff := cmp.Diff([]string{"user: hi", "assistant: one two three "}, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRevokedKey(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u)+twoKeys())
	p.key = keyA
	held := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: "one two", HoldAt: held, At: 2})
	t.Run("C066 a revoked key ends nothing that runs", func(t *testing.T) {
		l := p.open(chatPath, chatBody("hi", `"stream":true,`))
		l.until("one ")
		p.reload(one(u) + oneKey("bob", "b", keyB))
		r := p.chat("", "more").want(http.StatusUnauthorized)
		if r.get("error", "code") != "invalid_api_key" {
			t.Errorf("code = %v, want invalid_api_key", r.get("error", "code"))
		}
		close(held)
		if got := said(t, l.rest()); got != "one two" {
			t.Errorf("stream says %q, want all of it", got)
		}
	})
}
