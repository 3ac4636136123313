package main

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"mooring"
	"mooring/test/harness"
)

// store is one that is filled by its own writer: the rows are those that turns make, with the lengths of real ones.
type store interface {
	Apply(ctx context.Context, batch []mooring.Change) error
	Backlog(ctx context.Context) (mooring.Backlog, error)
	Unindexed(ctx context.Context, upTo int64, limit int) ([]mooring.Unindexed, error)
	Close() error
}

// originals are how many sessions are filled by the store's own writer; larger stores hold copies of them.
type originals int

const (
	fillBatch    = 100 // sessions in one commit
	span         = 60 * 24 * time.Hour
	upstreamName = "mock"
)

// filler makes sessions up: their words are drawn as words are, few of them often and most of them seldom, and one is each
// session's own.
type filler struct {
	store    store
	turns    int
	chance   *rand.Rand
	words    []string
	entropy  *ulid.MonotonicEntropy
	texts    map[mooring.MessageID]string // of what the index does not have yet
	terms    map[mooring.MessageID]string // what the index has
	from     time.Time
	sessions int
}

func newFiller(s store, sessions, turns int, seed uint64) *filler {
	f := &filler{store: s, turns: turns, sessions: sessions, chance: harness.Chance(seed, sessions), from: harness.Now().Add(-span), texts: map[mooring.MessageID]string{}, terms: map[mooring.MessageID]string{}}
	f.entropy = ulid.Monotonic(source{f.chance}, 0)
	for i := range 5000 {
		f.words = append(f.words, word(i))
	}
	return f
}

// source is randomness as a reader, for ids.
type source struct{ chance *rand.Rand }

func (s source) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.chance.IntN(256)) //nolint:gosec // it fits
	}
	return len(b), nil
}

// word is the i-th word of a made-up language.
func word(i int) string {
	syllables := []string{"ka", "lo", "mi", "ren", "tu", "sha", "vor", "ne", "bil", "da", "pe", "gor", "fi", "zu", "har", "quo"}
	var b strings.Builder
	for i += 16; i > 0; i /= 16 {
		b.WriteString(syllables[i%16])
	}
	return b.String()
}

// own is the word of one session alone, common the one of every tenth question.
func (few originals) own(session int) string {
	return fmt.Sprintf("only%dx%dhere", session%int(few), session/int(few))
}

const common = "harbour"

// text is a sentence of some words.
func (f *filler) text(n int, more string) string {
	var b strings.Builder
	for range n {
		b.WriteString(f.words[min(int(f.chance.ExpFloat64()*600), len(f.words)-1)])
		b.WriteByte(' ')
	}
	return b.String() + more
}

// key is the id under which a client would name a session: scattered as such ids are, with the number of the copy and of its
// original at the end.
func (few originals) key(session int) string {
	of := session % int(few)
	sum := sha256.Sum256([]byte(strconv.Itoa(of)))
	return fmt.Sprintf("%x-%x-4%03x-8%03x-%06x%06x", sum[:4], sum[4:6], of&0xfff, of&0xfff, session/int(few), of)
}

// fill makes the sessions.
func (f *filler) fill(ctx context.Context) error {
	for first := 0; first < f.sessions; first += fillBatch {
		var batch []mooring.Change
		for i := first; i < min(first+fillBatch, f.sessions); i++ {
			batch = append(batch, f.session(i)...)
		}
		if err := f.store.Apply(ctx, batch); err != nil {
			return err
		}
		for _, c := range batch {
			if err := c.Outcome(); err != nil {
				return err
			}
		}
		if err := f.index(ctx); err != nil {
			return err
		}
	}
	return nil
}

// session is one with all its turns, as they come to the writer.
func (f *filler) session(i int) []mooring.Change {
	at := f.from.Add(time.Duration(int64(i) * (int64(span-time.Hour) / int64(f.sessions))))
	id := f.id(at)
	s := mooring.Session{
		Tenant: mooring.LocalTenant, ID: mooring.SessionID("ses_" + id), Key: originals(f.sessions).key(i), FriendlyID: strings.ToLower(id[len(id)-8:]), Client: "openai-python",
		Root: mooring.SessionID("ses_" + id), Relation: mooring.RelationMain, State: mooring.Running, Upstream: upstreamName, Models: []string{"mock-model"},
		CreatedAt: at, UpdatedAt: at, Named: []string{"x-session-id"}, Traits: f.bytes(82),
	}
	var changes []mooring.Change
	tip := mooring.MessageID("")
	for n := range f.turns {
		began := at.Add(time.Duration(n) * time.Minute)
		turn := f.turn(&s, n, began)
		question := mooring.Message{
			Tenant: s.Tenant, Session: s.ID, ID: mooring.MessageID("msg_" + f.id(began)), Parent: tip, Turn: turn.ID, Role: "user", State: mooring.Completed,
			Protocol: mooring.Chat, Digest: f.bytes(16), CreatedAt: began,
		}
		words := f.text(14, originals(f.sessions).own(i))
		if (i*f.turns+n)%10 == 0 {
			words += " " + common
		}
		if n == 0 {
			s.Title, question.Marks = words, []mooring.Mark{{Kind: mooring.ByOpening, Digest: f.bytes(8)}}
		}
		question.Content = fmt.Appendf(nil, `{"role":"user","content":%q}`, words)
		f.texts[question.ID] = words
		turn.Question = question.ID
		s.Tip, s.TipTurn = question.ID, turn.ID
		begin := &mooring.Begin{Session: s, New: n == 0, Turn: turn, Messages: []mooring.Message{question}}
		if n == 0 {
			begin.Aliases = []mooring.Alias{{Class: mooring.ClassAny, Value: s.Key}}
			begin.Claim = &mooring.Pin{Tenant: s.Tenant, Session: s.ID, Set: upstreamName, Upstream: upstreamName, Turn: turn.ID, UsedAt: began}
		} else {
			begin.Session.Models = nil
		}
		end := f.end(turn, n, began.Add(3*time.Second))
		tip = end.Answer.ID
		changes = append(changes, begin, end)
	}
	return changes
}

