package identify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mooring"
	"mooring/internal/identify"
	sqlstore "mooring/internal/store/sql"
	"mooring/internal/store/sqlite"
	"mooring/internal/wire"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

// counted is a store that counts what is read from it.
type counted struct {
	*sqlstore.Store
	reads atomic.Int64
}

func (s *counted) AliasHits(ctx context.Context, t mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error) {
	if len(aliases) > 0 {
		s.reads.Add(1)
	}
	return s.Store.AliasHits(ctx, t, aliases)
}

func (s *counted) Session(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (mooring.Session, error) {
	s.reads.Add(1)
	return s.Store.Session(ctx, t, id)
}

func (s *counted) SessionsOf(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) ([]mooring.Session, error) {
	if len(ids) > 0 {
		s.reads.Add(1)
	}
	return s.Store.SessionsOf(ctx, t, ids)
}

func (s *counted) Chain(ctx context.Context, t mooring.Tenant, digests [][]byte) ([]mooring.ChainEntry, error) {
	if len(digests) > 0 {
		s.reads.Add(1)
	}
	return s.Store.Chain(ctx, t, digests)
}

func (s *counted) Around(ctx context.Context, t mooring.Tenant, ids []mooring.MessageID, up, down int) ([]mooring.Neighbour, error) {
	if len(ids) > 0 {
		s.reads.Add(1)
	}
	return s.Store.Around(ctx, t, ids, up, down)
}

func (s *counted) Learned(ctx context.Context, t mooring.Tenant) ([]mooring.LearnedHeader, error) {
	s.reads.Add(1)
	return s.Store.Learned(ctx, t)
}

func (s *counted) Owners(ctx context.Context, t mooring.Tenant, object string) ([]mooring.Object, error) {
	s.reads.Add(1)
	return s.Store.Owners(ctx, t, object)
}

// house is an engine over a real store, with the part of the turns that it needs: what it finds is written down, and answered.
type house struct {
	tb      testing.TB
	store   *counted
	engine  *identify.Engine
	headers []string // sessions.headers
	memory  int64    // 0 for the usual
	refresh time.Duration
	n       int
}

func newHouse(tb testing.TB, headers ...string) *house {
	tb.Helper()
	store, err := sqlite.Open(tb.Context(), sqlite.Options{Path: filepath.Join(tb.TempDir(), "mooring.db"), BlobKey: secret})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { store.Close() })
	h := &house{tb: tb, store: &counted{Store: store}, headers: headers}
	h.cold()
	return h
}

// cold forgets all that is in memory, as a restart does.
func (h *house) cold() {
	h.engine = identify.New(identify.Options{
		Store: h.store, Secret: secret, Headers: h.headers, NewSession: func() mooring.SessionID { return mooring.SessionID("ses_" + h.next()) },
		NewKey:  func() string { return "api-" + h.next() },
		Lessons: h.store.Learned, Now: func() time.Time { return time.Unix(int64(h.n), 0) }, MemoryBytes: h.memory, Refresh: h.refresh,
	})
}

func (h *house) next() string {
	h.n++
	return fmt.Sprintf("%026d", h.n)
}

// ask is one request: its headers, members of its body besides the messages, and the messages as "u: …", "a: …", "s: …" or as they are.
type ask struct {
	tenant mooring.Tenant
	header http.Header
	body   string
	talk   []string
	answer string // of the upstream; none where it is empty
	kind   mooring.Kind
	key    mooring.KeyName
	noMind bool // headers are not learned
	noTalk bool // messages are not matched
}

// found is what identification made of a request, and what it read for that.
type found struct {
	*identify.Finding
	at     *identify.Place
	stored []string          // texts of the messages that were stored
	tip    mooring.MessageID // the answer
	reads  int64

	learning *mooring.Learning // what it taught; nil for nothing
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h[pairs[i]] = append(h[pairs[i]], pairs[i+1]) // as spelled
	}
	return h
}

// filled is the request with what it leaves open.
func (q ask) filled() ask {
	if q.tenant == "" {
		q.tenant = "acme"
	}
	if len(q.talk) == 0 {
		q.talk = []string{"u: hi"}
	}
	return q
}

