package app_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// remote is a configuration with one server that keeps the conversation.
func remote(s *upstreamtest.Server) string { return one(s, "state: remote") }

func TestHermesIDs(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	t.Run("H-1 H-2 the session headers count without a bearer", func(t *testing.T) {
		for _, name := range []string{"X-Hermes-Session-Id", "X-Claude-Session-Id"} {
			first, second := p.chat("", "hi", name, "h1").want(http.StatusOK), p.chat("", "hi", name, "h1").want(http.StatusOK)
			if first.session() != second.session() || first.header.Get("X-Hermes-Session-Id") != "h1" {
				t.Errorf("%s: %s, %s, id %q", name, first.session(), second.session(), first.header.Get("X-Hermes-Session-Id"))
			}
		}
		hermes := p.chat("", "hi", "X-Hermes-Session-Id", "h2").want(http.StatusOK)
		r := p.chat("", "hi", "X-Claude-Session-Id", "other", "X-Hermes-Session-Id", "h2").want(http.StatusOK)
		if r.session() != hermes.session() || r.header.Get("X-Mooring-Identity") != "header:x-hermes-session-id" {
			t.Errorf("both: %s by %s, want %s", r.session(), r.header.Get("X-Mooring-Identity"), hermes.session())
		}
	})
	t.Run("H-3 unsafe and doubled ids are refused, and nothing is written", func(t *testing.T) {
		posts, sessions := len(u.Posts()), p.sessions()
		for _, headers := range [][]string{
			{"X-Hermes-Session-Id", "a/b"},
			{"X-Hermes-Session-Id", `a\b`},
			{"X-Hermes-Session-Id", "../etc"},
			{"X-Hermes-Session-Id", "a", "X-Hermes-Session-Id", "b"},
			{"X-Session-Id", "a", "x_session_id", "b"},
			{"X-Mooring-Session", "ses_1", "X-Mooring-Session", "ses_2"},
			{"X-Mooring-Session", "ses_1", "x_mooring_session", "ses_2"},
			{"X-Claude-Code-Session-Id", "a", "X-Claude-Code-Agent-Id", strings.Repeat("x", 257)},
			{"X-Session-Id", "a", "X-Parent-Session-Id", "b\tc"},
		} {
			r := p.chat("", "hi", headers...).want(http.StatusBadRequest)
			if r.get("error", "code") != "invalid_session_id" || r.session() != "" {
				t.Errorf("%v: code %v, session %q", headers, r.get("error", "code"), r.session())
			}
		}
		if len(u.Posts()) != posts || p.sessions() != sessions {
			t.Error("a refused request left something behind")
		}
	})
	t.Run("H-4 a drive letter is not refused", func(t *testing.T) {
		p.chat("", "hi", "X-Hermes-Session-Id", "C:x").want(http.StatusOK)
	})
	t.Run("H-5 a placeholder is no id", func(t *testing.T) {
		seen := map[string]bool{}
		for _, id := range []string{"", "new", "null", "undefined", "none", "default", "unknown", "{{chat}}", "0000"} {
			r := p.chat("", "hi", "X-Hermes-Session-Id", id).want(http.StatusOK)
			seen[r.session()] = true
			if got := r.header.Get("X-Session-Id"); !strings.HasPrefix(got, "api-") {
				t.Errorf("%q: X-Session-Id = %q, want one that Mooring gave", id, got)
			}
		}
		if len(seen) != 9 {
			t.Errorf("%d sessions, want 9", len(seen))
		}
	})
	t.Run("H-7 H-8 a given id is the same on every later turn, and none comes from the text", func(t *testing.T) {
		first, other := p.chat("", "same").want(http.StatusOK), p.chat("", "same").want(http.StatusOK)
		given := first.header.Get("X-Session-Id")
		if given == other.header.Get("X-Session-Id") {
			t.Error("two clients that open alike get one id")
		}
		for _, headers := range [][]string{{"X-Session-Id", given}, {"X-Hermes-Session-Id", given}, {"X-Mooring-Session", first.session()}} {
			r := p.chat("", "go on", headers...).want(http.StatusOK)
			if r.header.Get("X-Session-Id") != given || r.header.Get("X-Hermes-Session-Id") != given || r.session() != first.session() {
				t.Errorf("%v: %v", headers, r.header)
			}
		}
	})
	t.Run("H-12 the session key is no id, and goes both ways unchanged", func(t *testing.T) {
		u.Queue(upstreamtest.Reply{Header: http.Header{"X-Hermes-Session-Key": {"a:b"}}})
		first := p.chat("", "hi", "X-Hermes-Session-Key", "a:b").want(http.StatusOK)
		if got := u.LastPost(t).Header.Get("X-Hermes-Session-Key"); got != "a:b" || first.header.Get("X-Hermes-Session-Key") != "a:b" {
			t.Errorf("upstream got %q, client %q", got, first.header.Get("X-Hermes-Session-Key"))
		}
		if p.chat("", "hi", "X-Hermes-Session-Key", "a:b").want(http.StatusOK).session() == first.session() {
			t.Error("it names a session")
		}
	})
	t.Run("H-13 keys of two parts do not run into each other", func(t *testing.T) {
		ask := func(session, agent string) string {
			return p.chat("", "hi", "X-Claude-Code-Session-Id", session, "X-Claude-Code-Agent-Id", agent).want(http.StatusOK).session()
		}
		if ask("a:b", "c") == ask("a", "b:c") || ask("a#b", "c") == ask("a", "b#c") {
			t.Error("two pairs, one session")
		}
	})
}

