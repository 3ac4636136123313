package turn

import (
	"context"
	"time"

	"mooring"
)

const (
	// lasting is how long the end of an answer is held back while the store cannot be reached: a database that is restarted, or whose
	// standby takes over, is back within seconds, and all of the answer is there.
	lasting = 5 * time.Second
	// lastingEvery is how often the store is tried meanwhile.
	lastingEvery = 100 * time.Millisecond
)

// persist writes an end down. Over a network the store may be away for a moment: as long as somebody waits for the end it is tried for
// a while. The same end twice counts once.
func (t *running) persist(ctx context.Context, c *mooring.End) error {
	commit := context.WithoutCancel(ctx)
	err := t.Record.Commit(commit, c)
	if !t.shared() || mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
		return err
	}
	late := time.NewTimer(lasting)
	defer late.Stop()
	ticks := time.NewTicker(lastingEvery)
	defer ticks.Stop()
	for mooring.CodeOf(err) == mooring.CodeStoreUnavailable {
		select {
		case <-late.C:
			return err
		case <-ctx.Done():
			return err
		case <-ticks.C:
			err = t.Record.Commit(commit, c)
		}
	}
	return err
}

// unsure is for a turn whose first commit has failed: over a network it may have happened all the same. Then it is to end, or it would
// run for as long as this process does.
func (t *running) unsure(ctx context.Context, err error) {
	if !t.shared() || mooring.KindOf(err) != mooring.KindStore {
		return
	}
	t.turn.State, t.turn.ErrorCode, t.turn.EndedAt = mooring.Failed, mooring.CodeOf(err), t.Now()
	t.leaveOwing(ctx, &mooring.End{Turn: t.turn, DropClaim: true})
}
