package record_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/record"
)

// filesWith names the files of a store that hold a text.
func filesWith(t *testing.T, path, text string) []string {
	t.Helper()
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			found = append(found, filepath.Base(name))
		}
	}
	return found
}

// C161: a deleted session is out of database, log and journal in a few seconds, though no moment goes by without a commit and a
// turn of it ends only after the deletion.
func TestDeletedTextsAreWipedUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const word = "NUMBAT-5"
		h := newHouse(t, storePath(t), record.Options{})
		secret := beginNew(2).(*mooring.Begin)
		secret.Session.Title = word
		secret.Messages = []mooring.Message{messageOf(2, "q"), messageOf(2, "r")}
		secret.Messages[0].Content = []byte(word)
		secret.Messages[1].Content = []byte(strings.Repeat(word, 1000))
		h.commit(t, beginNew(1), secret)
		stop, load := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(load)
			for n := int64(100); ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Millisecond):
					c := bulk(n)
					c.Messages[0].Content = []byte("small") // so that no file is emptied for its size
					h.commit(t, c)
				}
			}
		}()
		time.Sleep(time.Second)
		h.commit(t, &mooring.Delete{Tenant: "acme", Session: secret.Session.ID})
		late := answered(2, "")
		late.Turn.Session, late.Answer.Content = secret.Session.ID, []byte(word)
		_ = h.Commit(t.Context(), late) // accepted or told that the session is gone: it writes nothing either way
		time.Sleep(7 * time.Second)
		if found := filesWith(t, h.path, word); len(found) > 0 {
			t.Errorf("%v hold the deleted text", found)
		}
		close(stop)
		<-load
		h.Close()
	})
}

// A process that is killed after a deletion leaves its log; the next one empties it.
func TestDeletedTextsAreWipedByTheNextProcess(t *testing.T) {
	t.Parallel()
	const word = "NUMBAT-5"
	path := storePath(t)
	store := openStore(t, path)
	secret := beginNew(2).(*mooring.Begin)
	secret.Session.Title = word
	for _, c := range []mooring.Change{secret, &mooring.Delete{Tenant: "acme", Session: secret.Session.ID}} {
		if err := store.Apply(t.Context(), []mooring.Change{c}); err != nil || c.Outcome() != nil {
			t.Fatalf("Apply: %v, %v", err, c.Outcome())
		}
	}
	killed := filepath.Join(t.TempDir(), "killed.db")
	for _, part := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + part)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(killed+part, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if found := filesWith(t, killed, word); len(found) == 0 {
		t.Fatal("the log of the killed process does not hold the text: this test shows nothing")
	}
	openStore(t, killed)
	if found := filesWith(t, killed, word); len(found) > 0 {
		t.Errorf("%v hold the deleted text", found)
	}
}

// Whoever has a deleted session in memory still hears that it is gone, where the journal alone would say that all is well.
func TestTurnOfADeletedSessionIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	h.commit(t, beginNew(1), &mooring.Delete{Tenant: "acme", Session: odds(1)})
	c := bulk(2)
	if err := h.Commit(t.Context(), c); mooring.CodeOf(err) != mooring.CodeSessionGone {
		t.Errorf("Commit of a turn of it: %v, want session_gone", err)
	}
}

// A fork waits for the store: its source may be gone by the time it is there.
func TestForkHearsFromTheStore(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	source := beginNew(1).(*mooring.Begin)
	source.Messages = []mooring.Message{messageOf(1, "q")}
	fork := func() *mooring.Begin {
		c := beginNew(2).(*mooring.Begin)
		c.Turn, c.Messages, c.Claim = mooring.Turn{}, nil, nil
		c.Session.Parent, c.Session.Relation = odds(1), mooring.RelationFork
		c.Copies = []mooring.Copy{{From: messageOf(1, "q").ID, To: "msg_copy"}}
		return c
	}
	h.commit(t, source, &mooring.Delete{Tenant: "acme", Session: odds(1)})
	if err := h.Commit(t.Context(), fork()); mooring.CodeOf(err) != mooring.CodeSessionGone {
		t.Errorf("Commit of a fork of nothing: %v, want session_gone", err)
	}
}
