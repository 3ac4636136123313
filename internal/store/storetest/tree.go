//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"mooring"
)

// spentBy is what n turns as ended makes them took.
func spentBy(n int) mooring.Spending {
	cost := 0.25 * float64(n)
	return mooring.Spending{
		Usage: mooring.Usage{Input: mooring.Count(int64(10 * n)), Output: mooring.Count(int64(2 * n))}, CostUSD: &cost,
	}
}

// below begins turn n of session in, which goes below parent.
func below(in, parent, n int) *mooring.Begin {
	c := next(in, n)
	c.Attach, c.Session.Parent, c.Session.Relation = true, sessionID(parent), mooring.RelationSubagent
	return c
}

func unpricedEnd(in, n int) *mooring.End {
	c := ended(in, n, 0)
	c.Turn.CostUSD = nil
	return c
}

func treeTests() []test {
	return []test{
		{"C112 a tree's use is its own and that of all below it, for many trees at once", func(t *testing.T, s Store) {
			fork := childOf(5, 4)
			fork.Session.Relation = mooring.RelationFork
			apply(t, s, newSession(1), childOf(2, 1), childOf(3, 2), newSession(4), fork, newSession(6))
			for n := 1; n <= 5; n++ {
				apply(t, s, ended(n, n, 0))
			}
			got, err := s.TreeUse(t.Context(), tenant, []mooring.SessionID{
				sessionID(1), sessionID(2), sessionID(3), sessionID(4), sessionID(6), sessionID(77),
			})
			none := 0.0
			want := map[mooring.SessionID]mooring.Spending{
				sessionID(1): spentBy(3), sessionID(2): spentBy(2), sessionID(3): spentBy(1), sessionID(4): spentBy(2),
				sessionID(6): {CostUSD: &none},
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("TreeUse: %v (-want +got):\n%s", err, diff)
			}
			if got, err = s.TreeUse(t.Context(), "globex", []mooring.SessionID{sessionID(1)}); len(got) != 0 || err != nil {
				t.Errorf("TreeUse of another tenant: %v, %v; want nothing", got, err)
			}
		}},
		{"C109 the cost of a tree is unknown where one part's is", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), childOf(2, 1), ended(1, 1, 0), unpricedEnd(2, 2))
			got, err := s.TreeUse(t.Context(), tenant, []mooring.SessionID{sessionID(1)})
			if one := got[sessionID(1)]; err != nil || one.CostUSD != nil || one.Usage.Input != mooring.Count(20) {
				t.Errorf("TreeUse = %+v, %v; want 20 tokens and no price", got, err)
			}
		}},
		{"a session whose parent came later goes below it, with all that stands below it", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), childOf(2, 1), newSession(3), childOf(4, 3))
			attach := below(3, 2, 10)
			apply(t, s, attach)
			for n, want := range map[int]mooring.SessionID{3: sessionID(2), 4: sessionID(3)} {
				if got := session(t, s, n); got.Parent != want || got.Root != sessionID(1) || got.Relation != mooring.RelationSubagent {
					t.Errorf("session %d: parent %s, root %s, %s; want it below %s", n, got.Parent, got.Root, got.Relation, want)
				}
			}
			apply(t, s, attach) // once more, as after a commit whose answer was lost
			moved := below(3, 1, 11)
			apply(t, s, moved)
			if got := session(t, s, 3); got.Parent != sessionID(2) || got.Root != sessionID(1) || got.Turns != 3 {
				t.Errorf("a parent that is there is replaced: %s, root %s, %d turns", got.Parent, got.Root, got.Turns)
			}
		}},
		{"a session goes below nothing that is gone, its own, or below it", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), childOf(2, 1), childOf(3, 2), newSession(4))
			other := newSession(5)
			other.Session.Tenant, other.Turn.Tenant = "globex", "globex"
			apply(t, s, other)
			for i, parent := range []int{77, 1, 2, 3, 5} {
				apply(t, s, below(1, parent, 20+i))
				if got := session(t, s, 1); got.Parent != "" || got.Root != sessionID(1) || got.Relation != mooring.RelationMain {
					t.Errorf("below %d: parent %s, root %s, %s; want none", parent, got.Parent, got.Root, got.Relation)
				}
			}
			apply(t, s, next(4, 30))
			if got := session(t, s, 4); got.Parent != "" {
				t.Errorf("parent %s of a turn that attaches nothing", got.Parent)
			}
		}},
		{"descendants are all below a session, oldest first, up to a limit", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), childOf(4, 1), childOf(2, 1), childOf(3, 4), childOf(5, 3), newSession(9))
			for limit, want := range map[int]int{10: 4, 4: 4, 3: 3} {
				list, more, err := s.Descendants(t.Context(), tenant, sessionID(1), limit)
				if err != nil || len(list) != want || more != (limit < 4) {
					t.Errorf("Descendants up to %d: %d, %v, %v; want %d", limit, len(list), more, err, want)
				}
			}
			list, _, err := s.Descendants(t.Context(), tenant, sessionID(1), 10)
			var got []mooring.SessionID
			for _, one := range list {
				got = append(got, one.ID)
			}
			if diff := cmp.Diff([]mooring.SessionID{sessionID(2), sessionID(3), sessionID(4), sessionID(5)}, got); diff != "" || err != nil {
				t.Errorf("Descendants: %v (-want +got):\n%s", err, diff)
			}
			if list, _, err = s.Descendants(t.Context(), "globex", sessionID(1), 10); len(list) != 0 || err != nil {
				t.Errorf("Descendants of another tenant: %v, %v; want none", list, err)
			}
		}},
		{"C111 a tenant's figures are the sums of its sessions and of its recent turns", func(t *testing.T, s Store) {
			side := newSession(3)
			side.Turn.Kind = mooring.KindSide
			foreign := newSession(9)
			foreign.Session.Tenant = "globex"
			apply(t, s, newSession(1), newSession(2), side, foreign, ended(1, 1, 0), unpricedEnd(3, 3),
				&mooring.Patch{Tenant: tenant, Session: sessionID(2), Archived: new(true)})
			recent := next(1, 0)
			recent.Turn.ID, recent.Turn.StartedAt, recent.Turn.Upstream = recentID(t, 50), at(50), "north"
			end := ended(1, 0, 0)
			end.Turn.ID, end.Turn.EndedAt = recent.Turn.ID, at(51)
			apply(t, s, recent, end)
			got, err := s.Figures(t.Context(), tenant, at(40))
			spent := spentBy(3)
			spent.CostUSD = nil
			want := mooring.Figures{
				Sessions: 2, Side: 1, Archived: 1, Turns: 3, Spent: spent,
				Recent: []mooring.Tally{{State: mooring.Completed, Upstream: "north", Model: "model-a", Turns: 1, Spent: spentBy(1)}},
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Figures: %v (-want +got):\n%s", err, diff)
			}
			none := 0.0
			got, err = s.Figures(t.Context(), "nobody", at(0))
			if diff := cmp.Diff(mooring.Figures{Spent: mooring.Spending{CostUSD: &none}}, got); diff != "" || err != nil {
				t.Errorf("Figures of nobody: %v (-want +got):\n%s", err, diff)
			}
		}},
	}
}

// recentID is the id of a turn of that second: ids begin with their time.
func recentID(t *testing.T, second int) mooring.TurnID {
	t.Helper()
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(at(second))); err != nil {
		t.Fatal(err)
	}
	return mooring.TurnID("trn_" + id.String())
}
