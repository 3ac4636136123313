package sqlite_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/store/sqlite"
	"mooring/internal/store/storetest"
)

//nolint:ireturn // the contract is an interface
func open(t *testing.T, o sqlite.Options) storetest.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = store.Close() }) // some tests have closed it
	return store
}

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Store {
		t.Helper()
		return open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "my store?.db"), BlobKey: []byte("key")})
	})
}

func TestFileRights(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	store := open(t, sqlite.Options{Path: path})
	if err := store.Apply(t.Context(), []mooring.Change{newSession("a")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", filepath.Base(name), info.Mode(), err)
		}
	}
}

func newSession(text string) *mooring.Begin {
	return &mooring.Begin{
		New:      true,
		Session:  mooring.Session{Tenant: "acme", ID: "ses_1"},
		Aliases:  []mooring.Alias{{Class: mooring.ClassAny, Value: "k"}},
		Turn:     mooring.Turn{ID: "trn_1"},
		Messages: []mooring.Message{{ID: "msg_1", Content: []byte(text)}, {ID: "msg_2", Content: []byte(strings.Repeat(text, 500))}},
	}
}

func TestReopenedStoreHasWhatWasCommitted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	for _, durability := range []sqlite.Durability{sqlite.Normal, sqlite.Full} {
		store := open(t, sqlite.Options{Path: path, Durability: durability})
		if err := store.Apply(t.Context(), []mooring.Change{newSession("a")}); err != nil {
			t.Fatalf("Apply with durability %s: %v", durability, err)
		}
		if err := store.Close(); err != nil {
			t.Fatalf("Close with durability %s: %v", durability, err)
		}
	}
	store := open(t, sqlite.Options{Path: path})
	if got, err := store.Session(t.Context(), "acme", "ses_1"); err != nil || got.Turns != 1 {
		t.Errorf("Session = %+v, %v; want it with 1 turn", got, err)
	}
}

func TestDeletedTextIsGoneFromTheFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	store := open(t, sqlite.Options{Path: path})
	c := newSession("NUMBAT-5")
	c.Session.Title = "NUMBAT-5"
	for _, batch := range []mooring.Change{c, &mooring.Delete{Tenant: "acme", Session: "ses_1"}} {
		if err := store.Apply(t.Context(), []mooring.Change{batch}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Idle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		if err != nil || bytes.Contains(data, []byte("NUMBAT")) {
			t.Errorf("C161 %s: %v, or the deleted text is still there", filepath.Base(name), err)
		}
	}
}

func TestErrorsShowNoValues(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	store := open(t, sqlite.Options{Path: path})
	breakTable(t, path)
	err := store.Apply(t.Context(), []mooring.Change{newSession("token=SECRET-77")})
	if err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("C091 Apply: %v, want an error without the text", err)
	}
	if mooring.CodeOf(err) != mooring.CodeInternal {
		t.Errorf("code %s, want internal_error", mooring.CodeOf(err))
	}
}

// breakTable makes every new message fail.
func breakTable(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TRIGGER refuse BEFORE INSERT ON message BEGIN SELECT RAISE(ABORT, 'refused'); END`); err != nil {
		t.Fatal(err)
	}
}

func TestRowsWithoutTenantAreCountedAndSeenByNobody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	store := open(t, sqlite.Options{Path: path})
	if err := store.Apply(t.Context(), []mooring.Change{newSession("a")}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`UPDATE session SET tenant = x''`); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Stray(t.Context()); n != 1 || err != nil {
		t.Errorf("C140 Stray = %d, %v; want 1", n, err)
	}
	if page, err := store.Sessions(t.Context(), "", mooring.SessionFilter{}); err != nil || page.Total != 0 {
		t.Errorf("C140 Sessions without tenant = %+v, %v; want none", page, err)
	}
}

func TestUnusableFileIsUnavailable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none", "store.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
		t.Errorf("Open in a folder that is not there: %v, want store_unavailable", err)
	}
}

// A text is looked for among the newest sessions first, and then among all, over all pages.
func TestNamesBeyondTheNewestSessions(t *testing.T) {
	t.Parallel()
	const sessions = 20_100 // more than are looked through in the order of their activity
	path := filepath.Join(t.TempDir(), "mooring.db")
	store := open(t, sqlite.Options{Path: path, BlobKey: []byte("key")})
	begin := newSession("a text")
	begin.Session.Title = "plain"
	if err := store.Apply(t.Context(), []mooring.Change{begin}); err != nil || begin.Err != nil {
		t.Fatal(err, begin.Err)
	}
	_ = store.Close()
	copySessions(t, path, sessions)
	store = open(t, sqlite.Options{Path: path, BlobKey: []byte("key")})
	for name, want := range map[string]int{"rare-3-": 1, "rare": 7, "common": sessions / 100, "nowhere": 0} {
		got, total := 0, 0
		for f := (mooring.SessionFilter{Query: name, Limit: 3}); ; {
			page, err := store.Sessions(t.Context(), begin.Session.Tenant, f)
			if err != nil {
				t.Fatal(err)
			}
			if f.After == (mooring.SessionCursor{}) {
				total = page.Total
			}
			for _, s := range page.Sessions {
				if at := (mooring.SessionCursor{UpdatedAt: s.UpdatedAt, ID: s.ID}); got > 0 && !s.UpdatedAt.Before(f.After.UpdatedAt) {
					t.Fatalf("%s: %v behind %v", name, at, f.After)
				}
				f.After = mooring.SessionCursor{UpdatedAt: s.UpdatedAt, ID: s.ID}
				got++
			}
			if !page.More {
				break
			}
		}
		if got != want || total != want {
			t.Errorf("%s: %d sessions and a total of %d, want %d", name, got, total, want)
		}
	}
}

// copySessions fills a store up with copies of its session: the oldest seven have a rare word in their titles, every hundredth a common one.
func copySessions(t *testing.T, path string, n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var names, values []string
	rows, err := db.QueryContext(t.Context(), `SELECT name FROM pragma_table_info('session')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err = rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		value := "o." + name
		switch name {
		case "id", "root":
			value = "o.id || c"
		case "updated_at":
			value = "o.updated_at + c"
		case "title":
			value = "CASE WHEN c <= 7 THEN 'rare-' || c || '-' WHEN c % 100 = 0 THEN 'common' ELSE 'plain' END"
		}
		names, values = append(names, name), append(values, value)
	}
	if err = rows.Err(); err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), `WITH RECURSIVE n (c) AS (SELECT 1 UNION ALL SELECT c + 1 FROM n WHERE c < $1) INSERT INTO session (`+strings.Join(names, ", ")+`) SELECT `+
		strings.Join(values, ", ")+` FROM n CROSS JOIN session AS o`, n)
	if err != nil {
		t.Fatal(err)
	}
}
