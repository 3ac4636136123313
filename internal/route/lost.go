package route

import (
	"context"
	"slices"
	"strings"

	"mooring"
)

// Lost says that a session without a pin among these candidates had one, at an upstream that exists no more: it moves then, and
// does not begin. A pin of other candidates, as those of another model, is no such home.
func (p *Picker) Lost(ctx context.Context, t mooring.Tenant, s mooring.SessionID, all []Candidate, exists func(mooring.UpstreamName) bool) (bool, error) {
	pins, err := p.known(ctx, home{t, s})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(pins, func(pin mooring.Pin) bool {
		return pin.Bound && !p.idle(&pin) && !exists(pin.Upstream) && within(pin.Set, all, exists)
	}), nil
}

// within says that what is left of a set of candidates is among these.
func within(set string, all []Candidate, exists func(mooring.UpstreamName) bool) bool {
	for name := range strings.SplitSeq(set, ",") {
		if n := mooring.UpstreamName(name); exists(n) && !isCandidate(n, all) {
			return false
		}
	}
	return true
}
