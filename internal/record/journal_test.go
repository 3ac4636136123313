package record_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/record"
	sqlstore "mooring/internal/store/sql"
	"mooring/internal/store/sqlite"
)

// gated is the real store behind a gate: a test holds its commits back, or makes them fail.
type gated struct {
	*sqlstore.Store
	mu   sync.Mutex // guards the fields below
	err  error
	hold chan struct{}
	at   chan struct{} // told by each commit that is held
}

func (g *gated) Apply(ctx context.Context, batch []mooring.Change) error {
	g.mu.Lock()
	err, hold, at := g.err, g.hold, g.at
	g.mu.Unlock()
	if hold != nil {
		select {
		case at <- struct{}{}:
		default:
		}
		<-hold
		return g.Store.Apply(ctx, batch)
	}
	if err != nil {
		return err
	}
	return g.Store.Apply(ctx, batch)
}

func (g *gated) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

// close holds commits back until the returned func is called.
func (g *gated) close() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	hold := make(chan struct{})
	g.hold, g.at = hold, make(chan struct{}, 1)
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.hold = nil
		close(hold)
	})
}

// held waits until a commit stands at the closed gate.
func (g *gated) held() {
	g.mu.Lock()
	at := g.at
	g.mu.Unlock()
	<-at
}

func openStore(t *testing.T, path string) *gated {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, BlobKey: []byte("key")})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &gated{Store: store}
}

// house is a writer with its journal before a real store.
type house struct {
	*record.Writer
	store *gated
	path  string
	log   *bytes.Buffer // to be read once the writer is closed
}

func newHouse(t *testing.T, path string, o record.Options) *house {
	t.Helper()
	h := &house{store: openStore(t, path), path: path, log: &bytes.Buffer{}}
	o.Store, o.Journal, o.Log = h.store, path, slog.New(slog.NewTextHandler(h.log, nil))
	h.Writer = start(t, o)
	t.Cleanup(h.Writer.Close)
	return h
}

func storePath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store.db")
}

// commit hands changes over one after the other, each once the one before is safe.
func (h *house) commit(t *testing.T, changes ...mooring.Change) {
	t.Helper()
	for _, c := range changes {
		if err := h.Commit(t.Context(), c); err != nil {
			t.Fatalf("Commit of %T: %v", c, err)
		}
	}
}

