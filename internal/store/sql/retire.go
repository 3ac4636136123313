package sqlstore

import (
	"context"
	"time"

	"mooring"
)

// silence is how long a replica may not have been heard of before its turns are given up. A living one calls Retire more often.
const silence = 20 * time.Second

const heartbeat = `INSERT INTO replica (name, seen_at) VALUES ($1, $2)
	ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at`

const dropReplicas = `DELETE FROM replica WHERE seen_at < $1 AND NOT EXISTS
	(SELECT 1 FROM turn WHERE turn.state = 'running' AND turn.replica = replica.name)`

// What follows speaks of the running turns of the dead: $1 is the living replica, and whoever was seen after $2 lives too.
const ofTheDead = `turn.state = 'running' AND turn.replica <> $1
	AND NOT EXISTS (SELECT 1 FROM replica WHERE replica.name = turn.replica AND replica.seen_at > $2)`

const retireSessions = `UPDATE session SET state = 'interrupted' FROM turn WHERE ` + ofTheDead + `
	AND session.tenant = turn.tenant AND session.id = turn.session AND (session.tip_turn = turn.id OR session.side_only)`

const retireClaims = `DELETE FROM pin WHERE NOT bound AND (tenant, session, turn) IN
	(SELECT turn.tenant, turn.session, turn.id FROM turn WHERE ` + ofTheDead + `)`

const retireTurns = `UPDATE turn SET state = 'interrupted', ended_at = $3 WHERE ` + ofTheDead + ` RETURNING tenant, session, id`

const aliveReplicas = `SELECT count(*) FROM replica WHERE seen_at > $1 OR name = $2`

// retire also notes that the calling replica lives.
func (w *writer) retire(ctx context.Context, c *mooring.Retire) error {
	c.Turns, c.Alive, c.Err = 0, 1, nil
	seenAfter := micros(c.At.Add(-silence))
	if w.dialect.Alone {
		seenAfter = micros(c.At)
	}
	if _, err := w.exec(ctx, heartbeat, text(c.Replica), micros(c.At)); err != nil {
		return err
	}
	for _, query := range []string{retireSessions, retireClaims} {
		if _, err := w.exec(ctx, query, text(c.Replica), seenAfter); err != nil {
			return err
		}
	}
	err := w.each(ctx, func(row scanner) error {
		e := mooring.Event{Kind: mooring.TurnFinished}
		err := row.Scan((*rawText)(&e.Tenant), &e.Session, &e.Turn)
		w.note(e)
		c.Turns++
		return err
	}, retireTurns, text(c.Replica), seenAfter, micros(c.At))
	if err != nil {
		return err
	}
	if _, err = w.exec(ctx, dropReplicas, seenAfter); err != nil {
		return err
	}
	_, err = w.first(ctx, []any{&c.Alive}, aliveReplicas, seenAfter, text(c.Replica))
	return err
}
