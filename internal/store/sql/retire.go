package sqlstore

import (
	"context"
	"errors"
	"time"

	"mooring"
)

const (
	// silence is how long a replica may not have been heard of before its turns are given up.
	silence = 12 * time.Second
	// oldSilence is that of replicas of an older version, which say every 10 s that they live.
	oldSilence = 25 * time.Second
	// gap is the longest time between two beats, of whichever replica, that leaves no doubt that the database could be reached
	// meanwhile. After a longer one nobody can tell whether the others were silent or the database was: nobody is given up until
	// beats have come without a break for as long as the silence takes. It need not be one replica's: of a few that are killed all the
	// time, none may live for that long.
	gap = 6 * time.Second
	// everybody is the name under which the beats of all replicas are kept together.
	everybody = ""
	// forgotten is how long the name of a replica that runs nothing is kept.
	forgotten = 24 * time.Hour
)

const readClock = `SELECT `

const beat = `INSERT INTO replica (name, seen_at, since) VALUES ($1, $2, $2)
	ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at,
	since = CASE WHEN replica.since = 0 OR excluded.seen_at - replica.seen_at > $3 THEN excluded.seen_at ELSE replica.since END
	RETURNING since`

// ofTheDead is about the running turns of those who were not heard of since $2, or $3 where they are of an older version; $1 is alive.
const ofTheDead = `turn.state = 'running' AND turn.replica <> $1 AND NOT EXISTS (SELECT 1 FROM replica
	WHERE replica.name = turn.replica AND replica.seen_at > CASE WHEN replica.since = 0 THEN CAST($3 AS BIGINT) ELSE CAST($2 AS BIGINT) END)`

const aliveReplicas = `SELECT count(*) FROM replica WHERE name <> '' AND (seen_at > $1 OR name = $2)`

const anyDead = `SELECT 1 FROM turn WHERE ` + ofTheDead + ` LIMIT 1`

const dropReplicas = `DELETE FROM replica WHERE seen_at < $1 AND NOT EXISTS
	(SELECT 1 FROM turn WHERE turn.state = 'running' AND turn.replica = replica.name)`

// Clock reads the clock of the database that replicas share.
func (s *Store) Clock(ctx context.Context) (time.Time, error) {
	var now int64
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&now) }, readClock+s.dialect.Clock)
	return timeOf(now), s.dialect.failed(err, "read the store's clock")
}

// Beat says that a replica lives, by the clock of the database that the replicas share. It goes beside the writer, so that no batch
// that waits keeps it.
func (s *Store) Beat(ctx context.Context, replica string) (mooring.Pulse, error) {
	p, err := s.pulse(ctx, replica)
	if err == nil {
		return p, nil
	}
	failure := s.dialect.failed(err, "say that the replica lives")
	if mooring.CodeOf(failure) == mooring.CodeStoreUnavailable {
		s.dropIdle()
	}
	return mooring.Pulse{}, failure
}

func (s *Store) pulse(ctx context.Context, replica string) (mooring.Pulse, error) {
	if s.dialect.Clock == "" {
		return mooring.Pulse{}, errors.New("a store without a clock of its own has one process alone")
	}
	var now, since int64
	if err := s.write.QueryRowContext(ctx, readClock+s.dialect.Clock).Scan(&now); err != nil {
		return mooring.Pulse{}, err
	}
	if err := s.write.QueryRowContext(ctx, beat, replica, now, gap.Microseconds()).Scan(&since); err != nil {
		return mooring.Pulse{}, err
	}
	p := mooring.Pulse{Now: timeOf(now), Since: timeOf(since)}
	if err := s.write.QueryRowContext(ctx, aliveReplicas, now-silence.Microseconds(), replica).Scan(&p.Alive); err != nil {
		return p, err
	}
	if err := s.write.QueryRowContext(ctx, beat, everybody, now, gap.Microseconds()).Scan(&since); err != nil {
		return p, err
	}
	if since > now-silence.Microseconds() {
		return p, nil
	}
	rows, err := s.write.QueryContext(ctx, anyDead, replica, now-silence.Microseconds(), now-oldSilence.Microseconds())
	if err != nil {
		return p, err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	p.Dead = rows.Next()
	if err = rows.Err(); err != nil || p.Dead {
		return p, err
	}
	_, err = s.write.ExecContext(ctx, dropReplicas, now-forgotten.Microseconds())
	return p, err
}

// alive is a beat in the transaction of what a replica writes: what it begins is never older than its last one.
func (w *writer) alive(ctx context.Context, c *mooring.Alive) error {
	c.Err = nil
	now, err := w.now(ctx, time.Time{})
	if err != nil {
		return err
	}
	var since int64
	_, err = w.first(ctx, []any{&since}, beat, text(c.Replica), now, gap.Microseconds())
	return err
}

// now is the time by the database's clock, where it has one of its own.
func (w *writer) now(ctx context.Context, at time.Time) (int64, error) {
	now := micros(at)
	if w.dialect.Clock == "" {
		return now, nil
	}
	_, err := w.first(ctx, []any{&now}, readClock+w.dialect.Clock)
	return now, err
}

const heardSince = `SELECT since FROM replica WHERE name = $1`

const retireTurns = `UPDATE turn SET state = 'interrupted', ended_at = $4 WHERE ` + ofTheDead + ` RETURNING tenant, session, id, replica`

// retire ends the turns of the dead. Where others may live, they are left alone until the database has been there for long enough.
func (w *writer) retire(ctx context.Context, c *mooring.Retire) error {
	c.Turns, c.Err = 0, nil
	now, err := w.now(ctx, c.At)
	if err != nil {
		return err
	}
	late, older := now, now
	if !w.dialect.Alone {
		late, older = now-silence.Microseconds(), now-oldSilence.Microseconds()
		since := now
		if _, err = w.first(ctx, []any{&since}, heardSince, everybody); err != nil || since > late {
			return err
		}
	}
	turns, err := w.turns(ctx, retireTurns, text(c.Replica), late, older, now)
	if err != nil {
		return err
	}
	c.Turns = len(turns)
	return w.gaveUp(ctx, turns, mooring.Interrupted)
}

// turns lists the turns that a statement has changed.
func (w *writer) turns(ctx context.Context, query string, args ...any) ([]mooring.Turn, error) {
	var list []mooring.Turn
	err := w.each(ctx, func(row scanner) error {
		var t mooring.Turn
		err := row.Scan((*rawText)(&t.Tenant), &t.Session, &t.ID, &t.Replica)
		list = append(list, t)
		return err
	}, query, args...)
	return list, err
}

const stateOfGivenUp = `UPDATE session SET state = $3 WHERE tenant = $1 AND id = $2 AND (tip_turn = $4 OR side_only)`

// gaveUp does what follows from turns that were ended for those who ran them.
func (w *writer) gaveUp(ctx context.Context, turns []mooring.Turn, state mooring.TurnState) error {
	for i := range turns {
		t := &turns[i]
		if _, err := w.exec(ctx, stateOfGivenUp, raw(t.Tenant), t.Session, state, t.ID); err != nil {
			return err
		}
		if _, err := w.exec(ctx, dropClaim, raw(t.Tenant), t.Session, t.ID); err != nil {
			return err
		}
		w.note(mooring.Event{Tenant: t.Tenant, Kind: mooring.TurnFinished, Session: t.Session, Turn: t.ID})
	}
	return nil
}
