// Package storetest is the contract that every store of the turn log keeps, as a test that a driver's own test runs.
package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"mooring"
)

// Store is what is tested: all that the house asks of its store.
type Store interface { //nolint:interfacebloat // the sum of what its consumers ask for, each in an interface of its own
	Apply(ctx context.Context, batch []mooring.Change) error
	AliasHits(ctx context.Context, tenant mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error)
	Session(ctx context.Context, tenant mooring.Tenant, id mooring.SessionID) (mooring.Session, error)
	SessionsByKey(ctx context.Context, tenant mooring.Tenant, key string) ([]mooring.Session, error)
	SessionsByFriendlyID(ctx context.Context, tenant mooring.Tenant, id string) ([]mooring.Session, error)
	Sessions(ctx context.Context, tenant mooring.Tenant, f mooring.SessionFilter) (mooring.SessionPage, error)
	Branch(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, p mooring.BranchPage) ([]mooring.Message, bool, error)
	Turns(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, p mooring.TurnPage) ([]mooring.Turn, bool, error)
	Turn(ctx context.Context, tenant mooring.Tenant, id mooring.TurnID) (mooring.Turn, error)
	Pins(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID) ([]mooring.Pin, error)
	MadeAt(ctx context.Context, tenant mooring.Tenant, message mooring.MessageID) (mooring.Turn, error)
	Remote(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, server string) (string, error)
	Owners(ctx context.Context, tenant mooring.Tenant, id string) ([]mooring.Object, error)
	SentTurn(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, clientMessage string) (mooring.Turn, error)
	FailedTurns(ctx context.Context, tenant mooring.Tenant, body []byte, since time.Time) ([]mooring.Turn, error)
	Chain(ctx context.Context, tenant mooring.Tenant, digests [][]byte) ([]mooring.ChainEntry, error)
	SessionsOf(ctx context.Context, tenant mooring.Tenant, ids []mooring.SessionID) ([]mooring.Session, error)
	Around(ctx context.Context, tenant mooring.Tenant, ids []mooring.MessageID, up, down int) ([]mooring.Neighbour, error)
	Children(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, parent mooring.MessageID) ([]mooring.Message, error)
	Siblings(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, parents []mooring.MessageID) (map[mooring.MessageID][]mooring.MessageID, error)
	Newest(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, from mooring.MessageID) (mooring.MessageID, error)
	KeyUse(ctx context.Context, tenant mooring.Tenant, key mooring.KeyName, from, to time.Time) (mooring.KeyUse, error)
	RunningElsewhere(ctx context.Context, tenant mooring.Tenant, key mooring.KeyName, replica string) (int, error)
	TreeUse(ctx context.Context, tenant mooring.Tenant, ids []mooring.SessionID) (map[mooring.SessionID]mooring.Spending, error)
	Descendants(ctx context.Context, tenant mooring.Tenant, top mooring.SessionID, limit int) ([]mooring.Session, bool, error)
	Trail(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, tip mooring.MessageID, limit int) ([]mooring.Message, error)
	Figures(ctx context.Context, tenant mooring.Tenant, since time.Time) (mooring.Figures, error)
	Use(ctx context.Context, q mooring.UseQuery) ([]mooring.UseRow, error)
	UseTimes(ctx context.Context, q mooring.UseQuery) ([]mooring.UseTimes, error)
	Pinned(ctx context.Context, since time.Time) (map[mooring.UpstreamName]int, error)
	Drained(ctx context.Context) (map[mooring.UpstreamName]time.Time, error)
	Backlog(ctx context.Context) (mooring.Backlog, error)
	Unindexed(ctx context.Context, upTo int64, limit int) ([]mooring.Unindexed, error)
	Content(ctx context.Context, tenant mooring.Tenant, id mooring.MessageID) (mooring.Message, error)
	Found(ctx context.Context, tenant mooring.Tenant, terms []mooring.SearchTerm, below int64, limit int) ([]mooring.Found, error)
	Recent(ctx context.Context, tenant mooring.Tenant, p mooring.RecentPage, visit func(mooring.Found) bool) error
	Learned(ctx context.Context, tenant mooring.Tenant) ([]mooring.LearnedHeader, error)
	SignIn(ctx context.Context, token []byte) (mooring.SignIn, bool, error)
	Slots(ctx context.Context) (mooring.SlotBook, error)
	EdgeNumbers(ctx context.Context) (slots, logouts int64, err error)
	Login(ctx context.Context, token []byte) (mooring.Login, bool, error)
	Names(ctx context.Context, tenant mooring.Tenant, limit int, visit func(mooring.Session) bool) error
	EventsAfter(ctx context.Context, tenant mooring.Tenant, number int64, limit int) ([]mooring.Event, error)
	EventNumbers(ctx context.Context, tenant mooring.Tenant) (dropped, newest int64, err error)
	Stray(ctx context.Context) (int, error)
	Applied(ctx context.Context) (uint64, error)
	FencedTurns(ctx context.Context, replica string) ([]mooring.Turn, error)
	RunningTurns(ctx context.Context, tenant mooring.Tenant, body []byte) ([]mooring.Turn, error)
	Beat(ctx context.Context, replica string) (mooring.Pulse, error)
	Local() bool
	Ping(ctx context.Context) error
	Idle(ctx context.Context) error
	Close() error
}

