package turn

import (
	"bytes"
	"context"
	"sync/atomic"
	"time"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/peer"
	"mooring/internal/wire"
)

// Peers are the other replicas that share the store; peer.Exchange is one. What they are told may be lost.
type Peers interface {
	// Wake tells a replica that the store holds something for it.
	Wake(ctx context.Context, replica string)
	// Follow has handed over what the client of a turn is sent that another replica runs.
	Follow(ctx context.Context, turn mooring.Turn, from int, take func(peer.Piece) (have int)) (leave func())
}

// Elsewhere is what turns need of other replicas. The zero value is for a process that has its store for itself.
type Elsewhere struct {
	Peers  Peers                                                                            // nil: there are none
	Fenced func(ctx context.Context, replica string) ([]mooring.Turn, error)                // turns of a replica that others stop
	Rivals func(ctx context.Context, t mooring.Tenant, body []byte) ([]mooring.Turn, error) // running turns of an equal body

	lapsed atomic.Bool // others may have given up what runs here
}

// shared says that other processes may write into the store, too.
func (r *Runner) shared() bool { return r.Elsewhere.Peers != nil }

const (
	// grace is how long another replica gets to end a turn that it is to end; then that is done for it.
	grace = 5 * time.Second
	// lookAgain is how often the store is asked whether a turn of another replica has ended, beside what that says.
	lookAgain = 250 * time.Millisecond
)

// errOf is what those hear who follow a turn that another replica's request ends.
func errOf(why mooring.FenceReason) *mooring.Error {
	switch why {
	case mooring.FencedByReset:
		return errReset()
	case mooring.FencedByRetry:
		return errAgain()
	case mooring.FencedByHand:
		return errStopped()
	}
	return errStopped()
}

func errLost() *mooring.Error {
	return mooring.Errorf(mooring.CodeStoreUnavailable, "The session store could not be reached for so long that the turn was given up; send the request again.")
}

// stopElsewhere ends turns that other replicas run, and waits until they have ended.
func (r *Runner) stopElsewhere(ctx context.Context, c *mooring.Fence) error {
	c.Replica = r.Replica
	if err := r.Record.Commit(context.WithoutCancel(ctx), c); err != nil {
		return err
	}
	return r.seeEnded(ctx, c.Tenant, c.Turns)
}

// seeEnded waits for the end of turns that are fenced. What their replica does not end in time is ended for it: it may be gone, and
// can keep nothing of them any more.
func (r *Runner) seeEnded(ctx context.Context, t mooring.Tenant, turns []mooring.Turn) error {
	told := map[string]bool{r.Replica: true}
	for i := range turns {
		if to := turns[i].Replica; !told[to] {
			told[to] = true
			r.Peers.Wake(ctx, to)
		}
	}
	late, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for i := range turns {
		turn := turns[i]
		err := r.awaitEnd(late, turn)
		switch {
		case err == nil || turn.Replica == r.Replica:
			continue
		case ctx.Err() != nil:
			return context.Canceled
		}
		c := &mooring.Fence{Tenant: t, Turn: turn.ID, Replica: r.Replica, Final: true, At: r.Now()}
		if err = r.Record.Commit(context.WithoutCancel(ctx), c); err != nil {
			return err
		}
	}
	return nil
}

