package turn

import (
	"bytes"
	"context"
	"strings"
	"time"

	"mooring"
	"mooring/internal/identify"
)

// retryWithin is how long after its failure the same request is another attempt of the same turn.
const retryWithin = 10 * time.Minute

// resume makes the request the next attempt of a turn where it is that turn's request once more: an equal body, within the time,
// after an answer that failed or broke off, with nothing begun since in that session. Of two such requests at once one is
// another turn.
func (t *running) resume(ctx context.Context) error {
	if t.side() || t.req.Under != nil || t.req.ClientMessage != "" { // those say themselves what they are
		return nil
	}
	earlier, known, err := t.failed(ctx)
	if err != nil || earlier == nil {
		return err
	}
	if _, taken := t.retries.LoadOrStore(earlier.ID, true); taken {
		return nil
	}
	t.guarded = earlier.ID
	again, err := t.Turn(ctx, t.req.Caller.Tenant, earlier.ID)
	if err != nil || !t.repeats(&again) { // what was read before the guard may be stale
		if mooring.KindOf(err) == mooring.KindNotFound {
			err = nil
		}
		return err
	}
	if t.found.New || t.found.Known.ID != known.ID {
		t.found = identify.Again(t.found, known)
	}
	t.resumed = &again
	return nil
}

// failed looks for the turn: the last one of the session that the request names, else of one that it may have begun.
func (t *running) failed(ctx context.Context) (*mooring.Turn, identify.Known, error) {
	switch {
	case !t.found.New && (t.found.Sent || !t.view.reset):
		return t.failedHere(ctx)
	case t.found.New && !t.nameless:
		return nil, identify.Known{}, nil
	}
	tenant := t.req.Caller.Tenant
	list, err := t.Failed(ctx, tenant, t.digest, t.Now().Add(-retryWithin))
	if err != nil {
		return nil, identify.Known{}, err
	}
	for i := range list {
		if !t.repeats(&list[i]) {
			continue
		}
		k, err := t.Identify.Known(ctx, tenant, list[i].Session)
		if mooring.KindOf(err) == mooring.KindNotFound {
			continue
		}
		if err != nil || k.TipTurn == list[i].ID && t.mayBegin(&list[i], k) {
			return &list[i], k, err
		}
	}
	return nil, identify.Known{}, nil
}

// failedHere looks at the last turn of the session that was found.
func (t *running) failedHere(ctx context.Context) (*mooring.Turn, identify.Known, error) {
	k := t.found.Known
	if k.TipTurn == "" || !over(k.State) {
		return nil, k, nil
	}
	earlier, err := t.Turn(ctx, t.req.Caller.Tenant, k.TipTurn)
	if mooring.KindOf(err) == mooring.KindNotFound {
		return nil, k, nil
	}
	if err != nil || !t.repeats(&earlier) {
		return nil, k, err
	}
	return &earlier, k, nil
}

// mayBegin says that the request may have begun the session of that turn: where neither names any, or where it begins that chat
// anew which the session has taken the place of.
func (t *running) mayBegin(earlier *mooring.Turn, k identify.Known) bool {
	if t.found.New {
		return nameless(earlier.Identity)
	}
	return k.ResetOf == t.found.Known.ID
}

// nameless says that no id of the request decided.
func nameless(identity string) bool {
	return identity == "minted" || strings.HasPrefix(identity, "content:")
}

// over says that a turn of this state has ended without a whole answer.
func over(s mooring.TurnState) bool {
	return s == mooring.Failed || s == mooring.Cancelled || s == mooring.Interrupted
}

func (t *running) repeats(earlier *mooring.Turn) bool {
	return over(earlier.State) && bytes.Equal(earlier.BodyDigest, t.digest) && t.Now().Sub(earlier.EndedAt) <= retryWithin
}

// takeUp goes on as the next attempt of the turn that is resumed.
func (t *running) takeUp() {
	if t.resumed == nil {
		return
	}
	t.turn.ID, t.turn.Attempts, t.turn.Usage, t.earlier = t.resumed.ID, t.resumed.Attempts, t.resumed.Usage, len(t.resumed.Attempts)
}