// Run tests stores that open makes, each of them empty. The tests run at the same time.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, group := range groups() {
		group.run(t, open)
	}
}

// RunSome is Run for the groups of these names.
func RunSome(t *testing.T, open func(t *testing.T) Store, names ...string) {
	t.Helper()
	for _, name := range names {
		i := slices.IndexFunc(groups(), func(g group) bool { return g.name == name })
		if i < 0 {
			t.Fatalf("the contract has no %s", name)
		}
		groups()[i].run(t, open)
	}
}

// group is the part of the contract that one thing has.
type group struct {
	name  string
	tests []test
}

func groups() []group {
	return []group{
		{"begin", beginTests()},
		{"end", endTests()},
		{"whole turns", wholeTests()},
		{"pins", pinTests()},
		{"drains", drainTests()},
		{"remote ids", remoteTests()},
		{"chats", chatTests()},
		{"changes by hand", patchTests()},
		{"forks", forkTests()},
		{"messages of clients", sentTests()},
		{"trees", treeTests()},
		{"removal", removalTests()},
		{"reads", readTests()},
		{"branches", branchTests()},
		{"values", valueTests()},
		{"search", searchTests()},
		{"learned headers", learnTests()},
		{"sign-ins", signInTests()},
		{"slots", slotTests()},
		{"logins", loginTests()},
		{"events", eventTests()},
		{"usage", useTests()},
		{"replicas", replicaTests()},
	}
}

func (g group) run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	t.Run(g.name, func(t *testing.T) {
		t.Parallel()
		for _, tt := range g.tests {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				tt.run(t, open(t))
			})
		}
	})
}

type test struct {
	name string
	run  func(t *testing.T, s Store)
}

const tenant mooring.Tenant = "acme"

// at is the time of the n-th second of a test.
func at(n int) time.Time { return time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC) }

func sessionID(n int) mooring.SessionID { return mooring.SessionID(fmt.Sprintf("ses_%026d", n)) }
func turnID(n int) mooring.TurnID       { return mooring.TurnID(fmt.Sprintf("trn_%026d", n)) }
func messageID(n int) mooring.MessageID { return mooring.MessageID(fmt.Sprintf("msg_%026d", n)) }

