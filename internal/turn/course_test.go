package turn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/route"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// gone is where a turn went: upstream and account, mark and reason of its last attempt.
type gone struct {
	Upstream mooring.UpstreamName
	Account  mooring.AccountName
	Pin      mooring.PinMark
	Why      mooring.Why
}

// request is one of any protocol.
func (h *house) request(p mooring.Protocol, path, body string, header ...string) turn.Request {
	h.t.Helper()
	w, err := wire.Decode(p, []byte(body), wire.Limits{})
	if err != nil {
		h.t.Fatal(err)
	}
	r := turn.Request{
		Caller: mooring.Caller{Tenant: "acme"}, Protocol: p, Method: http.MethodPost, Path: path, Header: http.Header{}, Body: bytes(body), Wire: w,
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// went runs a turn and says where it went; an error that it ended with is told beside.
func (h *house) went(req turn.Request) (gone, *sink, error) {
	h.t.Helper()
	s, err := h.run(req)
	got := h.stored(s.about.Turn)
	g := gone{Upstream: got.Upstream, Account: got.Account, Pin: s.about.Pin}
	if n := len(got.Attempts); n > 0 {
		g.Why = got.Attempts[n-1].Why
	}
	return g, s, err
}

// want runs a turn that must go there and be answered well.
func (h *house) want(req turn.Request, want gone) *sink {
	h.t.Helper()
	got, s, err := h.went(req)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || s.head.Status != http.StatusOK {
		h.t.Errorf("status %d, %v; it went (-want +got):\n%s", s.head.Status, err, diff)
	}
	return s
}

// twoServers is a house with two upstreams that answer well.
func twoServers(t *testing.T, rules turn.Rules) (h *house, a, b *server) {
	t.Helper()
	a, b = &server{answer: well}, &server{answer: well}
	return newHouse(t, rules, a.spec("a", "next"), b.spec("b", "next")), a, b
}

// ail lets an upstream seem to be gone, heal lets it be there again.
func ail(u *upstream.Upstream) {
	for u.Up(time.Now()) {
		visit(u, func(v *upstream.Visit) { v.Unanswered(time.Now()) })
	}
}

func heal(u *upstream.Upstream) { visit(u, (*upstream.Visit).Began) }

func visit(u *upstream.Upstream, told func(*upstream.Visit)) {
	v := enter(u)
	told(v)
	v.Leave()
}

func enter(u *upstream.Upstream) *upstream.Visit {
	v, err := u.Enter(context.Background(), upstream.Visitor{}, time.Now)
	if err != nil {
		panic(err)
	}
	return v
}

func failing() (int, http.Header, error) { return http.StatusServiceUnavailable, nil, nil }

// movedAway is a house whose session s began at a and had to move to b; a has nothing any more.
func movedAway(t *testing.T, rules turn.Rules) (h *house, a, b *server) {
	t.Helper()
	h, a, b = twoServers(t, rules)
	h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
	a.answer = failing
	h.want(h.chat("s", "second", ""), gone{"b", "", mooring.PinMoved, mooring.WhyFailover})
	a.answer = well
	return h, a, b
}

func TestReturn(t *testing.T) {
	t.Parallel()
	back, there := gone{"a", "", mooring.PinMoved, mooring.WhyReturned}, gone{"b", "", mooring.PinHit, mooring.WhyPin}
	returning := moving()
	returning.Returns = true
	t.Run("a moved session goes back when its first upstream is well, and stays then", func(t *testing.T) {
		t.Parallel()
		h, _, _ := movedAway(t, returning)
		h.want(h.chat("s", "third", ""), back)
		h.want(h.chat("s", "fourth", ""), gone{"a", "", mooring.PinHit, mooring.WhyPin})
		pins, err := h.store.Pins(t.Context(), "acme", h.last().Session)
		if err != nil || len(pins) != 1 || pins[0].Upstream != "a" || pins[0].Home != (mooring.Spot{}) {
			t.Errorf("pins %+v, %v; want one at a, which is home", pins, err)
		}
	})
	t.Run("where it began is in the store", func(t *testing.T) {
		t.Parallel()
		h, _, _ := movedAway(t, returning)
		h.Route.Forget("acme", h.last().Session)
		h.want(h.chat("s", "third", ""), back)
	})
	t.Run("it stays where the rules say so, until they say otherwise", func(t *testing.T) {
		t.Parallel()
		h, _, _ := movedAway(t, moving())
		h.want(h.chat("s", "third", ""), there)
		h.rules.Returns = true
		h.want(h.chat("s", "fourth", ""), back)
	})
	t.Run("it stays as long as that one is not well", func(t *testing.T) {
		t.Parallel()
		h, _, _ := movedAway(t, returning)
		ail(h.Fleet.Get("a"))
		h.want(h.chat("s", "third", ""), there)
		heal(h.Fleet.Get("a"))
		h.want(h.chat("s", "fourth", ""), back)
	})
	t.Run("a way back that fails leads where it was, and it is not lost", func(t *testing.T) {
		t.Parallel()
		h, a, _ := movedAway(t, returning)
		a.answer = failing
		s := h.want(h.chat("s", "third", ""), there)
		if got := h.stored(s.about.Turn).Attempts; len(got) != 2 || got[0].Upstream != "a" || got[0].Why != mooring.WhyReturned {
			t.Errorf("attempts %+v, want the way back first", got)
		}
		a.answer = well
		h.want(h.chat("s", "fourth", ""), back)
	})
	t.Run("what was moved twice goes back to the first", func(t *testing.T) {
		t.Parallel()
		servers := map[mooring.UpstreamName]*server{"a": {answer: well}, "b": {answer: well}, "c": {answer: well}}
		h := newHouse(t, moving(), servers["a"].spec("a", "next"), servers["b"].spec("b", "next"), servers["c"].spec("c", "next"))
		on := mooring.UpstreamName("a")
		h.want(h.chat("s", "first", ""), gone{on, "", mooring.PinNew, mooring.WhyPolicy})
		for range 2 {
			servers[on].answer = failing
			g, _, err := h.went(h.chat("s", "go on", ""))
			if err != nil || g.Pin != mooring.PinMoved {
				t.Fatalf("it went %+v, %v; want it moved", g, err)
			}
			on = g.Upstream
		}
		servers["a"].answer, h.rules.Returns = well, true
		h.want(h.chat("s", "last", ""), back)
	})
	t.Run("a request about the conversation takes no part", func(t *testing.T) {
		t.Parallel()
		h, _, _ := movedAway(t, returning)
		side := h.chat("s", "how many tokens?", "")
		side.Kind = mooring.KindSide
		h.want(side, there)
		h.want(h.chat("s", "third", ""), back)
	})
	t.Run("what only its upstream can read keeps the session there", func(t *testing.T) {
		t.Parallel()
		h, _, _ := movedAway(t, returning)
		h.want(h.sealed("s", "first", "second", "third"), there)
		h.want(h.chat("s", "fourth", ""), back)
	})
}

// last is the turn that ended last.
func (h *house) last() *mooring.Turn {
	h.t.Helper()
	var last *mooring.Turn
	for {
		select {
		case last = <-h.ended:
		default:
			if last == nil {
				h.t.Fatal("no turn has ended since")
			}
			return last
		}
	}
}

// sealed is a chat that shows what was said, each time with an answer that has something encrypted in it.
func (h *house) sealed(id string, said ...string) turn.Request {
	h.t.Helper()
	var list []string
	for i, text := range said {
		if i > 0 {
			list = append(list, `{"role":"assistant","content":"here","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}`)
		}
		list = append(list, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	}
	body := `{"model":"fake-1","messages":[` + strings.Join(list, ",") + `]}`
	return h.request(mooring.Chat, "/v1/chat/completions", body, "X-Session-Id", id)
}

// removed takes an upstream out of the configuration, or puts others there.
func (h *house) configure(specs ...upstream.Spec) {
	h.t.Helper()
	h.Fleet.Replace(upstreams(h.t, specs))
}

func TestUpstreamThatIsRemoved(t *testing.T) {
	t.Parallel()
	for rule, returns := range map[string]bool{"the session moves, and stays when it is there again": false, "it goes back then where the rules say so": true} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			rules := moving()
			rules.Returns = returns
			h, a, b := twoServers(t, rules)
			c := &server{answer: well}
			sa, sb, sc := a.spec("a", "next"), b.spec("b", "next"), c.spec("c", "next")
			h.configure(sa, sb, sc)
			h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
			h.configure(sb, sc)
			g, _, err := h.went(h.chat("s", "second", ""))
			if err != nil || g.Pin != mooring.PinMoved || g.Why != mooring.WhyRemoved || g.Upstream == "a" {
				t.Fatalf("it went %+v, %v; want it moved", g, err)
			}
			stays := gone{g.Upstream, "", mooring.PinHit, mooring.WhyPin}
			h.want(h.chat("s", "third", ""), stays)
			h.configure(sa, sb, sc)
			if returns {
				h.want(h.chat("s", "fourth", ""), gone{"a", "", mooring.PinMoved, mooring.WhyReturned})
				return
			}
			h.want(h.chat("s", "fourth", ""), stays)
			h.Route.Forget("acme", h.last().Session)
			h.want(h.chat("s", "fifth", ""), stays)
		})
	}
	t.Run("a model that others serve is no move", func(t *testing.T) {
		t.Parallel()
		a, b := &server{answer: well}, &server{answer: well}
		sa, sb := a.spec("a", "next"), b.spec("b", "next")
		sa.Models, sb.Models = []string{"fake-1"}, []string{"other"}
		h := newHouse(t, moving(), sa, sb)
		h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		h.configure(sb)
		h.want(h.request(mooring.Chat, "/v1/chat/completions", `{"model":"other","messages":[{"role":"user","content":"second"}]}`, "X-Session-Id", "s"),
			gone{"b", "", mooring.PinNew, mooring.WhyPolicy})
	})
}