func TestHermesUpstream(t *testing.T) {
	t.Parallel()
	const hermes, claude = "X-Hermes-Session-Id", "X-Claude-Session-Id"
	t.Run("H-9 H-11 the upstream gets one id under its names, and no other", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, remote(u))
		_, in := p.raw(rawChat(chatBody("hi", ""), "X-Session-Id: chat-7\r\n", "x_hermes_session_id: chat-7\r\n", "X-CLAUDE-SESSION-ID: forged\r\n", "X-Chat-Id: forged\r\n"))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		head := strings.ToLower(string(u.LastPost(t).Head))
		if strings.Contains(head, "forged") || strings.Contains(head, "x_hermes") || strings.Contains(head, "x-session-id") {
			t.Errorf("upstream got\n%s", head)
		}
		got := u.LastPost(t).Header
		if got.Get(hermes) != "chat-7" || got.Get(claude) != "chat-7" {
			t.Errorf("upstream got %q and %q, want chat-7", got.Get(hermes), got.Get(claude))
		}
	})
	t.Run("H-10 a rotated id is sent from the next turn on, also after a restart", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		u.AlwaysFunc(upstreamtest.Rotate(hermes, "up"))
		p := start(t, remote(u))
		want := []string{"chat", "up-1", "up-2", "up-3"}
		var got []string
		for i := range want {
			send := p.chat
			if i == 1 {
				send = p.stream
			}
			if i == 3 {
				p.restart()
			}
			r := send("chat", "hi").want(http.StatusOK)
			got = append(got, u.LastPost(t).Header.Get(hermes))
			if r.header.Get("X-Hermes-Session-Id") != "chat" || len(p.turns("chat")) != i+1 {
				t.Errorf("turn %d: client is told %q, session has %d turns", i, r.header.Get("X-Hermes-Session-Id"), len(p.turns("chat")))
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ids at the upstream (-want +got):\n%s", diff)
		}
	})
	t.Run("H-11 an id that hermes-agent would refuse, or that another tenant uses there, is minted and kept", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, remote(u)+twoKeys())
		p.key = keyA
		p.chat("taken", "hi").want(http.StatusOK)
		p.key = keyB
		for _, id := range []string{"a/b", "x..y", "C:z", "taken"} {
			p.chat(id, "hi").want(http.StatusOK)
			first := u.LastPost(t).Header.Get(hermes)
			p.chat(id, "go on").want(http.StatusOK)
			if second := u.LastPost(t).Header.Get(hermes); !strings.HasPrefix(first, "api-") || second != first {
				t.Errorf("%s: upstream got %q, then %q", id, first, second)
			}
		}
	})
	t.Run("H-15 turns on one id are queued at a server with state", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, remote(u))
		held := make(chan struct{})
		u.Queue(upstreamtest.Reply{Hold: held})
		answers := make(chan *reply, 3)
		for range cap(answers) {
			go func() { answers <- p.chat("s", "hi") }()
		}
		posts, err := u.WaitPosts(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		p.chat("another", "hi").want(http.StatusOK) // nobody else waits
		if n := len(u.Posts()); n != 2 {
			t.Errorf("%d requests reached the upstream, want the first of s and the other session's", n)
		}
		close(held)
		for range cap(answers) {
			(<-answers).want(http.StatusOK)
		}
		select {
		case <-posts[0].Done():
		default:
			t.Error("the first turn was still running at the end")
		}
		if n := len(p.turns("s")); n != 3 {
			t.Errorf("%d turns in the session, want 3", n)
		}
	})
	t.Run("H-15 first turns of a session at once are one behind the other", func(t *testing.T) {
		t.Parallel()
		const took = 20 * time.Millisecond
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Delay: took})
		p := start(t, remote(u))
		var wg sync.WaitGroup
		for i := range 48 {
			wg.Go(func() { p.chat(fmt.Sprint("s", i%8), "hi").want(http.StatusOK) })
		}
		wg.Wait()
		last := map[string]time.Time{}
		for _, r := range u.Posts() {
			id := r.Header.Get(hermes)
			if since := r.At.Sub(last[id]); since < took {
				t.Errorf("%s: a turn began %v after another one that took %v", id, since, took)
			}
			last[id] = r.At
		}
		if len(last) != 8 {
			t.Errorf("%d ids at the upstream, want 8", len(last))
		}
	})
	t.Run("H-15 reject answers 429 while a turn runs", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"sessions: {concurrency: reject}\n")
		held := make(chan struct{})
		u.Queue(upstreamtest.Reply{Hold: held})
		first := make(chan *reply, 1)
		go func() { first <- p.chat("s", "hi") }()
		if _, err := u.WaitPosts(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		r := p.chat("s", "hi").want(http.StatusTooManyRequests)
		close(held)
		if r.get("error", "code") != "session_busy" || r.header.Get("Retry-After") == "" || len(u.Posts()) != 1 {
			t.Errorf("code %v, Retry-After %q, %d requests upstream", r.get("error", "code"), r.header.Get("Retry-After"), len(u.Posts()))
		}
		(<-first).want(http.StatusOK)
		p.chat("s", "hi").want(http.StatusOK)
		if n := len(p.turns("s")); n != 2 {
			t.Errorf("%d turns, want 2: a refused one is not written", n)
		}
	})
}

