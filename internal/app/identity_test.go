package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

func TestStableIDs(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, two(a, b)+"sessions: {headers: [X-Shop-Chat]}\n")
	one := func(t *testing.T, replies ...*reply) {
		t.Helper()
		for _, r := range replies {
			if r.want(http.StatusOK); r.session() != replies[0].session() {
				t.Errorf("%s and %s, want one session", r.session(), replies[0].session())
			}
		}
	}
	t.Run("C004 request ids that rotate name no session", func(t *testing.T) {
		home := map[string]bool{}
		var all []*reply
		for i := range 50 {
			r := p.chat("c004", "hi", "X-Request-Id", fmt.Sprint("r-", i), "X-Client-Request-Id", fmt.Sprint("c-", i))
			all = append(all, r)
			name, _, _ := strings.Cut(r.header.Get("X-Mooring-Upstream"), ";")
			home[name] = true
		}
		one(t, all...)
		if len(home) != 1 || p.sessions() != 1 {
			t.Errorf("%d upstreams and %d sessions, want one each", len(home), p.sessions())
		}
		first := p.chat("", "hi", "X-Request-Id", "same").want(http.StatusOK)
		if second := p.chat("", "hi", "X-Request-Id", "same").want(http.StatusOK); first.session() == second.session() {
			t.Error("a request id alone names a session")
		}
	})
	t.Run("C005 the documented order decides between two ids, buffered and streamed", func(t *testing.T) {
		x := p.chat("", "hi", "session-id", "q1").want(http.StatusOK)
		y := p.chat("", "hi", "x-claude-code-session-id", "q2").want(http.StatusOK)
		if x.session() == y.session() {
			t.Error("two ids, one session")
		}
		both := []string{"session-id", "q1", "x-claude-code-session-id", "q2"}
		one(t, y, p.chat("", "hi", both...), p.stream("", "hi", both...), p.chat("", "hi", both[2], both[3], both[0], both[1]))
	})
	t.Run("C007 an Open WebUI chat is one session", func(t *testing.T) {
		var all []*reply
		for i := range 5 {
			all = append(all, p.chat("", fmt.Sprint("message ", i), "X-OpenWebUI-Chat-Id", "chat-1"))
		}
		one(t, all...)
		if p.chat("", "hi", "X-OpenWebUI-Chat-Id", "chat-2").want(http.StatusOK).session() == all[0].session() {
			t.Error("two chats, one session")
		}
	})
	t.Run("C007 a renamed header works where it is configured", func(t *testing.T) {
		one(t, p.chat("", "hi", "X-Shop-Chat", "c1"), p.chat("", "again", "x_shop_chat", "c1"))
	})
	t.Run("C010 the explicit id wins over what the body looks like", func(t *testing.T) {
		var all []*reply
		for i := range 3 {
			body := fmt.Sprintf(`{"model":"fake-1","tools":[{"type":"function","function":{"name":"t%d"}}],"messages":[{"role":"system","content":"v%d"},{"role":"user","content":"hi"}]}`, i, i)
			all = append(all, p.call(http.MethodPost, chatPath, body, "X-Session-Id", "c010"))
		}
		one(t, all...)
	})
	t.Run("C012 an id keeps its letters", func(t *testing.T) {
		const id = "Team-A/Chat-01"
		one(t, p.chat(id, "a"), p.chat(id, "b"), p.chat(id, "c"))
		r := p.call(http.MethodGet, "/api/sessions/Team-A%2FChat-01", "").want(http.StatusOK)
		if r.get("key") != id {
			t.Errorf("key = %v, want %s", r.get("key"), id)
		}
		users := 0
		for _, text := range p.texts(id) {
			if strings.HasPrefix(text, "user: ") {
				users++
			}
		}
		if users != 3 {
			t.Errorf("%d user rows, want 3", users)
		}
	})
	t.Run("C013 ids are compared byte for byte", func(t *testing.T) {
		const id = "6f1c2d3e-4a5b-4c6d-8e7f-0123456789ab"
		low, up := p.chat(id, "low").want(http.StatusOK), p.chat(strings.ToUpper(id), "up").want(http.StatusOK)
		if low.session() == up.session() {
			t.Error("two spellings, one session")
		}
		if got := p.call(http.MethodGet, "/api/sessions/"+strings.ToUpper(id), "").want(http.StatusOK).get("id"); got != up.session() {
			t.Errorf("by its key: %v, want %s", got, up.session())
		}
		if got := p.texts(strings.ToUpper(id)); len(got) != 2 || got[0] != "user: up" {
			t.Errorf("stored = %q, want one question and its answer", got)
		}
	})
}

