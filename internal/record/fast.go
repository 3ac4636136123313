package record

import (
	"bytes"
	"context"
	"log/slog"
	"slices"

	"mooring"
)

// journaled writes a change into the journal and queues it for the store; false leaves it to the ordinary way: there is no
// journal, the store has to answer, or it is down and the caller should hear.
func (w *Writer) journaled(ctx context.Context, c mooring.Change) (safe bool, err error) {
	if w.options.Journal == "" || w.down.Load() {
		return false, nil
	}
	f, ok := frameOf(c)
	if !ok && !isNew(c) {
		return false, nil
	}
	w.order.Lock()
	defer w.order.Unlock()
	if err := w.takeName(ctx, c); err != nil || !ok {
		return false, err
	}
	own := ownCopy(c)
	seq, err := w.journal.write(f)
	if err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelError, "journal not written, the store is asked directly", slog.Any("err", err))
		return false, nil
	}
	w.waiting.Add(1)
	w.queue <- &Pending{change: own, seq: seq}
	return true, nil
}

// name is a first alias: what two requests that begin the same session race for.
type name struct {
	tenant mooring.Tenant
	mooring.Alias
}

// takeName makes sure that a new session's first alias is nobody's: not the store's, and not that of a session on its way
// there. It is asked in the order of the journal, so of two that race one wins.
func (w *Writer) takeName(ctx context.Context, c mooring.Change) error {
	if !isNew(c) {
		return nil
	}
	b := c.(*mooring.Begin) //nolint:forcetypeassert // as isNew says
	n := name{b.Session.Tenant, b.Aliases[0]}
	_, taken := w.fresh[n]
	if !taken {
		hits, err := w.options.Store.AliasHits(ctx, n.tenant, b.Aliases[:1])
		if err != nil {
			return err
		}
		taken = len(hits) > 0
	}
	if taken {
		return mooring.Errorf(mooring.CodeSessionTaken, "another request has just begun this session")
	}
	w.fresh[n] = struct{}{}
	return nil
}

func isNew(c mooring.Change) bool {
	b, ok := c.(*mooring.Begin)
	return ok && b.New && len(b.Aliases) > 0
}

// forgetNames is for changes that the store has, or will never have: from now on it answers for their names.
func (w *Writer) forgetNames(batch []*Pending) {
	if w.options.Journal == "" {
		return
	}
	w.order.Lock()
	defer w.order.Unlock()
	for _, p := range batch {
		if isNew(p.change) && !slices.Contains(w.retry, p) {
			b := p.change.(*mooring.Begin) //nolint:forcetypeassert // as isNew says
			delete(w.fresh, name{b.Session.Tenant, b.Aliases[0]})
		}
	}
}

// ownCopy makes a change that holds no bytes of its caller, who goes on while the store has not seen it yet.
func ownCopy(c mooring.Change) mooring.Change {
	switch c := c.(type) {
	case *mooring.Begin:
		own := *c
		own.Messages = make([]mooring.Message, len(c.Messages))
		for i, m := range c.Messages {
			m.Content = bytes.Clone(m.Content)
			own.Messages[i] = m
		}
		return &own
	case *mooring.Bind:
		own := *c
		return &own
	case *mooring.End:
		own := *c
		if c.Answer != nil {
			m := *c.Answer
			m.Content = bytes.Clone(m.Content) // of a span of the whole answer it keeps no more than itself
			own.Answer = &m
		}
		return &own
	}
	return c
}

// emptied empties the journal of what the store has. A journal below the given size is left alone.
func (w *Writer) emptied(seq uint64, least int64) {
	if w.options.Journal == "" {
		return
	}
	w.order.Lock()
	defer w.order.Unlock()
	if w.journal == nil {
		return
	}
	if err := w.journal.applied(seq, least); err != nil {
		w.options.Log.LogAttrs(context.Background(), slog.LevelWarn, "journal not emptied", slog.Any("err", err))
	}
}
