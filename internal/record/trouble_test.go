package record_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/record"
)

func alias(value string) mooring.Alias { return mooring.Alias{Class: mooring.ClassAny, Value: value} }

// wanting is a new session of these aliases.
func wanting(n int64, values ...string) *mooring.Begin {
	c := beginNew(n).(*mooring.Begin)
	c.Aliases = nil
	for _, v := range values {
		c.Aliases = append(c.Aliases, alias(v))
	}
	return c
}

func TestOfFiftyThatBeginTheSameSessionOneWins(t *testing.T) {
	t.Parallel()
	for name, remote := range map[string]func(n int64) bool{
		"journaled": func(int64) bool { return false },
		"asking for a remote id, which the store gives": func(int64) bool { return true },
		"some of each": func(n int64) bool { return n%2 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, storePath(t), record.Options{})
			var group sync.WaitGroup
			var mu sync.Mutex
			var winners []mooring.SessionID
			for n := range int64(50) {
				c := wanting(n, "wanted by all", fmt.Sprint("own-", n))
				if remote(n) {
					c.Remote = &mooring.RemoteSession{Server: "s", ID: fmt.Sprint("remote-", n)}
				}
				group.Go(func() {
					err := h.Commit(t.Context(), c)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						winners = append(winners, c.Session.ID)
					} else if mooring.CodeOf(err) != mooring.CodeSessionTaken {
						t.Errorf("a loser got %v, want session_taken", err)
					}
				})
			}
			group.Wait()
			if err := h.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			hits, err := h.store.AliasHits(t.Context(), "acme", []mooring.Alias{alias("wanted by all")})
			page, _ := h.store.Sessions(t.Context(), "acme", mooring.SessionFilter{})
			if err != nil || len(winners) != 1 || len(hits) != 1 || hits[0].Session != winners[0] || page.Total != 1 {
				t.Errorf("winners %v, the alias names %v, %d sessions, %v; want one winner that has it", winners, hits, page.Total, err)
			}
		})
	}
}

// What a caller was told is safe must not lose against a change that is on its way.
func TestNameOnItsWayIsTaken(t *testing.T) {
	t.Parallel()
	later := func(n int64, value string) mooring.Change {
		c := beginKnown(n).(*mooring.Begin)
		c.Session.ID, c.Turn.Session, c.Aliases = odds(1), odds(1), []mooring.Alias{alias(value)}
		return c
	}
	for name, ahead := range map[string]mooring.Change{
		"as another alias of a new session":   wanting(2, "own", "name"),
		"as an alias that a session is given": later(2, "name"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, storePath(t), record.Options{})
			h.commit(t, wanting(1, "first"))
			if err := h.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			open := h.store.close()
			defer open()
			h.commit(t, beginKnown(1001)) // closes the gate behind it
			h.store.held()
			pending := h.Submit(t.Context(), ahead)
			if err := h.Commit(t.Context(), wanting(3, "name")); code(err) != mooring.CodeSessionTaken {
				t.Errorf("while it is on its way: %v, want session_taken", err)
			}
			open()
			if err := errors.Join(pending.Wait(t.Context()), h.Sync(t.Context())); err != nil {
				t.Fatal(err)
			}
			if err := h.Commit(t.Context(), wanting(4, "name")); code(err) != mooring.CodeSessionTaken {
				t.Errorf("once the store has it: %v, want session_taken", err)
			}
			h.commit(t, wanting(5, "free"))
		})
	}
}

func TestNameOfAChangeThatFailedIsFree(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	first := wanting(1, "name")
	first.Remote = &mooring.RemoteSession{Server: "s", ID: "r"} // so that its caller hears
	h.store.fail(downError())
	if err := h.Commit(t.Context(), first); code(err) != mooring.CodeStoreUnavailable {
		t.Errorf("while the store is down: %v, want store_unavailable", err)
	}
	h.store.fail(nil)
	h.commit(t, wanting(2, "name"))
}

func TestStoreThatIsDownForAWhile(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	h.commit(t, beginNew(1))
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.store.fail(downError())
	h.commit(t, conversation()[2]) // is safe before anybody knows
	if err := h.Sync(t.Context()); code(err) != mooring.CodeStoreUnavailable {
		t.Errorf("Sync: %v, want store_unavailable", err)
	}
	if h.Sure() {
		t.Error("Sure after a commit that failed, want not")
	}
	if err := h.Commit(t.Context(), beginKnown(1001)); code(err) != mooring.CodeStoreUnavailable {
		t.Errorf("a change afterwards: %v, want store_unavailable", err)
	}
	killed := newHouse(t, h.image(t, all...), record.Options{})
	h.store.fail(nil)
	h.commit(t, beginNew(5))
	if err := h.Sync(t.Context()); err != nil || !h.Sure() {
		t.Errorf("Sync once it is back: %v, sure %t; want it good", err, h.Sure())
	}
	for what, s := range map[string]*gated{"after a while": h.store, "after a crash meanwhile": killed.store} {
		if got := contentOf(t, s.Store, odds(1)); got.Session.State != mooring.Completed || len(got.Messages) != 1 {
			t.Errorf("%s: state %s, %d messages; want the end with its answer", what, got.Session.State, len(got.Messages))
		}
	}
	if _, err := h.store.Turn(t.Context(), "acme", beginKnown(1001).(*mooring.Begin).Turn.ID); code(err) != mooring.CodeNotFound {
		t.Errorf("the turn that was refused: %v, want not_found", err)
	}
}

