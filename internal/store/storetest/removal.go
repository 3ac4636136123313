//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"bytes"
	"testing"

	"mooring"
)

func large(in, n int, fill byte) mooring.Message {
	m := message(in, n, "")
	m.Content = bytes.Repeat([]byte{fill}, 9000)
	return m
}

func removalTests() []test {
	return []test{
		{"C161 a deleted session leaves nothing, other sessions keep what they share with it", func(t *testing.T, s Store) {
			first, second := newSession(1), newSession(2)
			first.Messages = []mooring.Message{large(1, 1, 'x'), large(1, 3, 'y'), found(1, 4, "d", "e")}
			first.Messages[2].Marks = append(first.Messages[2].Marks, mooring.Mark{Kind: mooring.ByCall, Digest: []byte("t")})
			first.Claim = pin(1, 1, "north")
			second.Messages = []mooring.Message{large(2, 2, 'x')}
			apply(t, s, first, second, &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			if _, err := s.Session(t.Context(), tenant, sessionID(1)); mooring.CodeOf(err) != mooring.CodeSessionNotFound {
				t.Errorf("Session: %v, want session_not_found", err)
			}
			nothing(t, s, 1, first)
			list, _, err := s.Branch(t.Context(), tenant, sessionID(2), mooring.BranchPage{})
			if err != nil || len(list) != 1 || !bytes.Equal(list[0].Content, second.Messages[0].Content) {
				t.Errorf("the other session's branch: %d messages, %v; want its content whole", len(list), err)
			}
		}},
		{"deleting what is not there says so, and another tenant's session is not there", func(t *testing.T, s Store) {
			apply(t, s, newSession(1))
			for _, c := range []*mooring.Delete{{Tenant: tenant, Session: sessionID(7)}, {Tenant: "globex", Session: sessionID(1)}} {
				if got := outcome(t, s, c); got != mooring.CodeSessionNotFound {
					t.Errorf("outcome %q, want session_not_found", got)
				}
			}
			session(t, s, 1)
		}},
		{"children of a deleted session become roots of what stands below them", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), childOf(2, 1), childOf(3, 2), childOf(4, 1))
			if got := session(t, s, 3).Root; got != sessionID(1) {
				t.Fatalf("root %s before, want the first session", got)
			}
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			for n, want := range map[int][2]mooring.SessionID{2: {"", sessionID(2)}, 3: {sessionID(2), sessionID(2)}, 4: {"", sessionID(4)}} {
				if got := session(t, s, n); got.Parent != want[0] || got.Root != want[1] {
					t.Errorf("session %d: parent %q, root %q; want %v", n, got.Parent, got.Root, want)
				}
			}
		}},
		{"whole trees are pruned when all of them has been idle", func(t *testing.T, s Store) {
			foreign := newSession(6)
			foreign.Session.Tenant = "globex"
			side := newSession(5)
			side.Turn.Kind = mooring.KindSide
			theirs := ended(6, 6, 0)
			theirs.Turn.Tenant = "globex"
			apply(t, s, newSession(1), childOf(2, 1), newSession(3), childOf(40, 3), side, foreign, newSession(50))
			apply(t, s, ended(1, 1, 0), ended(2, 2, 0), ended(3, 3, 0), ended(40, 40, 0), ended(5, 5, 0), theirs, ended(50, 50, 0))
			c := &mooring.Prune{Before: at(30), Limit: 10}
			apply(t, s, c)
			if c.Removed != 4 {
				t.Errorf("%d sessions removed, want 4: a tree of two, the side one, the other tenant's", c.Removed)
			}
			told := map[[2]string]bool{}
			for _, one := range c.Gone {
				told[[2]string{string(one.Tenant), string(one.ID)}] = true
			}
			for n, owner := range map[int]mooring.Tenant{1: tenant, 2: tenant, 5: tenant, 6: "globex"} {
				if !told[[2]string{string(owner), string(sessionID(n))}] || len(told) != 4 {
					t.Errorf("removed %v; want session %d of %s among four", told, n, owner)
				}
			}
			for _, n := range []int{3, 40, 50} {
				session(t, s, n)
			}
			apply(t, s, c)
			if c.Removed != 0 {
				t.Errorf("%d sessions removed the second time, want 0", c.Removed)
			}
		}},
		{"what runs a turn is not pruned, nor what stands above it", func(t *testing.T, s Store) {
			side := next(3, 31)
			side.Turn.Kind = mooring.KindSide
			apply(t, s, newSession(1), childOf(2, 1), newSession(3), newSession(4), ended(1, 1, 0), ended(2, 2, 0), ended(3, 3, 0), ended(4, 4, 0))
			apply(t, s, next(2, 30), side, next(4, 32))
			c := &mooring.Prune{Before: at(29), Limit: 10}
			apply(t, s, c)
			if c.Removed != 0 || len(c.Gone) != 0 {
				t.Errorf("removed %d: %v; want none", c.Removed, c.Gone)
			}
			for _, end := range []*mooring.End{ended(2, 30, 0), ended(3, 31, 0), ended(4, 32, 0)} {
				if code := outcome(t, s, end); code != "" {
					t.Errorf("end of %s: %s", end.Turn.ID, code)
				}
			}
		}},
		{"a prune removes no more roots than it may, the oldest first", func(t *testing.T, s Store) {
			c := &mooring.Prune{Before: at(30), Limit: 2}
			apply(t, s, newSession(3), newSession(1), newSession(2), ended(3, 3, 0), ended(1, 1, 0), ended(2, 2, 0), c)
			if c.Removed != 2 {
				t.Errorf("%d sessions removed, want 2", c.Removed)
			}
			session(t, s, 3)
		}},
		{"a content that came back after its deletion is there again", func(t *testing.T, s Store) {
			again := newSession(2)
			again.Messages = []mooring.Message{large(2, 2, 'x')}
			first := newSession(1)
			first.Messages = []mooring.Message{large(1, 1, 'x')}
			apply(t, s, first, &mooring.Delete{Tenant: tenant, Session: sessionID(1)}, again)
			list, _, err := s.Branch(t.Context(), tenant, sessionID(2), mooring.BranchPage{})
			if err != nil || len(list) != 1 || len(list[0].Content) != 9000 {
				t.Errorf("branch of %d messages, %v; want the content", len(list), err)
			}
		}},
	}
}