func (q ask) decode(tb testing.TB) identify.Request {
	tb.Helper()
	q = q.filled()
	messages := make([]string, len(q.talk))
	for i, line := range q.talk {
		messages[i] = messageJSON(line)
	}
	w, err := wire.Decode(mooring.Chat, fmt.Appendf(nil, `{"model":"m",%s"messages":[%s]}`, q.body, strings.Join(messages, ",")), wire.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return identify.Request{Tenant: q.tenant, Header: q.header, Wire: w, Messages: w.Messages, Content: !q.noTalk, Learn: !q.noMind, Kind: q.kind, Key: q.key}
}

func messageJSON(line string) string {
	if strings.HasPrefix(line, "{") {
		return line
	}
	role, text, _ := strings.Cut(line, ": ")
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"role":%q,"content":%s}`, map[string]string{"u": "user", "a": "assistant", "s": "system"}[role], quoted)
}

// resolve finds the session of a request, and writes nothing.
func (h *house) resolve(q ask) *identify.Finding {
	h.tb.Helper()
	f, err := h.engine.Resolve(h.tb.Context(), q.decode(h.tb))
	if err != nil {
		h.tb.Fatal(err)
	}
	return f
}

// turn takes a request through a whole turn.
func (h *house) turn(q ask) found {
	h.tb.Helper()
	q = q.filled()
	ctx, req := h.tb.Context(), q.decode(h.tb)
	before := h.store.reads.Load()
	f, err := h.engine.Resolve(ctx, req)
	if err != nil {
		h.tb.Fatal(err)
	}
	p, err := h.engine.Locate(ctx, f, req)
	if err != nil {
		h.tb.Fatal(err)
	}
	out := found{Finding: f, at: p, reads: h.store.reads.Load() - before}
	turn := mooring.Turn{
		Tenant: req.Tenant, ID: mooring.TurnID("trn_" + h.next()), Session: f.Known.ID, Kind: f.Kind, Protocol: mooring.Chat, State: mooring.Running,
		View: p.View, Question: p.Parent, StartedAt: time.Unix(int64(h.n), 0),
	}
	begin := &mooring.Begin{New: f.New, Aliases: f.Aliases, Attach: f.Attach}
	if f.Kind == mooring.KindSide {
		turn.Question = ""
	}
	for _, at := range p.New {
		m := h.message(&turn, req.Wire.Messages[at].Role, req.Wire.Messages[at].Raw, p.Digests[at])
		if len(begin.Messages) == 0 {
			m.Marks = p.Opening
		}
		begin.Messages = append(begin.Messages, m)
		out.stored = append(out.stored, q.talk[at])
	}
	s := f.Known.Session
	if s.CreatedAt, s.UpdatedAt = turn.StartedAt, turn.StartedAt; f.Kind != mooring.KindSide {
		s.Tip, s.TipTurn = turn.Question, turn.ID
	}
	begin.Session, begin.Turn = s, turn
	h.commit(begin)
	names := f.Aliases
	if f.New {
		names = f.Names
	}
	h.engine.Learn(identify.Known{Session: s, Calls: f.Known.Calls}, f, names)
	if c := h.engine.Observe(ctx, req, f); c != nil {
		out.learning = c
		h.commit(c)
	}
	if q.answer != "" && f.Kind != mooring.KindSide {
		out.tip = h.answered(&turn, p, &req.Messages[len(req.Messages)-1], q.answer)
	}
	return out
}

func (h *house) answered(turn *mooring.Turn, p *identify.Place, last *wire.Message, answer string) mooring.MessageID {
	h.tb.Helper()
	if !strings.HasPrefix(answer, "{") {
		answer = messageJSON("a: " + answer)
	}
	raw := []byte(answer)
	a, err := h.engine.Answer(turn.Tenant, mooring.Chat, p, last, raw)
	if err != nil {
		h.tb.Fatal(err)
	}
	m := h.message(turn, "assistant", raw, a.Self)
	m.Seen, m.Marks = a.Seen[:], a.Marks
	turn.State, turn.Answer, turn.EndedAt = mooring.Completed, m.ID, turn.StartedAt
	h.commit(&mooring.End{Turn: *turn, Answer: &m})
	h.engine.Ended(turn, a.Seen, m.Marks)
	return m.ID
}

func (h *house) message(turn *mooring.Turn, role string, raw []byte, d wire.Digest) mooring.Message {
	m := mooring.Message{
		Tenant: turn.Tenant, Session: turn.Session, ID: mooring.MessageID("msg_" + h.next()), Parent: turn.Question, Turn: turn.ID, Role: role,
		State: mooring.Completed, Protocol: mooring.Chat, Content: raw, Digest: d[:], CreatedAt: turn.StartedAt,
	}
	turn.Question = m.ID
	return m
}

func (h *house) commit(c mooring.Change) {
	h.tb.Helper()
	if err := h.store.Apply(h.tb.Context(), []mooring.Change{c}); err != nil || c.Outcome() != nil {
		h.tb.Fatalf("commit: %v, %v", err, c.Outcome())
	}
}