func TestTenantsApart(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u)+twoKeys())
	for _, id := range []string{"main", "default"} {
		t.Run("C014 the id "+id+" under two tenants", func(t *testing.T) {
			p.key = keyA
			a := p.chat(id, "alpha secret 111").want(http.StatusOK)
			p.key = keyB
			b := p.chat(id, "what did I say?").want(http.StatusOK)
			if a.session() == b.session() {
				t.Error("one session for both")
			}
			if got := string(u.LastPost(t).Body()); strings.Contains(got, "111") {
				t.Errorf("upstream got %s", got)
			}
			if diff := cmp.Diff(2, len(p.texts(b.session()))); diff != "" {
				t.Errorf("messages of b (-want +got):\n%s", diff)
			}
			p.call(http.MethodGet, "/api/sessions/"+a.session(), "").want(http.StatusNotFound)
			p.chat("", "hi", "X-Mooring-Session", a.session()).want(http.StatusNotFound)
		})
	}
}

func TestConstantUser(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	t.Run("C020 OpenAI's user is no session", func(t *testing.T) {
		seen := map[string]bool{}
		for i := range 20 {
			r := p.call(http.MethodPost, chatPath, chatBody(fmt.Sprint("order ", i), `"user":"shop-extension",`)).want(http.StatusOK)
			seen[r.session()] = true
			if got := string(u.LastPost(t).Body()); got != chatBody(fmt.Sprint("order ", i), `"user":"shop-extension",`) {
				t.Errorf("upstream got %s", got)
			}
		}
		if len(seen) != 20 {
			t.Errorf("%d sessions, want 20", len(seen))
		}
	})
}

func TestModels(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", a.URL, "key: none", "models: [m, p1/m]")+upstreamYAML("u2", b.URL, "key: none", "models: [m2]"))
	ask := func(model string) *reply {
		return p.call(http.MethodPost, chatPath, strings.Replace(chatBody("hi", ""), "fake-1", model, 1), "X-Session-Id", "s1")
	}
	t.Run("C024 one session over models and a restart", func(t *testing.T) {
		var first string
		for i, of := range []struct{ model, upstream string }{{"m", "u1; pin=new"}, {"m2", "u2; pin=new"}, {"m", "u1; pin=hit"}, {"m", "u1; pin=hit"}} {
			if i == 3 {
				p.restart()
			}
			r := ask(of.model).want(http.StatusOK)
			if i == 0 {
				first = r.session()
			}
			if got := r.header.Get("X-Mooring-Upstream"); got != of.upstream || r.session() != first {
				t.Errorf("turn %d: %s in %s, want %s in %s", i, got, r.session(), of.upstream, first)
			}
		}
		s := p.call(http.MethodGet, "/api/sessions/s1", "").want(http.StatusOK)
		if diff := cmp.Diff([]any{"m", "m2"}, s.get("models")); diff != "" {
			t.Errorf("models (-want +got):\n%s", diff)
		}
		if got := ask("nobody's").want(http.StatusNotFound).get("error", "code"); got != "model_not_found" {
			t.Errorf("code = %v", got)
		}
		after := p.call(http.MethodGet, "/api/sessions/s1", "").want(http.StatusOK)
		if diff := cmp.Diff(string(s.body), string(after.body)); diff != "" {
			t.Errorf("a model that nobody serves changes the session:\n%s", diff)
		}
	})
}
