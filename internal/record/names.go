package record

import (
	"context"
	"slices"
	"time"

	"mooring"
)

// name is an alias on its way into the store.
type name struct {
	tenant mooring.Tenant
	mooring.Alias
}

// namesOf gives the aliases that a change brings.
func namesOf(c mooring.Change) []name {
	b, ok := c.(*mooring.Begin)
	if !ok || len(b.Aliases) == 0 {
		return nil
	}
	names := make([]name, len(b.Aliases))
	for i, a := range b.Aliases {
		names[i] = name{b.Session.Tenant, a}
	}
	return names
}

func isNew(c mooring.Change) bool {
	b, ok := c.(*mooring.Begin)
	return ok && b.New && len(b.Aliases) > 0 && b.Reset == nil
}

// takeNames notes the aliases of a change that is on its way, and makes sure that the first one of a new session is nobody's:
// neither the store's nor of another change on its way. It is noted before the store is asked, so of two that race one wins.
func (w *Writer) takeNames(ctx context.Context, c mooring.Change) error {
	names := namesOf(c)
	if len(names) == 0 {
		return nil
	}
	first := isNew(c)
	if !w.note(names, first) {
		return taken()
	}
	if !first {
		return nil
	}
	hits, err := w.options.Store.AliasHits(ctx, names[0].tenant, []mooring.Alias{names[0].Alias})
	if err == nil && len(hits) > 0 {
		err = taken()
	}
	if err != nil {
		w.forget(names)
	}
	return err
}

func taken() error {
	return mooring.Errorf(mooring.CodeSessionTaken, "Another request has just begun this session; try again.")
}

// note counts names in; false where the first one had to be free and is not.
func (w *Writer) note(names []name, first bool) bool { //nolint:revive // a property of the change
	w.naming.Lock()
	defer w.naming.Unlock()
	if first && w.names[names[0]] > 0 {
		return false
	}
	for _, n := range names {
		w.names[n]++
	}
	return true
}

// forget is for names of changes that the store has, or will never have: from now on it answers for them.
func (w *Writer) forget(names []name) {
	w.naming.Lock()
	defer w.naming.Unlock()
	for _, n := range names {
		switch left := w.names[n] - 1; {
		case left > 0:
			w.names[n] = left
		default:
			delete(w.names, n)
		}
	}
	if w.freed != nil {
		close(w.freed)
		w.freed = nil
	}
}

// Settled waits until the store has what was safe before, and none of a change's aliases is on its way: who lost one of them to
// another change finds that one's session then. Sync alone does not do, as the other one may have its alias and not be queued yet.
func (w *Writer) Settled(ctx context.Context, c mooring.Change) error {
	for {
		if err := w.Sync(ctx); err != nil {
			return err
		}
		freed := w.busy(namesOf(c))
		if freed == nil {
			return nil
		}
		select {
		case <-freed:
		case <-time.After(linger): // by now the other one is queued, or the store fails: Sync hurries the one and tells the other
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// busy gives what is closed once any name is free again where one of these is on its way; nil where none is.
func (w *Writer) busy(names []name) <-chan struct{} {
	w.naming.Lock()
	defer w.naming.Unlock()
	if !slices.ContainsFunc(names, func(n name) bool { return w.names[n] > 0 }) {
		return nil
	}
	if w.freed == nil {
		w.freed = make(chan struct{})
	}
	return w.freed
}
