package sqlstore

import (
	"context"

	"mooring"
)

// unchanged is what a session and its berths have to be like still for a turn that was built on what memory held of them. A turn that
// is there already is the same change once more. Which turn of its own came last is no news to a replica.
const unchanged = ` AND (EXISTS (SELECT 1 FROM turn AS own WHERE own.tenant = $1 AND own.id = $6)
	OR (session.tip = $17 AND session.tip_turn = $18 AND session.state = $19 OR session.tip_turn <> $18
		AND EXISTS (SELECT 1 FROM turn AS last WHERE last.tenant = $1 AND last.id = session.tip_turn AND last.replica = $20))
	AND ($21 = '' OR EXISTS (SELECT 1 FROM pin WHERE pin.tenant = $1 AND pin.session = $2 AND pin.candidates = $21 AND pin.upstream = $22
		AND pin.account = $23))
	AND ($24 = '' OR EXISTS (SELECT 1 FROM remote WHERE remote.server = $24 AND remote.remote_id = $25 AND remote.tenant = $1
		AND remote.session = $2 AND remote.current)))`

// standing binds the arguments of unchanged.
func standing(c *mooring.Begin) []any {
	s, p, r := c.Seen, mooring.Pin{}, mooring.RemoteSession{}
	if s.Pin != nil {
		p = *s.Pin
	}
	if s.Remote != nil {
		r = *s.Remote
	}
	return []any{s.Tip, s.TipTurn, s.State, text(c.Turn.Replica), text(p.Set), text(p.Upstream), text(p.Account), text(r.Server), bytes(r.ID)}
}

// lately is how many of a session's newest turns are looked at for one that runs.
const lately = 64

// A turn that runs here already is the same change once more. Of its own turns a replica knows itself.
const otherRuns = `SELECT id, replica FROM (SELECT id, replica, state, kind FROM turn WHERE tenant = $1 AND session = $2 ORDER BY id DESC LIMIT $5) AS late
	WHERE state = 'running' AND kind <> 'side' AND id <> $3 AND replica <> $4
	AND NOT EXISTS (SELECT 1 FROM turn AS own WHERE own.tenant = $1 AND own.id = $3 AND own.state = 'running' AND own.replica = $4) LIMIT 1`

// alone sees that no other replica runs a turn of the session, whose row is locked.
func (w *writer) alone(ctx context.Context, c *mooring.Begin) error {
	if !c.Sole {
		return nil
	}
	t := mooring.Turn{Tenant: c.Session.Tenant, Session: c.Session.ID}
	found, err := w.first(ctx, []any{&t.ID, &t.Replica}, otherRuns, raw(t.Tenant), t.Session, c.Turn.ID, text(c.Turn.Replica), lately)
	if err == nil && found {
		c.Busy, c.Err = &t, mooring.Errorf(mooring.CodeSessionBusy, "A turn of this session is running; wait for its end and send the request again.")
	}
	return err
}

const lastTurn = `SELECT turn.state, turn.replica FROM session JOIN turn ON turn.tenant = session.tenant AND turn.id = session.tip_turn
	WHERE session.tenant = $1 AND session.id = $2 AND turn.id = $3`

// resumable sees that the turn which a request goes on with has ended and is the last one of the session, whose row is locked.
func (w *writer) resumable(ctx context.Context, c *mooring.Begin) error {
	if !c.Resumes {
		return nil
	}
	var last mooring.Turn
	found, err := w.first(ctx, []any{&last.State, &last.Replica}, lastTurn, raw(c.Session.Tenant), c.Session.ID, c.Turn.ID)
	if err == nil && (!found || last.State == mooring.Running && last.Replica != c.Turn.Replica) {
		c.Err = taken("The turn has just been taken up by another request")
	}
	return err
}
