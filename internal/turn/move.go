package turn

import (
	"context"
	"net/http"
	"slices"

	"mooring"
	"mooring/internal/route"
	"mooring/internal/upstream"
)

// The ways of routing.failover.
const (
	failoverNext = "next"
	failoverWait = "wait"
)

// asked are the candidates that a turn has asked, by their name and model.
type asked map[mooring.Spot]bool

func askedOf(c route.Candidate) mooring.Spot { return mooring.Spot{Upstream: c.Name, Model: c.Model} }

// another aims at who is asked after an attempt that failed before its first byte: the same upstream once more, where it is waited for, or
// the next; false where nobody is.
func (t *running) another(ctx context.Context, a *mooring.Attempt, h http.Header, tried asked) bool {
	if t.target.Failover == failoverWait && t.target.why != mooring.WhyReturned {
		now := t.Now()
		notBefore, _ := upstream.RetryAfter(h, now)
		return ctx.Err() == nil && t.wait.again(now, a.StartedAt, notBefore)
	}
	return t.next(ctx, tried)
}

// next aims at another candidate where the rules let a turn move; false where none is left. Turns of one session that move at
// the same moment move to the same one: to where another of them has been answered, else in an order that is the session's own. What an
// upstream keeps under an id is nowhere else, so a request that names it does not move.
func (t *running) next(ctx context.Context, tried asked) bool {
	if t.target.Failover != failoverNext && t.target.why != mooring.WhyReturned || ctx.Err() != nil || t.keptAt == t.target.Name {
		return false
	}
	from := t.target.Upstream
	if t.settle(ctx) != nil { // who else there is to be asked may be others after that
		return false
	}
	left := slices.DeleteFunc(route.Ranked(route.Rendezvous, string(t.turn.Session), 0, t.choices), func(c route.Candidate) bool {
		return tried[askedOf(c)] || !t.mayCarry(from, c) || !t.takes(c)
	})
	if len(left) == 0 {
		return t.comeBack(tried)
	}
	pin, err := t.Route.Find(ctx, t.turn.Tenant, t.turn.Session, t.choices)
	if err != nil {
		return false
	}
	to := t.marked(t.first(left, mooring.WhyFailover), mooring.PinNew)
	switch at := atPin(left, pin); {
	case at >= 0:
		t.pin = pin
		here := t.position(left[at])
		to = course{here, t.accountAt(here, pin.Account, t.found.Known.ID), mooring.PinHit, mooring.WhyPin}
	case t.pin != nil && t.pin.Bound:
		to = t.marked(to, mooring.PinMoved)
	}
	if t.skipped.spills && to.mark != mooring.PinHit { // its session stays where it is
		to.mark, to.why = mooring.PinSpill, mooring.WhySpilled
	}
	t.aim(to)
	t.bound = t.target.mark == mooring.PinHit || t.target.mark == mooring.PinSpill || t.side() // it moves alone
	return t.moveRemote(ctx) == nil
}

// atPin is the position of a pin that holds; -1 where there is none.
func atPin(all []route.Candidate, pin *mooring.Pin) int {
	if pin == nil || !pin.Bound {
		return -1
	}
	return route.At(all, pin.Spot())
}
