package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

// namedBody is a chat for a model.
func namedBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, text)
}

// route is where a turn went: what the client was told, then what the record says of its last attempt.
func (p *product) route(r *reply) (told string, why, alias, model any) {
	p.t.Helper()
	turn := p.call(http.MethodGet, "/api/turns/"+r.header.Get("X-Mooring-Turn"), "").want(http.StatusOK)
	last := func(name string) any { return turn.get("attempts", -1, name) }
	return r.header.Get("X-Mooring-Upstream"), last("why"), last("alias"), last("model")
}

func TestAliases(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	const keyA = "the-key-of-alice"
	p := start(t, "upstreams:\n"+upstreamYAML("u1", a.URL, "key: none", "models: [m-1]")+upstreamYAML("u2", b.URL, "key: none", "models: [m-2]")+
		strings.Replace(oneKey("alice", "acme", keyA), "tenant: acme", "tenant: acme, models: [fast]", 1)+
		"models: {fast: [m-1, m-2], nothing: [nobody-has-it]}\nprices: {m-1: {input: 1, output: 1}, m-2: {input: 1000, output: 1000}}\nrouting: {failover: next}\n")
	p.key = keyA

	list := p.call(http.MethodGet, "/v1/models", "").want(http.StatusOK)
	var ids []string
	for i := range list.get("data").([]any) {
		ids = append(ids, fmt.Sprint(list.get("data", i, "id")))
	}
	if !slices.Contains(ids, "fast") || slices.Contains(ids, "nothing") {
		t.Errorf("models %v, want the alias that stands for something, and not the other one", ids)
	}

	ask := func(text string) *reply {
		return p.call(http.MethodPost, chatPath, namedBody("fast", text), "X-Session-Id", "s").want(http.StatusOK)
	}
	first := ask("one")
	if told, why, alias, model := p.route(first); told != "u1; pin=new" || why != "policy" || alias != "fast" || model != "m-1" {
		t.Errorf("the first turn went %s, %v, %v, %v", told, why, alias, model)
	}
	if got := string(a.LastPost(t).Body()); got != namedBody("m-1", "one") {
		t.Errorf("the upstream got %s", got)
	}
	costs := func(r *reply) float64 {
		usd, _ := p.call(http.MethodGet, "/api/turns/"+r.header.Get("X-Mooring-Turn"), "").get("cost_usd").(float64)
		return usd
	}
	a.Queue(upstreamtest.Failure(http.StatusServiceUnavailable))
	second := ask("two")
	if told, why, alias, model := p.route(second); told != "u2; pin=moved" || why != "failover" || alias != "fast" || model != "m-2" {
		t.Errorf("the second turn went %s, %v, %v, %v", told, why, alias, model)
	}
	if cheap, dear := costs(first), costs(second); cheap <= 0 || dear < 100*cheap {
		t.Errorf("the turns cost %v and %v, want each by the model that answered", cheap, dear)
	}
	p.restart()
	if told, _, _, model := p.route(ask("three")); told != "u2; pin=hit" || model != "m-2" {
		t.Errorf("after a restart it went %s, %v; want the session to stay with its model", told, model)
	}
	if got := fmt.Sprint(p.call(http.MethodGet, "/api/sessions/s", "").get("models")); got != "[m-1 m-2]" {
		t.Errorf("models of the session: %s", got)
	}
	// A key's models are the names that its client asks for.
	p.call(http.MethodPost, chatPath, namedBody("m-1", "four"), "X-Session-Id", "s").want(http.StatusNotFound)
	p.call(http.MethodPost, "/v1/embeddings", `{"input":"x","model":"fast"}`).want(http.StatusOK)
	if got := string(a.LastPost(t).Body()); got != `{"input":"x","model":"m-1"}` {
		t.Errorf("the upstream of an embedding got %s", got)
	}
}

// A page goes on under the name that it began with, which is what its key may use.
func TestPageGoesOnUnderAnAlias(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u, "models: [m-1]")+"models: {fast: [m-1]}\n")
	p.call(http.MethodPost, "/api/session-send", `{"sessionKey":"chat","message":"hi","model":"fast"}`).want(http.StatusOK)
	eventually(t, "the first answer", func() bool { return len(p.texts("chat")) == 2 })
	p.call(http.MethodPost, "/api/session-send", `{"sessionKey":"chat","message":"and?"}`).want(http.StatusOK)
	eventually(t, "the second answer", func() bool { return len(p.texts("chat")) == 4 })
	turns := p.turns("chat")
	for _, turn := range turns {
		list, _ := turn["attempts"].([]any)
		if at, _ := list[0].(map[string]any); at["alias"] != "fast" || turn["model"] != "m-1" {
			t.Errorf("turn of %v, attempt %v; want m-1 for fast", turn["model"], at)
		}
	}
}