// image copies what a crash would leave: the database with its log, and the journal.
func (h *house) image(t *testing.T, parts ...string) string {
	t.Helper()
	to := storePath(t)
	for _, part := range parts {
		data, err := os.ReadFile(h.path + part)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+part, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

var (
	database = []string{"", "-wal"}
	logs     = []string{"-log0", "-log1"}
	all      = append(append([]string{}, database...), logs...)
)

// content is all that a store holds of a session.
type content struct {
	Session  mooring.Session
	Turns    []mooring.Turn
	Messages []mooring.Message
	Pins     []mooring.Pin
	Found    []mooring.ChainEntry
}

func contentOf(t *testing.T, s *sqlstore.Store, id mooring.SessionID) content {
	t.Helper()
	var c content
	var errs [5]error
	ctx := t.Context()
	if c.Session, errs[0] = s.Session(ctx, "acme", id); mooring.CodeOf(errs[0]) == mooring.CodeSessionNotFound && errs[0] != nil {
		return c
	}
	c.Turns, _, errs[1] = s.Turns(ctx, "acme", id, mooring.TurnPage{})
	c.Messages, _, errs[2] = s.Branch(ctx, "acme", id, mooring.BranchPage{Limit: 100})
	c.Pins, errs[3] = s.Pins(ctx, "acme", id)
	c.Found, errs[4] = s.Chain(ctx, "acme", [][]byte{digest(1, "a"), digest(2, "a")})
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return c
}

// odd is a key as a client may send it: no UTF-8.
const odd = "chat-\xff\xfe"

func odds(n int64) mooring.SessionID { return mooring.SessionID(fmt.Sprintf("ses_%026d", n)) }

// conversation is two turns of session 1, each change as the runner makes it.
func conversation() []mooring.Change {
	precise := epoch.Add(123456 * time.Microsecond)
	first := beginNew(1).(*mooring.Begin)
	first.Session.Key, first.Session.Title, first.Aliases[0].Value = odd, "a title", odd
	first.Messages = []mooring.Message{messageOf(1, "q")}
	first.Turn.StartedAt, first.Turn.BodyDigest = precise, []byte{1, 0xff}
	first.Turn.Evidence = []mooring.Evidence{{Signal: "header:x-session-id", Value: odd, Use: "decided"}}
	bind := &mooring.Bind{Pin: mooring.Pin{Tenant: "acme", Session: odds(1), Set: "a,b", Upstream: "a", Bound: true, Turn: first.Turn.ID, UsedAt: precise}}
	second := beginKnown(2).(*mooring.Begin)
	second.Session.ID, second.Turn.Session = odds(1), odds(1)
	second.Messages[0].Parent = messageOf(1, "a").ID
	second.Turn.View = &mooring.View{From: "msg_x", Sent: 3}
	return []mooring.Change{first, bind, answered(1, messageOf(1, "q").ID), second, answered(2, messageOf(2, "q").ID)}
}

func answered(n int64, parent mooring.MessageID) *mooring.End {
	c := end(n).(*mooring.End)
	cost := 0.25
	c.Turn.Session, c.Turn.CostUSD, c.Answer.Parent, c.Answer.Role = odds(1), &cost, parent, "assistant"
	c.Turn.Attempts = []mooring.Attempt{{Upstream: "a", State: mooring.Completed, StartedAt: epoch.Add(time.Millisecond)}}
	return c
}

func TestNothingAcknowledgedIsLostWhereverTheProcessDies(t *testing.T) {
	t.Parallel()
	plain := openStore(t, storePath(t)) // takes each change straight
	h := newHouse(t, storePath(t), record.Options{})
	open := h.store.close()
	defer open()
	straight := conversation()
	for i, c := range conversation() {
		h.commit(t, c)
		if err := plain.Apply(t.Context(), straight[i:i+1]); err != nil {
			t.Fatal(err)
		}
		after := newHouse(t, h.image(t, all...), record.Options{})
		if diff := cmp.Diff(contentOf(t, plain.Store, odds(1)), contentOf(t, after.store.Store, odds(1))); diff != "" {
			t.Errorf("killed after change %d (-want +got):\n%s", i, diff)
		}
		hits, err := after.store.AliasHits(t.Context(), "acme", []mooring.Alias{{Class: mooring.ClassAny, Value: odd}})
		if err != nil || len(hits) != 1 || hits[0].Session != odds(1) {
			t.Errorf("killed after change %d: the alias names %v, %v; want the session", i, hits, err)
		}
		after.Close()
		again := newHouse(t, after.image(t, all...), record.Options{})
		if diff := cmp.Diff(contentOf(t, plain.Store, odds(1)), contentOf(t, again.store.Store, odds(1))); diff != "" {
			t.Errorf("started once more after change %d (-want +got):\n%s", i, diff)
		}
	}
}

// journalOf gives the files that changes leave which no store has seen, and where the frames of the first one end.
func journalOf(tb testing.TB, changes ...mooring.Change) (data []byte, ends []int) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "store.db")
	stop := make(chan struct{})
	store := &fake{outcome: func([]mooring.Change) { <-stop }, errs: []error{downError(), downError(), downError(), downError()}}
	w := start(tb, record.Options{Store: store, Journal: path})
	for _, c := range changes {
		if err := w.Commit(tb.Context(), c); err != nil {
			tb.Fatal(err)
		}
	}
	data, err := os.ReadFile(path + "-log0")
	if err != nil {
		tb.Fatal(err)
	}
	close(stop)
	w.Close()
	for at := 0; at < len(data); {
		at += 8 + int(binary.LittleEndian.Uint32(data[at:]))
		ends = append(ends, at)
	}
	return data, ends
}

func downError() error { return &mooring.Error{Code: mooring.CodeStoreUnavailable} }

// taken starts a writer on a journal of these bytes and gives what the store gets of it.
func taken(t *testing.T, data []byte, store *fake) ([]mooring.Change, string, error) {
	t.Helper()
	path := storePath(t)
	if err := os.WriteFile(path+"-log0", data, 0o600); err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	w := record.New(record.Options{Store: store, Journal: path, Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil))})
	err := w.Start(t.Context())
	w.Close()
	return store.changes(), log.String(), err
}

// What was learned of headers is safe once it stands in the journal, as turns are.
func TestWhatWasLearnedSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	open := h.store.close()
	defer open()
	want := []mooring.LearnedHeader{{
		Name: "x-lane", State: mooring.LearnBelieved, Believed: epoch, Values: []mooring.LearnedValue{{Session: odds(1), Digest: []byte{0xff, 0}, Client: []byte{1}, Turns: 3, At: epoch}},
	}}
	alias := mooring.Alias{Class: "learned:x-lane", Value: "digest"}
	h.commit(t, beginNew(1), &mooring.Learning{Tenant: "acme", Headers: want, Aliases: []mooring.AliasHit{{Alias: alias, Session: odds(1)}}})
	after := newHouse(t, h.image(t, all...), record.Options{})
	got, err := after.store.Learned(t.Context(), "acme")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("Learned: %v (-want +got):\n%s", err, diff)
	}
	if hits, err := after.store.AliasHits(t.Context(), "acme", []mooring.Alias{alias}); err != nil || len(hits) != 1 || hits[0].Session != odds(1) {
		t.Errorf("the alias names %v, %v", hits, err)
	}
}

