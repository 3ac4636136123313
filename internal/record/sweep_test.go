package record_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/record"
)

// later says that what these tests begin has been idle for years.
func later() time.Time { return epoch.Add(10000 * time.Hour) }

// endOf ends the turn that beginNew began.
func endOf(n int64) *mooring.End {
	t := turnOf(n, odds(n))
	t.State, t.EndedAt = mooring.Completed, epoch
	return &mooring.End{Turn: t}
}

// Whoever has a session in memory that its age removed still hears that it is gone, where the journal alone would say that all is
// well; and memory is told which ones went.
func TestTurnOfASweptSessionIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var forgotten []mooring.SessionID
		h := newHouse(t, storePath(t), record.Options{
			Retention: time.Hour, Now: later,
			Forget: func(_ mooring.Tenant, id mooring.SessionID) { forgotten = append(forgotten, id) },
		})
		synctest.Wait()
		running := beginNew(2).(*mooring.Begin)
		h.commit(t, beginNew(1), endOf(1), running)
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]mooring.SessionID{odds(1)}, forgotten); diff != "" {
			t.Errorf("forgotten (-want +got):\n%s", diff)
		}
		c := &mooring.Begin{Session: mooring.Session{Tenant: "acme", ID: odds(1)}, Turn: turnOf(3, odds(1))}
		if err := h.Commit(t.Context(), c); mooring.CodeOf(err) != mooring.CodeSessionGone {
			t.Errorf("Commit of a turn of the removed session: %v, want session_gone", err)
		}
		if err := h.Commit(t.Context(), endOf(2)); err != nil {
			t.Errorf("end of the turn that ran meanwhile: %v", err)
		}
		h.Close()
	})
}

// A turn that begins while a prune is under way waits for it: its session may be among those that go.
func TestTurnThatBeginsDuringASweepWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, storePath(t), record.Options{Retention: time.Hour, Now: later})
		synctest.Wait()
		h.commit(t, beginNew(1), endOf(1))
		if err := h.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute) // all upkeep is done
		open := h.store.close()
		h.store.held()
		told := make(chan error, 1)
		go func() {
			told <- h.Commit(t.Context(), &mooring.Begin{Session: mooring.Session{Tenant: "acme", ID: odds(1)}, Turn: turnOf(3, odds(1))})
		}()
		synctest.Wait()
		open()
		if err := <-told; mooring.CodeOf(err) != mooring.CodeSessionGone {
			t.Errorf("Commit of a turn of a session that is just removed: %v, want session_gone", err)
		}
		h.Close()
	})
}