// A turn whose upstream leaves the configuration meanwhile ends there, or goes on where it may; the session's next one moves.
func TestUpstreamThatIsRemovedWhileATurnRuns(t *testing.T) {
	t.Parallel()
	for rule, tt := range map[string]struct {
		then        func() (int, http.Header, error)
		first, next gone
	}{
		"it ends there": {
			well, gone{"a", "", mooring.PinHit, mooring.WhyPin}, gone{"b", "", mooring.PinMoved, mooring.WhyRemoved},
		},
		"it goes on": {
			failing, gone{"b", "", mooring.PinMoved, mooring.WhyFailover}, gone{"b", "", mooring.PinHit, mooring.WhyPin},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			h, a, b := twoServers(t, moving())
			h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
			asked, goOn := make(chan struct{}), make(chan struct{})
			a.answer = func() (int, http.Header, error) {
				close(asked)
				<-goOn
				return tt.then()
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				h.want(h.chat("s", "second", ""), tt.first)
			}()
			<-asked
			h.configure(b.spec("b", "next"))
			close(goOn)
			<-ended
			h.want(h.chat("s", "third", ""), tt.next)
		})
	}
}

// opencode is a chat of a program that names the session above.
func (h *house) opencode(id, parent, text string) turn.Request {
	h.t.Helper()
	r := h.chat("", text, "")
	r.Header = http.Header{"X-Opencode-Session-Id": {id}}
	if parent != "" {
		r.Header.Set("X-Opencode-Parent-Session-Id", parent)
	}
	return r
}

