package turn

import (
	"context"

	"mooring"
	"mooring/internal/route"
)

// course is where a turn goes, and why.
type course struct {
	at      int // position of the candidate
	account mooring.AccountName
	mark    mooring.PinMark
	why     mooring.Why
}

// choose says where the turn goes first, with a claim where the session has no pin, and takes the session id that the upstream is to get.
func (t *running) choose(ctx context.Context, c *mooring.Begin) error {
	t.pin, t.sealed, t.skipped = nil, nil, skipped{}
	if !t.found.New {
		pin, err := t.Route.Find(ctx, t.turn.Tenant, t.found.Known.ID, t.choices)
		if err != nil {
			return err
		}
		t.pin = pin
	}
	origin, err := t.origin(ctx)
	if err != nil {
		return err
	}
	var to course
	if t.pin != nil {
		to = t.keepTo(origin)
	} else if to, err = t.settleDown(ctx, origin); err != nil {
		return err
	}
	t.aim(to)
	t.bound = t.side() || to.mark == mooring.PinHit && t.pin.Bound && !t.otherAccount() // the claim is another turn's to keep or to drop
	if t.pin == nil && !t.side() {
		c.Claim, c.Stale = t.asPin(), t.Route.Stale()
		c.Claim.Bound = false
	}
	return t.chooseRemote(ctx, c)
}

// keepTo is the course of a session that has a pin. It stays, but for what only another upstream can read, and to go back to where it
// began.
func (t *running) keepTo(origin *course) course {
	here := route.At(t.choices, t.pin.Spot())
	stay := course{at: here, account: t.accountAt(here, t.pin.Account, t.found.Known.ID), mark: mooring.PinHit, why: mooring.WhyPin}
	if t.pin.Account != "" && stay.account != t.pin.Account { // that account is no more
		stay = t.marked(stay, mooring.PinMoved)
	}
	switch {
	case origin != nil && (origin.at != stay.at || origin.account != stay.account):
		return t.marked(*origin, mooring.PinMoved)
	case origin != nil || t.side() || !t.pin.Bound:
		return stay
	}
	if to := t.homeward(); to != nil {
		return *to
	}
	return stay
}

// homeward is the way back to where a session began that had to move, where that is well; nil where it stays.
func (t *running) homeward() *course {
	home := t.pin.Home
	if home.Upstream == "" || !t.Rules().Returns {
		return nil
	}
	at := route.At(t.choices, home)
	if at < 0 || !well(t.choices[at]) || !t.mayCarry(t.candidates[route.At(t.choices, t.pin.Spot())], t.choices[at]) || t.isSealed() {
		return nil
	}
	return &course{at: at, account: t.accountAt(at, home.Account, t.found.Known.ID), mark: mooring.PinMoved, why: mooring.WhyReturned}
}

// settleDown is the course of a session without a pin: to where what it holds was made, else away from an upstream that is gone from the
// configuration, else to where the session is that it comes from, else as the policy says.
func (t *running) settleDown(ctx context.Context, origin *course) (course, error) {
	s := t.found.Known.ID
	if origin != nil {
		return t.marked(*origin, mooring.PinNew), nil
	}
	taking := route.Taking(t.choices)
	if len(taking) == 0 {
		return course{}, drained(t.choices)
	}
	if t.side() {
		return t.marked(t.first(t.Route.Order(string(s), taking), mooring.WhyPolicy), ""), nil
	}
	if !t.found.New {
		former, err := t.Route.Former(ctx, t.turn.Tenant, s, t.choices, func(u mooring.UpstreamName) bool { return t.Fleet.Get(u) != nil })
		if err != nil {
			return course{}, err
		}
		if former != nil { // turns that come together move to the same one
			t.pin = former
			return t.marked(t.first(route.Ranked(route.Rendezvous, string(s), 0, taking), mooring.WhyRemoved), mooring.PinMoved), nil
		}
	}
	to, err := t.inherited(ctx)
	if err != nil {
		return course{}, err
	}
	if to == nil {
		to = new(t.first(t.Route.Order(string(s), taking), mooring.WhyPolicy))
	}
	return t.marked(*to, mooring.PinNew), nil
}

// first is the course to the first of candidates in an order.
func (t *running) first(order []route.Candidate, why mooring.Why) course {
	at := t.position(order[0])
	return course{at: at, account: t.accountAt(at, "", t.found.Known.ID), why: why}
}

