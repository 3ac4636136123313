package app

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// drift is by how much this machine's clock may differ from the database's without a correction: clocks that are kept well are closer,
// and what is measured over a network is not better than that.
const drift = 250 * time.Millisecond

// clock is the time by which everything happens. Where several replicas share a database it is the database's: times that one replica
// writes, another one compares with its own.
type clock struct {
	base   func() time.Time
	offset atomic.Int64 // what is to be added to it, in nanoseconds
	log    *slog.Logger
}

func (c *clock) now() time.Time { return c.base().Add(time.Duration(c.offset.Load())) }

// looks is how often the database's clock is read to set this one: the quickest answer tells it best.
const looks = 5

// agrees says whether this clock may be left as it is after what the database's said between two times of the machine's.
func (c *clock) agrees(asked, answered, theirs time.Time) bool {
	offset := time.Duration(c.offset.Load())
	return within(theirs, asked.Add(offset), answered.Add(offset))
}

func within(at, from, to time.Time) bool {
	return !at.Before(from.Add(-drift)) && !at.After(to.Add(drift))
}

// set takes over the database's clock, or the machine's where that is close.
func (c *clock) set(ctx context.Context, read func(context.Context) (time.Time, error)) error {
	var best, offset time.Duration
	for n := range looks {
		asked := c.base()
		theirs, err := read(ctx)
		if err != nil {
			return err
		}
		answered := c.base()
		took := answered.Sub(asked)
		if n > 0 && took >= best {
			continue
		}
		if best, offset = took, theirs.Sub(asked.Add(took/2)); within(theirs, asked, answered) {
			offset = 0
		}
	}
	c.offset.Store(int64(offset))
	c.log.LogAttrs(ctx, slog.LevelWarn, "the database's clock counts, not this machine's", slog.Int64("offset_ms", offset.Milliseconds()))
	return nil
}