func TestHermesInput(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	send := func(body string) *reply { return p.call(http.MethodPost, chatPath, body) }
	t.Run("H-25 H-28 bodies go through byte for byte, whoever spoke last", func(t *testing.T) {
		for _, role := range []string{"assistant", "system", "tool"} {
			body := fmt.Sprintf(`{"zeta": 1, "model" :"fake-1","messages":[{"role":"user","content":"hi"},{"role":%q,"tool_call_id":"x","content":"/new"}],"x":{"b":1,"a":[1.0,1e3]}, "image":"é\u00e9"}`, role)
			send(body).want(http.StatusOK)
			if got := string(u.LastPost(t).Body()); got != body {
				t.Errorf("%s: upstream got %s", role, got)
			}
		}
	})
	t.Run("H-26 H-27 bodies that are refused", func(t *testing.T) {
		n := len(u.Posts())
		for body, code := range map[string]string{
			`{"model":"fake-1","messages":[{"role":"user","content":"hi"}]`:                  "invalid_json",
			`{"model":"a","model":"b","messages":[{"role":"user","content":"hi"}]}`:          "invalid_json",
			`{"model":"fake-1","messages":[{"role":"user","role":"system","content":"hi"}]}`: "invalid_json",
			`{"model":"fake-1"}`:                 "messages_required",
			`{"model":"fake-1","messages":[]}`:   "messages_required",
			`{"model":"fake-1","messages":"hi"}`: "messages_required",
			`{"model":"fake-1","messages":[{"role":"user","content":{"text":"secret-word"}}]}`: "invalid_content",
			`{"model":"fake-1","stream":true,"messages":[{"role":"user","content":42}]}`:       "invalid_content",
			`{"model":"fake-1","messages":[{"role":"user","content":"  \n "}]}`:                "empty_message",
		} {
			r := send(body).want(http.StatusBadRequest)
			if r.get("error", "code") != code || strings.Contains(string(r.body), "secret-word") || strings.Contains(string(r.body), "[DONE]") {
				t.Errorf("%s: %s, want %s", body, r.body, code)
			}
		}
		if len(u.Posts()) != n {
			t.Error("a refused body reached the upstream")
		}
	})
	t.Run("H-27 an image alone is not empty", func(t *testing.T) {
		send(`{"model":"fake-1","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]}]}`).want(http.StatusOK)
	})
}

