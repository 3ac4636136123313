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
		c := &mooring.Prune{Before: w.options.Now().Add(-w.options.Retention), Limit: sweepRoots}
		if err := w.Commit(ctx, c); err != nil {
			if mooring.CodeOf(err) != mooring.CodeShuttingDown {
				w.options.Log.LogAttrs(ctx, slog.LevelWarn, "old sessions not removed", slog.Any("err", err))
			}
			return
		}
		removed += c.Removed
		if c.Removed == 0 {
			break
		}
	}
	if removed > 0 {
		w.options.Log.LogAttrs(ctx, slog.LevelInfo, "old sessions removed", slog.Int("sessions", removed))
	}
}