func TestStoreThatIsDownForAWhileTakesWhatWaitsByItself(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	synctest.Test(t, func(t *testing.T) {
		store := &fake{errs: slices.Repeat([]error{downError()}, 10)}
		w := start(t, record.Options{Store: store, Journal: path})
		defer w.Close()
		if err := w.Commit(t.Context(), &mooring.Bind{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if w.Sure() {
			t.Errorf("after %d tries it is sure, want not yet", store.commits())
		}
		time.Sleep(time.Minute)
		if got := store.commits(); got != 11 || !w.Sure() {
			t.Errorf("%d tries, sure %t; want 11, the last one good", got, w.Sure())
		}
	})
}

// Nothing goes ahead of what waits: a later change in the store would say that all before it is there.
func TestOrderIsKeptWhereTheStoreGoesDownInTheMiddle(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	synctest.Test(t, func(t *testing.T) {
		store := &fake{errs: []error{&mooring.Error{Code: mooring.CodeInternal}, nil, downError(), downError()}}
		var places []uint64
		store.outcome = func(batch []mooring.Change) {
			if a, ok := batch[len(batch)-1].(*mooring.Applied); ok && (len(store.errs) == 0 || store.errs[0] == nil) {
				places = append(places, a.Seq)
			}
		}
		w := start(t, record.Options{Store: store, Journal: path})
		for range 4 {
			if err := w.Commit(t.Context(), &mooring.Bind{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		w.Close()
		if len(places) != 2 || places[0] != 1 || places[1] != 4 {
			t.Errorf("places noted %v, want 1 alone, then 4 with all before it", places)
		}
	})
}

// breaking makes every message of a role fail in the database.
func breaking(t *testing.T, path, role string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)") // the writer may be at work: without it this is locked out at once
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `CREATE TRIGGER refuse BEFORE INSERT ON message WHEN NEW.role = '`+role+`' BEGIN SELECT RAISE(ABORT, 'refused'); END`)
	if err != nil {
		t.Fatal(err)
	}
}

func poisoned(n int64) *mooring.Begin {
	c := bulk(n)
	c.Messages[0].Role, c.Messages[0].Content = "poison", []byte("NUMBAT")
	return c
}

func TestChangeThatTheStoreRefusesIsSetAside(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	breaking(t, h.path, "poison")
	open := h.store.close()
	h.commit(t, beginNew(1), poisoned(2), bulk(3))
	killed := h.image(t, all...)
	open()
	if err := h.Sync(t.Context()); err != nil {
		t.Errorf("Sync: %v, want it good", err)
	}
	h.commit(t, bulk(4))
	h.Close()
	check := func(what string, h *house) {
		t.Helper()
		data, err := os.ReadFile(h.path + "-rejected")
		info, _ := os.Stat(h.path + "-rejected")
		if err != nil || bytes.Count(data, []byte("NUMBAT")) != 1 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file holds %d bytes, %v, %v; want the change once, mode 0600", what, len(data), info, err)
		}
		if log := h.log.String(); !strings.Contains(log, "set aside") || strings.Contains(log, "NUMBAT") {
			t.Errorf("%s: log %q, want it to say so without the text", what, log)
		}
	}
	check("running", h)
	if got := len(contentOf(t, h.store.Store, odds(1)).Turns); got != 3 {
		t.Errorf("%d turns, want the three others", got)
	}
	after := newHouse(t, killed, record.Options{})
	after.Close()
	check("at a start", after)
	if got := len(contentOf(t, after.store.Store, odds(1)).Turns); got != 2 {
		t.Errorf("%d turns after a start, want the two others", got)
	}
}

// A store that refuses everything is no place to promise anything.
func TestAfterARefusalTheStoreIsAskedFirst(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	h.commit(t, beginNew(1))
	breaking(t, h.path, "user")
	h.commit(t, bulk(2))
	_ = h.Sync(t.Context())
	for n := int64(3); n < 6; n++ {
		if err := h.Commit(t.Context(), bulk(n)); code(err) != mooring.CodeInternal {
			t.Errorf("change %d: %v, want internal_error", n, err)
		}
	}
}

func TestFullQueueBlocksNobodyForEver(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{Queue: 1, MaxBatch: 1})
	var group sync.WaitGroup
	for c := range int64(16) {
		group.Go(func() {
			for r := range int64(20) {
				if err := h.Commit(t.Context(), beginNew(c*20+r)); err != nil {
					t.Errorf("Commit: %v", err)
				}
			}
		})
	}
	group.Wait()
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if page, err := h.store.Sessions(t.Context(), "acme", mooring.SessionFilter{}); err != nil || page.Total != 320 {
		t.Errorf("%d sessions, %v; want 320", page.Total, err)
	}
}

func TestJournalDoesNotRunAwayFromTheStore(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	open := h.store.close()
	defer open()
	h.commit(t, beginNew(1))
	const limit = 64 // each is a little more than 1 MiB
	for n := range int64(limit) {
		h.commit(t, bulk(2+n))
	}
	pending := h.Submit(t.Context(), bulk(limit+2))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := pending.Wait(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("far ahead of the store: %v, want it to be waited for", err)
	}
	open()
	if err := pending.Wait(t.Context()); err != nil {
		t.Errorf("once the store goes on: %v", err)
	}
	open = h.store.close()
	defer open()
	h.commit(t, bulk(limit+3)) // is safe at once again
}

func TestCallerOfAFullQueueGivesUpWithoutATrace(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{Queue: 1, MaxBatch: 1})
	open := h.store.close()
	defer open()
	h.commit(t, wanting(1, "one"))
	h.store.held()
	h.commit(t, wanting(2, "two")) // fills the queue
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- h.Commit(ctx, wanting(3, "three")) }()
	cancel()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("Commit to a full queue: %v, want the end of its context", err)
	}
	open()
	h.commit(t, wanting(4, "three"))
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if page, err := h.store.Sessions(t.Context(), "acme", mooring.SessionFilter{}); err != nil || page.Total != 3 {
		t.Errorf("%d sessions, %v; want 3", page.Total, err)
	}
}

