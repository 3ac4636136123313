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
			w.commit(w.gather(first))
		case <-again.C:
			if len(w.retry) > 0 {
				w.commit(nil)
			}
		case <-w.wake:
			idle.Reset(idleAfter)
		case <-idle.C:
			seen = w.upkeep(seen, idle)
		}
	}
}

// commit applies a batch behind what the store would not take before.
func (w *Writer) commit(batch []*Pending) {
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
		w.commit(nil)
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

// upkeep lets the store put itself in order where nothing was committed since the last look, else looks again later.
func (w *Writer) upkeep(seen int64, idle *time.Timer) int64 {
	if !w.dirty.Load() {
		return seen
	}
	if now := w.commits.Load(); now != seen {
		idle.Reset(idleAfter)
		return now
	}
	select {
	case <-w.turn:
	default: // a commit is running
		idle.Reset(idleAfter)
		return seen
	}
	defer func() { w.turn <- struct{}{} }()
	w.dirty.Store(false)
	w.emptied(w.moved.Load(), 0)
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	if err := w.options.Store.Idle(ctx); err != nil {
		w.options.Log.LogAttrs(ctx, slog.LevelWarn, "store upkeep failed", slog.Any("err", err))
		w.markDirty() // and try again
	}
	return seen
}

// apply commits a batch and tells each of its callers. The caller holds the right to commit.
func (w *Writer) apply(ctx context.Context, batch []*Pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	defer w.forgetNames(batch)
	changes, seq := changesOf(batch)
	var err error
	if len(changes) > 0 {
		err = w.applyTwice(ctx, changes)
		w.commits.Add(1)
		w.markDirty()
	}
	switch {
	case err == nil:
		w.movedTo(seq)
	case len(batch) > 1 && mooring.KindOf(err) != mooring.KindStore:
		w.separately(ctx, batch)
		return
	default:
		w.keep(batch, err)
	}
	for _, p := range batch {
		p.finish(err)
	}
}

// changesOf gives what a batch changes, with a note of the last frame of the journal that is in it.
func changesOf(batch []*Pending) (changes []mooring.Change, seq uint64) {
	changes = make([]mooring.Change, 0, len(batch)+1)
	for _, p := range batch {
		if p.change != nil {
			changes = append(changes, p.change)
		}
		seq = max(seq, p.seq)
	}
	if seq > 0 {
		changes = append(changes, &mooring.Applied{Seq: seq})
	}
	return changes, seq
}

func (w *Writer) movedTo(seq uint64) {
	if seq > 0 {
		w.moved.Store(seq)
		w.emptied(seq, journalKept)
	}
}

// keep holds on to what is safe in the journal while the store is down. A change that the store refuses for itself would
// block all that follow: it is named in the log and left.
func (w *Writer) keep(batch []*Pending, err error) {
	for _, p := range batch {
		switch {
		case p.seq == 0:
		case mooring.KindOf(err) == mooring.KindStore:
			w.retry = append(w.retry, p)
		default:
			w.options.Log.LogAttrs(context.Background(), slog.LevelError, "change not stored", slog.Any("err", err))
		}
	}
}

// applyTwice tries once more after the connection was lost: whether the first try was committed is unknown then, and a store
// applies the same batch twice without harm.
func (w *Writer) applyTwice(ctx context.Context, changes []mooring.Change) error {
	err := w.options.Store.Apply(ctx, changes)
	if mooring.KindOf(err) == mooring.KindStore && !errors.Is(err, context.DeadlineExceeded) {
		err = w.options.Store.Apply(ctx, changes)
	}
	w.down.Store(mooring.KindOf(err) == mooring.KindStore)
	return err
}

// separately commits each change of a batch that failed for a fault in one of them, so that only that one fails.
func (w *Writer) separately(ctx context.Context, batch []*Pending) {
	for i, p := range batch {
		if p.change == nil {
			p.finish(nil)
			continue
		}
		changes, seq := changesOf(batch[i : i+1])
		err := w.applyTwice(ctx, changes)
		if err == nil {
			w.movedTo(seq)
		} else {
			w.keep(batch[i:i+1], err)
		}
		p.finish(err)
	}
}

func (w *Writer) markDirty() {
	if w.dirty.CompareAndSwap(false, true) {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}
