package turn

import (
	"context"
	"slices"
	"time"
	"unicode/utf8"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/route"
	"mooring/internal/upstream"
)

// look finds the candidates and the session, as they are now.
func (t *running) look(ctx context.Context) error {
	t.candidates, t.choices = t.serving(t.req.Protocol, t.req.Wire.Model)
	if len(t.candidates) == 0 {
		return noModel(t.req.Wire.Model)
	}
	return t.identify(ctx)
}

// serving gives the upstreams that serve a model in a protocol, and them as choices. A name that the configuration gives to several
// models stands for all of their candidates, those of the first model first.
func (r *Runner) serving(p mooring.Protocol, model string) ([]*upstream.Upstream, []route.Candidate) {
	now := r.Now()
	models, alias := r.Rules().Aliases[model]
	if !alias {
		all := r.Fleet.Candidates(p, model)
		return all, choicesOf(all, now)
	}
	var all []*upstream.Upstream
	var choices []route.Candidate
	for _, one := range models {
		some := r.Fleet.Candidates(p, one)
		as := choicesOf(some, now)
		for i := range as {
			as[i].Alias, as[i].Model = model, one
		}
		all, choices = append(all, some...), append(choices, as...)
	}
	return all, choices
}

func choicesOf(all []*upstream.Upstream, now time.Time) []route.Candidate {
	out := make([]route.Candidate, len(all))
	for i, u := range all {
		c := route.Candidate{
			Name: u.Name, Weight: u.Weight, InFlight: u.InFlight(), Up: u.Up(now), Full: u.Full(), Drained: u.Drained(), Resting: rests(u.Resting(now)),
		}
		for _, a := range u.Accounts {
			c.Accounts = append(c.Accounts, route.Account{Name: a.Name, Weight: a.Weight, Resting: rests(u.Rest(a.Name, now))})
		}
		out[i] = c
	}
	return out
}

func noModel(model string) error {
	return mooring.Errorf(mooring.CodeModelNotFound, "No upstream serves the model %q; ask GET /v1/models for those that are there.", clip(model))
}

const longestModel = 100

// clip cuts a text between two characters: a store takes no half of one.
func clip(s string) string {
	if len(s) <= longestModel {
		return s
	}
	n := longestModel
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// upstreamOf is the upstream of a candidate.
func (t *running) upstreamOf(c route.Candidate) *upstream.Upstream {
	return t.candidates[t.position(c)]
}

func (t *running) position(c route.Candidate) int {
	return slices.IndexFunc(t.choices, func(o route.Candidate) bool { return o.Name == c.Name && o.Model == c.Model })
}

// well says that a candidate may be given something that it need not have.
func well(c route.Candidate) bool { return c.Up && !c.Drained && !c.Full && !c.Resting }

// accountAt is the account that is asked at a candidate: the one wanted where the candidate has it, else the one that a session has
// there by its id.
func (t *running) accountAt(at int, wanted mooring.AccountName, session mooring.SessionID) mooring.AccountName {
	c := t.choices[at]
	if slices.ContainsFunc(c.Accounts, func(a route.Account) bool { return a.Name == wanted }) {
		return wanted
	}
	return route.AccountFor(string(session), c)
}

// mayCarry keeps a client's own credential from moving to another origin. Where neither upstream gets it nothing moves with the request.
func (t *running) mayCarry(from *upstream.Upstream, c route.Candidate) bool {
	return carries(t.req.Caller, from, t.upstreamOf(c))
}

func carries(c mooring.Caller, from, to *upstream.Upstream) bool {
	return c.Own.Empty() || to.Origin() == from.Origin() || from.KeyMode != upstream.KeyClient && to.KeyMode != upstream.KeyClient
}

// upward is a request's body as an upstream gets it.
type upward struct {
	model string // that is asked for in the place of an alias; empty for none
	body  forward.Body
}

// bodyFor is the request's body for the upstream that is asked.
func (t *running) bodyFor(model string) forward.Body { //nolint:ireturn // as bodyOf
	if t.upward.body == nil || t.upward.model != model {
		t.upward = upward{model, bodyOf(&t.req, t.view, model)}
	}
	return t.upward.body
}