const (
	above = "ses_0000000000000000000000root"
	below = "ses_00000000000000000000kid%03d"
)

func TestInherit(t *testing.T) {
	t.Parallel()
	inheriting := moving()
	inheriting.Inherit = true
	accounts := []upstream.Account{{Name: "one", Weight: 1}, {Name: "two", Weight: 1}, {Name: "three", Weight: 1}, {Name: "four", Weight: 1}}
	family := func(t *testing.T, rules turn.Rules) (h *house, a *server, first gone) {
		t.Helper()
		a, b := &server{answer: well}, &server{answer: well}
		sa, sb := a.spec("a", "next"), b.spec("b", "next")
		sa.Accounts, sb.Accounts, sa.MaxInFlight = accounts, accounts, 2
		h = newHouse(t, rules, sa, sb)
		first, _, err := h.went(h.opencode(above, "", "root"))
		if err != nil || first.Upstream != "a" {
			t.Fatalf("the session above is at %+v, %v", first, err)
		}
		return h, a, first
	}
	t.Run("sub-agents begin where their parent is, upstream and account", func(t *testing.T) {
		t.Parallel()
		h, _, first := family(t, inheriting)
		for i := range 6 {
			id := fmt.Sprintf(below, i)
			h.want(h.opencode(id, above, "task"), gone{"a", first.Account, mooring.PinNew, mooring.WhyInherited})
			h.want(h.opencode(id, above, "go on"), gone{"a", first.Account, mooring.PinHit, mooring.WhyPin})
			h.want(h.opencode(above, "", "root again"), gone{"a", first.Account, mooring.PinHit, mooring.WhyPin})
		}
	})
	t.Run("where they are spread the policy chooses", func(t *testing.T) {
		t.Parallel()
		h, _, first := family(t, moving())
		seen := map[mooring.UpstreamName]bool{}
		for i := range 4 {
			g, _, err := h.went(h.opencode(fmt.Sprintf(below, i), above, "task"))
			if err != nil || g.Why != mooring.WhyPolicy {
				t.Errorf("%+v, %v", g, err)
			}
			seen[g.Upstream] = true
		}
		if len(seen) != 2 {
			t.Errorf("sub-agents went to %v, want both", seen)
		}
		h.want(h.opencode(above, "", "root again"), gone{"a", first.Account, mooring.PinHit, mooring.WhyPin})
	})
	t.Run("an upstream that is not well, or full, is left to the policy", func(t *testing.T) {
		t.Parallel()
		h, _, _ := family(t, inheriting)
		ail(h.Fleet.Get("a"))
		if g, _, err := h.went(h.opencode(fmt.Sprintf(below, 1), above, "task")); err != nil || g.Upstream != "b" || g.Why != mooring.WhyPolicy {
			t.Errorf("%+v, %v; want b, by the policy", g, err)
		}
		heal(h.Fleet.Get("a"))
		enter(h.Fleet.Get("a"))
		enter(h.Fleet.Get("a"))
		if g, _, err := h.went(h.opencode(fmt.Sprintf(below, 2), above, "task")); err != nil || g.Upstream != "b" || g.Why != mooring.WhyPolicy {
			t.Errorf("%+v, %v; want b, by the policy", g, err)
		}
	})
	t.Run("a parent that is at its first turn has a place already", func(t *testing.T) {
		t.Parallel()
		a, b := &server{answer: well}, &server{answer: well}
		h := newHouse(t, inheriting, a.spec("a", "next"), b.spec("b", "next"))
		began, goOn := make(chan struct{}), make(chan struct{})
		a.answer = func() (int, http.Header, error) {
			if a.asked.Load() == 1 {
				close(began)
				<-goOn
			}
			return well()
		}
		ended := make(chan error)
		go func() {
			_, err := h.run(h.opencode(above, "", "root"))
			ended <- err
		}()
		<-began
		for i := range 3 {
			h.want(h.opencode(fmt.Sprintf(below, i), above, "task"), gone{"a", "", mooring.PinNew, mooring.WhyInherited})
		}
		close(goOn)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		h.want(h.opencode(above, "", "root again"), gone{"a", "", mooring.PinHit, mooring.WhyPin})
	})
	t.Run("a sub-agent that has to move does not move its parent", func(t *testing.T) {
		t.Parallel()
		h, a, first := family(t, inheriting)
		id := fmt.Sprintf(below, 1)
		h.want(h.opencode(id, above, "task"), gone{"a", first.Account, mooring.PinNew, mooring.WhyInherited})
		a.answer = failing
		if g, _, err := h.went(h.opencode(id, above, "go on")); err != nil || g.Upstream != "b" || g.Pin != mooring.PinMoved {
			t.Errorf("%+v, %v; want it moved to b", g, err)
		}
		a.answer = well
		h.want(h.opencode(above, "", "root again"), gone{"a", first.Account, mooring.PinHit, mooring.WhyPin})
	})
	t.Run("a fork begins where its source is, whatever is said of sub-agents", func(t *testing.T) {
		t.Parallel()
		h, _, _ := twoServers(t, moving())
		thread := func(id, from string) turn.Request {
			said := fmt.Sprintf(`{"session_id":%q,"thread_id":%q}`, id, id)
			if from != "" {
				said = fmt.Sprintf(`{"session_id":%q,"thread_id":%q,"forked_from_thread_id":%q}`, id, id, from)
			}
			r := h.chat("", "hello "+id, "")
			r.Header = http.Header{"X-Codex-Turn-Metadata": {said}}
			return r
		}
		const source = "01900001-aaaa-7bbb-8ccc-000000000001"
		h.want(thread(source, ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		for i := range 3 {
			h.want(thread(fmt.Sprintf("01900001-aaaa-7bbb-8ccc-00000000010%d", i), source), gone{"a", "", mooring.PinNew, mooring.WhyInherited})
		}
	})
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	accounts := []upstream.Account{{Name: "one", Weight: 1}, {Name: "two", Weight: 1}, {Name: "three", Weight: 1}}
	// idle is a house whose session s has had an answer from a, and whose pin has idled out; the policy would choose b.
	idle := func(t *testing.T) (h *house, a, b *server, first gone) {
		t.Helper()
		a, b = &server{answer: well}, &server{answer: well}
		sa, sb := a.spec("a", "next"), b.spec("b", "next")
		sa.Accounts, sb.Accounts = accounts, accounts
		h = newHouse(t, moving(), sa, sb)
		first, _, err := h.went(h.chat("s", "first", ""))
		if err != nil || first.Upstream != "a" {
			t.Fatalf("the session began at %+v, %v", first, err)
		}
		h.Route.Set(route.RoundRobin, time.Nanosecond)
		return h, a, b, first
	}
	t.Run("a request without such things goes as the policy says", func(t *testing.T) {
		t.Parallel()
		h, _, _, _ := idle(t)
		if g, _, err := h.went(h.chat("s", "second", "")); err != nil || g.Upstream != "b" || g.Why != mooring.WhyPolicy {
			t.Errorf("%+v, %v; want b, by the policy", g, err)
		}
	})
	t.Run("one that holds what only its maker can read goes there, upstream and account", func(t *testing.T) {
		t.Parallel()
		h, _, _, first := idle(t)
		h.want(h.sealed("s", "first", "second"), gone{"a", first.Account, mooring.PinNew, mooring.WhyOrigin})
	})
	t.Run("also after a restart", func(t *testing.T) {
		t.Parallel()
		h, _, _, first := idle(t)
		fresh := route.New(route.Options{Store: h.store, Log: h.Record, Logger: h.Log, Now: time.Now, Policy: route.RoundRobin, PinIdle: time.Nanosecond})
		fresh.Order("", []route.Candidate{{Name: "a"}, {Name: "b"}})
		h.Route = fresh
		h.want(h.sealed("s", "first", "second"), gone{"a", first.Account, mooring.PinNew, mooring.WhyOrigin})
	})
	t.Run("whatever the session's pin says, which follows", func(t *testing.T) {
		t.Parallel()
		h, a, _ := twoServers(t, moving())
		h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		a.answer = failing
		h.want(h.chat("s", "second", ""), gone{"b", "", mooring.PinMoved, mooring.WhyFailover})
		a.answer = well
		h.want(h.sealed("s", "first", "another second"), gone{"a", "", mooring.PinMoved, mooring.WhyOrigin}) // a branch below the first answer
		h.want(h.chat("s", "third", ""), gone{"a", "", mooring.PinHit, mooring.WhyPin})
	})
	t.Run("a maker that is gone is left for another, whose refusal is relayed once", func(t *testing.T) {
		t.Parallel()
		h, a, b := twoServers(t, moving())
		h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		a.answer = func() (int, http.Header, error) { return 0, nil, refused() }
		b.answer = func() (int, http.Header, error) { return http.StatusBadRequest, nil, nil }
		asked := b.asked.Load()
		for range 2 {
			g, s, err := h.went(h.sealed("s", "first", "second"))
			if err != nil || s.head.Status != http.StatusBadRequest || g.Upstream != "b" || g.Pin != "" {
				t.Errorf("%+v, status %d, %v; want b's 400, and no pin", g, s.head.Status, err)
			}
		}
		if n := b.asked.Load() - asked; n != 2 {
			t.Errorf("the other upstream was asked %d times for two requests", n)
		}
		a.answer = well
		h.want(h.sealed("s", "first", "second"), gone{"a", "", mooring.PinHit, mooring.WhyPin})
	})
	t.Run("a model that the maker does not serve goes where it is served, and back", func(t *testing.T) {
		t.Parallel()
		a, b := &server{answer: well}, &server{answer: well}
		sa, sb := a.spec("a", "next"), b.spec("b", "next")
		sa.Models, sb.Models = []string{"fake-1"}, []string{"p2"}
		h := newHouse(t, moving(), sa, sb)
		h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		b.answer = func() (int, http.Header, error) { return http.StatusBadRequest, nil, nil }
		other := h.sealed("s", "first", "second")
		body := strings.Replace(string(other.Body.Bytes()), "fake-1", "p2", 1)
		g, s, err := h.went(h.request(mooring.Chat, "/v1/chat/completions", body, "X-Session-Id", "s"))
		if err != nil || g.Upstream != "b" || s.head.Status != http.StatusBadRequest {
			t.Errorf("%+v, status %d, %v; want b's refusal", g, s.head.Status, err)
		}
		h.want(h.sealed("s", "first", "third"), gone{"a", "", mooring.PinHit, mooring.WhyPin})
	})
}

const responsesPath = "/v1/responses"

// response answers in the shape of /v1/responses.
func response(id string) func(r *http.Request) string {
	return func(*http.Request) string {
		return fmt.Sprintf(`{"id":%q,"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"here"}]}]}`, id)
	}
}

func TestOriginOfWhatAnUpstreamKeeps(t *testing.T) {
	t.Parallel()
	const native = "X-Claude-Code-Session-Id" // names a session whatever else does
	ids := []string{"0a1b2c3d-1111-4222-8333-444455550001", "0a1b2c3d-1111-4222-8333-444455550002", "0a1b2c3d-1111-4222-8333-444455550003"}
	made := func(t *testing.T) (h *house, a, b *server) {
		t.Helper()
		h, a, b = twoServers(t, moving())
		a.body, b.body = response("resp_a"), response("resp_b")
		h.want(h.request(mooring.Responses, responsesPath, `{"model":"fake-1","input":"one"}`, native, ids[0]), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		h.want(h.request(mooring.Responses, responsesPath, `{"model":"fake-1","input":"two"}`, native, ids[1]), gone{"b", "", mooring.PinNew, mooring.WhyPolicy})
		return h, a, b
	}
	const after = `{"model":"fake-1","previous_response_id":"resp_a","input":"go on"}`
	t.Run("what follows a stored answer goes to who has it, whichever session it is said to belong to", func(t *testing.T) {
		t.Parallel()
		h, _, _ := made(t)
		h.want(h.request(mooring.Responses, responsesPath, after, native, ids[1]), gone{"a", "", mooring.PinMoved, mooring.WhyOrigin})
		h.want(h.request(mooring.Responses, responsesPath, after, native, ids[2]), gone{"a", "", mooring.PinNew, mooring.WhyOrigin})
		h.want(h.request(mooring.Responses, responsesPath, after), gone{"a", "", mooring.PinHit, mooring.WhyPin})
	})
	t.Run("nobody else is asked for it", func(t *testing.T) {
		t.Parallel()
		h, a, b := made(t)
		a.answer = func() (int, http.Header, error) { return 0, nil, refused() }
		asked := b.asked.Load()
		_, _, err := h.went(h.request(mooring.Responses, responsesPath, after))
		e, _ := errors.AsType[*mooring.Error](err)
		if mooring.CodeOf(err) != mooring.CodeUpstreamUnavailable || e.RetryAfter <= 0 || b.asked.Load() != asked {
			t.Errorf("%v, and the other one was asked %d times; want upstream_unavailable of a alone", err, b.asked.Load()-asked)
		}
	})
	t.Run("where it was removed another one is, whose answer is relayed", func(t *testing.T) {
		t.Parallel()
		h, _, b := made(t)
		h.configure(b.spec("b", "next"))
		b.answer = func() (int, http.Header, error) { return http.StatusNotFound, nil, nil }
		g, s, err := h.went(h.request(mooring.Responses, responsesPath, after))
		if err != nil || g.Upstream != "b" || s.head.Status != http.StatusNotFound || !strings.Contains(s.body, "the lamp is out") {
			t.Errorf("%+v, status %d, %v: %s; want b's own refusal", g, s.head.Status, err, s.body)
		}
	})
	t.Run("a container too", func(t *testing.T) {
		t.Parallel()
		h, a, b := twoServers(t, moving())
		answer := func(*http.Request) string {
			return `{"type":"message","role":"assistant","content":[{"type":"text","text":"4"}],"stop_reason":"end_turn","container":{"id":"container_1","expires_at":"x"}}`
		}
		a.body, b.body = answer, answer
		say := func(id, more string) turn.Request {
			return h.request(mooring.Messages, "/v1/messages", `{"model":"fake-1","max_tokens":9,`+more+`"messages":[{"role":"user","content":"`+id+`"}]}`, "X-Session-Id", id)
		}
		h.want(say("s1", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		h.want(say("s2", `"container":"container_1",`), gone{"a", "", mooring.PinNew, mooring.WhyOrigin})
		h.want(say("s3", `"container":"container_9",`), gone{"b", "", mooring.PinNew, mooring.WhyPolicy})
	})
}

// counted is the store as a Picker reads it, with the reads that it takes.
type counted struct {
	route.Store
	reads atomic.Int64
}

func (c *counted) Pins(ctx context.Context, t mooring.Tenant, s mooring.SessionID) ([]mooring.Pin, error) {
	c.reads.Add(1)
	return c.Store.Pins(ctx, t, s)
}

func (c *counted) MadeAt(ctx context.Context, t mooring.Tenant, m mooring.MessageID) (mooring.Turn, error) {
	c.reads.Add(1)
	return c.Store.MadeAt(ctx, t, m)
}

func TestWarmSessionTakesNoReads(t *testing.T) {
	t.Parallel()
	h, _, _ := twoServers(t, moving())
	c := &counted{Store: h.store}
	h.Route = route.New(route.Options{Store: c, Log: h.Record, Logger: h.Log, Now: time.Now, Policy: route.RoundRobin, PinIdle: time.Hour})
	said := []string{"first"}
	h.want(h.sealed("s", said...), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
	for i := range 3 {
		said = append(said, fmt.Sprint("question ", i))
		h.want(h.sealed("s", said...), gone{"a", "", mooring.PinHit, mooring.WhyPin})
	}
	if n := c.reads.Load(); n != 0 {
		t.Errorf("%d looks into the store, want none", n)
	}
}
