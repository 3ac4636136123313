package turn

import (
	"context"
	"encoding/json"
	"errors"

	"mooring"
	"mooring/internal/peer"
)

// facts is what is told of a turn to followers at another replica, besides its bytes.
type facts struct {
	About    About            `json:"about"`
	Protocol mooring.Protocol `json:"protocol"`
	Status   int              `json:"status,omitempty"`
	Length   int              `json:"length,omitempty"`
	Short    bool             `json:"short,omitempty"`
	End      *ending          `json:"end,omitempty"`
}

// ending is how it has ended.
type ending struct {
	State  mooring.TurnState `json:"state,omitempty"` // empty where it was none
	Answer mooring.MessageID `json:"answer,omitempty"`
	Status int               `json:"status,omitempty"`
	Code   mooring.Code      `json:"code,omitempty"` // of the error that its listeners are told; empty for none
	Safe   string            `json:"safe,omitempty"`
}

// Facts is what a follower at another replica has to know besides the bytes.
func (l *Live) Facts() []byte {
	t := l.tape
	t.mu.Lock()
	f := facts{About: t.about, Protocol: t.protocol, Status: t.head.Status, Length: t.head.Length, Short: t.short}
	if t.ended {
		f.End = &ending{State: t.turn.State, Answer: t.turn.Answer, Status: t.turn.Status}
		if e, ok := errors.AsType[*mooring.Error](t.err); ok {
			f.End.Code, f.End.Safe = e.Code, e.Safe
		} else if t.err != nil {
			f.End.Code = mooring.CodeInternal
		}
	}
	t.mu.Unlock()
	out, err := json.Marshal(f)
	if err != nil {
		return nil
	}
	return out
}

// Open gives a turn that runs here, or has ended a short while ago, to a follower at another replica.
func (r *Runner) Open(t mooring.Tenant, id mooring.TurnID) (peer.Source, bool) { //nolint:ireturn // what the exchange asks for
	live, ok := r.Follow(t, id)
	return live, ok
}

// Watch gives a turn that stands in the store: one that runs here, or at another replica, or has ended.
func (r *Runner) Watch(ctx context.Context, turn mooring.Turn) *Live {
	if live, ok := r.Follow(turn.Tenant, turn.ID); ok {
		return live
	}
	return r.recall(ctx, turn, 0)
}

// recall gives a turn that is not of this process, or has ended long ago: what the record has of it, and while another replica runs it
// what that sends of its bytes.
func (r *Runner) recall(ctx context.Context, turn mooring.Turn, from int) *Live {
	tp := r.newTape(turn.Protocol, nowhere{})
	tp.followed, tp.wrote, tp.begun = true, true, make(chan struct{})
	tp.about = About{Session: turn.Session, Turn: turn.ID, Kind: turn.Kind, Identity: turn.Identity, Upstream: turn.Upstream, Pin: turn.Pin}
	tp.ready()
	live := &Live{tape: tp}
	if turn.State != mooring.Running && from != peer.EndOnly {
		tp.short = true
		tp.end(outcome(turn, nil))
		return live
	}
	if tp.short = !r.shared(); r.shared() {
		live.leave = r.Peers.Follow(ctx, turn, from, func(p peer.Piece) int { return tp.play(p, turn) })
	}
	live.ask = func(ctx context.Context) (mooring.Turn, error) { return r.Turn(ctx, turn.Tenant, turn.ID) }
	live.of = turn.Replica
	return live
}

// play puts what another replica sends of a turn onto a tape, as far as it is the next there, and gives how long that is.
func (t *tape) play(p peer.Piece, turn mooring.Turn) int {
	var f facts
	known := p.Facts != nil && json.Unmarshal(p.Facts, &f) == nil
	t.mu.Lock()
	if t.ended {
		t.mu.Unlock()
		return t.size
	}
	if t.played = true; known {
		t.protocol, t.about, t.head = f.Protocol, f.About, Head{Status: f.Status, Length: f.Length}
	}
	if skip := t.size - p.At; skip >= 0 && skip < len(p.Data) {
		t.keep(p.Data[skip:])
		t.wake()
	}
	have, whole := t.size, p.At <= t.size || p.At == peer.EndOnly
	if known && f.End != nil && whole {
		t.short = t.short || f.Short
	}
	t.mu.Unlock()
	if !p.Ended || !whole || !known || f.End == nil {
		return have
	}
	turn.State, turn.Answer, turn.Status, turn.ErrorCode = f.End.State, f.End.Answer, f.End.Status, ""
	var err error
	if f.End.Code != "" {
		err, turn.ErrorCode = &mooring.Error{Code: f.End.Code, Safe: f.End.Safe}, f.End.Code
	}
	t.end(turn, err)
	return have
}

// How often in a row a turn of another replica is seen to have ended, without a word of it, before its end is told from the record: soon
// where nothing of it has ever come, later where some of it may be on its way still.
const (
	unheard = 2
	delayed = 8
)

// inquire looks whether a turn of another process has ended.
func (l *Live) inquire(ctx context.Context) error {
	now, err := l.ask(ctx)
	if err != nil {
		return err
	}
	if now.State == mooring.Running && now.Replica == l.of {
		return nil
	}
	l.tape.mu.Lock()
	patience := unheard
	if l.tape.played {
		patience = delayed
	}
	l.over++
	late := l.leave == nil || l.over >= patience
	l.tape.short = l.tape.short || late
	l.tape.mu.Unlock()
	if !late {
		return nil
	}
	if now.State == mooring.Running {
		l.tape.end(now, errAgain())
		return nil
	}
	l.tape.end(outcome(now, nil))
	return nil
}

// close ends the following of a turn of another replica.
func (l *Live) close() {
	if l.leave != nil {
		l.leave()
	}
}

// empty says that nothing of the answer has gone to the client.
func (t *tape) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size == 0 && !t.short
}

// isWritten says that the turn is written down.
func (t *tape) isWritten() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrote
}
