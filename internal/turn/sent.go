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
	if other := t.table.send(t.tape, sendKey{t.laneOf(named), send}, sendKey{t.lane(), send}); other != nil {
		return t.gives(&Live{tape: other})
	}
	return nil
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
	return t.gives(t.recall(turn))
}

func (t *running) gives(l *Live) error {
	t.tape.mu.Lock()
	defer t.tape.mu.Unlock()
	t.tape.same = l
	return errSent
}

// recall gives a turn that is not of this process, or has ended long ago: only what the record has of it.
func (r *Runner) recall(turn mooring.Turn) *Live {
	tp := r.newTape(turn.Protocol, nowhere{})
	tp.followed, tp.short, tp.wrote, tp.begun = true, true, true, make(chan struct{})
	tp.about = About{Session: turn.Session, Turn: turn.ID, Kind: turn.Kind, Identity: turn.Identity, Upstream: turn.Upstream, Pin: turn.Pin}
	tp.ready()
	live := &Live{tape: tp}
	if turn.State == mooring.Running {
		live.ask = func(ctx context.Context) (mooring.Turn, error) { return r.Turn(ctx, turn.Tenant, turn.ID) }
		return live
	}
	tp.end(outcome(turn, nil))
	return live
}