func TestTornFrameIsTheEnd(t *testing.T) {
	t.Parallel()
	changes := conversation()
	data, ends := journalOf(t, changes...)
	last := len(ends) - 1
	for cut := ends[last-1]; cut < ends[last]; cut++ {
		got, log, err := taken(t, data[:cut], &fake{})
		if err != nil || len(got) != last || strings.Contains(log, "damaged") {
			t.Errorf("cut %d bytes before its end: %d changes, %v, log %q; want %d, no complaint", ends[last]-cut, len(got), err, log, last)
		}
	}
	if got, _, err := taken(t, data, &fake{}); err != nil || len(got) != len(changes) {
		t.Errorf("whole: %d changes, %v; want %d", len(got), err, len(changes))
	}
}

func TestDamagedFrameCostsItselfAlone(t *testing.T) {
	t.Parallel()
	changes := conversation()
	data, ends := journalOf(t, changes...)
	data[ends[1]-1] ^= 1
	got, log, err := taken(t, data, &fake{})
	if err != nil || len(got) != len(changes)-1 {
		t.Errorf("%d changes, %v; want %d", len(got), err, len(changes)-1)
	}
	if !strings.Contains(log, "the journal is damaged") || !strings.Contains(log, "changes=1") {
		t.Errorf("log %q, want it to say that one change is lost", log)
	}
}

func TestFrameOfANewerVersionStopsTheStart(t *testing.T) {
	t.Parallel()
	body := append(binary.LittleEndian.AppendUint64(nil, 1), 0xa1, 0x18, 0x63, 0xf6) // {99: null}
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	data = append(binary.LittleEndian.AppendUint32(data, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))), body...)
	if got, _, err := taken(t, data, &fake{}); err == nil || len(got) != 0 {
		t.Errorf("%d changes, %v; want an error", len(got), err)
	}
}

func TestJournalStaysWhereTheStartFails(t *testing.T) {
	t.Parallel()
	data, _ := journalOf(t, conversation()...)
	for name, store := range map[string]*fake{
		"the store does not say how far it is":  {unread: downError()},
		"the store takes nothing":               {errs: []error{downError(), downError()}},
		"the store has what came before, alone": {applied: 2, errs: []error{downError(), downError()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := storePath(t)
			if err := os.WriteFile(path+"-log0", data, 0o600); err != nil {
				t.Fatal(err)
			}
			w := record.New(record.Options{Store: store, Journal: path, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
			if err := w.Start(t.Context()); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
				t.Errorf("Start: %v, want store_unavailable", err)
			}
			w.Close()
			if got, err := os.ReadFile(path + "-log0"); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes of the journal are left, %v; want all %d", len(got), err, len(data))
			}
		})
	}
}

func TestAppliedFramesAreNotAppliedTwice(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	open := h.store.close()
	h.commit(t, conversation()...)
	before := h.image(t, logs...)
	open()
	late := beginKnown(3).(*mooring.Begin) // goes on from the tip, not by way of the journal
	late.Session.ID, late.Turn.Session, late.Aliases = odds(1), odds(1), []mooring.Alias{{Class: mooring.ClassAny, Value: "more"}}
	h.commit(t, late)
	want := contentOf(t, h.store.Store, odds(1))
	if want.Session.TipTurn != late.Turn.ID || len(want.Turns) != 3 {
		t.Fatalf("%d turns, the last %s; want 3 with the late one last", len(want.Turns), want.Session.TipTurn)
	}
	now := h.image(t, database...)
	for _, part := range logs {
		data, err := os.ReadFile(before + part)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(now+part, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	after := newHouse(t, now, record.Options{})
	if diff := cmp.Diff(want, contentOf(t, after.store.Store, odds(1))); diff != "" {
		t.Errorf("after the start (-want +got):\n%s", diff)
	}
	after.commit(t, answered(3, ""))
	if err := after.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := contentOf(t, after.store.Store, odds(1)).Session.State; got != mooring.Completed {
		t.Errorf("a change after the start: the session is %s, want completed", got)
	}
}

// Somebody may change the durability after a crash.
func TestWithoutAJournalWhatWasLeftInOneIsMoved(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	open := h.store.close()
	defer open()
	h.commit(t, conversation()...)
	after := newHouse(t, h.image(t, all...), record.Options{Straight: true})
	if got := len(contentOf(t, after.store.Store, odds(1)).Turns); got != 2 {
		t.Errorf("%d turns, want 2", got)
	}
	after.commit(t, beginKnown(1001))
	if _, err := after.store.Turn(t.Context(), "acme", turnOf(1001, "").ID); err != nil {
		t.Errorf("a turn afterwards: %v, want it in the store at once", err)
	}
	for _, part := range logs {
		if _, err := os.Stat(after.path + part); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want none", part, err)
		}
	}
}

// bulk is a turn of session 1 with a large message.
func bulk(n int64) *mooring.Begin {
	c := beginKnown(n).(*mooring.Begin)
	c.Session.ID, c.Turn.Session = odds(1), odds(1)
	c.Messages[0].Content = bytes.Repeat(fmt.Appendf(nil, "%08d", n), 1<<17)
	return c
}

func TestTwoFilesTakeTurns(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{MaxBatch: 10})
	h.commit(t, beginNew(1))
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := h.store.close()
	for n := int64(2); n < 12; n++ { // one batch, more than a file is to hold
		h.commit(t, bulk(n))
	}
	h.store.held()
	h.commit(t, bulk(12)) // keeps the first file from being emptied
	open()
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	open = h.store.close()
	defer open()
	for n := int64(13); n < 23; n++ {
		h.commit(t, bulk(n))
	}
	sizes := [2]int64{}
	for i, part := range logs {
		info, err := os.Stat(h.path + part)
		if err != nil {
			t.Fatal(err)
		}
		if sizes[i] = info.Size(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", part, info.Mode())
		}
	}
	if max(sizes[0], sizes[1]) > 12<<20 {
		t.Errorf("sizes %v, want neither file to keep growing", sizes)
	}
	after := newHouse(t, h.image(t, all...), record.Options{})
	if got := len(contentOf(t, after.store.Store, odds(1)).Turns); got != 22 {
		t.Errorf("%d turns after a crash, want 22", got)
	}
}

