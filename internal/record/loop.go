package record

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mooring"
)

const (
	// linger is how long changes that are safe in the journal wait for others, to share a transaction with them.
	linger = 50 * time.Millisecond
	// retryEvery is how long a store that was down is left alone.
	retryEvery = 250 * time.Millisecond
	// upkeepAgain is how long an upkeep that failed is left alone.
	upkeepAgain = 5 * time.Second
	// journalKept is the size from which the journal is emptied under load; below it, that waits for an idle moment.
	journalKept = 1 << 20
)

// loop commits what is queued until the queue is closed and empty.
func (w *Writer) loop() {
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	again := time.NewTicker(retryEvery)
	defer again.Stop()
	seen := int64(-1)
	for {
		select {
		case first, open := <-w.queue:
			if !open {
				w.lastTry()
				return
			}
			<-w.room
			w.commitNext(w.gather(first))
		case <-again.C:
			if len(w.retry) > 0 {
				w.commitNext(nil)
			}
		case <-w.wake:
			idle.Reset(idleAfter)
		case <-idle.C:
			seen = w.upkeep(seen, idle)
		}
	}
}

// commitNext applies a batch behind what the store would not take before.
func (w *Writer) commitNext(batch []*Pending) {
	<-w.turn
	all := append(w.retry, batch...)
	w.retry = nil
	w.apply(context.Background(), all)
	w.waiting.Add(int64(len(w.retry) - len(all)))
	w.turn <- struct{}{}
}

// lastTry is for what the journal alone has when the program stops; what fails again is moved by the next start.
func (w *Writer) lastTry() {
	if len(w.retry) > 0 {
		w.commitNext(nil)
	}
}

// gather takes what waits behind the first change, up to the size of a batch. While nobody waits for the store it gives
// others a moment to come.
func (w *Writer) gather(first *Pending) []*Pending {
	batch := []*Pending{first}
	urgent := first.seq == 0
	var late <-chan time.Time
	if !urgent {
		t := time.NewTimer(linger)
		defer t.Stop()
		late = t.C
	}
	for len(batch) < w.options.MaxBatch {
		p, ok := w.more(urgent, late)
		if !ok {
			break
		}
		<-w.room
		batch = append(batch, p)
		urgent = urgent || p.seq == 0
	}
	return batch
}

// more takes another change: at once where somebody waits, else within the time.
func (w *Writer) more(urgent bool, late <-chan time.Time) (*Pending, bool) { //nolint:revive // a state of the batch
	if urgent {
		select {
		case p, open := <-w.queue:
			return p, open
		default:
			return nil, false
		}
	}
	select {
	case p, open := <-w.queue:
		return p, open
	case <-late:
		return nil, false
	}
}

// nextLook is when an upkeep that did not do all is tried next: without filling the log where it failed.
func nextLook(err error) time.Duration {
	if err != nil {
		return upkeepAgain
	}
	return idleAfter
}

// mayTend takes the right to commit for the upkeep: at once or not at all, unless it is late.
func (w *Writer) mayTend(late bool) bool { //nolint:revive // a state of the upkeep
	if late {
		<-w.turn
		return true
	}
	select {
	case <-w.turn:
		return true
	default: // a commit is running
		return false
	}
}

// upkeep lets the store put itself in order where nothing was committed since the last look, else looks again later; but what was
// deleted is not left lying about for as long as there is something to commit.
func (w *Writer) upkeep(seen int64, idle *time.Timer) int64 {
	if !w.dirty.Load() {
		return seen
	}
	late := w.late()
	if now := w.commits.Load(); now != seen && !late {
		idle.Reset(idleAfter)
		return now
	}
	if !w.mayTend(late) {
		idle.Reset(idleAfter)
		return seen
	}
	defer func() { w.turn <- struct{}{} }()
	w.dirty.Store(false)
	wiping := w.wiping.Swap(false)
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	w.emptied(ctx, w.moved.Load(), 0)
	clean := !late || w.scrub(ctx)
	err := w.options.Store.Idle(ctx)
	if err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelWarn, "store upkeep failed", slog.Any("err", err))
	}
	if err != nil || !clean {
		w.dirty.Store(true)
		if wiping {
			w.wiping.Store(true)
		}
		idle.Reset(nextLook(err))
	}
	return seen
}

// apply commits a batch and tells each of its callers. The caller holds the right to commit.
func (w *Writer) apply(ctx context.Context, batch []*Pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	err := w.store(ctx, batch)
	if len(batch) > 1 && err != nil && !isDown(err) {
		w.separately(ctx, batch)
		return
	}
	w.settle(ctx, batch, err)
}

// separately commits each change of a batch that failed for a fault in one of them, so that only that one fails. Where the
// store goes down meanwhile, nothing goes ahead of what waits for it.
func (w *Writer) separately(ctx context.Context, batch []*Pending) {
	for i := range batch {
		err := w.store(ctx, batch[i:i+1])
		if isDown(err) {
			w.settle(ctx, batch[i:], err)
			return
		}
		w.settle(ctx, batch[i:i+1], err)
	}
}

func isDown(err error) bool { return err != nil && mooring.KindOf(err) == mooring.KindStore }

// store commits what a batch changes, with a note of the last frame of the journal that is in it.
func (w *Writer) store(ctx context.Context, batch []*Pending) error {
	changes, seq := make([]mooring.Change, 0, len(batch)+1), uint64(0)
	for _, p := range batch {
		if p.change != nil {
			changes = append(changes, p.change)
		}
		seq = max(seq, p.seq)
	}
	if len(changes) == 0 {
		return nil
	}
	if seq > 0 {
		changes = append(changes, &mooring.Applied{Seq: seq})
	}
	err := w.applyTwice(ctx, w.withBeat(changes))
	w.commits.Add(1)
	w.markDirty()
	if err == nil && seq > 0 {
		w.movedTo(ctx, seq)
	}
	return err
}

func (w *Writer) movedTo(ctx context.Context, seq uint64) {
	w.moved.Store(seq)
	w.emptied(ctx, seq, journalKept)
}

// settle tells the callers of a batch. What is safe in the journal is kept while the store is down.
func (w *Writer) settle(ctx context.Context, batch []*Pending, err error) {
	for _, p := range batch {
		if p.seq > 0 && isDown(err) {
			w.retry, w.refusal = append(w.retry, p), err
			continue
		}
		if err == nil && leavesText(p.change) {
			w.wiping.Store(true)
		}
		w.ahead.Add(-int64(p.size))
		if p.named {
			w.forget(namesOf(p.change))
		}
		if p.seq > 0 && err != nil {
			w.reject(ctx, p, err)
		}
		p.finish(err)
	}
}

// applyTwice tries once more after the connection was lost: whether the first try was committed is unknown then, and a store
// applies the same batch twice without harm.
func (w *Writer) applyTwice(ctx context.Context, changes []mooring.Change) error {
	err := w.options.Store.Apply(ctx, changes)
	if isDown(err) && !errors.Is(err, context.DeadlineExceeded) {
		err = w.options.Store.Apply(ctx, changes)
	}
	w.failing.Store(err != nil)
	return err
}

func (w *Writer) markDirty() {
	if w.dirty.CompareAndSwap(false, true) {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}
