package record

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"mooring"
)

// loop commits what is queued until the queue is closed and empty.
func (w *Writer) loop() {
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	seen := int64(-1)
	for {
		select {
		case first, open := <-w.queue:
			if !open {
				return
			}
			<-w.turn
			batch := w.gather(first)
			w.apply(context.Background(), batch)
			w.waiting.Add(int64(-len(batch)))
			w.turn <- struct{}{}
		case <-w.wake:
			idle.Reset(idleAfter)
		case <-idle.C:
			seen = w.upkeep(seen, idle)
		}
	}
}

// gather takes what waits behind the first change, up to the size of a batch.
func (w *Writer) gather(first *Pending) []*Pending {
	batch := []*Pending{first}
	for len(batch) < w.options.MaxBatch {
		select {
		case p, open := <-w.queue:
			if !open {
				return batch
			}
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
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
	changes := make([]mooring.Change, len(batch))
	for i, p := range batch {
		changes[i] = p.change
	}
	err := w.commit(ctx, changes)
	w.commits.Add(1)
	w.markDirty()
	if err != nil && len(batch) > 1 && mooring.KindOf(err) != mooring.KindStore {
		w.separately(ctx, batch)
		return
	}
	for _, p := range batch {
		p.finish(err)
	}
}

// commit tries once more after the connection was lost: whether the first try was committed is unknown then, and a store
// applies the same batch twice without harm.
func (w *Writer) commit(ctx context.Context, changes []mooring.Change) error {
	err := w.options.Store.Apply(ctx, changes)
	if mooring.KindOf(err) == mooring.KindStore && !errors.Is(err, context.DeadlineExceeded) {
		err = w.options.Store.Apply(ctx, changes)
	}
	return err
}

// separately commits each change of a batch that failed for a fault in one of them, so that only that one fails.
func (w *Writer) separately(ctx context.Context, batch []*Pending) {
	for _, p := range batch {
		p.finish(w.commit(ctx, []mooring.Change{p.change}))
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