func TestBytesOfTheCallerMayBeReused(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	open := h.store.close()
	defer open()
	first, last := beginNew(1).(*mooring.Begin), answered(1, messageOf(1, "q").ID)
	first.Messages = []mooring.Message{messageOf(1, "q")}
	h.commit(t, first, last)
	for _, c := range [][]byte{first.Messages[0].Content, last.Answer.Content} {
		copy(c, bytes.Repeat([]byte("#"), len(c)))
	}
	first.Messages[0].Role, last.Answer.Role = "changed", "changed"
	open()
	if err := h.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, m := range contentOf(t, h.store.Store, odds(1)).Messages {
		if bytes.ContainsRune(m.Content, '#') || m.Role == "changed" {
			t.Errorf("%s is %s: %.20s, want it as it was handed over", m.ID, m.Role, m.Content)
		}
	}
}

func TestSyncSeesWhatWasAcknowledged(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{MaxBatch: 4})
	const callers, rounds = 8, 25
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for r := range rounds {
				n := int64(c*rounds + r)
				err := errors.Join(h.Commit(t.Context(), beginNew(n)), h.Sync(t.Context()))
				if _, missing := h.store.Session(t.Context(), "acme", odds(n)); err != nil || missing != nil {
					t.Errorf("session %d after Sync: %v, %v; want it there", n, err, missing)
				}
			}
		})
	}
	group.Wait()
}

func TestCloseMovesWhatWaitsAndLeavesNoJournal(t *testing.T) {
	t.Parallel()
	h := newHouse(t, storePath(t), record.Options{})
	open := h.store.close()
	h.commit(t, conversation()...)
	h.store.held()
	closed := make(chan struct{})
	go func() { defer close(closed); h.Close() }()
	open()
	<-closed
	if got := len(contentOf(t, h.store.Store, odds(1)).Turns); got != 2 {
		t.Errorf("%d turns, want 2", got)
	}
	for _, part := range append([]string{"-rejected"}, logs...) {
		if _, err := os.Stat(h.path + part); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after Close: %v, want none", part, err)
		}
	}
}

func FuzzJournal(f *testing.F) {
	changes := conversation()
	data, ends := journalOf(f, changes...)
	for _, e := range ends {
		f.Add(uint(e), []byte{})
		f.Add(uint(e-1), []byte{0})
		f.Add(uint(e), []byte{0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, at uint, with []byte) {
		cut := int(at % uint(len(data)+1))
		got, _, err := taken(t, append(append([]byte{}, data[:cut]...), with...), &fake{})
		whole := 0
		for _, e := range ends {
			if e <= cut {
				whole++
			}
		}
		if err == nil && len(got) < whole {
			t.Errorf("%d changes of %d whole frames", len(got), whole)
		}
		for i, c := range got[:min(len(got), whole)] {
			if fmt.Sprintf("%T", c) != fmt.Sprintf("%T", changes[i]) {
				t.Errorf("change %d is a %T, want a %T", i, c, changes[i])
			}
		}
	})
}