func childOf(n, parent int) *mooring.Begin {
	c := newSession(n)
	c.Session.Parent, c.Session.Relation = sessionID(parent), mooring.RelationSubagent
	return c
}

// nothing checks that no read finds anything of a deleted session.
func nothing(t *testing.T, s Store, in int, begun *mooring.Begin) {
	t.Helper()
	ctx := t.Context()
	hits, err := s.AliasHits(ctx, tenant, begun.Aliases)
	if err != nil || len(hits) != 0 {
		t.Errorf("AliasHits = %v, %v; want none", hits, err)
	}
	for _, digest := range []string{"d", "e", "t"} {
		chain, chainErr := s.Chain(ctx, tenant, [][]byte{[]byte(digest)})
		if chainErr != nil || len(chain) != 0 {
			t.Errorf("Chain = %v, %v; want none", chain, chainErr)
		}
	}
	turns, _, err := s.Turns(ctx, tenant, sessionID(in), mooring.TurnPage{})
	if err != nil || len(turns) != 0 {
		t.Errorf("Turns = %v, %v; want none", turns, err)
	}
	messages, err := s.Children(ctx, tenant, sessionID(in), "")
	if err != nil || len(messages) != 0 {
		t.Errorf("Children = %v, %v; want none", messages, err)
	}
	if got := pins(t, s, in); len(got) != 0 {
		t.Errorf("Pins = %v, want none", got)
	}
}
