package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mooring"
)

const (
	// eventsKept is how many of a tenant's events stay at least. Who was away for longer reads everything anew.
	eventsKept = 4096
	// eventsDropped is how many are removed at once, so that few commits have to.
	eventsDropped = 256
	// eventRows is how many are written by one statement at most.
	eventRows = 64
)

// note keeps in mind what a change has done, until the batch's events are numbered.
func (w *writer) note(e mooring.Event) { w.noted = append(w.noted, e) }

// noteBegin is note for a turn that begins, and for the session that is new with it or without one.
func (w *writer) noteBegin(c *mooring.Begin) {
	s := c.Session
	if c.New {
		w.note(mooring.Event{Tenant: s.Tenant, Kind: mooring.SessionUpdated, Session: s.ID})
	}
	if c.Turn.ID != "" {
		w.note(mooring.Event{Tenant: s.Tenant, Kind: mooring.TurnStarted, Session: s.ID, Turn: c.Turn.ID})
	}
}

func (w *writer) noteEnd(c *mooring.End) {
	w.note(mooring.Event{Tenant: c.Turn.Tenant, Kind: mooring.TurnFinished, Session: c.Turn.Session, Turn: c.Turn.ID})
}

// The row stays locked until the commit: of two replicas with changes of one tenant the second waits here for the first, so that
// no number becomes visible before a lower one.
const takeNumbers = `INSERT INTO change_count (tenant, newest) VALUES ($1, $2)
	ON CONFLICT (tenant) DO UPDATE SET newest = change_count.newest + excluded.newest`

// numberEvents writes the events of a batch. It comes last in the transaction, since others wait for what it locks, and takes the
// tenants in one order, so that two replicas cannot wait for each other.
func (w *writer) numberEvents(ctx context.Context) error {
	slices.SortStableFunc(w.noted, func(a, b mooring.Event) int { return cmp.Compare(a.Tenant, b.Tenant) })
	for rest := w.noted; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Tenant == rest[0].Tenant {
			n++
		}
		if err := w.numberOf(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// numberOf writes events of one tenant, under the numbers up to the newest one.
func (w *writer) numberOf(ctx context.Context, events []mooring.Event) error {
	tenant := raw(events[0].Tenant)
	if err := w.later(ctx, takeNumbers, tenant, int64(len(events))); err != nil {
		return err
	}
	for rest := events; len(rest) > 0; {
		n := eventRows
		for n > len(rest) {
			n /= 2 // few lengths make few texts to prepare
		}
		if err := w.insertEvents(ctx, tenant, rest, n); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return w.dropEvents(ctx, tenant, events)
}

// insertEvents writes the first n of the events that are left.
func (w *writer) insertEvents(ctx context.Context, tenant []byte, events []mooring.Event, n int) error {
	args := make([]any, 1, 1+4*n)
	args[0] = tenant
	for i, e := range events[:n] {
		args = append(args, int64(len(events)-1-i), int64(e.Kind), string(e.Session), string(e.Turn))
	}
	if w.inserts[n] == "" {
		w.inserts[n] = insertEvents(n)
	}
	return w.later(ctx, w.inserts[n], args...)
}

const (
	newestNumber   = `(SELECT newest FROM change_count WHERE tenant = $1)`
	insertOneEvent = `INSERT INTO change (tenant, number, kind, session, turn) VALUES ($1, ` + newestNumber + ` - $2, $3, $4, $5)`
)

func insertEvents(n int) string {
	var b strings.Builder
	b.WriteString(insertOneEvent)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, ", ($1, "+newestNumber+" - $%d, $%d, $%d, $%d)", 4*i+2, 4*i+3, 4*i+4, 4*i+5)
	}
	return b.String()
}

// What came before the $2 events of a deleted session's batch goes; that it was deleted stays for those who have it on their screens.
const forgetEvents = `DELETE FROM change WHERE tenant = $1 AND number <= ` + newestNumber + ` - $2 AND session IN
	(SELECT gone.session FROM change AS gone WHERE gone.tenant = $1 AND gone.number > ` + newestNumber + ` - $2 AND gone.kind = $3)`

// None is removed where the batch's $2 events have not come to the next multiple of $3.
const dropOldEvents = `DELETE FROM change WHERE tenant = $1 AND number <=
	(SELECT newest - newest % $3 - $4 FROM change_count WHERE tenant = $1 AND newest % $3 < $2)`

// dropEvents removes the events of sessions that the batch deleted, and those that are old.
func (w *writer) dropEvents(ctx context.Context, tenant []byte, events []mooring.Event) error {
	deleted := func(e mooring.Event) bool { return e.Kind == mooring.SessionDeleted }
	if slices.ContainsFunc(events, deleted) {
		if err := w.later(ctx, forgetEvents, tenant, int64(len(events)), int64(mooring.SessionDeleted)); err != nil {
			return err
		}
	}
	return w.later(ctx, dropOldEvents, tenant, int64(len(events)), int64(eventsDropped), int64(eventsKept))
}

// droppedAt is the number up to which a tenant's events are gone once the newest one has the given number, as dropOldEvents counts.
func droppedAt(newest int64) int64 { return max(0, newest-newest%eventsDropped-eventsKept) }

const eventsAfter = `SELECT number, kind, session, turn FROM change WHERE tenant = $1 AND number > $2 ORDER BY number LIMIT $3`

// EventsAfter reads a tenant's events that follow the one with a number, the first ones up to a limit.
func (s *Store) EventsAfter(ctx context.Context, t mooring.Tenant, number int64, limit int) ([]mooring.Event, error) {
	var list []mooring.Event
	err := s.each(ctx, func(row scanner) error {
		e := mooring.Event{Tenant: t}
		err := row.Scan(&e.Number, &e.Kind, &e.Session, &e.Turn)
		list = append(list, e)
		return err
	}, eventsAfter, raw(t), number, limit)
	return list, s.dialect.failed(err, "read events")
}

const newestEvent = `SELECT newest FROM change_count WHERE tenant = $1`

// EventNumbers gives the number of a tenant's newest event, and the one up to which they are no longer kept.
func (s *Store) EventNumbers(ctx context.Context, t mooring.Tenant) (dropped, newest int64, err error) {
	_, err = s.first(ctx, func(row scanner) error { return row.Scan(&newest) }, newestEvent, raw(t))
	return droppedAt(newest), newest, s.dialect.failed(err, "read the number of the newest event")
}
