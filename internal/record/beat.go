package record

import (
	"context"
	"log/slog"
	"time"

	"mooring"
)

const (
	// beatEvery is how often a replica says that it lives; others take its turns for lost after four times that time.
	beatEvery = 3 * time.Second
	// beatTimeout is how long the database may take to hear it.
	beatTimeout = 5 * time.Second
	// lateBeat is how old the last one may be for a batch to go without one.
	lateBeat = 2 * beatEvery
)

// hello ends what dead processes left running where this one has the store for itself, else says that it lives. What became of the
// others it learns later.
func (w *Writer) hello(ctx context.Context) error {
	if w.options.Store.Local() {
		return w.retire(ctx, w.options.Store.Apply)
	}
	p, err := w.options.Store.Beat(ctx, w.options.Replica)
	if err == nil {
		w.heard(p)
	}
	return err
}

func (w *Writer) retire(ctx context.Context, apply func(context.Context, []mooring.Change) error) error {
	c := &mooring.Retire{Replica: w.options.Replica, At: w.options.Now()}
	if err := apply(ctx, []mooring.Change{c}); err != nil {
		return err
	}
	if c.Turns > 0 {
		w.options.Log.LogAttrs(ctx, slog.LevelWarn, "turns that a dead process left running are interrupted", slog.Int("turns", c.Turns))
	}
	return nil
}

// beat says again and again that this replica lives.
func (w *Writer) beat() {
	ticks := time.NewTicker(beatEvery)
	defer ticks.Stop()
	silent := false
	for {
		select {
		case <-w.stop:
			return
		case <-ticks.C:
		}
		err := w.beatOnce()
		if err != nil && !silent {
			w.options.Log.LogAttrs(context.Background(), slog.LevelWarn, "replica could not say that it lives; it is tried again", slog.Any("err", err))
		}
		silent = err != nil
	}
}

func (w *Writer) beatOnce() error {
	ctx, cancel := context.WithTimeout(context.Background(), beatTimeout)
	defer cancel()
	p, err := w.options.Store.Beat(ctx, w.options.Replica)
	if err != nil {
		return err
	}
	w.heard(p)
	if !p.Dead {
		return nil
	}
	err = w.retire(context.Background(), func(ctx context.Context, batch []mooring.Change) error { return w.Commit(ctx, batch[0]) })
	if mooring.CodeOf(err) == mooring.CodeShuttingDown {
		return nil
	}
	return err
}

// heard notes a beat that the database has. The beats' own goroutine calls it, and Start before there is one.
func (w *Writer) heard(p mooring.Pulse) {
	w.beaten.Store(w.options.Now().UnixNano())
	lapsed := !w.since.IsZero() && !w.since.Equal(p.Since)
	w.since = p.Since
	if w.options.Alive != nil {
		w.options.Alive(p.Alive)
	}
	if lapsed && w.options.Lapsed != nil {
		w.options.Lapsed()
	}
}

// withBeat adds a beat to what is committed where the last one is old: nobody is to take what has just begun for a dead replica's.
func (w *Writer) withBeat(changes []mooring.Change) []mooring.Change {
	if last := w.beaten.Load(); last == 0 || w.options.Now().UnixNano()-last < int64(lateBeat) {
		return changes
	}
	return append(changes, &mooring.Alive{Replica: w.options.Replica})
}
