package identify

import (
	"context"

	"mooring"
)

// follows finds the session of the answer that the request says it follows, where no stronger id says otherwise. An answer that
// nobody was given here proves nothing. What belongs to another tenant does not exist.
func (e *Engine) follows(ctx context.Context, q Request, r *reading, f *Finding) (bool, error) {
	rest := r.ids[:0]
	found := false
	for _, id := range r.ids {
		owner := mooring.Object{}
		if id.object {
			var err error
			if owner, err = e.owner(ctx, q.Tenant, id); err != nil {
				return false, err
			}
			f.keptBy(owner)
		}
		if id.name != fieldPrevious {
			rest = append(rest, id)
			continue
		}
		if owner.Session == "" || len(rest) > 0 {
			f.Evidence = append(f.Evidence, mooring.Evidence{Signal: id.String(), Says: string(saysSession), Value: id.value, Use: "ignored", Why: whyNotFollowed(owner)})
			continue
		}
		k, err := e.session(ctx, q.Tenant, owner.Session)
		if mooring.KindOf(err) == mooring.KindNotFound {
			continue
		}
		if err != nil {
			return false, err
		}
		found = true
		f.Known, f.ClientID, f.Identity, f.Kind, f.below = k, k.Key, id.String(), kindOfSession(k.Session), owner.Message
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: f.Identity, Says: string(saysSession), Value: id.value, Points: string(k.ID), Use: "decided", Why: "it names an answer that this session was given"})
	}
	r.ids = rest
	return found, nil
}

// mayName refuses a request that speaks of what another tenant owns, whatever decides its session.
func (e *Engine) mayName(ctx context.Context, t mooring.Tenant, ids []seen, f *Finding) error {
	for _, id := range ids {
		if !id.object {
			continue
		}
		owner, err := e.owner(ctx, t, id)
		if err != nil {
			return err
		}
		f.keptBy(owner)
	}
	return nil
}

// keptBy notes where the first thing is that the request names.
func (f *Finding) keptBy(o mooring.Object) {
	if f.Origin.Upstream == "" {
		f.Origin = o
	}
}

func whyNotFollowed(owner mooring.Object) string {
	if owner.Session == "" {
		return "no answer of that id was given here"
	}
	return "a stronger id was sent"
}

// owner gives the tenant's own record of what an upstream made; empty where nobody has one.
func (e *Engine) owner(ctx context.Context, t mooring.Tenant, id seen) (mooring.Object, error) {
	owners, err := e.Store.Owners(ctx, t, id.value)
	if err != nil || len(owners) == 0 {
		return mooring.Object{}, err
	}
	if owners[0].Tenant == t {
		return owners[0], nil
	}
	if id.name == fieldPrevious {
		return mooring.Object{}, mooring.Errorf(mooring.CodeNotFound, "Previous response with id '%s' not found.", id.value)
	}
	return mooring.Object{}, mooring.Errorf(mooring.CodeNotFound, "Conversation with id '%s' not found.", id.value)
}