func TestRoutingIsReloaded(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	with := func(routing string) string {
		return two(a, b) + "routing: {policy: round_robin, " + routing + "}\n"
	}
	p := start(t, with("failover: fail"))
	ask := func() *reply { return p.chat("s", "hi") }
	ask().want(http.StatusOK)
	a.Queue(upstreamtest.Failure(http.StatusServiceUnavailable))
	ask().want(http.StatusServiceUnavailable)
	p.reload(with("failover: next"))
	a.Queue(upstreamtest.Failure(http.StatusServiceUnavailable))
	for _, want := range []string{"u2; pin=moved", "u2; pin=hit"} {
		if got := ask().want(http.StatusOK).header.Get("X-Mooring-Upstream"); got != want {
			t.Errorf("X-Mooring-Upstream = %q, want %q", got, want)
		}
	}
	p.reload(with("on_recovery: return"))
	for _, want := range []string{"u1; pin=moved", "u1; pin=hit"} {
		if got := ask().want(http.StatusOK).header.Get("X-Mooring-Upstream"); got != want {
			t.Errorf("X-Mooring-Upstream = %q, want %q", got, want)
		}
	}
	const agent, of = "X-Claude-Code-Agent-Id", "X-Claude-Code-Session-Id"
	const session = "0a1b2c3d-1111-4222-8333-444455550001"
	home, _, _ := strings.Cut(p.call(http.MethodPost, messagesPath, messagesBody("root", ""), of, session).want(http.StatusOK).header.Get("X-Mooring-Upstream"), ";")
	spread := map[string]bool{}
	for i, routing := range []string{"subagents: inherit", "subagents: inherit", "subagents: spread", "subagents: spread"} {
		p.reload(with(routing))
		r := p.call(http.MethodPost, messagesPath, messagesBody("task", ""), of, session, agent, fmt.Sprintf("a%016x", i)).want(http.StatusOK)
		at, _, _ := strings.Cut(r.header.Get("X-Mooring-Upstream"), ";")
		if i < 2 && at != home {
			t.Errorf("a sub-agent began at %s, want %s", at, home)
		}
		if i >= 2 {
			spread[at] = true
		}
	}
	if len(spread) != 2 {
		t.Errorf("two sub-agents that are spread went to %v, want both upstreams", spread)
	}
}

// Names of one model, as clients write its efforts and versions, are one session with one upstream where they have the same candidates;
// where an upstream lists one of them exactly, that one is its candidate.
func TestVariantsOfAModel(t *testing.T) {
	t.Parallel()
	a, b, c := upstreamtest.New(t), upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", a.URL, "key: none", `models: ["m-*"]`)+upstreamYAML("u2", b.URL, "key: none", `models: ["m-*"]`)+
		upstreamYAML("u3", c.URL, "key: none", "models: [m-9]")+"routing: {policy: round_robin}\n")
	ask := func(model string) *reply {
		return p.call(http.MethodPost, chatPath, namedBody(model, "hi"), "X-Session-Id", "s").want(http.StatusOK)
	}
	first := ask("m-1")
	home, _, _ := strings.Cut(first.header.Get("X-Mooring-Upstream"), ";")
	for _, model := range []string{"m-1(high)", "m-1-2026-01-15", "m-1(low)", "m-9(high)", "m-1"} {
		r := ask(model)
		if got := r.header.Get("X-Mooring-Upstream"); got != home+"; pin=hit" || r.session() != first.session() {
			t.Errorf("%s: %s in session %s, want %s; pin=hit in %s", model, got, r.session(), home, first.session())
		}
	}
	for _, want := range []string{"u3; pin=new", "u3; pin=hit"} {
		if got := ask("m-9").header.Get("X-Mooring-Upstream"); got != want {
			t.Errorf("the name that one upstream lists: %s, want %s", got, want)
		}
	}
	if got := string(c.LastPost(t).Body()); got != namedBody("m-9", "hi") {
		t.Errorf("the upstream got %s", got)
	}
}
