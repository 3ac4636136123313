package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mooring"
	"mooring/internal/store/storetest"
)

const tables = `SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%'`

// outdated is a store whose schema becomes that of a later version once it has written something.
type outdated struct {
	storetest.Store
	once  sync.Once
	later func()
}

// Apply writes, and then has the schema changed.
func (o *outdated) Apply(ctx context.Context, batch []mooring.Change) error {
	err := o.Store.Apply(ctx, batch)
	o.once.Do(o.later)
	return err
}

// The replicas of a version go on while those of the next one start, and change the schema below them.
func TestContractWhileALaterVersionTakesOver(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	storetest.RunSome(t, func(t *testing.T) storetest.Store {
		t.Helper()
		dsn, _ := database(t, fmt.Sprintf("mooring_later_%d", made.Add(1)))
		return &outdated{Store: open(t, dsn), later: func() { storetest.Later(t, inside(t, dsn), tables) }}
	}, "whole turns", "sign-ins")
}

// A replica that dies in the middle of an upgrade starts again as what it is.
func TestReplicaStartsOnTheSchemaOfALaterVersion(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_later_start")
	first := open(t, dsn)
	if err := first.Apply(t.Context(), []mooring.Change{newSession("ses_1", "one")}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.Later(t, inside(t, dsn), tables)
	again := open(t, dsn)
	if s, err := again.Session(t.Context(), "acme", "ses_1"); err != nil || s.Turns != 1 {
		t.Errorf("Session = %+v, %v; want what was there", s, err)
	}
	if err := again.Apply(t.Context(), []mooring.Change{newSession("ses_2", "two")}); err != nil {
		t.Errorf("Apply: %v", err)
	}
}

func inside(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// A migration locks the tables that it changes. Turns wait for it, or it for them: none of them fails.
func TestTurnsGoOnWhileTheSchemaChanges(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_later_load")
	var replicas sync.WaitGroup
	var over atomic.Bool
	turned := make(chan struct{}, 1)
	for r := range 2 {
		store := open(t, dsn)
		replicas.Go(func() {
			for n := 0; !over.Load(); n++ {
				begin := newSession(fmt.Sprintf("ses_%d_%d", r, n), fmt.Sprintf("%d-%d", r, n))
				end := &mooring.End{Turn: mooring.Turn{Tenant: "acme", Session: begin.Session.ID, ID: begin.Turn.ID, State: mooring.Completed}}
				for _, c := range []mooring.Change{begin, end} {
					if err := store.Apply(t.Context(), []mooring.Change{c}); err != nil || c.Outcome() != nil {
						t.Errorf("Apply: %v, %v", err, c.Outcome())
						return
					}
				}
				select {
				case turned <- struct{}{}:
				default:
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		replicas.Wait()
		close(ended)
	}()
	db := inside(t, dsn)
	for n := range 3 {
		for range 20 {
			select {
			case <-turned:
			case <-ended: // too early
				return
			}
		}
		migrate(t, db, fmt.Sprintf("later_%d", n))
	}
	over.Store(true)
	<-ended
}

// migrate changes several tables in one transaction. Where it and a turn wait for each other the database ends one of them; a program that
// starts would be started again.
func migrate(t *testing.T, db *sql.DB, column string) {
	t.Helper()
	const collided = "40P01"
	for {
		_, err := db.ExecContext(t.Context(), strings.ReplaceAll(`BEGIN; ALTER TABLE turn ADD COLUMN NEW TEXT NOT NULL DEFAULT '';
			ALTER TABLE message ADD COLUMN NEW BYTEA; ALTER TABLE session ADD COLUMN NEW BIGINT NOT NULL DEFAULT 0; COMMIT`, "NEW", column))
		if failure, ok := errors.AsType[*pgconn.PgError](err); !ok || failure.Code != collided {
			if err != nil {
				t.Errorf("migrate: %v", err)
			}
			return
		}
		t.Log("the migration had to give way")
	}
}
