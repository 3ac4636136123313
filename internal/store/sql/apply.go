package sqlstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"time"

	"mooring"
)

const (
	// tries is how often a batch is begun that another replica's batch made fail.
	tries = 6
	// firstPause is what the other batch gets to end in: one that begins again at once takes what the other one is about to
	// need, and both are where they were. Each further pause is twice as long.
	firstPause = 20 * time.Millisecond
)

// Apply commits a batch in one transaction. Each change's own outcome stands in its Err and does not touch the others; the
// returned error means that nothing of the batch was committed. A batch whose commit may or may not have happened can be
// applied again: everything in it is found by its id.
func (s *Store) Apply(ctx context.Context, batch []mooring.Change) error {
	if len(batch) == 0 {
		return nil
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	ctx = s.dialect.writing(ctx)
	s.writer.refusals = nil
	var err error
	for try := 0; try < tries; {
		if try > 0 && !sleep(ctx, firstPause<<(try-1)) {
			break
		}
		err = s.writer.transaction(ctx, func() error { return s.writer.all(ctx, batch) })
		if err == nil {
			s.writer.keepLogSmall(ctx, batch)
			return nil
		}
		if s.writer.refuse(err) {
			continue
		}
		if trouble, _ := s.dialect.Explain(err); trouble != Collided {
			break
		}
		s.writer.drop()
		try++
	}
	return s.writeFailed(err, fmt.Sprintf("commit %d changes", len(batch)))
}

// sleep waits for half to all of a pause, so that two who collided do not do it again; false where the context ends before.
func sleep(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause/2 + rand.N(pause/2)) //nolint:gosec // no secret
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

const setApplied = `UPDATE applied SET seq = $1`

const getApplied = `SELECT seq FROM applied`

// Applied gives the number that the last Applied change noted; 0 where there was none.
func (s *Store) Applied(ctx context.Context) (uint64, error) {
	var seq int64
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&seq) }, getApplied)
	return uint64(seq), s.dialect.failed(err, "read the journal's place") //nolint:gosec // written by Applied alone
}

func (w *writer) all(ctx context.Context, batch []mooring.Change) error {
	w.noted = w.noted[:0]
	if err := w.lock(ctx, batch); err != nil {
		return err
	}
	if err := w.lockNames(ctx, batch); err != nil {
		return err
	}
	whole := wholes(batch)
	ended := map[mooring.Change]bool{}
	for _, change := range batch {
		if ended[change] {
			continue
		}
		if b, ok := change.(*mooring.Begin); ok && whole[b] != nil {
			done, err := w.whole(ctx, b, whole[b])
			if err != nil {
				return err
			}
			if done {
				ended[whole[b]] = true
				continue
			}
		}
		if err := w.apart(ctx, change); err != nil {
			return err
		}
	}
	return w.numberEvents(ctx)
}

// apart writes a change of a batch that was rolled back for a refusal behind a savepoint, so that further ones do not cost the whole
// batch each.
func (w *writer) apart(ctx context.Context, change mooring.Change) error {
	if len(w.refusals) == 0 {
		return w.one(ctx, change)
	}
	noted := len(w.noted)
	if err := w.later(ctx, "SAVEPOINT one"); err != nil {
		return err
	}
	err := w.one(ctx, change)
	if err == nil {
		err = w.flush(ctx)
	}
	if w.refuse(err) {
		w.noted = w.noted[:noted]
		if err = w.later(ctx, "ROLLBACK TO SAVEPOINT one"); err == nil {
			err = w.one(ctx, change) // knows its outcome
		}
	}
	if err != nil {
		return err
	}
	return w.later(ctx, "RELEASE SAVEPOINT one")
}

