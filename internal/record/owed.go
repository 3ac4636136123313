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
		if mooring.CodeOf(err) == mooring.CodeTurnFenced { // stopped by another replica while the store was away
			err = w.Commit(ctx, asCancelled(c))
		}
		if mooring.KindOf(err) == mooring.KindStore {
			return err
		}
		if err != nil && !settledElsewhere(err) {
			w.options.Log.LogAttrs(ctx, slog.LevelError, "end of a turn not stored", slog.String("session", c.Turn.Session.Short()), slog.Any("err", err))
		}
		w.paid(c)
	}
	return nil
}

// settledElsewhere says that there is nothing left to end: the session is gone, or others have ended the turn.
func settledElsewhere(err error) bool {
	code := mooring.CodeOf(err)
	return code == mooring.CodeSessionGone || code == mooring.CodeTurnFenced || code == mooring.CodeTurnLost
}

// asCancelled is the only end that a turn may have which was stopped, with what had arrived of its answer.
func asCancelled(c *mooring.End) *mooring.End {
	end := &mooring.End{Turn: c.Turn, DropClaim: c.DropClaim || c.Bind != nil}
	end.Turn.State, end.Turn.ErrorCode = mooring.Cancelled, mooring.CodeTurnCancelled
	if c.Answer != nil {
		answer := *c.Answer
		answer.State, end.Answer = mooring.Cancelled, &answer
	}
	return end
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
