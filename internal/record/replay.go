package record

import (
	"context"
	"fmt"
	"log/slog"
)

// openJournal opens the journal and moves into the store what a dead process left in it.
func (w *Writer) openJournal(ctx context.Context) error {
	j, err := openJournal(w.options.Journal)
	if err != nil {
		return err
	}
	w.journal = j
	after, err := w.options.Store.Applied(ctx)
	if err != nil {
		return err
	}
	left, err := j.left(after)
	if err != nil {
		return err
	}
	if err := w.replay(ctx, left); err != nil {
		return err
	}
	if missing := j.seq - after - uint64(len(left)); missing > 0 {
		w.options.Log.LogAttrs(ctx, slog.LevelError, "the journal is damaged, changes that were safe in it are lost", slog.Uint64("changes", missing))
	}
	w.moved.Store(j.seq)
	return j.applied(j.seq, 0)
}

// replay goes the way of every change, so that one which the store refuses keeps no other from it, nor the program from starting.
func (w *Writer) replay(ctx context.Context, left []*Pending) error {
	for rest := left; len(rest) > 0; {
		n := min(len(rest), w.options.MaxBatch)
		w.apply(ctx, rest[:n])
		rest = rest[n:]
		if len(w.retry) > 0 {
			return fmt.Errorf("move %d changes from the journal into the store: %w", len(left), w.refusal)
		}
	}
	if len(left) > 0 {
		w.options.Log.LogAttrs(ctx, slog.LevelInfo, "changes of a dead process moved from the journal into the store", slog.Int("changes", len(left)))
	}
	return nil
}
