package record

import (
	"context"
	"log/slog"
	"time"

	"mooring"
)

const (
	sweepEvery = time.Hour
	// sweepRoots keeps a commit of the sweeper short beside those of turns.
	sweepRoots = 20
)

// sweep removes what has been idle for longer than the retention, at once and then every hour.
func (w *Writer) sweep() {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	for {
		w.sweepOnce()
		select {
		case <-ticks.C:
		case <-w.stop:
			return
		}
	}
}

func (w *Writer) sweepOnce() {
	ctx := context.Background()
	removed := 0
	for {
		n, err := w.prune(ctx)
		if err != nil {
			if mooring.CodeOf(err) != mooring.CodeShuttingDown {
				w.options.Log.LogAttrs(ctx, slog.LevelWarn, "old sessions not removed", slog.Any("err", err))
			}
			return
		}
		removed += n
		if n == 0 {
			break
		}
	}
	if removed > 0 {
		w.options.Log.LogAttrs(ctx, slog.LevelInfo, "old sessions removed", slog.Int("sessions", removed))
	}
}

// prune removes some trees. Which ones is known only afterwards: until then no turn of a known session goes by way of the journal,
// and then memory forgets them, so that their next turns find them gone.
func (w *Writer) prune(ctx context.Context) (int, error) {
	w.order.Lock() // what the journal has by now is in the queue, ahead of the prune
	w.gone.all.Store(true)
	w.order.Unlock()
	defer w.gone.all.Store(false)
	c := &mooring.Prune{Before: w.options.Now().Add(-w.options.Retention), Limit: sweepRoots}
	err := w.Commit(ctx, c)
	for _, s := range c.Gone {
		w.gone.add(s.Tenant, s.ID)
		if w.options.Forget != nil {
			w.options.Forget(s.Tenant, s.ID)
		}
	}
	return c.Removed, err
}
