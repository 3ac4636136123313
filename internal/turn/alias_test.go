package turn_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

func aliased(names map[string][]string) turn.Rules {
	r := moving()
	r.Aliases = names
	return r
}

// apart is a house with a model at each of two upstreams, and a name for both.
func apart(t *testing.T) (h *house, a, b *server) {
	t.Helper()
	a, b = &server{answer: well}, &server{answer: well}
	sa, sb := a.spec("a", "next"), b.spec("b", "next")
	sa.Models, sb.Models = []string{"m-1"}, []string{"m-2"}
	return newHouse(t, aliased(map[string][]string{"fast": {"m-1", "m-2"}, "slow": {"m-2", "m-1"}}), sa, sb), a, b
}

func (h *house) named(id, model, text string) turn.Request {
	h.t.Helper()
	return h.request(mooring.Chat, "/v1/chat/completions", fmt.Sprintf(`{ "temperature":1.50,"model" : %q, "messages":[{"role":"user","content":%q}] }`, model, text), "X-Session-Id", id)
}

// answered is the model that a turn's record names, and that each of its attempts asked for, with the name that stood for it.
func (h *house) answered(s *sink) []string {
	h.t.Helper()
	got := h.stored(s.about.Turn)
	out := []string{got.Model}
	for _, a := range got.Attempts {
		out = append(out, strings.Trim(a.Alias+" "+a.Model, " "))
	}
	return out
}

func (h *house) models(id mooring.SessionID) []string {
	h.t.Helper()
	s, err := h.store.Session(h.t.Context(), "acme", id)
	if err != nil {
		h.t.Fatal(err)
	}
	return s.Models
}

