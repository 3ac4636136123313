package postgres_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mooring"
	"mooring/internal/store/postgres"
	"mooring/internal/store/storetest"
)

func TestReadOnlyDatabaseIsUnavailableAndComesBack(t *testing.T) {
	t.Parallel()
	dsn, run := database(t, "mooring_readonly")
	store := open(t, dsn)
	apply := func(n int) error {
		return store.Apply(t.Context(), []mooring.Change{newSession(fmt.Sprint("ses_", n), fmt.Sprint(n))})
	}
	if err := apply(1); err != nil {
		t.Fatal(err)
	}
	run(`ALTER DATABASE mooring_readonly SET default_transaction_read_only = on`)
	run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	_ = apply(2) // finds the connection dead; the next one is read-only
	if err := apply(2); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
		t.Errorf("C086 Apply while read-only: %v, want store_unavailable", err)
	}
	if err := store.Ping(t.Context()); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
		t.Errorf("C086 Ping while read-only: %v, want store_unavailable", err)
	}
	run(`SET default_transaction_read_only = off; ALTER DATABASE mooring_readonly SET default_transaction_read_only = off`)
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("C086 Ping afterwards: %v", err)
	}
	if err := apply(2); err != nil {
		t.Errorf("C086 Apply afterwards: %v", err)
	}
}

func TestErrorsShowNoValues(t *testing.T) {
	t.Parallel()
	dsn, run := database(t, "mooring_refusing")
	store := open(t, dsn)
	run(`ALTER TABLE message ADD CONSTRAINT refuse CHECK (content IS NULL)`)
	err := store.Apply(t.Context(), []mooring.Change{newSession("ses_1", "k")})
	if mooring.CodeOf(err) != mooring.CodeInternal || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "refuse") {
		t.Errorf("C091 Apply: %v, want internal_error that names the constraint and no value", err)
	}
	run(`ALTER TABLE message DROP CONSTRAINT refuse, ALTER COLUMN content TYPE integer USING 1`)
	err = store.Apply(t.Context(), []mooring.Change{newSession("ses_1", "k")})
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("C091 Apply of a value that cannot be encoded: %v, want an error without it", err)
	}
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"no server":   "postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable",
		"bad address": "postgres://u:hunter2@127.0.0.1:notaport/x",
	} {
		_, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn})
		if mooring.CodeOf(err) != mooring.CodeStoreUnavailable || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want store_unavailable without the password", name, err)
		}
	}
}

// Replicas whose batches hold the same sessions in another order must not wait for each other for ever.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_replicas")
	const sessions = 300
	stores := []interface {
		Apply(ctx context.Context, batch []mooring.Change) error
	}{open(t, dsn), open(t, dsn)}
	wins := make([][]*mooring.Begin, len(stores))
	var group sync.WaitGroup
	for r, store := range stores {
		var batch []mooring.Change
		for i := range sessions {
			n := i
			if r == 1 {
				n = sessions - 1 - i
			}
			c := newSession(fmt.Sprintf("ses_%d_%d", r, n), fmt.Sprint("alias ", n))
			wins[r] = append(wins[r], c)
			batch = append(batch, c)
		}
		group.Go(func() {
			if err := store.Apply(t.Context(), batch); err != nil {
				t.Errorf("Apply of replica %d: %v", r, err)
			}
		})
	}
	group.Wait()
	for i := range sessions {
		a, b := wins[0][i].Err, wins[1][sessions-1-i].Err
		if (a == nil) == (b == nil) {
			t.Errorf("alias %d: outcomes %v and %v, want exactly one winner", i, a, b)
		}
	}
}

func runs(replica string, n int) *mooring.Begin {
	c := newSession(fmt.Sprint("ses_", n), fmt.Sprint(n))
	c.Turn.Replica = replica
	return c
}