func TestOddStream(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	t.Run("H-31 stream as a string is the upstream's to judge", func(t *testing.T) {
		u.Queue(upstreamtest.Reply{Events: append(words("one ", "two"), stopChunk, done)})
		r := p.call(http.MethodPost, chatPath, chatBody("hi", `"stream":"true",`)).want(http.StatusOK)
		if got := r.header.Get("Content-Type"); got != "text/event-stream" || said(t, string(r.body)) != "one two" {
			t.Errorf("%s: %s, want the stream that came", got, r.body)
		}
		r = p.call(http.MethodPost, chatPath, chatBody("hi", `"stream":"false",`)).want(http.StatusOK)
		if r.get("object") != "chat.completion" {
			t.Errorf("%s, want the object that came", r.body)
		}
	})
}

func TestHermesErrors(t *testing.T) {
	t.Parallel()
	t.Run("H-32 a key that is none is 401, whatever its letters", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+twoKeys())
		for _, key := range []string{"", "wrong", "schlüssel-密"} {
			p.key = key
			r := p.chat("", "hi").want(http.StatusUnauthorized)
			if r.get("error", "code") != "invalid_api_key" || r.get("error", "type") == nil || !strings.Contains(string(r.body), `"param":null`) {
				t.Errorf("%q: %s", key, r.body)
			}
		}
	})
	t.Run("H-33 a body over the limit", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"limits: {body: 64KiB}\n")
		big := chatBody(strings.Repeat("x", 70<<10), "")
		r := p.chat("", strings.Repeat("x", 70<<10)).want(http.StatusRequestEntityTooLarge)
		_, in := p.raw(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", chatPath, len(big), big))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if r.get("error", "code") != "body_too_large" || res.StatusCode != http.StatusRequestEntityTooLarge || len(u.Posts()) != 0 {
			t.Errorf("code %v, chunked %d, %d requests upstream", r.get("error", "code"), res.StatusCode, len(u.Posts()))
		}
	})
	t.Run("H-35 Idempotency-Key goes up and replays nothing, not even inside the transport", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		first, second := p.chat("s", "hi", "Idempotency-Key", "k").want(http.StatusOK), p.chat("s", "hi", "Idempotency-Key", "k").want(http.StatusOK)
		if string(first.body) == string(second.body) || u.LastPost(t).Header.Get("Idempotency-Key") != "k" {
			t.Errorf("answers %s and %s, upstream got key %q", first.body, second.body, u.LastPost(t).Header.Get("Idempotency-Key"))
		}
		u.Queue(upstreamtest.Reply{Fault: upstreamtest.Lost}) // on a connection that has served before
		p.chat("s", "hi", "Idempotency-Key", "k", "X-Idempotency-Key", "k").want(http.StatusBadGateway)
		if n := len(u.Posts()); n != 3 {
			t.Errorf("%d requests reached the upstream, want 3", n)
		}
	})
	t.Run("H-36 an upstream's own error is relayed", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		for _, status := range []int{http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusInternalServerError} {
			body := fmt.Sprintf(`{"error": "no %d"}`, status)
			u.Queue(upstreamtest.Reply{Status: status, Body: []byte(body), Header: http.Header{"Retry-After": {"7"}}})
			r := p.stream("s", "hi").want(status)
			if string(r.body) != body || r.header.Get("Retry-After") != "7" || r.header.Get("X-Mooring-Error") != "" || p.turnState(r) != "failed" {
				t.Errorf("%d: %s, Retry-After %q, X-Mooring-Error %q", status, r.body, r.header.Get("Retry-After"), r.header.Get("X-Mooring-Error"))
			}
		}
	})
}

func TestConnectionsAreKept(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	var connections atomic.Int64
	u := httptest.NewUnstartedServer(upstreamtest.NewMock(upstreamtest.MockOptions{Chunks: 3}))
	u.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	u.Start()
	t.Cleanup(u.Close)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", u.URL, "key: none"))
	t.Run("many requests share one upstream connection", func(t *testing.T) {
		for range 30 {
			p.stream("", "hi").want(http.StatusOK)
			p.chat("", "hi").want(http.StatusOK)
		}
		if n := connections.Load(); n > 2 { // a stream's end may be seen just after the next request begins
			t.Errorf("%d connections for 60 requests", n)
		}
	})
}
