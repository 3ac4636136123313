package turn

import (
	"context"
	"errors"

	"mooring"
)

// sendKey is one send of a page: its own id, in the session that the request names.
type sendKey struct {
	laneKey
	send string
}

// send gives the turn that the first of the keys stands for already; nil where there is none, and then this one is found by all.
func (b *table) send(tp *tape, keys ...sendKey) *tape {
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.ofSend[keys[0]]; other != nil && other != tp {
		return other
	}
	if b.ofSend == nil {
		b.ofSend = map[sendKey]*tape{}
	}
	for _, key := range keys {
		if b.ofSend[key] == nil {
			b.ofSend[key] = tp
			tp.sends = append(tp.sends, key)
		}
	}
	return nil
}

// errSent ends a request whose send has begun a turn already.
var errSent = errors.New("this send has begun a turn already")

// once sees that what a page sends is one turn: where the session that the request names has had the send before, running or not,
// the request ends with errSent, and its tape knows that turn.
func (t *running) once(ctx context.Context) error {
	if t.req.ClientMessage == "" {
		return nil
	}
	named := t.found
	if t.former != nil {
		named = t.former
	}
	if !named.New {
		if err := t.sentBefore(ctx, named.Known.ID); err != nil {
			return err
		}
	}
	send := t.req.ClientMessage
	for {
		other := t.table.send(t.tape, sendKey{t.laneOf(named), send}, sendKey{t.lane(), send})
		if other == nil {
			return nil
		}
		gone, err := t.deleted(ctx, other)
		switch {
		case err != nil:
			return err
		case !gone:
			return t.gives(&Live{tape: other})
		}
		t.table.disown(other)
	}
}

// deleted says that a turn was deleted with its session. What was sent in that one is another send in the one that has its name now.
func (t *running) deleted(ctx context.Context, tp *tape) (bool, error) {
	tp.mu.Lock()
	wrote, about := tp.wrote, tp.about
	tp.mu.Unlock()
	if !wrote {
		return false, nil
	}
	var err error
	if about.Turn == "" {
		_, err = t.Identify.Known(ctx, t.req.Caller.Tenant, about.Session)
	} else {
		_, err = t.Turn(ctx, t.req.Caller.Tenant, about.Turn)
	}
	if mooring.KindOf(err) == mooring.KindNotFound {
		return true, nil
	}
	return false, err
}

// sentBefore looks for the send among those of the session that are written down.
func (t *running) sentBefore(ctx context.Context, s mooring.SessionID) error {
	tenant := t.req.Caller.Tenant
	turn, err := t.Sent(ctx, tenant, s, t.req.ClientMessage)
	switch {
	case mooring.CodeOf(err) == mooring.CodeNotFound:
		return nil
	case err != nil:
		return err
	}
	if live, ok := t.Follow(tenant, turn.ID); ok {
		return t.gives(live)
	}
	return t.gives(t.recall(ctx, turn, 0))
}

func (t *running) gives(l *Live) error {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	t.tape.same = l
	return errSent
}