func beat(t *testing.T, store storetest.Store, replica string) mooring.Pulse {
	t.Helper()
	p, err := store.Beat(t.Context(), replica)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// C-3.4: only a replica that was not heard of for long enough is dead, and who judges must have been there all that time.
func TestWhichReplicaIsDead(t *testing.T) {
	t.Parallel()
	for i, tt := range []struct {
		rule        string
		mine, their int  // for how many seconds somebody has been heard of without a break, and for how many the other one was not; the one who judges has just come
		old         bool // the other one is of an older version
		silent      bool // it never said that it lives
		dead        bool
	}{
		{rule: "who says so every few seconds lives", mine: 100, their: 11},
		{rule: "who is silent for longer is dead", mine: 100, their: 13, dead: true},
		{rule: "after a break nobody can judge", mine: 11, their: 1000},
		{rule: "somebody can after as long as a silence takes, whoever was heard of until then", mine: 13, their: 1000, dead: true},
		{rule: "an older version speaks more seldom", mine: 100, their: 24, old: true},
		{rule: "an older version that is silent for long is dead", mine: 100, their: 26, old: true, dead: true},
		{rule: "who never spoke is dead", mine: 100, silent: true, dead: true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			dsn, run := database(t, fmt.Sprintf("mooring_dead_%d", i))
			store := open(t, dsn)
			if err := store.Apply(t.Context(), []mooring.Change{runs("b", 1)}); err != nil {
				t.Fatal(err)
			}
			beat(t, store, "a")
			if !tt.silent {
				beat(t, store, "b")
			}
			const second = 1_000_000
			run(fmt.Sprintf(`UPDATE replica SET since = since - %d WHERE name = ''`, tt.mine*second))
			run(fmt.Sprintf(`UPDATE replica SET seen_at = seen_at - %d WHERE name = 'b'`, tt.their*second))
			if tt.old {
				run(`UPDATE replica SET since = 0 WHERE name = 'b'`)
			}
			if got := beat(t, store, "a"); got.Dead != tt.dead {
				t.Errorf("Beat = %+v, want dead %v", got, tt.dead)
			}
			c := &mooring.Retire{Replica: "a"}
			if err := store.Apply(t.Context(), []mooring.Change{c}); err != nil || (c.Turns == 1) != tt.dead {
				t.Errorf("retired %d turns, %v; want dead %v", c.Turns, err, tt.dead)
			}
		})
	}
}

// A replica that was away hears that it was, and whatever it writes says that it is back.
func TestReplicaThatComesBack(t *testing.T) {
	t.Parallel()
	dsn, run := database(t, "mooring_back")
	store := open(t, dsn)
	if first, second := beat(t, store, "a"), beat(t, store, "a"); !first.Since.Equal(first.Now) || !second.Since.Equal(first.Since) || second.Now.Before(first.Now) {
		t.Errorf("first beat %+v, second %+v; want it to be there since the first one", first, second)
	}
	run(`UPDATE replica SET seen_at = seen_at - 7000000, since = since - 100000000`)
	if p := beat(t, store, "a"); !p.Since.Equal(p.Now) {
		t.Errorf("beat after 7 s %+v, want it to say that it was silent", p)
	}
	run(`UPDATE replica SET seen_at = seen_at - 100000000, since = since - 100000000`)
	if err := store.Apply(t.Context(), []mooring.Change{&mooring.Alive{Replica: "a"}, runs("a", 1)}); err != nil {
		t.Fatal(err)
	}
	beat(t, store, "b")
	run(`UPDATE replica SET since = since - 100000000 WHERE name IN ('b', '')`)
	if p := beat(t, store, "b"); p.Dead {
		t.Error("who has just begun a turn is taken for dead")
	}
}

// C-3.4: the database's clock decides, whatever a replica takes the time for.
func TestClockIsTheDatabases(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_clock")
	store := open(t, dsn)
	c := &mooring.Retire{Replica: "a", At: time.Now().Add(5 * time.Hour)}
	if err := store.Apply(t.Context(), []mooring.Change{runs("b", 1), &mooring.Alive{Replica: "a"}, &mooring.Alive{Replica: "b"}, c}); err != nil || c.Turns != 0 {
		t.Errorf("a replica whose clock is hours ahead gave up %d turns, %v", c.Turns, err)
	}
	if p := beat(t, store, "a"); time.Since(p.Now).Abs() > time.Minute {
		t.Errorf("Now = %v", p.Now)
	}
	if p := beat(t, store, "a"); p.Alive != 2 {
		t.Errorf("%d replicas live, want a and b", p.Alive)
	}
}

func TestOneReplicaRemovesOldSessions(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_sweep")
	store := open(t, dsn)
	begin := newSession("ses_1", "k")
	end := &mooring.End{Turn: begin.Turn}
	end.Turn.Tenant, end.Turn.Session, end.Turn.State = "acme", "ses_1", mooring.Completed
	if err := store.Apply(t.Context(), []mooring.Change{begin, end}); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	sweeping, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sweeping.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(7093541226)"); err != nil { // as another replica does
		t.Fatal(err)
	}
	prune := &mooring.Prune{Before: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Limit: 9}
	if err := store.Apply(t.Context(), []mooring.Change{prune}); err != nil || prune.Removed != 0 {
		t.Errorf("%d sessions removed beside another replica, %v; want none", prune.Removed, err)
	}
	if err := sweeping.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := store.Apply(t.Context(), []mooring.Change{prune}); err != nil || prune.Removed != 1 {
		t.Errorf("%d sessions removed alone, %v; want one", prune.Removed, err)
	}
}
