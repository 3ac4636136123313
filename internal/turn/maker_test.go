package turn_test

import (
	"net/http"
	"testing"
	"time"

	"mooring"
	"mooring/internal/route"
	"mooring/internal/turn"
	"mooring/internal/upstream"
)

// taken has all places of an upstream taken until free is called.
func taken(u *upstream.Upstream) (free func()) {
	var inside []*upstream.Visit
	for !u.Full() {
		inside = append(inside, enter(u))
	}
	return func() {
		for _, v := range inside {
			v.Leave()
		}
	}
}

// waitsAt runs a turn that has to wait for a place there until free is called, and says where it went.
func (h *house) waitsAt(name mooring.UpstreamName, free func(), req turn.Request, want gone) {
	h.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.want(req, want)
	}()
	for u := h.Fleet.Get(name); u.Waiting() == 0; {
		select {
		case <-done:
			free()
			h.t.Error("it did not wait")
			return
		case <-time.After(time.Millisecond): // nobody is told when it waits
		}
	}
	free()
	<-done
}

// narrow is a house of two upstreams with few places each.
func narrow(t *testing.T) (h *house, a, b *server) {
	t.Helper()
	a, b = &server{answer: well}, &server{answer: well}
	sa, sb := a.spec("a", "next"), b.spec("b", "next")
	sa.MaxInFlight, sb.MaxInFlight = 2, 2
	return newHouse(t, moving(), sa, sb), a, b
}

// What only its maker can read goes there, however that stands, wherever the session is.
func TestMakerIsAskedHoweverItStands(t *testing.T) {
	t.Parallel()
	first, stays := gone{"a", "", mooring.PinNew, mooring.WhyPolicy}, gone{"a", "", mooring.PinHit, mooring.WhyPin}
	t.Run("a full one is waited for", func(t *testing.T) {
		t.Parallel()
		h, _, _ := narrow(t)
		h.want(h.chat("s", "first", ""), first)
		h.waitsAt("a", taken(h.Fleet.Get("a")), h.sealed("s", "first", "second"), stays)
		defer taken(h.Fleet.Get("a"))()
		h.want(h.chat("s", "third", ""), gone{"b", "", mooring.PinSpill, mooring.WhySpilled}) // without such things it spills
	})
	for rule, elsewhere := range map[string]func(t *testing.T, h *house, a *server) mooring.PinMark{
		"its session has no pin any more": func(_ *testing.T, h *house, _ *server) mooring.PinMark {
			h.Route.Set(route.RoundRobin, time.Nanosecond)
			return mooring.PinNew
		},
		"its session had to move": func(_ *testing.T, h *house, a *server) mooring.PinMark {
			a.answer = failing
			h.want(h.chat("s", "meanwhile", ""), gone{"b", "", mooring.PinMoved, mooring.WhyFailover})
			a.answer = well
			return mooring.PinMoved
		},
	} {
		t.Run(rule+", and it is full", func(t *testing.T) {
			t.Parallel()
			h, a, _ := narrow(t)
			h.want(h.chat("s", "first", ""), first)
			mark := elsewhere(t, h, a)
			h.waitsAt("a", taken(h.Fleet.Get("a")), h.sealed("s", "first", "second"), gone{"a", "", mark, mooring.WhyOrigin})
		})
		t.Run(rule+", and its last request got no answer", func(t *testing.T) {
			t.Parallel()
			h, a, _ := narrow(t)
			h.want(h.chat("s", "first", ""), first)
			mark := elsewhere(t, h, a)
			ail(h.Fleet.Get("a"))
			h.want(h.sealed("s", "first", "second"), gone{"a", "", mark, mooring.WhyOrigin})
		})
		t.Run(rule+", and it is drained", func(t *testing.T) {
			t.Parallel()
			h, a, _ := narrow(t)
			h.want(h.chat("s", "first", ""), first)
			mark := elsewhere(t, h, a)
			h.Fleet.SetDrained(map[mooring.UpstreamName]time.Time{"a": time.Now()})
			h.want(h.sealed("s", "first", "second"), gone{"a", "", mark, mooring.WhyOrigin})
		})
		t.Run(rule+", and it has asked to be left alone", func(t *testing.T) {
			t.Parallel()
			h, a, _ := narrow(t)
			h.want(h.chat("s", "first", ""), first)
			mark := elsewhere(t, h, a)
			visit(h.Fleet.Get("a"), func(v *upstream.Visit) {
				v.Answered(http.StatusTooManyRequests, http.Header{"Retry-After": {"60"}}, time.Now())
			})
			h.want(h.sealed("s", "first", "second"), gone{"a", "", mark, mooring.WhyOrigin})
		})
	}
	t.Run("an answer of a turn that spilled was made where it went", func(t *testing.T) {
		t.Parallel()
		h, _, _ := narrow(t)
		h.want(h.chat("s", "first", ""), first)
		free := taken(h.Fleet.Get("a"))
		h.want(h.chat("s", "second", ""), gone{"b", "", mooring.PinSpill, mooring.WhySpilled})
		free()
		h.waitsAt("b", taken(h.Fleet.Get("b")), h.sealed("s", "second", "third"), gone{"b", "", mooring.PinMoved, mooring.WhyOrigin})
	})
}

