package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

// placed begins n sessions and says where each one has its home.
func (p *product) placed(n int, prefix string) map[string]string {
	p.t.Helper()
	at := map[string]string{}
	for i := range n {
		id := fmt.Sprint(prefix, i)
		at[id] = p.goes(id, "new")
	}
	return at
}

// goes runs a turn of a session, wants a mark of its pin and gives its upstream.
func (p *product) goes(id, mark string) string {
	p.t.Helper()
	r := p.chat(id, "hello").want(http.StatusOK)
	name, got, _ := strings.Cut(r.header.Get("X-Mooring-Upstream"), "; pin=")
	if got != mark {
		p.t.Errorf("%s: pin=%s at %s, want %s", id, got, name, mark)
	}
	return name
}

// stay wants every session where it is.
func (p *product) stay(at map[string]string) {
	p.t.Helper()
	for id, home := range at {
		if got := p.goes(id, "hit"); got != home {
			p.t.Errorf("%s: at %s, was at %s", id, got, home)
		}
	}
}

// has wants texts in an answer to a GET.
func (p *product) has(path string, wants ...string) {
	p.t.Helper()
	body := string(p.call(http.MethodGet, path, "").want(http.StatusOK).body)
	for _, want := range wants {
		if !strings.Contains(body, want) {
			p.t.Errorf("GET %s lacks %s", path, want)
		}
	}
}

func (p *product) post(path string) *reply {
	p.t.Helper()
	return p.call(http.MethodPost, path, "")
}

// twoInTurn is the configuration of two upstreams that take new sessions in turn.
func twoInTurn(a, b *upstreamtest.Server, more ...string) string {
	more = append([]string{"key: none"}, more...)
	return "routing: {policy: round_robin}\nupstreams:\n" + upstreamYAML("a", a.URL, more...) + upstreamYAML("b", b.URL, more...)
}

// Peers 57, 22: who is drained keeps its sessions and takes no others, until it is resumed, whatever happens to the program.
func TestDrain(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		a, b := upstreamtest.New(t), upstreamtest.New(t)
		p := startChild(t, store+twoInTurn(a, b))
		old := p.placed(6, "old")
		p.post("/api/upstreams/b/drain").want(http.StatusOK)
		p.stay(old)
		fresh := p.placed(4, "fresh")
		for id, at := range fresh {
			if at != "a" {
				t.Errorf("%s begins at %s, which drains", id, at)
			}
		}
		p.has("/api/upstreams", `"name":"b","health":"draining"`, `"drained":true`)
		p.has("/metrics", `mooring_upstream_drained{upstream="b"} 1`, `mooring_upstream_drained{upstream="a"} 0`)
		p.kill()
		p.spawn()
		p.stay(old)
		if at := p.goes("after a crash", "new"); at != "a" {
			t.Errorf("after a crash a session begins at %s, which drains", at)
		}
		p.post("/api/upstreams/a/drain").want(http.StatusOK)
		r := p.chat("nowhere", "hello").want(http.StatusServiceUnavailable)
		if code := r.header.Get("X-Mooring-Error"); code != "upstream_unavailable" || r.header.Get("Retry-After") == "" || !strings.Contains(string(r.body), "a, b") {
			t.Errorf("%s, Retry-After %q: %s", code, r.header.Get("Retry-After"), r.body)
		}
		p.call(http.MethodGet, "/api/sessions/nowhere", "").want(http.StatusNotFound)
		p.stay(old)
		for _, name := range []string{"a", "b", "b"} { // twice is the same
			p.post("/api/upstreams/" + name + "/resume").want(http.StatusOK)
		}
		if got := p.placed(4, "again"); len(got) != 4 || got["again0"] == got["again1"] {
			t.Errorf("new sessions go to %v, want both again", got)
		}
		p.post("/api/upstreams/nobody/drain").want(http.StatusNotFound)
	})
}

// Sub-agents and forks are new sessions, wherever their parents live.
func TestDrainKeepsSubagentsAndForksAway(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, twoInTurn(a, b))
	const parent = "0a1b2c3d-1111-4222-8333-444455556666"
	claude := []string{"X-Claude-Code-Session-Id", parent}
	main := p.chat("", "hello", claude...).want(http.StatusOK)
	home, _, _ := strings.Cut(main.header.Get("X-Mooring-Upstream"), ";")
	p.post("/api/upstreams/" + home + "/drain").want(http.StatusOK)
	for _, agent := range []string{"a00000000deadbeef", "a00000000deadbef0"} {
		sub := p.chat("", "look into it", append(claude, "X-Claude-Code-Agent-Id", agent)...).want(http.StatusOK)
		if at := sub.header.Get("X-Mooring-Upstream"); sub.header.Get("X-Mooring-Kind") != "subagent" || strings.HasPrefix(at, home) {
			t.Errorf("a %s begins at %s, which drains", sub.header.Get("X-Mooring-Kind"), at)
		}
	}
	messages := p.call(http.MethodGet, "/api/sessions/"+main.session()+"/messages", "").want(http.StatusOK)
	fork := p.call(http.MethodPost, "/api/sessions/"+main.session()+"/fork", fmt.Sprintf(`{"message_id":%q}`, messages.get("messages", -1, "id"))).want(http.StatusCreated)
	turn := p.chat("", "on another way", "X-Mooring-Session", fmt.Sprint(fork.get("id"))).want(http.StatusOK)
	if at := turn.header.Get("X-Mooring-Upstream"); strings.HasPrefix(at, home) {
		t.Errorf("a fork begins at %s, which drains", at)
	}
	if again := p.chat("", "and on", claude...).want(http.StatusOK).header.Get("X-Mooring-Upstream"); again != home+"; pin=hit" {
		t.Errorf("the parent is at %s, was at %s", again, home)
	}
}

func TestDrainHoldsOnAnotherReplica(t *testing.T) {
	t.Parallel()
	store := newDatabase(t).yaml("")
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	first, second := start(t, store+twoInTurn(a, b)), start(t, store+twoInTurn(a, b))
	first.post("/api/upstreams/b/drain").want(http.StatusOK)
	drains := func(p *product) func() bool {
		return func() bool {
			return strings.Contains(string(p.call(http.MethodGet, "/api/upstreams", "").want(http.StatusOK).body), `"drained":true`)
		}
	}
	eventually(t, "the other replica drains it too", drains(second))
	for id, at := range second.placed(4, "s") {
		if at != "a" {
			t.Errorf("%s begins at %s, which drains", id, at)
		}
	}
	second.post("/api/upstreams/b/resume").want(http.StatusOK)
	eventually(t, "the first one has it again", func() bool { return !drains(first)() })
}