// marked tells what a course does to the session's pin; a request aside does nothing to it.
func (t *running) marked(to course, mark mooring.PinMark) course {
	if to.mark = mark; t.side() {
		to.mark = ""
	}
	return to
}

// inherited is the course to where the session is that this one comes from, where that is a candidate and well; nil where there is none
// such. A sub-agent shares instructions and tools with it as the rules say, a fork all that was said: what its upstream keeps of a
// prompt is of use. It never changes anything of that session.
func (t *running) inherited(ctx context.Context) (*course, error) {
	s := &t.found.Known
	if s.Parent == "" || s.Relation != mooring.RelationFork && (s.Relation != mooring.RelationSubagent || !t.Rules().Inherit) {
		return nil, nil
	}
	from, err := t.whereIs(ctx, s.Parent)
	if err != nil {
		return nil, err
	}
	at := t.nearest(from)
	if at < 0 || !well(t.choices[at]) {
		return nil, nil
	}
	return &course{at: at, account: t.accountAt(at, from.Account, s.Parent), why: mooring.WhyInherited}, nil
}

// whereIs says where a session is. Its first turn may still be under way: then it is where that has gone.
func (t *running) whereIs(ctx context.Context, s mooring.SessionID) (mooring.Spot, error) {
	pin, err := t.Route.Find(ctx, t.turn.Tenant, s, t.choices)
	if err != nil || pin != nil {
		return spotOf(pin), err
	}
	k, err := t.Identify.Known(ctx, t.turn.Tenant, s)
	if mooring.KindOf(err) == mooring.KindNotFound || err == nil && k.State != mooring.Running {
		return mooring.Spot{}, nil
	}
	return mooring.Spot{Upstream: k.Upstream}, err
}

func spotOf(pin *mooring.Pin) mooring.Spot {
	if pin == nil {
		return mooring.Spot{}
	}
	return pin.Spot()
}

// aim sets the target of the next attempt.
func (t *running) aim(to course) {
	u := t.candidates[to.at]
	t.setTarget(target{Upstream: u, account: u.Account(to.account), model: t.choices[to.at].Model, mark: to.mark, why: to.why})
}

// setTarget says where the turn goes, in the turn itself too.
func (t *running) setTarget(to target) {
	t.target = to
	t.turn.Upstream, t.turn.Account, t.turn.Pin = to.Name, to.account.Name, to.mark
	t.turn.Model = clip(t.req.Wire.Model)
	if to.model != "" {
		t.turn.Model = clip(to.model)
	}
}

// aimAtWinner follows the claim of a turn of the same session that was faster.
func (t *running) aimAtWinner() {
	at := route.At(t.choices, t.pin.Spot())
	if at < 0 {
		return
	}
	t.aim(course{at, t.accountAt(at, t.pin.Account, t.found.Known.ID), mooring.PinHit, mooring.WhyPin})
	t.bound = t.pin.Bound || t.side()
}

// asPin is the pin that the session gets where the turn is aimed. One that had to move keeps in mind where it began. It moves under the
// key that it was found by where that names its new upstream too: else the old pin would hold again as soon as the candidates change.
func (t *running) asPin() *mooring.Pin {
	p := &mooring.Pin{
		Tenant: t.turn.Tenant, Session: t.found.Known.ID, Set: route.SetKey(t.choices), Upstream: t.target.Name, Account: t.target.account.Name, Bound: true,
		Turn: t.turn.ID, UsedAt: t.Now(), Model: t.target.model,
	}
	if t.pin == nil || !t.pin.Bound {
		return p
	}
	if at := route.At(t.choices, p.Spot()); at >= 0 && route.Within(t.pin.Set, t.choices[at]) {
		p.Set = t.pin.Set
	}
	p.Home = t.pin.Home
	if p.Home.Upstream == "" && (t.target.why == mooring.WhyFailover || t.target.why == mooring.WhyRemoved) {
		p.Home = t.pin.Spot()
	}
	if p.Home.Upstream == p.Upstream && p.Home.Model == p.Model {
		p.Home = mooring.Spot{}
	}
	return p
}

func sameBerth(a, b *mooring.Pin) bool { return a.Turn == b.Turn }
