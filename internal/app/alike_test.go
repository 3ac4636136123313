package app_test

import (
	"net/http"
	"testing"

	"mooring/internal/upstreamtest"
)

// What programs say around a chat is the same for all of them, and joins none.
func TestChatsOfOneProgramAreApart(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ path, first, second string }{
		"C017 the instructions as a message": {
			chatPath, `{"model":"m","messages":[{"role":"system","content":"You keep books."},{"role":"user","content":"invoice"}]}`,
			`{"model":"m","messages":[{"role":"system","content":"You keep books."},{"role":"user","content":"holiday"}]}`,
		},
		"C017 the instructions beside the messages": {
			messagesRoute, `{"model":"m","max_tokens":9,"system":"You keep books.","messages":[{"role":"user","content":"invoice"}]}`,
			`{"model":"m","max_tokens":9,"system":"You keep books.","messages":[{"role":"user","content":"holiday"}]}`,
		},
		"C018 an input": {responsesRoute, `{"model":"m","input":"plan a trip"}`, `{"model":"m","input":"fix my code"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, one(upstreamtest.New(t)))
			a, b := p.call(http.MethodPost, of.path, of.first).want(http.StatusOK), p.call(http.MethodPost, of.path, of.second).want(http.StatusOK)
			if a.session() == "" || a.session() == b.session() || p.sessions() != 2 {
				t.Errorf("sessions %q and %q, %d in all, want two", a.session(), b.session(), p.sessions())
			}
		})
	}
	t.Run("C018 the input that grows stays in its session", func(t *testing.T) {
		t.Parallel()
		p := start(t, one(upstreamtest.New(t)))
		a, b := p.client(), p.client()
		a.path, b.path = responsesRoute, responsesRoute
		first := a.say("plan a trip")
		other := b.say("fix my code")
		if next := a.say("by train"); next.session() != first.session() || first.session() == other.session() {
			t.Errorf("turn 2 is in %s, want %s; the other one is %s", next.session(), first.session(), other.session())
		}
	})
}
