package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

// evidenceOf is what the session API tells of a turn's signals, by their names.
func (p *product) evidenceOf(r *reply) map[string]map[string]any {
	p.t.Helper()
	turn := p.call(http.MethodGet, "/api/turns/"+r.header.Get("X-Mooring-Turn"), "").want(http.StatusOK)
	list, _ := turn.get("evidence").([]any)
	out := map[string]map[string]any{}
	for _, one := range list {
		ev, _ := one.(map[string]any)
		out[fmt.Sprint(ev["signal"])] = ev
	}
	return out
}

func TestATurnTellsWhatItsSignalsSaid(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL, "key: none"))
	parent := p.chat("main-1", "hello").want(http.StatusOK)
	child := p.chat(
		"child-1", "find it", "X-Parent-Session-Id", "main-1", "X-Client-Request-Id", "one-time-7", "X-Acme-Token", "hush-7", "X-Session-Token", "hush-8",
		"X-Chat-Id", "default", "X-Opencode-Project", "shop", "User-Agent", "opencode/1.18.34", "X-Stainless-Retry-Count", "0",
	).want(http.StatusOK)
	want := map[string]map[string]any{
		"header:x-session-id":        {"says": "session", "value": "child-1", "points_to": "new", "use": "decided"},
		"header:x-parent-session-id": {"says": "parent", "value": "main-1", "points_to": parent.session(), "use": "decided"},
		"header:x-chat-id":           {"says": "session", "value": "default", "use": "ignored"},
		"header:x-opencode-project":  {"says": "project", "value": "shop", "use": "decided"},
		"header:user-agent":          {"says": "client", "value": "opencode", "use": "decided"},
		"header:x-client-request-id": {"says": "never", "use": "never"},
		"header:x-session-token":     {"says": "never", "use": "never"},
		"header:x-stainless-*":       {"says": "never", "use": "never"},
	}
	got := p.evidenceOf(child)
	for signal, members := range want {
		for name, value := range members {
			if got[signal][name] != value {
				t.Errorf("%s: %s = %v, want %v", signal, name, got[signal][name], value)
			}
		}
		if got[signal]["why"] == nil || want[signal]["use"] == "never" && got[signal]["value"] != nil {
			t.Errorf("%s: %v, want a reason, and no value of what is never used", signal, got[signal])
		}
	}
	if text := fmt.Sprint(got); strings.Contains(text, "hush") || strings.Contains(text, "one-time") || strings.Contains(text, "x-acme-token") {
		t.Errorf("the evidence holds what is nobody's business: %s", text)
	}
	again := p.evidenceOf(p.chat("child-1", "find more").want(http.StatusOK))
	if to := again["header:x-session-id"]["points_to"]; to != child.session() {
		t.Errorf("points to %v, want %s", to, child.session())
	}
	s := p.call(http.MethodGet, "/api/sessions/"+child.session(), "").want(http.StatusOK)
	if s.get("project") != "shop" || s.get("client") != "opencode" || s.get("parent_id") != parent.session() {
		t.Errorf("session = %s", s.body)
	}
	p.chat("child-1", "and there", "X-Opencode-Project", "other").want(http.StatusOK)
	if s := p.call(http.MethodGet, "/api/sessions/"+child.session(), ""); s.get("project") != "shop" {
		t.Errorf("the project has changed to %v", s.get("project"))
	}
}

func TestC019PlaceholdersJoinNobody(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL, "key: none"))
	sessions := map[string]string{}
	for _, value := range []string{"", "   ", "undefined", "null", "default", "0", "new", "{{chat}}"} {
		for _, text := range []string{"invoice", "holiday"} {
			r := p.chat("", text+value, "X-Session-Id", value).want(http.StatusOK)
			if other, taken := sessions[r.session()]; taken {
				t.Errorf("%q with %q is in the session of %s", value, text, other)
			}
			sessions[r.session()] = text + " " + value
			if id := r.header.Get("X-Session-Id"); !strings.HasPrefix(id, "api-") {
				t.Errorf("%q: the client is told to go on with %q", value, id)
			}
		}
	}
}

func TestC021OneGroupChatOfTwoTenants(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, keysYAML("KA", "acme", "KB", "globex")+"upstreams:\n"+upstreamYAML("up", u.URL, "key: none"))
	as := func(key string) *product {
		one := *p
		one.key = key
		return &one
	}
	alice, carol := as("KA"), as("KB")
	hold := make(chan struct{})
	u.Queue(upstreamtest.Reply{Hold: hold})
	first := make(chan *reply, 1)
	go func() { first <- alice.chat("group-1", "my secret is 111") }()
	if _, err := u.WaitPosts(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	theirs := carol.chat("group-1", "what did she say?").want(http.StatusOK)
	carol.chat("group-1", "/new").want(http.StatusOK)
	close(hold)
	mine := (<-first).want(http.StatusOK)
	if mine.session() == theirs.session() {
		t.Error("two tenants share a session")
	}
	p.restart()
	alice, carol = as("KA"), as("KB")
	if r := alice.chat("group-1", "go on").want(http.StatusOK); r.session() != mine.session() {
		t.Errorf("after a restart: %s, want %s", r.session(), mine.session())
	}
	if r := carol.chat("group-1", "go on").want(http.StatusOK); r.session() == mine.session() || r.session() == theirs.session() {
		t.Errorf("after her /new: %s, want the fresh one", r.session())
	}
	if body := string(u.LastPost(t).Body()); strings.Contains(body, "111") {
		t.Error("the other tenant's text reaches the upstream")
	}
}

func TestC023ASharedCacheKeyInjectsNothing(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("up", u.URL, "key: none"))
	var seen []string
	for _, text := range []string{"plan a trip", "fix my code"} {
		r := p.call(http.MethodPost, "/v1/responses", fmt.Sprintf(`{"model":"fake-1","input":%q,"prompt_cache_key":"k"}`, text)).want(http.StatusOK)
		seen = append(seen, r.session())
		if sent := string(u.LastPost(t).Body()); strings.Contains(sent, "previous_response_id") || !strings.Contains(sent, text) {
			t.Errorf("sent upstream: %s", sent)
		}
	}
	if seen[0] == seen[1] {
		t.Error("a cache key that an application shares names a session")
	}
}