func (w *writer) one(ctx context.Context, change mooring.Change) error {
	switch c := change.(type) {
	case *mooring.Begin:
		return w.begin(ctx, c)
	case *mooring.Bind:
		return w.bind(ctx, c)
	case *mooring.End:
		return w.end(ctx, c)
	case *mooring.Retire:
		return w.retire(ctx, c)
	case *mooring.Alive:
		return w.alive(ctx, c)
	case *mooring.Fence:
		return w.fence(ctx, c)
	case *mooring.Patch:
		return w.patch(ctx, c)
	case *mooring.Delete:
		return w.remove(ctx, c)
	case *mooring.Prune:
		return w.prune(ctx, c)
	case *mooring.PinsUsed:
		return w.pinsUsed(ctx, c)
	case *mooring.Index:
		return w.putIntoIndex(ctx, c)
	case *mooring.Compact:
		return w.compact(ctx, c)
	case *mooring.Learning:
		return w.learn(ctx, c)
	case *mooring.SignInChange:
		return w.signIns(ctx, c)
	case *mooring.SumUp:
		return w.sumUp(ctx, c)
	case *mooring.Drain:
		return w.drain(ctx, c)
	case *mooring.Applied:
		c.Err = nil
		return w.later(ctx, setApplied, int64(c.Seq)) //nolint:gosec // a journal ends long before that
	}
	return w.atEdge(ctx, change)
}

// atEdge is one of the tenant edge's changes.
func (w *writer) atEdge(ctx context.Context, change mooring.Change) error {
	switch c := change.(type) {
	case *mooring.ClaimSlot:
		return w.claimSlot(ctx, c)
	case *mooring.SlotChange:
		return w.changeSlots(ctx, c)
	case *mooring.SlotSeen:
		return w.slotSeen(ctx, c)
	case *mooring.LoginChange:
		return w.logins(ctx, c)
	}
	panic(fmt.Sprintf("store: unknown change %T", change))
}

// lock takes the sessions of a batch in one order, so that the batches of two replicas cannot wait for each other.
func (w *writer) lock(ctx context.Context, batch []mooring.Change) error {
	if w.dialect.Lock == "" {
		return nil
	}
	touched := map[[2]string]bool{}
	asks := false
	for _, change := range batch {
		if b, ok := change.(*mooring.Begin); ok && (b.Turn.ClientMessage != "" || b.Sole || b.Resumes) {
			asks = true // what the others have written is read before the row is updated
		}
		for _, pair := range sessionsOf(change) {
			touched[pair] = pair[1] != ""
		}
	}
	var tenants [][]byte
	var ids []string
	for pair, named := range touched {
		if named {
			tenants, ids = append(tenants, []byte(pair[0])), append(ids, pair[1])
		}
	}
	if len(ids) < 2 && !asks {
		return nil // a single row is locked by its own update
	}
	return w.later(ctx, w.dialect.Lock, tenants, ids)
}

func sessionsOf(change mooring.Change) [][2]string {
	switch c := change.(type) {
	case *mooring.Begin:
		tenant := string(c.Session.Tenant)
		return [][2]string{{tenant, string(c.Session.ID)}, {tenant, string(c.Session.Parent)}, {tenant, string(c.Session.ResetOf)}}
	case *mooring.Bind:
		return [][2]string{{string(c.Pin.Tenant), string(c.Pin.Session)}}
	case *mooring.End:
		return [][2]string{{string(c.Turn.Tenant), string(c.Turn.Session)}}
	case *mooring.Patch:
		return [][2]string{{string(c.Tenant), string(c.Session)}}
	case *mooring.Delete:
		return [][2]string{{string(c.Tenant), string(c.Session)}}
	}
	return nil
}

// noTenant is the outcome of a change that says no tenant: such rows would be seen by nobody.
func noTenant() error {
	return &mooring.Error{Code: mooring.CodeInternal, Err: fmt.Errorf("a change without a tenant")}
}

// orderPins sorts pins by key, so that two replicas that note the use of the same ones cannot wait for each other.
func orderPins(pins []mooring.Pin) []mooring.Pin {
	sorted := append([]mooring.Pin{}, pins...)
	sort.Slice(sorted, func(i, j int) bool {
		a, b := sorted[i], sorted[j]
		if a.Tenant != b.Tenant {
			return a.Tenant < b.Tenant
		}
		if a.Session != b.Session {
			return a.Session < b.Session
		}
		return a.Set < b.Set
	})
	return sorted
}
