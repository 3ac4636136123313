package workspace_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mooring"
	"mooring/internal/workspace"
)

// memory is a store of a few sessions.
type memory struct {
	sessions []mooring.Session
	messages []mooring.Message // one branch, oldest first
	turns    []mooring.Turn
	figures  mooring.Figures
	uses     []mooring.UseRow
	times    []mooring.UseTimes
	broken   error

	afterBranch func() // runs after a page of a branch was read

	mu       sync.Mutex // guards the fields below: what was last asked for
	filter   mooring.SessionFilter
	branch   mooring.BranchPage
	turnPage mooring.TurnPage
	summed   [][]mooring.SessionID
	since    time.Time
	used     mooring.UseQuery
}

func (m *memory) Use(_ context.Context, q mooring.UseQuery) ([]mooring.UseRow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = q
	return m.uses, m.broken
}

func (m *memory) UseTimes(context.Context, mooring.UseQuery) ([]mooring.UseTimes, error) {
	return m.times, m.broken
}

func (m *memory) of(t mooring.Tenant, keep func(mooring.Session) bool) []mooring.Session {
	var out []mooring.Session
	for _, s := range m.sessions {
		if s.Tenant == t && keep(s) {
			out = append(out, s)
		}
	}
	return out
}

func (m *memory) Session(_ context.Context, t mooring.Tenant, id mooring.SessionID) (mooring.Session, error) {
	if m.broken != nil {
		return mooring.Session{}, m.broken
	}
	found := m.of(t, func(s mooring.Session) bool { return s.ID == id })
	if len(found) == 0 {
		return mooring.Session{}, mooring.Errorf(mooring.CodeSessionNotFound, "no such session")
	}
	return found[0], nil
}

func (m *memory) SessionsByKey(_ context.Context, t mooring.Tenant, key string) ([]mooring.Session, error) {
	return m.of(t, func(s mooring.Session) bool { return s.Key == key }), m.broken
}

func (m *memory) SessionsByFriendlyID(_ context.Context, t mooring.Tenant, id string) ([]mooring.Session, error) {
	return m.of(t, func(s mooring.Session) bool { return s.FriendlyID == id }), m.broken
}

func (m *memory) SessionsOf(_ context.Context, t mooring.Tenant, ids []mooring.SessionID) ([]mooring.Session, error) {
	return m.of(t, func(s mooring.Session) bool { return slices.Contains(ids, s.ID) }), m.broken
}

func (m *memory) AliasHits(context.Context, mooring.Tenant, []mooring.Alias) ([]mooring.AliasHit, error) {
	return nil, m.broken
}

func (m *memory) Siblings(context.Context, mooring.Tenant, mooring.SessionID, []mooring.MessageID) (map[mooring.MessageID][]mooring.MessageID, error) {
	return nil, m.broken
}

func (m *memory) Newest(_ context.Context, _ mooring.Tenant, _ mooring.SessionID, from mooring.MessageID) (mooring.MessageID, error) {
	return from, m.broken
}

