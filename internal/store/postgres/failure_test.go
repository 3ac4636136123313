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

func TestReplicaThatIsHeardOfKeepsItsTurns(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_heartbeat")
	store := open(t, dsn)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := newSession("ses_1", "k")
	c.Turn.Replica = "b"
	lives := &mooring.Retire{Replica: "b", At: now}
	early, late := &mooring.Retire{Replica: "a", At: now.Add(10 * time.Second)}, &mooring.Retire{Replica: "a", At: now.Add(25 * time.Second)}
	if err := store.Apply(t.Context(), []mooring.Change{c, lives, early, late}); err != nil {
		t.Fatal(err)
	}
	if early.Turns != 0 || late.Turns != 1 {
		t.Errorf("retired %d turns after 10 s and %d after 25 s, want 0 and 1", early.Turns, late.Turns)
	}
	if lives.Alive != 1 || early.Alive != 2 || late.Alive != 1 {
		t.Errorf("%d, %d and %d replicas live, want 1, 2 and 1", lives.Alive, early.Alive, late.Alive)
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
