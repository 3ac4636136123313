package identify

import (
	"context"
	"slices"

	"mooring"
)

// mayOverrule says that messages of another session count more than the id of one: those of a sub-agent that has no id of its own, or
// of any session where the id may be that of several.
func mayOverrule(id *signal, named, other *Known) bool {
	if other.ID == named.ID {
		return false
	}
	return id.loose() && alone(id, named) || other.Relation == mooring.RelationSubagent && other.Root == named.Root && len(other.Named) == 0
}

// alone says that no other name has named a session: an id that came beside a stronger one with its value is as good as that.
func alone(id *signal, named *Known) bool {
	return !slices.ContainsFunc(named.Named, func(name string) bool { return name != id.name })
}

func (f *Finding) overrule(h *held, id *signal) {
	f.unname(id, "its messages belong to another conversation")
	f.take(h, "its messages hold an answer that this session was given")
}

// unname takes back what an id decided.
func (f *Finding) unname(id *signal, why string) {
	f.Aliases, f.Names, f.Named = nil, nil, mooring.Alias{}
	for i := range f.Evidence {
		if ev := &f.Evidence[i]; ev.Signal == id.String() && ev.Use == "decided" {
			ev.Use, ev.Why = "ignored", why
		}
	}
}

// overruled looks for the place of a request in the session that its id names, and for another session that it belongs to rather.
func (e *Engine) overruled(ctx context.Context, f *Finding, a *alignment, id *signal, t *traits) (bool, error) {
	l, err := a.look(ctx, nil)
	if err != nil {
		return false, err
	}
	own := l.of(f.Known.ID)
	var others []*rival
	for _, r := range l.rivals {
		if r.session != f.Known.ID && (own == nil || r.weight > own.weight) {
			others = append(others, r)
		}
	}
	if others, err = e.overruling(ctx, &f.Known, others, id); err != nil {
		return false, err
	}
	h, err := a.another(ctx, others, t)
	if err != nil {
		return false, err
	}
	if h != nil {
		f.overrule(h, id)
		return true, nil
	}
	if own == nil {
		return false, nil
	}
	if f.below, f.from = own.message, own.from; own.message != "" {
		a.partly = !own.whole
	}
	return true, nil
}

// overruling leaves the sessions whose messages count more than the id that named one.
func (e *Engine) overruling(ctx context.Context, named *Known, others []*rival, id *signal) ([]*rival, error) {
	if len(others) == 0 || len(others) >= maxRivals { // what so many were given is no proof against an id
		return nil, nil
	}
	known, err := e.sessionsOf(ctx, named.Tenant, sessionsIn(others))
	return slices.DeleteFunc(others, func(r *rival) bool {
		k, ok := known[r.session]
		return !ok || !mayOverrule(id, named, &k)
	}), err
}

// another gives the session that a request belongs to of those whose answers it holds; nil for none.
func (a *alignment) another(ctx context.Context, others []*rival, t *traits) (*held, error) {
	r, err := a.best(ctx, &look{rivals: others}, t)
	if err != nil || r == nil {
		return nil, err
	}
	return a.hold(ctx, r)
}

// late holds a request whose id is new against what it says: an id may come later than a conversation, be made anew with each start of
// a program, or name a copy of what another id names.
func (e *Engine) late(ctx context.Context, q Request, r *reading, f *Finding) (bool, error) {
	a, err := e.talkOf(f, q)
	if err != nil || len(a.talk) == 0 {
		return false, err
	}
	h, err := a.meet(ctx, nil, &r.traits)
	if err != nil {
		return false, err
	}
	var parent *Known
	if h == nil {
		if h, parent, err = e.continued(ctx, a, &r.traits); err != nil {
			return false, err
		}
	}
	first := &r.ids[0]
	switch {
	case parent != nil:
		f.open(e.fresh(q, first.value))
		f.under(parent)
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: "content:spawn", Use: "parent", Why: "it begins with a task that an answer in its parent's session handed to a tool"})
	case h == nil:
		return false, nil
	case first.anew() || !slices.Contains(h.known.Named, first.name):
		f.late(h, first.signal)
	default:
		f.open(e.fresh(q, first.value))
		f.Known.Relation, f.Known.Parent, f.Known.Root = mooring.RelationFork, h.known.ID, h.known.Root
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: h.how, Use: "parent", Why: "its messages are those of a session with another id of that name"})
	}
	return true, nil
}

// late gives a session that its messages show the id that came with them.
func (f *Finding) late(h *held, id *signal) {
	for i := range f.Evidence {
		if ev := &f.Evidence[i]; ev.Signal == id.String() && ev.Use == "decided" {
			ev.Use, ev.Why = "alias", "a new id, with the messages of a session that had none of that name"
			if id.anew() {
				ev.Why = "a new id, as the program makes at each start, with the messages of a known session"
			}
		}
	}
	aliases := f.Aliases
	f.take(h, "its messages hold an answer that this session was given")
	f.Aliases, f.Names = aliases, aliases
}

// continued finds what a request with a new id and without a known answer begins with: a summary of a session, or a task of one.
func (e *Engine) continued(ctx context.Context, a *alignment, t *traits) (h *held, parent *Known, err error) {
	l, err := a.look(ctx, nil)
	if err != nil || len(l.quotes) == 0 {
		return nil, nil, err
	}
	known, err := e.sessionsOf(ctx, a.tenant, quotedIn(l.quotes))
	if err != nil {
		return nil, nil, err
	}
	if k, ok := spawner(l.quotes, known, a); ok {
		return nil, &k, nil
	}
	if k, ok := summed(l.quotes, known, t); ok {
		return &held{known: k, how: "content:summary"}, nil, nil
	}
	return nil, nil, nil
}
