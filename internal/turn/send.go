package turn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/route"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// skipped is what a turn passed over without asking it. Where it finds nobody else it comes back.
type skipped struct {
	home    *berth // the first one
	spots   []mooring.Spot
	spills  bool // its session's own upstream is full, and stays its own
	patient bool // it has come back, and takes what there is
	counted bool // as a spill
}

// berth is where a turn was about to go.
type berth struct {
	target target
	bound  bool
	remote string
	moved  bool
}

// send asks the target, or whoever can answer now where the target cannot: it is full, known to be gone, or has asked to be left
// alone for a while. Where nobody else is free the target is asked all the same, and a place there is waited for.
func (t *running) send(ctx context.Context, began time.Time, tried asked) (*forward.Response, error) {
	if t.shuns() && !t.tied() {
		t.switchAccount(ctx)
	}
	for t.skipped.home != nil || t.free(tried) {
		err := upstream.ErrAvoided
		if !t.shuns() {
			var res *forward.Response
			call := t.call(began)
			call.Terms.Avoid = t.avoids
			if res, err = t.Forward.Open(ctx, call); !unsent(err) {
				t.countSpill()
				return res, err
			}
		}
		if !t.elsewhere(ctx, tried, err) {
			t.comeBack(tried)
			break
		}
	}
	call := t.call(began)
	call.Terms = t.patience(t.turn.Tenant)
	return t.Forward.Open(ctx, call)
}

// unsent says that a call was not sent because of how the upstream is.
func unsent(err error) bool {
	return errors.Is(err, upstream.ErrFull) || errors.Is(err, upstream.ErrAvoided)
}

// patience is how a request waits for a place: as one waits for a session that is busy.
func (r *Runner) patience(t mooring.Tenant) forward.Terms {
	rules := r.Rules()
	return forward.Terms{Tenant: t, Wait: rules.QueueWait, Depth: rules.QueueDepth}
}

// free says that the turn may go elsewhere, and that somebody is there who can take it at once.
func (t *running) free(tried asked) bool {
	if t.skipped.patient || t.target.Failover != failoverNext || len(t.choices) < 2 || t.tied() {
		return false
	}
	return slices.ContainsFunc(t.choices, func(c route.Candidate) bool { return t.fit(c, tried) })
}

// tied says that the request speaks of what its upstream keeps: nobody else knows it.
func (t *running) tied() bool {
	return t.keptAt == t.target.Name || slices.ContainsFunc(t.req.Wire.Fields, func(f wire.Field) bool {
		return f.Value != "" && (f.Path == "previous_response_id" || f.Path == "conversation")
	})
}

// fit says that a candidate can take the turn now, as far as is known.
func (t *running) fit(c route.Candidate, tried asked) bool {
	u := t.upstreamOf(c)
	return !tried[askedOf(c)] && t.mayCarry(t.target.Upstream, c) && t.takes(c) && !u.Full() && u.Up(t.Now())
}

// takes says that a turn which goes elsewhere may go there: the candidate is not drained, or is the session's own, and has not asked to
// be left alone. A turn that only spills brings no conversation to a server that keeps them, and asks for the model that its session got.
func (t *running) takes(c route.Candidate) bool {
	u := t.upstreamOf(c)
	own := atPin([]route.Candidate{c}, t.pin) == 0
	return (own || !u.Drained()) && !rests(u.Resting(t.Now())) && (!t.skipped.spills || !u.Remote && c.Model == t.target.model)
}

// atHome says that the turn is to go where it is aimed, and nowhere else as long as that one can be asked: its session is at home there,
// or what it holds was made there.
func (t *running) atHome() bool {
	return t.target.mark == mooring.PinHit || t.target.why == mooring.WhyOrigin
}

// avoids says of which standing of its target the turn rather goes elsewhere. One that is at home there leaves only where it would
// after asking, too.
func (t *running) avoids(s upstream.Standing) bool {
	on := t.Rules().FailoverOn
	switch {
	case s == upstream.Well:
		return false
	case !t.atHome():
		return true
	case s == upstream.Erring:
		return on.Any5xx
	}
	return s == upstream.Silent && on.Unreachable
}

// shuns says that the target, or the turn's account there, has asked to be left alone for a while.
func (t *running) shuns() bool {
	r := t.target.Rest(t.target.account.Name, t.Now())
	return rests(r) && (!t.atHome() || t.moves(forward.Outcome{State: mooring.Failed, Early: true}, r.Status))
}

// elsewhere aims at a candidate that can take the turn now; false where there is none. A session whose own upstream is full stays
// there: another one answers this turn, and no pin is moved.
func (t *running) elsewhere(ctx context.Context, tried asked, why error) bool {
	if t.settle(ctx) != nil { // before the target is remembered: it may be another one after that
		return false
	}
	from := berth{t.target, t.bound, t.remote, t.moved}
	if errors.Is(why, upstream.ErrFull) && t.atHome() {
		if t.target.Remote || t.isSealed() { // what it keeps, or alone can read, goes nowhere else
			return false
		}
		t.skipped.spills = true
	}
	if !t.free(tried) || !t.next(ctx, tried) {
		t.skipped.spills = false // it waits, and if that fails it moves as any
		return false
	}
	if t.skipped.home == nil {
		t.skipped.home = &from
	}
	t.skipped.spots = append(t.skipped.spots, from.target.spot())
	tried[t.target.spot()] = true
	return true
}

// comeBack returns to where the turn was about to go at first; false where it has not left. Whom it passed over may be asked again:
// there is nobody better.
func (t *running) comeBack(tried asked) bool {
	home := t.skipped.home
	if home == nil {
		return false
	}
	delete(tried, t.target.spot())
	for _, spot := range t.skipped.spots {
		delete(tried, spot)
	}
	t.skipped = skipped{patient: true}
	t.setTarget(home.target)
	t.bound, t.remote, t.moved = home.bound, home.remote, home.moved
	tried[t.target.spot()] = true
	return true
}

// countSpill counts a turn that another upstream has taken for the session's own.
func (t *running) countSpill() {
	if t.target.mark == mooring.PinSpill && !t.skipped.counted {
		t.skipped.home.target.Spilled()
		t.skipped.counted = true
	}
}

// retryDrained is what a client is told to wait where every upstream is drained: people end that by hand.
const retryDrained = 30 * time.Second

func drained(all []route.Candidate) error {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = string(c.Name)
	}
	return &mooring.Error{
		Code: mooring.CodeUpstreamUnavailable, RetryAfter: retryDrained,
		Safe: "No upstream takes new sessions for this model, all are drained (" + strings.Join(names, ", ") + "); try again later, or ask an operator to resume one.",
	}
}
