package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

func TestErrorEventWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	const (
		chatFault     = `data: {"error":{"message":"out of oil","type":"server_error"}}` + "\n\n"
		messagesStart = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"half\"}}\n\n"
		messagesFault = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"out of oil\"}}\n\n"
	)
	for name, of := range map[string]struct {
		path, body string
		events     []string
	}{
		"chat":     {chatPath, chatBody("hi", `"stream":true,`), []string{chunk(`{"content":"half"}`), chatFault, done}},
		"messages": {messagesPath, messagesBody("hi", `"stream":true,`), []string{messagesStart, messagesFault, ": end\n\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			never := make(chan struct{}) // the stream stays open behind its error
			u := upstreamtest.New(t)
			u.Queue(upstreamtest.Reply{Events: of.events, At: 2, HoldAt: never})
			p := start(t, one(u))
			l := p.open(of.path, of.body, "X-Session-Id", "s")
			l.until("out of oil")
			if turn := p.turns("s")[0]; turn["state"] != "failed" {
				t.Errorf("the client knows of the error while the turn is %v, want failed", turn["state"])
			}
			if got := l.rest(); !strings.HasPrefix(got, of.events[0]+of.events[1]) {
				t.Errorf("stream = %q, want the upstream's bytes", got)
			}
		})
	}
}

func TestFailuresThatMoveNothing(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]upstreamtest.Reply{
		"an answer beyond limits.answer":    {Text: strings.Repeat("x", 100<<10)},
		"a page in the place of an answer":  upstreamtest.HTML(http.StatusOK),
		"a stream beyond limits.answer":     {Events: []string{chunk(`{"content":"` + strings.Repeat("x", 100<<10) + `"}`), done}},
		"an encoding that nobody asked for": {Body: []byte("?"), Header: http.Header{"Content-Encoding": {"compress"}}},
		"a redirect":                        upstreamtest.Redirect("http://127.0.0.1:1/"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := upstreamtest.New(t), upstreamtest.New(t)
			both(a, b, reply)
			p := start(t, two(a, b)+"limits: {answer: 64KiB}\n")
			r := p.chat("s", "hi").want(http.StatusBadGateway)
			if got := len(a.Posts()) + len(b.Posts()); got != 1 || r.get("error", "code") != "upstream_error" {
				t.Errorf("%v after %d requests, want upstream_error after one", r.get("error", "code"), got)
			}
		})
	}
}

func TestUpstreamThatChangesProtocol(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "x")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	t.Cleanup(server.Close)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", server.URL, "key: none"))
	if r := p.chat("s", "hi").want(http.StatusBadGateway); r.get("error", "code") != "upstream_error" {
		t.Errorf("code = %v, want upstream_error", r.get("error", "code"))
	}
	if got := p.turnOf("s")["state"]; got != "failed" {
		t.Errorf("turn is %v, want failed", got)
	}
}

func TestHalfASurrogatePair(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	body := `{"model":"fake-1","messages":[{"role":"user","content":"cut emoji \ud83d"}]}`
	p.call(http.MethodPost, chatPath, body, "X-Session-Id", "s").want(http.StatusOK)
	if got := string(u.LastPost(t).Body()); got != body {
		t.Errorf("upstream got %s, want %s", got, body)
	}
	if diff := cmp.Diff([]string{"user: cut emoji \ufffd", "assistant: This is answer 1."}, p.texts("s")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	p.call(http.MethodPost, chatPath, strings.Replace(body, `\ud83d`, "\xf0\x9f", 1)).want(http.StatusBadRequest)
}

func TestSecondChoiceThatBreaksOff(t *testing.T) {
	t.Parallel()
	p, _ := events(t, "", chunk(`{"content":"whole"}`), chunkOf(`[{"index":1,"delta":{"content":"half"}}]`), stopChunk)
	r := p.call(http.MethodPost, chatPath, chatBody("hi", `"stream":true,"n":2,`), "X-Session-Id", "s").want(http.StatusOK)
	if got := p.turnState(r); got != "failed" || !strings.Contains(string(r.body), `"code":"upstream_error"`) {
		t.Errorf("turn is %v, want failed; stream:\n%s", got, r.body)
	}
}
