package turn

import (
	"slices"

	"mooring"
	"mooring/internal/route"
	"mooring/internal/upstream"
)

// shelved gives candidates in the order in which a tenant's requests about what upstreams keep are sent to them: whatever the policy, the
// same one first, as long as it is well and not drained. How busy it is does not matter: no other one has those things.
func shelved(t mooring.Tenant, all []route.Candidate) []route.Candidate {
	out := slices.Clone(all)
	for i := range out {
		out[i].Full, out[i].Resting = false, false
	}
	return route.Ranked(route.Rendezvous, string(t), 0, out)
}

// understanding are the upstreams that speak a protocol.
func (r *Runner) understanding(p mooring.Protocol) []*upstream.Upstream {
	return slices.DeleteFunc(slices.Clone(r.Fleet.All()), func(u *upstream.Upstream) bool { return !u.Understands(p) })
}

// shelf is the course to where the tenant's requests about kept things go. What the request names by an id and nobody here has seen made,
// a file or a conversation, stands there if it was made through this server. Nil where it names none, or that serves the model not.
func (t *running) shelf() *course {
	p := t.req.Protocol
	if p != mooring.Messages {
		p = mooring.Chat // of one family, as all routes that make no turn
	}
	all := t.understanding(p)
	order := shelved(t.req.Caller.Tenant, choicesOf(all, t.Now()))
	for _, path := range t.req.Wire.KeptRoutes() {
		s := t.keeper(all, order, path)
		if s.Upstream == "" || t.pin != nil && t.pin.Upstream == s.Upstream && t.pin.Account == s.Account || !t.req.Wire.Keeps(t.req.Body.Bytes(), path) {
			continue
		}
		to := t.backTo(s)
		if to == nil || t.place.Parent != "" && t.isSealed() { // what it holds besides was made where its session is
			continue
		}
		t.sealed = new(true)
		return to
	}
	return nil
}

// keeper is where the tenant's requests to a route about kept things go; zero where none is open.
func (t *running) keeper(all []*upstream.Upstream, order []route.Candidate, path string) mooring.Spot {
	for _, c := range order {
		u := all[slices.IndexFunc(all, func(u *upstream.Upstream) bool { return u.Name == c.Name })]
		if t.req.Caller.Key == "" || opens(u, path) {
			account := t.passAccount(u, &Pass{Caller: t.req.Caller}, "")
			return mooring.Spot{Upstream: u.Name, Account: u.Account(account).Name}
		}
	}
	return mooring.Spot{}
}