// newSession begins session n with turn n; its alias and key are "key-n".
func newSession(n int) *mooring.Begin {
	key := fmt.Sprintf("key-%d", n)
	return &mooring.Begin{
		New: true,
		Session: mooring.Session{
			Tenant: tenant, ID: sessionID(n), Key: key, Root: sessionID(n), Relation: mooring.RelationMain, Upstream: "north",
			CreatedAt: at(n), UpdatedAt: at(n),
		},
		Aliases: []mooring.Alias{{Class: mooring.ClassAny, Value: key}},
		Turn:    turn(n, n),
	}
}

// next begins turn n of session in.
func next(in, n int) *mooring.Begin {
	return &mooring.Begin{Session: mooring.Session{Tenant: tenant, ID: sessionID(in)}, Turn: turn(in, n)}
}

func turn(in, n int) mooring.Turn {
	return mooring.Turn{
		Tenant: tenant, ID: turnID(n), Session: sessionID(in), Kind: mooring.KindMain, Protocol: mooring.Chat, Model: "model-a",
		State: mooring.Running, Replica: "replica-a", StartedAt: at(n), Key: "laptop",
	}
}

func message(in, n int, parent mooring.MessageID) mooring.Message {
	return mooring.Message{
		Tenant: tenant, Session: sessionID(in), ID: messageID(n), Parent: parent, Turn: turnID(n), Role: "user",
		State: mooring.Completed, Protocol: mooring.Chat, Content: fmt.Appendf(nil, `{"n":%d}`, n), Digest: fmt.Append(nil, n),
		CreatedAt: at(n),
	}
}

// ended is the end of turn n of session in: completed, with an answer where message is not 0.
func ended(in, n, answer int) *mooring.End {
	cost := 0.25
	t := turn(in, n)
	t.State, t.EndedAt, t.Status, t.Upstream = mooring.Completed, at(n), 200, "north"
	t.Usage = mooring.Usage{Input: mooring.Count(10), Output: mooring.Count(2)}
	t.CostUSD = &cost
	c := &mooring.End{Turn: t}
	if answer != 0 {
		m := message(in, answer, "")
		m.Role, m.Turn = "assistant", t.ID
		c.Answer = &m
	}
	return c
}

func pin(in, n int, upstream mooring.UpstreamName) *mooring.Pin {
	return &mooring.Pin{
		Tenant: tenant, Session: sessionID(in), Set: "north,south", Upstream: upstream, Turn: turnID(n), UsedAt: at(n),
	}
}

// apply commits changes in one batch and wants every outcome to be good.
func apply(t *testing.T, s Store, batch ...mooring.Change) {
	t.Helper()
	if err := s.Apply(t.Context(), batch); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	for i, c := range batch {
		if err := c.Outcome(); err != nil {
			t.Fatalf("outcome of change %d (%T): %v", i, c, err)
		}
	}
}

// outcome commits one change and gives the code of its own outcome, empty where it is good.
func outcome(t *testing.T, s Store, c mooring.Change) mooring.Code {
	t.Helper()
	if err := s.Apply(t.Context(), []mooring.Change{c}); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	if c.Outcome() == nil {
		return ""
	}
	return mooring.CodeOf(c.Outcome())
}

func session(t *testing.T, s Store, n int) mooring.Session {
	t.Helper()
	got, err := s.Session(t.Context(), tenant, sessionID(n))
	if err != nil {
		t.Fatalf("Session(%d): %v", n, err)
	}
	return got
}

func turnOf(t *testing.T, s Store, n int) mooring.Turn {
	t.Helper()
	got, err := s.Turn(t.Context(), tenant, turnID(n))
	if err != nil {
		t.Fatalf("Turn(%d): %v", n, err)
	}
	return got
}

// branchIDs reads a branch of session 1.
func branchIDs(t *testing.T, s Store, p mooring.BranchPage) ([]mooring.MessageID, bool) {
	t.Helper()
	list, more, err := s.Branch(t.Context(), tenant, sessionID(1), p)
	if err != nil {
		t.Fatalf("Branch: %v", err)
	}
	ids := make([]mooring.MessageID, len(list))
	for i, m := range list {
		ids[i] = m.ID
	}
	return ids, more
}
