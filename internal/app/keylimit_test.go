package app_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"mooring/internal/upstreamtest"
)

// limited is a configuration with a key KA of acme that has limits, KB of globex that has none, and an operator's.
func limited(u *upstreamtest.Server, limits string) string {
	return fmt.Sprintf("keys:\n  - {name: ka, tenant: acme, hash: \"sha256:%s\", %s}\n  - {name: kb, tenant: globex, hash: \"sha256:%s\"}\n"+
		"  - {name: root, role: operator, hash: \"sha256:%s\"}\n", sum("KA"), limits, sum("KB"), sum("KROOT")) +
		"prices: {\"fake-*\": {input: 0, output: 1000000}}\nupstreams:\n" + upstreamYAML("u1", u.URL, "key: none")
}

// hit checks that a limit of the key refused a request, with a wait that a client can keep to, and in its protocol.
func (r *reply) hit(t *testing.T, what, words string, atMost time.Duration) {
	t.Helper()
	r.refused(t, what, http.StatusTooManyRequests, "key_limit")
	wait, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil || wait < 1 || time.Duration(wait)*time.Second > atMost {
		t.Errorf("%s: Retry-After %q, want 1 to %v", what, r.header.Get("Retry-After"), atMost)
	}
	if message, _ := r.get("error", "message").(string); !strings.Contains(message, words) {
		t.Errorf("%s: %s, want a sentence with %q", what, r.body, words)
	}
}

// metric gives the value of a metric's line as an operator reads it; empty where there is none.
func (p *product) metric(line string) string {
	p.t.Helper()
	for got := range strings.Lines(string(p.as("KROOT").call(http.MethodGet, "/metrics", "").want(http.StatusOK).body)) {
		if value, ok := strings.CutPrefix(got, line+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestRequestsPerMinuteOfAKey(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, limited(u, "requests_per_minute: 4"))
	alice, page := p.as("KA"), p.browser()
	page.signIn("KA").want(http.StatusOK)
	alice.chat("s1", "one").want(http.StatusOK)
	alice.call(http.MethodPost, "/v1/messages", `{"model":"fake-1","max_tokens":9,"messages":[{"role":"user","content":"two"}]}`).want(http.StatusOK)
	alice.call(http.MethodGet, "/v1/models", "").want(http.StatusOK)
	page.call(http.MethodPost, sendPath, sends("sessionKey", "page", "message", "four")).want(http.StatusOK)
	for range 10 { // what pages read does not count
		alice.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK)
		page.call(http.MethodGet, "/api/models", "").want(http.StatusOK)
	}
	asked, sessions := len(u.Posts()), alice.sessions()
	refused := func() {
		t.Helper()
		alice.chat("s5", "five").hit(t, "chat", "4 requests per minute", time.Minute)
		alice.stream("s5", "five").hit(t, "a stream", "4 requests per minute", time.Minute)
		r := alice.call(http.MethodPost, "/v1/messages", `{"model":"fake-1","max_tokens":9,"messages":[{"role":"user","content":"five"}]}`)
		if r.hit(t, "messages", "4 requests per minute", time.Minute); r.get("type") != "error" || r.get("error", "type") != "rate_limit_error" {
			t.Errorf("messages: %s, want Anthropic's error object", r.body)
		}
		page.call(http.MethodPost, sendPath, sends("sessionKey", "new", "message", "five")).hit(t, "a page", "4 requests per minute", time.Minute)
		alice.call(http.MethodPost, "/v1/embeddings", `{"model":"fake-1","input":"x"}`).hit(t, "embeddings", "4 requests per minute", time.Minute)
	}
	refused()
	p.reload(limited(u, "requests_per_minute: 4"))
	refused()
	if len(u.Posts()) != asked || alice.sessions() != sessions {
		t.Errorf("%d requests reached the upstream and %d sessions were made", len(u.Posts())-asked, alice.sessions()-sessions)
	}
	p.as("KB").chat("s1", "bob").want(http.StatusOK)
	if got := p.metric(`mooring_key_limit_hits_total{limit="requests_per_minute"}`); got != "10" {
		t.Errorf("%q hits counted, want 10", got)
	}
	p.reload(limited(u, "requests_per_minute: 4, expires: 2020-01-01T00:00:00Z"))
	alice.chat("s1", "six").refused(t, "an expired key", http.StatusUnauthorized, "invalid_api_key")
	page.call(http.MethodGet, "/api/sessions", "").refused(t, "an expired key's page", http.StatusUnauthorized, "invalid_api_key")
}

func TestStreamsOfAKey(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, limited(u, "streams: 1"))
	alice := p.as("KA")
	hold := make(chan struct{})
	u.Queue(upstreamtest.Reply{HoldAt: hold, At: 1, Text: "held answer"})
	held := alice.open(chatPath, chatBody("one", `"stream":true,`), "X-Session-Id", "s1")
	alice.chat("s2", "two").hit(t, "a turn beside", "1 turns at once", time.Second)
	alice.page("s2", "two").hit(t, "a page beside", "1 turns at once", time.Second)
	p.as("KB").chat("s1", "bob").want(http.StatusOK)
	close(hold)
	held.rest()
	eventually(t, "the place is free", func() bool { return alice.chat("s2", "two").status == http.StatusOK })
	u.Queue(upstreamtest.Reply{Fault: upstreamtest.Hang})
	alice.abandon(u, chatBody("three", ""))
	eventually(t, "the place of a client that went away is free", func() bool { return alice.chat("s2", "four").status == http.StatusOK })
}

