package turn

import (
	"bytes"
	"context"
	"time"

	"mooring"
)

// retryWithin is how long after its failure the same request is another attempt of the same turn.
const retryWithin = 10 * time.Minute

// resume makes the request the next attempt of the session's last turn where it is that turn's request once more: an equal body,
// whose question is stored, after an answer that failed or broke off before any of it was kept, with nothing begun since.
func (t *running) resume(ctx context.Context) error {
	last := t.found.Known.TipTurn
	if t.found.New || last == "" || len(t.place.New) > 0 {
		return nil
	}
	earlier, err := t.Turn(ctx, t.turn.Tenant, last)
	if mooring.KindOf(err) == mooring.KindNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if !t.repeats(&earlier) {
		return nil
	}
	if _, taken := t.retries.LoadOrStore(last, true); taken {
		return nil // of two at once one is another turn
	}
	t.resumed = true
	t.turn.ID, t.turn.Attempts, t.turn.Usage = earlier.ID, earlier.Attempts, earlier.Usage
	return nil
}

func (t *running) repeats(earlier *mooring.Turn) bool {
	switch earlier.State {
	case mooring.Failed, mooring.Cancelled, mooring.Interrupted:
	case mooring.Running, mooring.Completed:
		return false
	}
	return earlier.Session == t.found.Known.ID && earlier.Answer == "" && earlier.Question == t.place.Parent &&
		bytes.Equal(earlier.BodyDigest, t.turn.BodyDigest) && t.Now().Sub(earlier.EndedAt) <= retryWithin
}
