package record

import (
	"context"
	"log/slog"
	"time"

	"mooring"
)

const (
	sumEvery = 10 * time.Minute
	// sumAfter is how old an hour is when its turns are summed up: series of a day have shorter steps, and by then no turn that has
	// ended is tried again.
	sumAfter = 25 * time.Hour
	// sumPause leaves the store to turns after each hour where many are to be summed up, as after an upgrade.
	sumPause = 50 * time.Millisecond
)

// sum keeps the sums of usage behind the turns by a day, hour by hour, so that each commit is short.
func (w *Writer) sum() {
	ticks := time.NewTicker(sumEvery)
	defer ticks.Stop()
	for {
		w.sumOnce()
		select {
		case <-ticks.C:
		case <-w.stop:
			return
		}
	}
}

func (w *Writer) sumOnce() {
	ctx := context.Background()
	for {
		c := &mooring.SumUp{Before: w.options.Now().Add(-sumAfter)}
		err := w.Commit(ctx, c)
		if err != nil && mooring.CodeOf(err) != mooring.CodeShuttingDown {
			w.options.Log.LogAttrs(ctx, slog.LevelWarn, "usage not summed up", slog.Any("err", err))
		}
		if err != nil || c.Done {
			return
		}
		select {
		case <-time.After(sumPause):
		case <-w.stop:
			return
		}
	}
}