// A session's own upstream takes its turns though it is drained, also when they come back to it.
func TestDrainedUpstreamTakesBackItsOwn(t *testing.T) {
	t.Parallel()
	rules := moving()
	rules.Returns = true
	h, a, _ := movedAway(t, rules)
	h.Fleet.SetDrained(map[mooring.UpstreamName]time.Time{"b": time.Now()})
	a.answer = failing
	h.want(h.chat("s", "third", ""), gone{"b", "", mooring.PinHit, mooring.WhyPin})
}

// A request about a conversation has no pin, so none is named.
func TestRequestAsideNamesNoPin(t *testing.T) {
	t.Parallel()
	aside := func(h *house, text string) turn.Request {
		r := h.chat("s", text, "")
		r.Kind = mooring.KindSide
		return r
	}
	t.Run("when it goes on to another upstream", func(t *testing.T) {
		t.Parallel()
		h, a, _ := twoServers(t, moving())
		h.want(h.chat("s", "first", ""), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
		a.answer = failing
		h.want(aside(h, "title"), gone{"b", "", "", mooring.WhyFailover})
		a.answer = well
		h.want(h.chat("s", "second", ""), gone{"a", "", mooring.PinHit, mooring.WhyPin})
	})
	t.Run("or to another account", func(t *testing.T) {
		t.Parallel()
		u := &server{answer: well}
		s := u.spec("u", "next")
		s.Accounts = []upstream.Account{{Name: "one", Weight: 1}, {Name: "two", Weight: 1}}
		rules := moving()
		rules.FailoverOn.Statuses = []int{http.StatusTooManyRequests}
		h := newHouse(t, rules, s)
		first, _, err := h.went(h.chat("s", "first", ""))
		if err != nil {
			t.Fatal(err)
		}
		u.answer = func() (int, http.Header, error) {
			if u.asked.Load() == 2 {
				return http.StatusTooManyRequests, nil, nil
			}
			return well()
		}
		g, _, err := h.went(aside(h, "title"))
		if err != nil || g.Account == first.Account || g.Pin != "" {
			t.Errorf("%+v, %v; want the other account, and no pin", g, err)
		}
		h.want(h.chat("s", "second", ""), gone{"u", first.Account, mooring.PinHit, mooring.WhyPin})
	})
}

// A full upstream that is waited for, since nobody may take the turn for it, and then fails is left as any.
func TestWaitThatFailsIsNoSpill(t *testing.T) {
	t.Parallel()
	a, b := &server{answer: well}, &server{answer: well}
	sa, sb := a.spec("a", "next"), b.spec("b", "next")
	sa.Models, sb.Models, sa.MaxInFlight = []string{"m-1"}, []string{"m-2"}, 1
	h := newHouse(t, aliased(map[string][]string{"fast": {"m-1", "m-2"}}), sa, sb)
	h.want(h.named("s", "fast", "first"), gone{"a", "", mooring.PinNew, mooring.WhyPolicy})
	free := taken(h.Fleet.Get("a"))
	a.answer = failing
	h.waitsAt("a", free, h.named("s", "fast", "second"), gone{"b", "", mooring.PinMoved, mooring.WhyFailover})
	h.want(h.named("s", "fast", "third"), gone{"b", "", mooring.PinHit, mooring.WhyPin})
}
