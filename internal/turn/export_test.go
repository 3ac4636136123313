package turn

import (
	"context"
	"time"

	"mooring"
)

// Lane is one lane of a table, for tests of the queue alone.
type Lane struct{ lanes lanes }

// Enter takes a place in it and gives what frees the place.
func (l *Lane) Enter(ctx context.Context, way Concurrency, r Rules) (leave func(), waited bool, err error) {
	s, waited, err := l.lanes.enter(ctx, laneKey{session: "ses_1"}, way, r)
	if err != nil {
		return nil, waited, err
	}
	return func() { l.lanes.leave(s) }, waited, nil
}

// Empty says that nobody runs or waits.
func (l *Lane) Empty() bool {
	l.lanes.mu.Lock()
	defer l.lanes.mu.Unlock()
	return len(l.lanes.open) == 0
}

// Nothing says that nothing is kept of any turn.
func (r *Runner) Nothing() bool {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	r.lanes.mu.Lock()
	defer r.lanes.mu.Unlock()
	b := &r.table
	return len(b.ofChat)+len(b.ofBody)+len(b.ofTurn)+len(b.ofSend)+len(b.past.list)+b.past.bytes+len(r.lanes.open) == 0 && r.tapes.unread.Load() == 0
}

// Recording is a tape alone, for tests of those who follow it.
type Recording struct {
	*tape
	Live *Live
}

// NewRecording makes the tape of a turn of the server's, or of a client's where detach is nil; cancel ends the turn.
func NewRecording(most int, detach func() time.Duration, cancel func(error)) *Recording {
	return new(Runner).NewRecording(most, detach, cancel)
}

// NewRecording makes one that shares with the others of its Runner.
func (r *Runner) NewRecording(most int, detach func() time.Duration, cancel func(error)) *Recording {
	t := &tape{
		all: &r.tapes, sink: nowhere{}, most: most, detach: detach, cancel: cancel, followed: detach != nil, begun: make(chan struct{}), done: make(chan struct{}),
	}
	return &Recording{t, &Live{tape: t}}
}

// Begin is the beginning of the turn: nobody listens yet.
func (r *Recording) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left()
}

// End ends it.
func (r *Recording) End() { r.end(mooring.Turn{}, nil) }

// Follow lets it be read.
func (r *Recording) Follow() { r.follow() }

// Cancel ends a turn that runs here, and does not wait for that; false where there is none such.
func (r *Runner) Cancel(t mooring.Tenant, id mooring.TurnID) bool {
	it := r.table.running(turnKey{t, id})
	if it == nil {
		return false
	}
	it.cancel(errStopped())
	return true
}
