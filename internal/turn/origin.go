package turn

import (
	"context"
	"slices"

	"mooring"
	"mooring/internal/route"
)

// origin is the course to where something was made that the request holds and only its maker can read: a stored response, a
// conversation, a container, else encrypted or signed reasoning in the last answer, else a file or the like. It goes there whatever else
// says, as long as that upstream serves the model and has the account. Nil where the request holds no such thing, or nobody knows where
// it was made.
func (t *running) origin(ctx context.Context) (*course, error) {
	if len(t.choices) == 1 && len(t.choices[0].Accounts) < 2 {
		return nil, nil // there is one place
	}
	kept, err := t.kept(ctx)
	if err != nil || kept.Upstream != "" {
		return t.backTo(kept), err
	}
	if to, err := t.maker(ctx); to != nil || err != nil {
		return to, err
	}
	return t.shelf(), nil
}

// maker is the course to where the last answer was made, where the request holds what only that one can read; nil where the session's
// pin leads there.
func (t *running) maker(ctx context.Context) (*course, error) {
	s, at := t.found.Known.ID, t.place.Parent
	if t.found.New || at == "" {
		return nil, nil
	}
	made, known := t.Route.Remembered(t.turn.Tenant, s, at)
	if known && t.pin != nil && t.sameSpot(made, t.pin.Spot()) || !t.isSealed() {
		return nil, nil
	}
	if !known {
		var err error
		if made, err = t.Route.Made(ctx, t.turn.Tenant, s, at); err != nil {
			return nil, err
		}
	}
	return t.backTo(made), nil
}

// kept is the spot of what the request names by the id that its upstream keeps it under; zero for nothing that is known here.
func (t *running) kept(ctx context.Context) (mooring.Spot, error) {
	o := t.found.Origin
	if o.Upstream == "" && t.req.Protocol == mooring.Messages {
		for _, f := range t.req.Wire.Fields {
			if f.Path != "container" || f.Value == "" {
				continue
			}
			owners, err := t.Owners(ctx, t.turn.Tenant, f.Value)
			if err != nil {
				return mooring.Spot{}, err
			}
			if len(owners) > 0 && owners[0].Tenant == t.turn.Tenant {
				o = owners[0]
			}
		}
	}
	if t.keptAt = o.Upstream; t.keptAt != "" {
		t.sealed = new(true)
	}
	return mooring.Spot{Upstream: o.Upstream, Account: o.Account}, nil
}

// backTo is the course to a spot, with its account; nil where that is not there for this request.
func (t *running) backTo(s mooring.Spot) *course {
	at := t.nearest(s)
	if at < 0 || !slices.ContainsFunc(t.choices[at].Accounts, func(a route.Account) bool { return a.Name == s.Account }) && len(t.choices[at].Accounts) > 0 {
		return nil
	}
	return &course{at: at, account: s.Account, why: mooring.WhyOrigin}
}

// sameSpot says that two spots are one for this request: which model is there counts for an alias alone.
func (t *running) sameSpot(a, b mooring.Spot) bool {
	return a.Upstream == b.Upstream && a.Account == b.Account && (t.choices[0].Alias == "" || a.Model == b.Model)
}

// nearest is the candidate at a spot, for the same model where an alias has that, else for any; -1 for none.
func (t *running) nearest(s mooring.Spot) int {
	if at := route.At(t.choices, s); at >= 0 {
		return at
	}
	return slices.IndexFunc(t.choices, func(c route.Candidate) bool { return c.Name == s.Upstream })
}

// isSealed says that the request holds what only its maker can read. It is asked where something hangs on that alone.
func (t *running) isSealed() bool {
	if t.sealed == nil {
		t.sealed = new(t.req.Wire.Sealed(t.req.Body.Bytes()))
	}
	return *t.sealed
}
