package record

import (
	"context"
	"log/slog"
	"time"

	"mooring"
)

const (
	sumEvery = 10 * time.Minute
	// sumAfter is how old an hour is when its turns are summed up: by then none of them changes any more, however long it ran or
	// was tried again.
	sumAfter = 48 * time.Hour
)

// sum keeps the sums of usage behind the turns by two days, hour by hour, so that each commit is short.
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
	}
}