func TestModelsOfAKeyAreAllThatItSees(t *testing.T) {
	t.Parallel()
	u := upstreamtest.NewWith(t, upstreamtest.Options{Models: []string{"big-1", "fake-1", "fake-2"}})
	p := start(t, limited(u, "models: [\"fake-*\"]"))
	alice := p.as("KA")
	alice.chat("s1", "hello").want(http.StatusOK)
	for path, body := range map[string]string{
		chatPath:        `{"model":"big-1","messages":[{"role":"user","content":"x"}]}`,
		"/v1/responses": `{"model":"big-1","input":"x"}`, "/v1/embeddings": `{"model":"big-1","input":"x"}`,
		sendPath: sends("sessionKey", "new", "message", "x", "model", "big-1"),
	} {
		alice.call(http.MethodPost, path, body).refused(t, path, http.StatusNotFound, "model_not_found")
	}
	alice.call(http.MethodPost, chatPath, `{"messages":[{"role":"user","content":"x"}]}`).refused(t, "no model at all", http.StatusNotFound, "model_not_found")
	for _, path := range []string{"/v1/models", "/api/models"} {
		if r := alice.call(http.MethodGet, path, "").want(http.StatusOK); strings.Contains(string(r.body), "big-1") || r.get("data", 1, "id") != "fake-2" {
			t.Errorf("%s: %s, want the key's models", path, r.body)
		}
	}
	if r := p.as("KB").call(http.MethodGet, "/v1/models", "").want(http.StatusOK); r.get("data", 0, "id") != "big-1" {
		t.Errorf("another key's models: %s", r.body)
	}
	alice.page("new", "which model?", "model", "").want(http.StatusOK)
	posts := u.Posts()
	if body := string(posts[len(posts)-1].Body()); !strings.Contains(body, `"fake-1"`) {
		t.Errorf("a page that names no model asks %s, want one of the key's", body)
	}
}

func TestBudgetOfAKey(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Usage: &upstreamtest.Usage{Input: 5, Output: 3}}) // 3 USD
		p := start(t, store+limited(u, "budget_usd: 5"))
		alice := p.as("KA")
		first := alice.chat("s1", "one").want(http.StatusOK)
		alice.chat("s1", "two").want(http.StatusOK)
		month := 31 * 24 * time.Hour
		alice.chat("s2", "three").hit(t, "spent", "5.00 USD", month)
		alice.page("s2", "three").hit(t, "spent, on a page", "5.00 USD", month)
		alice.call(http.MethodGet, "/v1/models", "").want(http.StatusOK) // costs nothing
		use := alice.call(http.MethodGet, "/api/usage?by=key", "").want(http.StatusOK)
		if use.get("rows", 0, "limits", "budget_usd") != 5.0 || use.get("rows", 0, "spent_usd") != 6.0 {
			t.Errorf("usage: %s, want 6 of 5 USD", use.body)
		}
		alice.call(http.MethodDelete, "/api/sessions/"+first.session(), "").want(http.StatusNoContent)
		p.restart()
		alice = p.as("KA")
		alice.chat("s2", "four").hit(t, "after a deletion and a restart", "5.00 USD", month)
		p.as("KB").chat("s2", "bob").want(http.StatusOK)
		if got := p.metric(`mooring_cost_usd_total{upstream="u1"}`); got != "3" {
			t.Errorf("cost counted since the restart: %s, want bob's 3", got)
		}
		p.stop()
		p.yaml = strings.Replace(p.yaml, "budget_usd: 5", "budget_usd: 6.5", 1)
		p.run()
		p.as("KA").chat("s2", "five").want(http.StatusOK)
	})
}

// Replicas that share a database share a key's places.
func TestStreamsAreCountedOverReplicas(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	store := newDatabase(t).yaml("")
	a := start(t, store+limited(u, "streams: 1"))
	b := start(t, store+limited(u, "streams: 1"))
	if got := b.metric("mooring_replicas"); got != "2" {
		t.Errorf("%s replicas counted, want 2", got)
	}
	hold := make(chan struct{})
	u.Queue(upstreamtest.Reply{HoldAt: hold, At: 1, Text: "held answer"})
	held := a.as("KA").open(chatPath, chatBody("one", `"stream":true,`), "X-Session-Id", "s1")
	b.as("KA").chat("s2", "two").hit(t, "a turn beside one at the other replica", "1 turns at once", time.Second)
	b.as("KB").chat("s2", "bob").want(http.StatusOK)
	close(hold)
	held.rest()
	eventually(t, "the place is free", func() bool { return b.as("KA").chat("s2", "two").status == http.StatusOK })
}
