package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/store/sqlite"
)

func TestOneProcessServesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	first := open(t, sqlite.Options{Path: path})
	other := filepath.Join(t.TempDir(), "other.db")
	if err := os.Symlink(path, other); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, other} {
		_, err := sqlite.Open(t.Context(), sqlite.Options{Path: name})
		if !errors.Is(err, sqlite.ErrInUse) || mooring.CodeOf(err) != mooring.CodeStoreUnavailable || strings.Contains(err.Error(), "\n") {
			t.Errorf("second Open: %v, want store_unavailable for one that is in use, on one line", err)
		}
	}
	info, err := os.Stat(path + "-lock")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the lock: %v, %v; want mode 0600", info, err)
	}
	if err := first.Apply(t.Context(), []mooring.Change{newSession("a")}); err != nil {
		t.Errorf("Apply after somebody else tried: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, sqlite.Options{Path: path}).Session(t.Context(), "acme", "ses_1"); err != nil || got.Turns != 1 {
		t.Errorf("Session once the first has closed: %+v, %v; want it with 1 turn", got, err)
	}
}

func TestLookBesideAServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	server := open(t, sqlite.Options{Path: path})
	if err := server.Apply(t.Context(), []mooring.Change{newSession("a")}); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	look := open(t, sqlite.Options{Path: path, Look: true})
	_, found := look.Session(t.Context(), "acme", "ses_1")
	stray, counted := look.Stray(t.Context())
	if err := errors.Join(look.Ping(t.Context()), found, counted, look.Idle(t.Context()), look.Close()); err != nil || stray != 0 {
		t.Errorf("beside a server: %d stray, %v; want 0, good", stray, err)
	}
	if after, err := os.ReadFile(path + "-wal"); err != nil || len(after) != len(log) {
		t.Errorf("the log has %d bytes, %v; want it as it was with %d", len(after), err, len(log))
	}
	if err := server.Apply(t.Context(), []mooring.Change{&mooring.Delete{Tenant: "acme", Session: "ses_1"}}); err != nil {
		t.Errorf("Apply afterwards: %v", err)
	}
}

func TestLookAloneKeepsServersOut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	look := open(t, sqlite.Options{Path: path, Look: true}) // makes the file and its schema
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("Open beside it: %v, want in use", err)
	}
	if err := errors.Join(look.Ping(t.Context()), look.Close()); err != nil {
		t.Error(err)
	}
}
