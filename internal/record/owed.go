package record

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mooring"
)

const (
	// payEvery is how often a store that was down is asked whether it takes what is owed to it.
	payEvery = time.Second
	// owedMax and owedBytes bound what waits for the store. What finds no room is dropped: its turn shows as running until the
	// next start, which makes it interrupted.
	owedMax   = 4096
	owedBytes = 64 << 20
)

// owed are ends of turns that the store could not take: as long as this process lives nobody else would end those turns.
type owed struct {
	mu    sync.Mutex // guards the fields below
	ends  []*mooring.End
	bytes int
	wake  chan struct{} // tells the payer that there is something
}

// Owe leaves the end of a turn to the writer, which commits it once the store is back. The caller changes it no more.
func (w *Writer) Owe(ctx context.Context, c *mooring.End) {
	size := sizeOf(c)
	w.owed.mu.Lock()
	fits := len(w.owed.ends) < owedMax && w.owed.bytes+size <= owedBytes
	if fits {
		w.owed.ends = append(w.owed.ends, c)
		w.owed.bytes += size
	}
	w.owed.mu.Unlock()
	if !fits {
		w.options.Log.LogAttrs(ctx, slog.LevelError, "end of a turn dropped: too many wait for the store",
			slog.String("session", c.Turn.Session.Short()))
		return
	}
	select {
	case w.owed.wake <- struct{}{}:
	default:
	}
}

func sizeOf(c *mooring.End) int {
	if c.Answer == nil {
		return 0
	}
	return len(c.Answer.Content)
}

// pay commits what is owed, again and again until nothing is.
func (w *Writer) pay() {
	for {
		select {
		case <-w.stop:
			return
		case <-w.owed.wake:
		}
		ticks := time.NewTicker(payEvery)
		for w.payAll() != nil {
			select {
			case <-w.stop:
				ticks.Stop()
				return
			case <-ticks.C:
			}
		}
		ticks.Stop()
	}
}

// payAll gives an error where the store is still down. Any other one is the end's own, and there is nothing more to do.
func (w *Writer) payAll() error {
	ctx := context.Background()
	for c := w.nextOwed(); c != nil; c = w.nextOwed() {
		err := w.Commit(ctx, c)
		if mooring.KindOf(err) == mooring.KindStore {
			return err
		}
		if err != nil && mooring.CodeOf(err) != mooring.CodeSessionGone {
			w.options.Log.LogAttrs(ctx, slog.LevelError, "end of a turn not stored", slog.String("session", c.Turn.Session.Short()), slog.Any("err", err))
		}
		w.paid(c)
	}
	return nil
}

func (w *Writer) nextOwed() *mooring.End {
	w.owed.mu.Lock()
	defer w.owed.mu.Unlock()
	if len(w.owed.ends) == 0 {
		return nil
	}
	return w.owed.ends[0]
}

func (w *Writer) paid(c *mooring.End) {
	w.owed.mu.Lock()
	defer w.owed.mu.Unlock()
	w.owed.ends = w.owed.ends[1:]
	w.owed.bytes -= sizeOf(c)
}
