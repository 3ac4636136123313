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
// whose question is stored, after an answer that failed or broke off before any of it was kept, with nothing begun since. Of two
// such requests at once one is another turn.
func (t *running) resume(ctx context.Context) error {
	last := t.found.Known.TipTurn
	if t.found.New || last == "" || len(t.place.New) > 0 {
		return nil
	}
	if _, taken := t.retries.LoadOrStore(last, true); taken { // before the look, which would be stale once the other one is over
		return nil
	}
	earlier, err := t.Turn(ctx, t.turn.Tenant, last)
	if err == nil && t.repeats(&earlier) {
		t.resumed = true
		t.turn.ID, t.turn.Attempts, t.turn.Usage, t.earlier = earlier.ID, earlier.Attempts, earlier.Usage, len(earlier.Attempts)
		return nil
	}
	t.retries.Delete(last)
	if mooring.KindOf(err) == mooring.KindNotFound {
		return nil
	}
	return err
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
