package turn

import (
	"context"
	"slices"
	"sync"
	"time"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/upstream"
)

// lanes is the table of running turns: which sessions have one, and who waits for its end.
type lanes struct {
	mu   sync.Mutex // guards the map and the lanes in it
	open map[laneKey]*lane
}

// laneKey is a session, or the id of one that is about to be made.
type laneKey struct {
	tenant  mooring.Tenant
	session mooring.SessionID
	mooring.Alias
}

type lane struct {
	running int
	waiting []chan struct{}
}

// slot is a turn's place in a lane.
type slot struct {
	key laneKey
}

// busyRetry is what a client is told to wait when a session is busy: most turns end within seconds.
const busyRetry = 2 * time.Second

// enter takes a place at once where nobody runs or everybody may; else it waits or refuses, as the rules say.
func (l *lanes) enter(ctx context.Context, key laneKey, way Concurrency, r Rules) (s *slot, waited bool, err error) {
	turn, err := l.try(key, way, r.QueueDepth)
	if err != nil || turn == nil {
		return &slot{key}, false, err
	}
	timer := time.NewTimer(r.QueueWait)
	defer timer.Stop()
	select {
	case <-turn:
		return &slot{key}, true, nil
	case <-ctx.Done():
		err = context.Canceled
	case <-timer.C:
		err = busy("A turn of this session has been running for too long")
	}
	if !l.giveUp(key, turn) { // it was our turn just now
		l.leave(&slot{key})
	}
	return nil, true, err
}

// try takes a place, or queues for one: then the channel is closed when the place is there.
func (l *lanes) try(key laneKey, way Concurrency, depth int) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[laneKey]*lane{}
	}
	ln := l.open[key]
	if ln == nil {
		ln = &lane{}
		l.open[key] = ln
	}
	switch {
	case ln.running == 0 || way == Allow:
		ln.running++
		return nil, nil
	case way == Reject:
		return nil, busy("A turn of this session is running")
	case len(ln.waiting) >= depth:
		return nil, busy("Too many requests wait for this session")
	}
	turn := make(chan struct{})
	ln.waiting = append(ln.waiting, turn)
	return turn, nil
}

func busy(why string) error {
	return &mooring.Error{Code: mooring.CodeSessionBusy, Safe: why + "; wait for its end and send the request again.", RetryAfter: busyRetry}
}

// giveUp takes a waiter out of the queue; false where it has its place already.
func (l *lanes) giveUp(key laneKey, turn <-chan struct{}) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.open[key]
	if ln == nil {
		return false
	}
	for i, w := range ln.waiting {
		if w == turn {
			ln.waiting = append(ln.waiting[:i], ln.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// leave frees a place and hands it to the first who waits.
func (l *lanes) leave(s *slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.open[s.key]
	if ln == nil {
		return
	}
	if ln.running == 1 && len(ln.waiting) > 0 {
		close(ln.waiting[0])
		ln.waiting = ln.waiting[1:]
		return
	}
	if ln.running--; ln.running == 0 {
		delete(l.open, s.key)
	}
}

// also takes a place in a second lane without waiting: the turn runs already.
func (l *lanes) also(key laneKey) *slot {
	_, _ = l.try(key, Allow, 0)
	return &slot{key}
}

// admit waits for the session's turn where the rules want that; a chat that begins anew waits for none, but ends it. What was found
// before a wait may have changed with it: the session has moved on, or has come to be, and then others may be in its lane already.
func (t *running) admit(ctx context.Context) error {
	if err := t.fence(ctx); err != nil {
		return err
	}
	for !t.side() && !t.holds(t.lane()) {
		rules := t.Rules()
		s, waited, err := t.lanes.enter(ctx, t.lane(), t.way(rules), rules)
		if err != nil {
			return err
		}
		t.slots = append(t.slots, s)
		if !waited {
			return nil
		}
		if err := t.look(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (t *running) way(rules Rules) Concurrency {
	switch {
	case rules.Concurrency != "":
		return rules.Concurrency
	case slices.ContainsFunc(t.candidates, func(u *upstream.Upstream) bool { return u.Remote }):
		return Queue
	}
	return Allow
}

func (t *running) holds(key laneKey) bool {
	return slices.ContainsFunc(t.slots, func(s *slot) bool { return s.key == key })
}

func (t *running) lane() laneKey {
	if t.former == nil {
		return t.laneOf(t.found)
	}
	return laneKey{tenant: t.req.Caller.Tenant, session: t.found.Known.ID}
}

func (t *running) laneOf(f *identify.Finding) laneKey {
	key := laneKey{tenant: t.req.Caller.Tenant}
	if f.New {
		key.Alias = f.Aliases[0]
	} else {
		key.session = f.Known.ID
	}
	return key
}

// occupy takes a place with the session's own id, for a turn that was admitted by the alias of a session that it makes. It is
// called before the commit: as soon as that is there, others find the session by its id.
func (t *running) occupy() {
	key := laneKey{tenant: t.req.Caller.Tenant, session: t.found.Known.ID}
	if t.req.ClientMessage != "" {
		t.table.send(t.tape, sendKey{key, t.req.ClientMessage})
	}
	if !t.side() && !t.holds(key) {
		t.slots = append(t.slots, t.lanes.also(key))
	}
}

// leave frees what the turn holds. A commit that is still under way reads the request's bytes, so it is waited for.
func (t *running) leave(err error) {
	if t.pending != nil {
		_ = t.pending.Wait(context.Background()) // its turn has ended without it
	}
	t.table.leave(t)
	t.open()
	if t.guarded != "" {
		t.retries.Delete(t.guarded)
	}
	for _, s := range t.slots {
		t.lanes.leave(s)
	}
	if err == nil {
		err = t.broken
	}
	t.tape.end(outcome(t.turn, err)) // who hears of it may send the next one
}
