package turn

import (
	"context"
	"log/slog"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

// rotated takes over the session id that an upstream with sessions of its own answered with; it is sent from the next turn on.
func (t *running) rotated(res *forward.Response) {
	if id := res.SessionID(); t.remote != "" && id != "" && id != t.remote && safeRemote(id) {
		t.remote, t.moved = id, true
	}
}

// asRemote is the upstream's session id where it has to be written: rotated, or given by Mooring on a move.
func (t *running) asRemote() *mooring.RemoteSession {
	if t.remote == "" || !t.moved {
		return nil
	}
	return &mooring.RemoteSession{Tenant: t.turn.Tenant, Session: t.found.Known.ID, Upstream: t.target.Name, ID: t.remote}
}

// bind keeps the pin before a stream's header goes out; where the pin is kept already there is nothing to write.
func (t *running) bind(ctx context.Context) error {
	remote := t.asRemote()
	if t.bound && remote == nil {
		return nil
	}
	c := &mooring.Bind{Pin: *t.asPin(), Remote: remote}
	if err := t.Record.Commit(context.WithoutCancel(ctx), c); err != nil {
		return err
	}
	t.kept(&c.Pin, remote)
	return nil
}

func (t *running) kept(pin *mooring.Pin, remote *mooring.RemoteSession) {
	t.bound, t.moved = true, false
	t.Route.Keep(*pin)
	if remote != nil {
		t.Route.KeepRemote(*remote)
	}
}

// end writes down how the turn ended, with its answer, in one commit. It is written for a client that has gone, too.
func (t *running) end(ctx context.Context, out forward.Outcome, status int) error {
	ctx = context.WithoutCancel(ctx)
	t.turn.State, t.turn.ErrorCode, t.turn.EndedAt = out.State, out.Code, t.Now()
	if out.State != mooring.Cancelled {
		t.turn.Status = status
		if t.turn.FirstAt.IsZero() {
			t.turn.FirstAt = t.turn.EndedAt
		}
	}
	t.turn.CostUSD = t.Price(t.turn.Model, t.turn.Usage)
	c := &mooring.End{}
	d, err := t.keepAnswer(c, out)
	if err != nil {
		t.Log.LogAttrs(ctx, slog.LevelWarn, "answer not kept", slog.String("session", t.found.Known.ID.Short()), slog.Any("err", err))
	}
	if answered := status/100 == 2 && out.Code == ""; answered && !t.bound {
		c.Bind, c.Remote = t.asPin(), t.asRemote()
	} else if answered {
		c.Remote = t.asRemote()
	}
	c.DropClaim = !t.bound && c.Bind == nil
	c.Turn = t.turn
	if err := t.Record.Commit(ctx, c); err != nil && mooring.CodeOf(err) != mooring.CodeSessionGone {
		return err
	}
	t.settled(c, d)
	return nil
}

// settled keeps in memory what the end made true.
func (t *running) settled(c *mooring.End, seen wire.Digest) {
	switch {
	case c.Bind != nil:
		t.kept(c.Bind, c.Remote)
	case c.Remote != nil:
		t.Route.KeepRemote(*c.Remote)
	case c.DropClaim:
		t.Route.Forget(t.turn.Tenant, t.turn.Session)
	}
	if t.bound {
		t.Route.Used(*t.asPin())
	}
	t.Identify.Update(t.turn.Tenant, t.turn.Session, func(k *identify.Known) {
		if k.TipTurn != t.turn.ID {
			return
		}
		k.State = t.turn.State
		if c.Answer != nil {
			k.Tip, k.Seen = c.Answer.ID, seen
		}
	})
	if t.Observe != nil {
		t.Observe(&t.turn)
	}
}

// keepAnswer adds what arrived of the answer, and the index rows by which it is found again. It gives the digest of the
// conversation up to it, as its client sees it.
func (t *running) keepAnswer(c *mooring.End, out forward.Outcome) (wire.Digest, error) {
	if out.Answer.Message == nil {
		return wire.Digest{}, nil
	}
	d := t.Identify.Digester(t.turn.Tenant)
	self, err := d.Message(t.req.Protocol, out.Answer.Message)
	if err != nil {
		return wire.Digest{}, err
	}
	seen := d.Chain(t.place.Seen, self)
	id := t.NewID()
	c.Answer = &mooring.Message{
		Tenant: t.turn.Tenant, Session: t.turn.Session, ID: id, Parent: t.turn.Question, Turn: t.turn.ID, Role: "assistant", State: t.turn.State,
		Protocol: t.req.Protocol, Content: out.Answer.Message, Digest: self[:], CreatedAt: t.turn.EndedAt,
	}
	t.turn.Answer = id
	c.Chain = []mooring.ChainEntry{
		{Kind: mooring.ByChain, Digest: seen[:], Session: t.turn.Session, Message: id},
		{Kind: mooring.BySelf, Digest: self[:], Session: t.turn.Session, Message: id},
	}
	return seen, nil
}