func TestAlias(t *testing.T) {
	t.Parallel()
	fresh, stays := gone{"a", "", mooring.PinNew, mooring.WhyPolicy}, gone{"b", "", mooring.PinHit, mooring.WhyPin}
	t.Run("it stands for its first model; the body keeps every other byte", func(t *testing.T) {
		t.Parallel()
		h, a, _ := apart(t)
		s := h.want(h.named("s", "fast", `the "fast" one`), fresh)
		if got, want := *a.last.Load(), `{ "temperature":1.50,"model" : "m-1", "messages":[{"role":"user","content":"the \"fast\" one"}] }`; got != want {
			t.Errorf("the upstream got %s\nwant %s", got, want)
		}
		if diff := cmp.Diff([]string{"m-1", "fast m-1"}, h.answered(s)); diff != "" {
			t.Errorf("models of the turn (-want +got):\n%s", diff)
		}
		if got := h.models(s.about.Session); !slices.Equal(got, []string{"m-1"}) {
			t.Errorf("models of the session: %v, want the one that answered", got)
		}
	})
	t.Run("where that fails it stands for the next, and the session stays with that", func(t *testing.T) {
		t.Parallel()
		h, a, b := apart(t)
		h.want(h.named("s", "fast", "first"), fresh)
		a.answer = failing
		s := h.want(h.named("s", "fast", "second"), gone{"b", "", mooring.PinMoved, mooring.WhyFailover})
		if got := *b.last.Load(); !strings.Contains(got, `"model" : "m-2",`) {
			t.Errorf("the upstream got %s, want m-2 asked for", got)
		}
		if diff := cmp.Diff([]string{"m-2", "fast m-1", "fast m-2"}, h.answered(s)); diff != "" {
			t.Errorf("models of the turn (-want +got):\n%s", diff)
		}
		a.answer = well
		for range 2 {
			h.want(h.named("s", "fast", "on"), stays)
			h.Route.Forget("acme", s.about.Session)
		}
		if got := h.models(s.about.Session); !slices.Equal(got, []string{"m-1", "m-2"}) {
			t.Errorf("models of the session: %v, want both", got)
		}
		h.want(h.named("s", "slow", "another name"), gone{"b", "", mooring.PinHit, mooring.WhyPin}) // of m-2, where it is
		h.want(h.named("s", "m-1", "the model itself"), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		h.want(h.named("s", "fast", "on"), stays)
		h.rules.Returns = true
		h.want(h.named("s", "fast", "on"), gone{"a", "", mooring.PinMoved, mooring.WhyReturned})
	})
	t.Run("a model that never answered is none of the session's", func(t *testing.T) {
		t.Parallel()
		h, a, _ := apart(t)
		a.answer = failing
		for _, text := range []string{"first", "second"} {
			s, err := h.run(h.named("s", "fast", text))
			if got := h.models(s.about.Session); err != nil || !slices.Equal(got, []string{"m-2"}) || s.about.Upstream != "b" {
				t.Errorf("%s: at %s, models of the session: %v, %v; want m-2 alone", text, s.about.Upstream, got, err)
			}
		}
	})
	t.Run("a first model whose upstreams are not well is passed over", func(t *testing.T) {
		t.Parallel()
		h, _, _ := apart(t)
		ail(h.Fleet.Get("a"))
		h.want(h.named("s", "fast", "first"), gone{"b", "", mooring.PinNew, mooring.WhyPolicy})
	})
	t.Run("one upstream may serve them all: the session stays with its model", func(t *testing.T) {
		t.Parallel()
		u := &server{answer: well}
		h := newHouse(t, aliased(map[string][]string{"fast": {"m-1", "m-2"}}), u.spec("u", "next"))
		u.answer = func() (int, http.Header, error) {
			if strings.Contains(*u.last.Load(), "m-1") {
				return failing()
			}
			return well()
		}
		h.want(h.named("s", "fast", "first"), gone{"u", "", mooring.PinNew, mooring.WhyFailover})
		u.answer = well
		s := h.want(h.named("s", "fast", "second"), gone{"u", "", mooring.PinHit, mooring.WhyPin})
		if diff := cmp.Diff([]string{"m-2", "fast m-2"}, h.answered(s)); diff != "" {
			t.Errorf("models of the turn (-want +got):\n%s", diff)
		}
	})
	t.Run("who cannot be reached for one model is not asked for another", func(t *testing.T) {
		t.Parallel()
		u := &server{answer: func() (int, http.Header, error) { return 0, nil, refused() }}
		h := newHouse(t, aliased(map[string][]string{"fast": {"m-1", "m-2"}}), u.spec("u", "next"))
		if _, _, err := h.went(h.named("s", "fast", "first")); mooring.CodeOf(err) != mooring.CodeUpstreamUnavailable || u.asked.Load() != 1 {
			t.Errorf("%v after %d tries, want upstream_unavailable after one", err, u.asked.Load())
		}
	})
	t.Run("a name may stand for itself and others", func(t *testing.T) {
		t.Parallel()
		h, a, _ := apart(t)
		h.rules.Aliases = map[string][]string{"m-1": {"m-1", "m-2"}}
		h.want(h.named("s", "m-1", "first"), fresh)
		a.answer = failing
		h.want(h.named("s", "m-1", "second"), gone{"b", "", mooring.PinMoved, mooring.WhyFailover})
	})
	t.Run("what joins an alias, or leaves it, moves nobody", func(t *testing.T) {
		t.Parallel()
		h, a, _ := apart(t)
		a.answer = failing
		h.want(h.named("s", "fast", "first"), gone{"b", "", mooring.PinNew, mooring.WhyFailover})
		a.answer = well
		for _, models := range [][]string{{"m-0", "m-1", "m-2"}, {"m-2"}, {"m-2", "m-1"}} {
			h.rules.Aliases = map[string][]string{"fast": models}
			h.want(h.named("s", "fast", "on"), stays)
		}
		h.rules.Aliases = map[string][]string{"fast": {"m-1"}}
		h.want(h.named("s", "fast", "on"), fresh)
	})
	t.Run("only models that the protocol's upstreams serve count", func(t *testing.T) {
		t.Parallel()
		a, b := &server{answer: well}, &server{answer: well}
		sa, sb := a.spec("a", "next"), b.spec("b", "next")
		sa.Models, sb.Models = []string{"gpt-x"}, []string{"claude-y"}
		h := newHouse(t, aliased(map[string][]string{"fast": {"gpt-x", "claude-y"}, "none": {"nobody-has-it"}}), sa, sb)
		for _, u := range h.Fleet.All() {
			u.Builtin, u.Speaks = nil, map[mooring.UpstreamName]upstream.Speaks{"a": upstream.SpeaksOpenAI, "b": upstream.SpeaksAnthropic}[u.Name]
		}
		g, _, err := h.went(h.request(mooring.Messages, "/v1/messages", `{"model":"fast","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, "X-Session-Id", "s"))
		if g.Upstream != "b" || err != nil || !strings.Contains(*b.last.Load(), `"model":"claude-y"`) {
			t.Errorf("%+v, %v; want claude-y of b", g, err)
		}
		if _, err := h.run(h.named("s", "none", "hi")); mooring.CodeOf(err) != mooring.CodeModelNotFound {
			t.Errorf("%v, want model_not_found", err)
		}
	})
	t.Run("a chat that begins anew is cut and asked for the model", func(t *testing.T) {
		t.Parallel()
		h, a, _ := apart(t)
		h.rules.Commands = true
		h.want(h.request(mooring.Chat, "/v1/chat/completions",
			`{"messages":[{"role":"user","content":"old"},{"role":"assistant","content":"here"},{"role":"user","content":"/new hello"}],"model":"fast","z":1}`, "X-Session-Id", "s"), fresh)
		if got, want := *a.last.Load(), `{"messages":[{"role":"user","content":"hello"}],"model":"m-1","z":1}`; got != want {
			t.Errorf("the upstream got %s\nwant %s", got, want)
		}
	})
}

func TestAliasOnRoutesThatMakeNoTurn(t *testing.T) {
	t.Parallel()
	h, a, _ := apart(t)
	body := `{"input":"x", "model":"fast"}`
	w, err := wire.Glance([]byte(body), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	pass := turn.Pass{
		Caller: mooring.Caller{Tenant: "acme"}, Protocol: mooring.Chat, Method: http.MethodPost, Path: "/v1/embeddings", Header: http.Header{}, Body: bytes(body), Model: "fast",
		Named: func(model string) []byte { return w.Edited([]byte(body), wire.Edit{Model: model}) },
	}
	if err := h.Pass(t.Context(), pass, &sink{}); err != nil || *a.last.Load() != `{"input":"x", "model":"m-1"}` {
		t.Errorf("%v; the upstream got %s", err, *a.last.Load())
	}
	pass.Named = nil
	if err := h.Pass(t.Context(), pass, &sink{}); mooring.CodeOf(err) != mooring.CodeModelNotFound {
		t.Errorf("%v for a body that no model can be put into, want model_not_found", err)
	}
}