func (f *filler) turn(s *mooring.Session, n int, at time.Time) mooring.Turn {
	points := string(s.ID)
	t := mooring.Turn{
		Tenant: s.Tenant, ID: mooring.TurnID("trn_" + f.id(at)), Session: s.ID, Kind: mooring.KindMain, Protocol: mooring.Chat, Model: "mock-model",
		State: mooring.Running, Upstream: upstreamName, Pin: mooring.PinHit, Identity: "header:x-session-id", BodyDigest: f.bytes(16), Replica: "rep_filler", StartedAt: at,
		View: &mooring.View{Sent: 1},
	}
	if n == 0 {
		t.Pin, t.View, points = mooring.PinNew, nil, "new"
	}
	t.Evidence = []mooring.Evidence{
		{Signal: "header:x-session-id", Says: "session", Value: s.Key, Points: points, Use: "decided", Why: "the strongest id of the request, known from OpenCode, Crush, Kilo Code and many more"},
		{Signal: "header:user-agent", Says: "client", Value: "openai-python", Use: "decided", Why: "it names the program"},
	}
	return t
}

// end is how a turn ended: with an answer that is found again by itself and by its words.
func (f *filler) end(turn mooring.Turn, n int, at time.Time) *mooring.End {
	words := f.text(40, "")
	self := f.bytes(16)
	answer := mooring.Message{
		Tenant: turn.Tenant, Session: turn.Session, ID: mooring.MessageID("msg_" + f.id(at)), Parent: turn.Question, Turn: turn.ID, Role: "assistant",
		State: mooring.Completed, Protocol: mooring.Chat, Content: fmt.Appendf(nil, `{"role":"assistant","content":%q,"refusal":null}`, words),
		Digest: self, Seen: f.bytes(16), CreatedAt: at,
		Marks: []mooring.Mark{{Kind: mooring.BySelf, Digest: self}, {Kind: mooring.ByText, Digest: f.bytes(8), Sketch: f.bytes(96)}},
	}
	f.texts[answer.ID] = words
	use := mooring.Usage{Input: mooring.Count(19), Output: mooring.Count(50)}
	turn.State, turn.Status, turn.Usage, turn.Answer, turn.FirstAt, turn.EndedAt = mooring.Completed, 200, use, answer.ID, at, at
	turn.Attempts = []mooring.Attempt{{Upstream: upstreamName, State: mooring.Completed, Status: 200, Usage: use, StartedAt: turn.StartedAt, EndedAt: at}}
	e := &mooring.End{Turn: turn, Answer: &answer}
	if n == 0 {
		e.Bind = &mooring.Pin{Tenant: turn.Tenant, Session: turn.Session, Set: upstreamName, Upstream: upstreamName, Bound: true, Turn: turn.ID, UsedAt: at}
	}
	return e
}

func (f *filler) id(at time.Time) string { return ulid.MustNew(ulid.Timestamp(at), f.entropy).String() }

func (f *filler) bytes(n int) []byte {
	b := make([]byte, n)
	_, _ = source{f.chance}.Read(b)
	return b
}

var errUnknown = errors.New("the index is asked for a message that was not made here")

// index puts into the index what was just made; left to the server it would take hours, since the turns go first there.
func (f *filler) index(ctx context.Context) error {
	b, err := f.store.Backlog(ctx)
	if err != nil {
		return err
	}
	for {
		list, err := f.store.Unindexed(ctx, b.Last, 2*fillBatch*f.turns)
		if err != nil || len(list) == 0 {
			return err
		}
		c := &mooring.Index{}
		for _, u := range list {
			text, known := f.texts[u.Message]
			if !known {
				return fmt.Errorf("%w: %s", errUnknown, u.Message)
			}
			delete(f.texts, u.Message)
			f.terms[u.Message] = terms(text)
			c.Entries = append(c.Entries, mooring.IndexEntry{Unindexed: u, Terms: f.terms[u.Message]})
		}
		if err := f.store.Apply(ctx, []mooring.Change{c}); err != nil {
			return err
		}
		if err := errors.Join(c.Err); err != nil || c.Taken == 0 {
			return err
		}
	}
}

// terms are the words as the index has them: behind a mark of their tenant and one of their script, each once. Where that were no longer
// so, no search would find anything, and the part fails.
func terms(text string) string {
	sum := sha256.Sum256([]byte(mooring.LocalTenant))
	mark := strings.ToLower(base32.HexEncoding.EncodeToString(sum[:]))[:4] + "a"
	seen := map[string]bool{}
	var b strings.Builder
	for w := range strings.FieldsSeq(text) {
		if !seen[w] {
			seen[w] = true
			b.WriteString(mark + w + " ")
		}
	}
	return strings.TrimSpace(b.String())
}
