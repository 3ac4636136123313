package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mooring"
	"mooring/internal/store/sqlite"
)

// Without an idle moment the log is emptied all the same, however much is in a commit and whoever reads.
func TestLogDoesNotGrowWithoutEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	store := open(t, sqlite.Options{Path: path})
	if err := store.Apply(t.Context(), []mooring.Change{newSession("a")}); err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !done.Load() {
				if _, err := store.Sessions(t.Context(), "acme", mooring.SessionFilter{}); err != nil {
					t.Errorf("Sessions: %v", err)
				}
			}
		})
	}
	const commits, perCommit, size = 60, 4, 1 << 20
	most, written := int64(0), 0
	for n := range commits {
		var batch []mooring.Change
		for i := range perCommit {
			id := fmt.Sprintf("%d-%d", n, i)
			batch = append(batch, &mooring.Begin{
				Session:  mooring.Session{Tenant: "acme", ID: "ses_1"},
				Turn:     mooring.Turn{ID: mooring.TurnID("trn_" + id)},
				Messages: []mooring.Message{{ID: mooring.MessageID("msg_" + id), Content: []byte(strings.Repeat(id, size/len(id)))}},
			})
			written += size
		}
		if err := store.Apply(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	done.Store(true)
	readers.Wait()
	if most > 100<<20 {
		t.Errorf("the log grew to %d MiB of %d written, want it emptied above 64", most>>20, written>>20)
	}
}
