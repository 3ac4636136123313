package record

import (
	"context"
	"log/slog"
	"time"

	"mooring"
)

// beatEvery is how often a replica says that it lives; others take its turns for lost after twice that time.
const beatEvery = 10 * time.Second

// retire ends what dead processes left running, and says that this one lives.
func (w *Writer) retire(ctx context.Context) error {
	c := &mooring.Retire{Replica: w.options.Replica, At: w.options.Now()}
	if err := w.options.Store.Apply(ctx, []mooring.Change{c}); err != nil {
		return err
	}
	w.tell(ctx, c)
	return nil
}

func (w *Writer) tell(ctx context.Context, c *mooring.Retire) {
	if w.options.Alive != nil {
		w.options.Alive(c.Alive)
	}
	if c.Turns > 0 {
		w.options.Log.LogAttrs(ctx, slog.LevelWarn, "turns that a dead process left running are interrupted", slog.Int("turns", c.Turns))
	}
}

// beat says it again and again where several processes share the store.
func (w *Writer) beat() {
	ticks := time.NewTicker(beatEvery)
	defer ticks.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticks.C:
		}
		ctx := context.Background()
		c := &mooring.Retire{Replica: w.options.Replica, At: w.options.Now()}
		if err := w.Commit(ctx, c); err == nil {
			w.tell(ctx, c)
		} else if mooring.CodeOf(err) != mooring.CodeShuttingDown {
			w.options.Log.LogAttrs(ctx, slog.LevelWarn, "replica could not say that it lives", slog.Any("err", err))
		}
	}
}
