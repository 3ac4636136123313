package postgres_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"mooring"
)

// A database has no statistics before its first minute is over: to it all indexes that begin with the tenant are alike. It may go through
// a tenant's sessions in one of them until then, which costs little, but not ask for a turn at each. (Statistics of a few rows are worse
// than none: they make it read whole tables until the next ones.)
func TestYoungDatabaseFindsByKeys(t *testing.T) {
	t.Parallel()
	const sessions = 300
	dsn, _ := database(t, "mooring_young")
	store := open(t, dsn)
	for n := range sessions {
		id := fmt.Sprintf("ses_%d", n)
		begin := newSession(id, id)
		end := &mooring.End{Turn: mooring.Turn{Tenant: "acme", ID: begin.Turn.ID, Session: mooring.SessionID(id), State: mooring.Completed, EndedAt: time.Now()}}
		if err := store.Apply(t.Context(), []mooring.Change{begin}); err != nil || begin.Err != nil {
			t.Fatal(err, begin.Err)
		}
		if err := store.Apply(t.Context(), []mooring.Change{end}); err != nil || end.Err != nil {
			t.Fatal(err, end.Err)
		}
	}
	_ = store.Close() // what its connections have read is counted then
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, table := range []string{"turn", "message", "alias"} {
		var read int
		const asked = `SELECT COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = $1`
		if err := db.QueryRowContext(t.Context(), asked, table).Scan(&read); err != nil {
			t.Fatal(err)
		}
		if most := 30 * sessions; read > most {
			t.Errorf("%d rows of %s were read for %d turns of a session each, want at most %d", read, table, sessions, most)
		}
	}
}
