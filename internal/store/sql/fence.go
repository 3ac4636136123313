package sqlstore

import (
	"context"

	"mooring"
)

// A fence stands until the turn runs again. The first reason stays.
const fenceTurn = `UPDATE turn SET fence = CASE WHEN fence = '' THEN $4 ELSE fence END
	WHERE tenant = $1 AND id = $2 AND state = 'running' AND replica <> $3 RETURNING tenant, session, id, replica`

const fenceSession = `UPDATE turn SET fence = CASE WHEN fence = '' THEN $4 ELSE fence END
	WHERE tenant = $1 AND session = $2 AND state = 'running' AND replica <> $3 RETURNING tenant, session, id, replica`

const endFencedTurn = `UPDATE turn SET state = 'cancelled', error_code = 'turn_cancelled', ended_at = $4
	WHERE tenant = $1 AND id = $2 AND state = 'running' AND replica <> $3 AND fence <> '' RETURNING tenant, session, id, replica`

const endFencedSession = `UPDATE turn SET state = 'cancelled', error_code = 'turn_cancelled', ended_at = $4
	WHERE tenant = $1 AND session = $2 AND state = 'running' AND replica <> $3 AND fence <> '' RETURNING tenant, session, id, replica`

func (w *writer) fence(ctx context.Context, c *mooring.Fence) error {
	c.Turns, c.Err = nil, nil
	of, end := fenceTurn, endFencedTurn
	var which any = c.Turn
	if c.Session != "" {
		of, end, which = fenceSession, endFencedSession, c.Session
	}
	if !c.Final {
		turns, err := w.turns(ctx, of, raw(c.Tenant), which, text(c.Replica), text(c.Why))
		c.Turns = turns
		return err
	}
	now, err := w.now(ctx, c.At)
	if err != nil {
		return err
	}
	if c.Turns, err = w.turns(ctx, end, raw(c.Tenant), which, text(c.Replica), now); err != nil {
		return err
	}
	return w.gaveUp(ctx, c.Turns, mooring.Cancelled)
}

const fencedTurns = `SELECT tenant, session, id, fence FROM turn WHERE replica = $1 AND state = 'running' AND fence <> ''`

// FencedTurns gives the running turns of a replica that others have stopped: Tenant, Session, ID and Fence.
func (s *Store) FencedTurns(ctx context.Context, replica string) ([]mooring.Turn, error) {
	var list []mooring.Turn
	err := s.each(ctx, func(row scanner) error {
		var t mooring.Turn
		err := row.Scan((*rawText)(&t.Tenant), &t.Session, &t.ID, &t.Fence)
		list = append(list, t)
		return err
	}, fencedTurns, text(replica))
	return list, s.dialect.failed(err, "look for turns that others stop")
}

const runningTurns = `SELECT ` + turnColumns + ` FROM turn WHERE tenant = $1 AND body_digest = $2 AND state = 'running' ORDER BY id DESC LIMIT 8`

// RunningTurns gives the running turns of an equal request body, the newest first; at most eight.
func (s *Store) RunningTurns(ctx context.Context, tenant mooring.Tenant, body []byte) ([]mooring.Turn, error) {
	list, err := s.readTurns(ctx, runningTurns, raw(tenant), body)
	return list, s.dialect.failed(err, "look running turns up")
}
