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