// awaitEnd waits until a turn of another replica has ended, or runs there no more.
func (r *Runner) awaitEnd(ctx context.Context, turn mooring.Turn) error {
	live := r.recall(ctx, turn, peer.EndOnly)
	defer live.close()
	ticks := time.NewTicker(lookAgain)
	defer ticks.Stop()
	for {
		now, err := r.Turn(ctx, turn.Tenant, turn.ID)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case mooring.CodeOf(err) == mooring.CodeNotFound, err == nil && (now.State != mooring.Running || now.Replica != turn.Replica):
			return nil
		}
		select {
		case <-live.Done():
			return nil
		case <-ticks.C: // the store may be back by then
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Stop ends a turn, whichever replica runs it: its listeners get turn_cancelled, what has arrived of its answer is kept. It waits for
// the end, but no longer than some seconds. Where no such turn of the tenant runs it does nothing.
func (r *Runner) Stop(ctx context.Context, t mooring.Tenant, id mooring.TurnID) error {
	it := r.table.running(turnKey{t, id})
	if it == nil {
		if !r.shared() {
			return nil
		}
		return r.stopElsewhere(ctx, &mooring.Fence{Tenant: t, Turn: id, Why: mooring.FencedByHand})
	}
	it.cancel(errStopped())
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-it.tape.done:
	case <-late.C:
	case <-ctx.Done():
	}
	return nil
}

// Heed ends what runs here and others stop, or have given up. It is to be called again and again.
func (r *Runner) Heed(ctx context.Context) error {
	fenced, err := r.Elsewhere.Fenced(ctx, r.Replica)
	if err != nil {
		return err
	}
	for i := range fenced {
		if it := r.table.running(turnKey{fenced[i].Tenant, fenced[i].ID}); it != nil {
			it.cancel(errOf(fenced[i].Fence))
		}
	}
	if !r.Elsewhere.lapsed.Swap(false) {
		return nil
	}
	if err = r.review(ctx); err != nil {
		r.Elsewhere.lapsed.Store(true)
	}
	return err
}

// Lapsed says that others may have given up what runs here, since this replica was not heard of.
func (r *Runner) Lapsed() { r.Elsewhere.lapsed.Store(true) }

// review ends what is written down as running here no more.
func (r *Runner) review(ctx context.Context) error {
	for key, it := range r.table.all() {
		if !it.tape.isWritten() {
			continue
		}
		now, err := r.Turn(ctx, key.tenant, key.turn)
		switch {
		case mooring.CodeOf(err) == mooring.CodeNotFound: // deleted: it ends as it likes
		case err != nil:
			return err
		case now.State != mooring.Running || now.Replica != r.Replica:
			it.cancel(errLost())
		}
	}
	return nil
}

// refusedEnd is for a turn that could not be ended as it has ended: it is fenced, or not this replica's any more. It gives what its
// client is told.
func (t *running) refusedEnd(ctx context.Context, c *mooring.End) error {
	if mooring.CodeOf(c.Err) == mooring.CodeTurnLost {
		t.Memory.Forget(t.turn.Tenant, t.turn.Session, nil)
		t.Route.Forget(t.turn.Tenant, t.turn.Session)
		t.turn.State, t.turn.ErrorCode = mooring.Interrupted, ""
		return errLost()
	}
	why := errOf(c.Fenced)
	t.cancel(why)
	t.turn.State, t.turn.ErrorCode = mooring.Cancelled, why.Code
	if n := len(t.turn.Attempts); n > 0 {
		last := &t.turn.Attempts[n-1]
		last.State, last.Reason = mooring.Cancelled, forward.Reason(why)
	}
	late := &mooring.End{Turn: t.turn, Answer: c.Answer, DropClaim: !t.bound}
	if late.Answer != nil {
		late.Answer.State = mooring.Cancelled
	}
	if t.tape.empty() { // nothing of the answer has come to its client
		late.Answer, late.Turn.Answer, t.turn.Answer = nil, "", ""
	}
	if err := t.Record.Commit(ctx, late); err != nil {
		t.owe(ctx, late, err)
		return why
	}
	t.settled(ctx, late, wire.Digest{})
	return why
}

// built is what the turn was built on, for the store to hold against how it is.
func (t *running) built(c *mooring.Begin) *mooring.Standing {
	k := &t.found.Known
	s := &mooring.Standing{Tip: k.Tip, TipTurn: k.TipTurn, State: k.State, Pin: t.pin}
	if t.remote != "" && c.Remote == nil && (!t.side() || !t.target.Remote) {
		s.Remote = &mooring.RemoteSession{Server: t.target.Server(), ID: t.remote}
	}
	return s
}

// forgetRemote drops what is remembered of the id that the upstream was to be sent.
func (t *running) forgetRemote() {
	if t.shared() && len(t.target.SessionHeaders) > 0 {
		t.Route.ForgetRemote(t.turn.Tenant, t.found.Known.ID, t.target.Server())
	}
}

// sharing adds to the turn's first commit what it needs where several replicas share the store. Of turns that run side by side none
// comes first: what one of them has just read is as good as any. One that goes alone has to stand behind the one before.
func (t *running) sharing(c *mooring.Begin) {
	if !t.shared() || t.found.New {
		return
	}
	c.Resumes = t.resumed != nil
	if c.Sole = !t.side() && t.way(t.Rules()) != Allow; c.Sole && t.until.IsZero() {
		t.until = t.Now().Add(t.Rules().QueueWait)
	}
	if c.Sole || !t.fresh {
		c.Seen = t.built(c)
	}
}

// mostBefore is how many others may be before a turn that goes alone.
const mostBefore = 64

// lines says that a turn which goes alone may be tried once more, for as long as it may wait: another one was before it.
func (t *running) lines() bool {
	t.before++
	return t.started.Sole && t.before < mostBefore && t.Now().Before(t.until)
}

// occupied says that another replica runs a turn of the session, and this one has to wait or to go.
func occupied(err error) bool { return err != nil && mooring.CodeOf(err) == mooring.CodeSessionBusy }

// queueElsewhere waits for the end of the turn that another replica runs in the session, where the rules want that. Those behind it
// wait in the session's lane here; which replica comes next is not told.
func (t *running) queueElsewhere(ctx context.Context) error {
	rules := t.Rules()
	if t.started.Busy == nil || t.way(rules) == Reject {
		return busy("A turn of this session is running")
	}
	t.table.step(t)
	late, cancel := context.WithTimeout(ctx, t.until.Sub(t.Now()))
	defer cancel()
	err := t.awaitEnd(late, *t.started.Busy)
	switch {
	case err == nil:
		return nil
	case fenced(ctx) != nil:
		return fenced(ctx)
	case ctx.Err() != nil:
		return context.Canceled
	}
	return busy("A turn of this session has been running for too long")
}

// replaceElsewhere is replace for a first attempt that another replica runs.
func (t *running) replaceElsewhere(ctx context.Context, here mooring.SessionID) (replaced bool, err error) {
	if !t.shared() {
		return false, nil
	}
	list, err := t.Rivals(ctx, t.req.Caller.Tenant, t.digest)
	if err != nil {
		return false, err
	}
	key, again := t.retryKey(), retryCount(t.req.Header) > 0
	for i := range list {
		other := &list[i]
		same := other.Session == here || nameless(other.Identity) && t.nameless
		if other.Replica == t.Replica || !same || !again && !bytes.Equal(key, other.RetryKey) {
			continue
		}
		return true, t.stopElsewhere(ctx, &mooring.Fence{Tenant: other.Tenant, Turn: other.ID, Why: mooring.FencedByRetry})
	}
	return false, nil
}

// retryKey is the request's Idempotency-Key as it is stored, for replicas to know it again; nil for none.
func (t *running) retryKey() []byte {
	key := idempotencyKey(t.req.Header)
	if key == "" || !t.shared() {
		return nil
	}
	d := t.Memory.Digester(t.req.Caller.Tenant).Bytes([]byte("idempotency-key\x00" + key))
	return d[:]
}
