package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/store/sqlite"
	"mooring/internal/store/storetest"
)

// upgrade is what the first version's schema held: a session with a turn, a question, an answer that was long, and one without content.
const upgrade = `INSERT INTO session VALUES (x'61636d65', 'ses_1', x'6b65792d31', 'friendly', 'title', 'client', 'project', '', 'ses_1', 'main',
		'failed', 'north', '["model-a"]', 1, 0, 10, 2, NULL, NULL, NULL, 0.25, 0, 'msg_2', 'trn_1', 1000000, 2000000, 1, 0);
	INSERT INTO turn VALUES (x'61636d65', 'trn_1', 'ses_1', 'main', 'chat', 'model-a', 'laptop', 1, 'failed', 'north', '', 'new', '', '', 'msg_1',
		'msg_2', '', '', 10, 2, NULL, NULL, NULL, 0.25, 0, 502, '', x'b0d1', 'replica-a', 1000000, 0, 2000000);
	INSERT INTO message VALUES (x'61636d65', 'msg_1', 'ses_1', '', 'trn_1', 'user', 'completed', 'chat', x'7b7d', NULL, x'01', NULL, 1000000);
	INSERT INTO message VALUES (x'61636d65', 'msg_2', 'ses_1', 'msg_1', 'trn_1', 'assistant', 'failed', 'chat', NULL, x'bb', x'02', x'03', 2000000);
	INSERT INTO message VALUES (x'61636d65', 'msg_3', 'ses_1', 'msg_2', 'trn_1', 'user', 'completed', 'chat', x'', NULL, x'04', NULL, 3000000);
	INSERT INTO blob VALUES (x'61636d65', x'bb', x'7b22616e73776572223a317d', 1);
	INSERT INTO chain VALUES (x'61636d65', x'03', 0, 'msg_2', 'ses_1');
	INSERT INTO alias VALUES (x'61636d65', 'any', x'6b65792d31', 'ses_1');
	UPDATE applied SET seq = 7;
	CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now')));
	INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1), (1, 1);`

// firstVersion makes a store as the first version left it.
func firstVersion(t *testing.T) string {
	t.Helper()
	schema, err := os.ReadFile("../migrate/migrations/sqlite/0001_turn_log.sql")
	if err != nil {
		t.Fatal(err)
	}
	up, _, _ := strings.Cut(string(schema), "-- +goose Down")
	path := filepath.Join(t.TempDir(), "store.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statements := range []string{up, upgrade} {
		if _, err := db.Exec(statements); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

const tables = `SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`

// A store that a later version has had is opened by this one, which goes on with it: who upgraded may go back.
func TestContractOnTheSchemaOfALaterVersion(t *testing.T) {
	t.Parallel()
	storetest.RunSome(t, func(t *testing.T) storetest.Store {
		t.Helper()
		o := sqlite.Options{Path: filepath.Join(t.TempDir(), "store.db"), BlobKey: []byte("key")}
		if err := open(t, o).Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", o.Path)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Later(t, db, tables)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, o)
	}, "begin", "end", "pins", "chats", "forks", "removal", "sign-ins", "usage")
}

// A store that the first version made keeps all that is in it, and its messages are put into the index.
func TestStoreOfTheFirstVersionGoesOn(t *testing.T) {
	t.Parallel()
	store := open(t, sqlite.Options{Path: firstVersion(t), BlobKey: []byte("key")})
	ctx := t.Context()
	s, err := store.Session(ctx, "acme", "ses_1")
	if err != nil || s.Title != "title" || s.Turns != 1 || s.Usage.Input != mooring.Count(10) || !s.Pinned || s.ResetOf != "" || s.Cut != nil {
		t.Errorf("Session = %+v, %v", s, err)
	}
	hits, err := store.AliasHits(ctx, "acme", []mooring.Alias{{Class: mooring.ClassAny, Value: "key-1"}})
	if err != nil || len(hits) != 1 || hits[0].Session != "ses_1" {
		t.Errorf("AliasHits = %v, %v; want the session", hits, err)
	}
	failed, err := store.FailedTurns(ctx, "acme", []byte{0xb0, 0xd1}, s.CreatedAt)
	if err != nil || len(failed) != 1 || failed[0].ID != "trn_1" {
		t.Errorf("FailedTurns = %v, %v; want the turn", failed, err)
	}
	branch, _, err := store.Branch(ctx, "acme", "ses_1", mooring.BranchPage{})
	if err != nil || len(branch) != 2 || string(branch[1].Content) != `{"answer":1}` {
		t.Errorf("Branch = %+v, %v; want both messages", branch, err)
	}
	waiting, err := store.Unindexed(ctx, 1<<40, 10)
	if err != nil || len(waiting) != 2 || waiting[0].Message != "msg_1" || waiting[1].Message != "msg_2" {
		t.Errorf("Unindexed = %v, %v; want the two messages that have a content", waiting, err)
	}
	if seq, err := store.Applied(ctx); seq != 7 || err != nil {
		t.Errorf("Applied = %d, %v; want 7, or the journal would be applied twice", seq, err)
	}
	next := &mooring.Begin{Session: mooring.Session{Tenant: "acme", ID: "ses_1"}, Turn: mooring.Turn{ID: "trn_2"}}
	if err := store.Apply(ctx, []mooring.Change{next, &mooring.Delete{Tenant: "acme", Session: "ses_1"}}); err != nil || next.Err != nil {
		t.Errorf("a turn and the deletion: %v, %v", err, next.Err)
	}
}