func TestJournalIsEmptiedInAQuietMoment(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	synctest.Test(t, func(t *testing.T) {
		store := &fake{}
		w := start(t, record.Options{Store: store, Journal: path})
		defer w.Close()
		if err := w.Commit(t.Context(), &mooring.Bind{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if info, err := os.Stat(path + "-log0"); err != nil || info.Size() != 0 || store.commits() != 1 {
			t.Errorf("after a quiet second: %v, %v, %d commits; want an empty file and one commit", info, err, store.commits())
		}
	})
}

// slowHits is a store whose look for aliases takes as long as the test wants.
type slowHits struct {
	*gated
	at, hold chan struct{}
}

func (s slowHits) AliasHits(ctx context.Context, t mooring.Tenant, a []mooring.Alias) ([]mooring.AliasHit, error) {
	close(s.at)
	<-s.hold
	return s.gated.AliasHits(ctx, t, a)
}

// Who loses an alias to a change that is not queued yet waits for that one too.
func TestSettledWaitsForAnAliasThatIsOnlyNoted(t *testing.T) {
	t.Parallel()
	path := storePath(t)
	store := slowHits{openStore(t, path), make(chan struct{}), make(chan struct{})}
	w := start(t, record.Options{Store: store, Journal: path})
	defer w.Close()
	winner, loser := wanting(1, "wanted by both"), wanting(2, "wanted by both")
	won := make(chan error, 1)
	go func() { won <- w.Commit(t.Context(), winner) }()
	<-store.at
	if err := w.Commit(t.Context(), loser); mooring.CodeOf(err) != mooring.CodeSessionTaken {
		t.Fatalf("loser: %v, want session_taken", err)
	}
	settled := make(chan error, 1)
	go func() { settled <- w.Settled(t.Context(), loser) }()
	select {
	case err := <-settled:
		t.Errorf("Settled gave %v while the alias was only noted", err)
	case <-time.After(50 * time.Millisecond): // it waits
	}
	close(store.hold)
	if err := <-won; err != nil {
		t.Fatalf("winner: %v", err)
	}
	if err := <-settled; err != nil {
		t.Fatalf("Settled: %v", err)
	}
	hits, err := store.gated.AliasHits(t.Context(), winner.Session.Tenant, winner.Aliases)
	if err != nil || len(hits) != 1 || hits[0].Session != winner.Session.ID {
		t.Errorf("the store has %v, %v, want the winner's alias", hits, err)
	}
}

// While the store is down who loses an alias hears of that, and does not wait for the winner.
func TestSettledTellsThatTheStoreIsDown(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	h.store.fail(downError())
	defer h.store.fail(nil)
	winner, loser := wanting(1, "wanted by both"), wanting(2, "wanted by both")
	h.commit(t, winner) // the journal has it
	if err := h.Commit(t.Context(), loser); mooring.CodeOf(err) != mooring.CodeSessionTaken {
		t.Fatalf("loser: %v, want session_taken", err)
	}
	if err := h.Settled(t.Context(), loser); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
		t.Errorf("Settled: %v, want store_unavailable", err)
	}
}