func (m *memory) Sessions(_ context.Context, t mooring.Tenant, f mooring.SessionFilter) (mooring.SessionPage, error) {
	m.mu.Lock()
	m.filter = f
	m.mu.Unlock()
	all := m.of(t, func(mooring.Session) bool { return true })
	page := mooring.SessionPage{Total: len(all)}
	slices.SortFunc(all, func(a, b mooring.Session) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	if f.After.ID != "" {
		all = slices.DeleteFunc(all, func(s mooring.Session) bool { return !s.UpdatedAt.Before(f.After.UpdatedAt) })
	}
	page.More = len(all) > f.Limit
	page.Sessions = all[:min(len(all), f.Limit)]
	return page, m.broken
}

func (m *memory) Branch(_ context.Context, _ mooring.Tenant, id mooring.SessionID, p mooring.BranchPage) ([]mooring.Message, bool, error) {
	m.mu.Lock()
	m.branch = p
	m.mu.Unlock()
	branch := slices.DeleteFunc(slices.Clone(m.messages), func(x mooring.Message) bool { return x.Session != id })
	if p.Tip != "" {
		branch = branch[:1+slices.IndexFunc(branch, func(x mooring.Message) bool { return x.ID == p.Tip })]
	}
	if p.Before != "" {
		branch = branch[:slices.IndexFunc(branch, func(x mooring.Message) bool { return x.ID == p.Before })]
	}
	from := max(0, len(branch)-p.Limit)
	err := m.broken
	if m.afterBranch != nil {
		m.afterBranch()
	}
	return branch[from:], from > 0, err
}

func (m *memory) Trail(_ context.Context, _ mooring.Tenant, id mooring.SessionID, tip mooring.MessageID, limit int) ([]mooring.Message, error) {
	var out []mooring.Message
	for _, x := range slices.Backward(m.messages) {
		if x.Session == id && x.ID == tip && len(out) < limit {
			out = append(out, x)
			tip = x.Parent
		}
	}
	return out, m.broken
}

func (m *memory) Turns(_ context.Context, _ mooring.Tenant, id mooring.SessionID, p mooring.TurnPage) ([]mooring.Turn, bool, error) {
	m.mu.Lock()
	m.turnPage = p
	m.mu.Unlock()
	of := slices.DeleteFunc(slices.Clone(m.turns), func(t mooring.Turn) bool {
		return t.Session != id || p.Before != "" && t.ID >= p.Before
	})
	from := max(0, len(of)-p.Limit)
	return of[from:], from > 0, m.broken
}

func (m *memory) Descendants(_ context.Context, t mooring.Tenant, top mooring.SessionID, limit int) ([]mooring.Session, bool, error) {
	below := m.of(t, func(s mooring.Session) bool { return s.Root == top && s.ID != top })
	return below[:min(limit, len(below))], len(below) > limit, m.broken
}

func (m *memory) TreeUse(_ context.Context, t mooring.Tenant, ids []mooring.SessionID) (map[mooring.SessionID]mooring.Spending, error) {
	m.mu.Lock()
	m.summed = append(m.summed, ids)
	m.mu.Unlock()
	out := map[mooring.SessionID]mooring.Spending{}
	for _, s := range m.of(t, func(s mooring.Session) bool { return slices.Contains(ids, s.ID) }) {
		out[s.ID] = mooring.Spending{Usage: s.Usage, CostUSD: s.CostUSD}
	}
	return out, m.broken
}

func (m *memory) Figures(_ context.Context, _ mooring.Tenant, since time.Time) (mooring.Figures, error) {
	m.mu.Lock()
	m.since = since
	m.mu.Unlock()
	return m.figures, m.broken
}

func (m *memory) Turn(_ context.Context, tenant mooring.Tenant, id mooring.TurnID) (mooring.Turn, error) {
	for _, t := range m.turns {
		if t.ID == id && t.Tenant == tenant {
			return t, nil
		}
	}
	return mooring.Turn{}, mooring.Errorf(mooring.CodeNotFound, "no such turn")
}

// people are the callers by their key; without a key nobody is let in.
func people(r *http.Request) (mooring.Caller, error) {
	switch r.Header.Get("X-Mooring-Key") {
	case "alice":
		return mooring.Caller{Tenant: "acme", Key: "alice", Role: mooring.RoleUser}, nil
	case "bob":
		return mooring.Caller{Tenant: "globex", Key: "bob", Role: mooring.RoleUser}, nil
	case "root":
		return mooring.Caller{Key: "root", Role: mooring.RoleOperator}, nil
	}
	return mooring.Caller{}, mooring.Errorf(mooring.CodeInvalidAPIKey, "send a key")
}

// house is the session API over a store, with its log.
type house struct {
	mux *http.ServeMux
	log *bytes.Buffer
}

func open(o workspace.Options) house {
	h := house{mux: http.NewServeMux(), log: new(bytes.Buffer)}
	o.Caller = people
	if o.OperatorReads == nil {
		o.OperatorReads = func() bool { return false }
	}
	o.Limits = func(key mooring.KeyName) *workspace.KeyLimits {
		switch key {
		case "alice":
			return &workspace.KeyLimits{RequestsPerMinute: 60, Streams: 2, BudgetUSD: 5, Models: []string{"gpt-*"}, Expires: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
		case "carol":
			return &workspace.KeyLimits{}
		}
		return nil
	}
	o.Prices = func() workspace.PriceList {
		return workspace.PriceList{Date: "2026-09-23", Source: "a list", Models: 3}
	}
	o.CursorKey = []byte("a key for tests")
	o.Now = func() time.Time { return at(30) }
	o.Log = slog.New(slog.NewTextHandler(h.log, nil))
	workspace.New(o).Mount(h.mux)
	return h
}

func over(m *memory) house { return open(workspace.Options{Store: m}) }

// get asks as somebody and gives the answer.
func (h house) get(t *testing.T, as, target string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody)
	r.Header.Set("X-Mooring-Key", as)
	w := httptest.NewRecorder()
	h.mux.ServeHTTP(w, r)
	return w
}

// read asks as somebody, wants a 200 and decodes it into v.
func (h house) read(t *testing.T, as, target string, v any) {
	t.Helper()
	w := h.get(t, as, target)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s = %d %s, want 200", target, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
		t.Fatalf("GET %s: %v in %s", target, err, w.Body)
	}
}

// refused wants an answer with that status and code, without any word of the other tenants.
func refused(t *testing.T, w *httptest.ResponseRecorder, status int, code mooring.Code) {
	t.Helper()
	if got := w.Header().Get("X-Mooring-Error"); w.Code != status || got != string(code) {
		t.Errorf("answer = %d %s, want %d %s", w.Code, got, status, code)
	}
	if strings.Contains(w.Body.String(), "acme") {
		t.Errorf("the answer names a tenant: %s", w.Body)
	}
}

var errDisk = errors.New("disk on fire")

func at(minute int) time.Time {
	return time.Date(2026, 11, 29, 9, minute, 0, 123_456_789, time.UTC)
}

func session(id, key string, minute int) mooring.Session {
	return mooring.Session{
		Tenant: "acme", ID: mooring.SessionID(id), Key: key, Root: mooring.SessionID(id), Relation: mooring.RelationMain,
		CreatedAt: at(0), UpdatedAt: at(minute),
	}
}
