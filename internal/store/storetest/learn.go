//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// learnt is a value that a header had in session n.
func learnt(n, turns int) mooring.LearnedValue {
	return mooring.LearnedValue{Session: sessionID(n), Digest: []byte(fmt.Sprint("\x00\xff", n)), Client: []byte{0xff, 0}, Turns: turns, Whole: n == 2, At: at(n)}
}

func learning(headers ...mooring.LearnedHeader) *mooring.Learning {
	return &mooring.Learning{Tenant: tenant, Headers: headers}
}

func learnedOf(t *testing.T, s Store, of mooring.Tenant) []mooring.LearnedHeader {
	t.Helper()
	list, err := s.Learned(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func learnedAlias(name string) mooring.Alias {
	return mooring.Alias{Class: mooring.ClassLearned + mooring.AliasClass(name), Value: "digest"}
}

// named is the session that an alias names; empty for none.
func named(t *testing.T, s Store, a mooring.Alias) mooring.SessionID {
	t.Helper()
	hits, err := s.AliasHits(t.Context(), tenant, []mooring.Alias{a})
	if err != nil {
		t.Fatal(err)
	}
	if len(hits) == 0 {
		return ""
	}
	return hits[0].Session
}

func learnTests() []test {
	return []test{
		{"L-20 what was learned of headers is given back as it was, the values in their order, to its tenant alone", func(t *testing.T, s Store) {
			want := []mooring.LearnedHeader{
				{Name: "x-a", State: mooring.LearnBelieved, Believed: at(5), Doubts: 2, Values: []mooring.LearnedValue{learnt(1, 3), learnt(2, 2)}},
				{Name: "x-b", Values: []mooring.LearnedValue{learnt(1, 1)}},
				{Name: "x-c", State: mooring.LearnRefused, Believed: at(1), Refused: at(6), Why: "for a reason"},
			}
			apply(t, s, newSession(1), newSession(2), learning(
				mooring.LearnedHeader{Name: "x-b", Values: []mooring.LearnedValue{learnt(1, 1)}}, want[2],
				mooring.LearnedHeader{Name: "x-a", State: mooring.LearnBelieved, Believed: at(5), Doubts: 2, Values: []mooring.LearnedValue{learnt(2, 2), learnt(1, 3)}},
			))
			if diff := cmp.Diff(want, learnedOf(t, s, tenant)); diff != "" {
				t.Errorf("Learned (-want +got):\n%s", diff)
			}
			if got := learnedOf(t, s, "globex"); len(got) > 0 {
				t.Errorf("another tenant sees %+v", got)
			}
		}},
		{"a header's state only grows, whoever comes last", func(t *testing.T, s Store) {
			apply(t, s, newSession(1),
				learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnBelieved, Believed: at(2), Values: []mooring.LearnedValue{learnt(1, 3)}}),
				learning(mooring.LearnedHeader{Name: "x-a", Values: []mooring.LearnedValue{learnt(1, 2)}}))
			apply(t, s, learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnBelieved, Believed: at(9), Doubts: 3}))
			if got := learnedOf(t, s, tenant)[0]; got.State != mooring.LearnBelieved || got.Believed != at(2) || got.Doubts != 3 {
				t.Errorf("%+v, want it believed as since the first time, with 3 doubts", got)
			}
			apply(t, s, learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnRefused, Refused: at(3), Why: "first"}),
				learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnBelieved, Believed: at(4), Values: []mooring.LearnedValue{learnt(1, 3)}}),
				learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnRefused, Refused: at(5), Why: "second"}))
			want := mooring.LearnedHeader{Name: "x-a", State: mooring.LearnRefused, Believed: at(2), Refused: at(3), Why: "first"}
			if diff := cmp.Diff([]mooring.LearnedHeader{want}, learnedOf(t, s, tenant)); diff != "" {
				t.Errorf("Learned (-want +got):\n%s", diff)
			}
		}},
		{"L-18 a refusal takes what the header named with it, and leaves all else", func(t *testing.T, s Store) {
			a, b := learnedAlias("x-a"), learnedAlias("x-b")
			c := learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnBelieved}, mooring.LearnedHeader{Name: "x-b", State: mooring.LearnBelieved})
			c.Aliases = []mooring.AliasHit{{Alias: a, Session: sessionID(1)}, {Alias: b, Session: sessionID(1)}}
			apply(t, s, newSession(1), c)
			if named(t, s, a) != sessionID(1) {
				t.Fatal("the alias names nothing")
			}
			late := &mooring.Learning{Tenant: tenant, Aliases: []mooring.AliasHit{{Alias: a, Session: sessionID(1)}}}
			apply(t, s, learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnRefused, Why: "so"}), late)
			if got := named(t, s, a); got != "" || named(t, s, b) != sessionID(1) || named(t, s, newSession(1).Aliases[0]) != sessionID(1) {
				t.Errorf("the refused header names %q, the others %q and %q", got, named(t, s, b), named(t, s, newSession(1).Aliases[0]))
			}
		}},
		{"an alias that is taken stays, and none is given to a session that is not there", func(t *testing.T, s Store) {
			a := learnedAlias("x-a")
			c := learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnBelieved, Values: []mooring.LearnedValue{learnt(9, 3)}})
			c.Aliases = []mooring.AliasHit{{Alias: a, Session: sessionID(9)}, {Alias: a, Session: sessionID(1)}, {Alias: a, Session: sessionID(2)}}
			apply(t, s, newSession(1), newSession(2), c)
			if got := named(t, s, a); got != sessionID(1) {
				t.Errorf("it names %q, want the first that is there", got)
			}
			if got := learnedOf(t, s, tenant)[0].Values; len(got) > 0 {
				t.Errorf("values of no session: %+v", got)
			}
		}},
		{"C161 a deleted session takes its values with it", func(t *testing.T, s Store) {
			c := learning(mooring.LearnedHeader{Name: "x-a", State: mooring.LearnBelieved, Values: []mooring.LearnedValue{learnt(1, 3), learnt(2, 3)}})
			c.Aliases = []mooring.AliasHit{{Alias: learnedAlias("x-a"), Session: sessionID(1)}}
			apply(t, s, newSession(1), newSession(2), c, &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			if got := learnedOf(t, s, tenant)[0].Values; len(got) != 1 || got[0].Session != sessionID(2) || named(t, s, learnedAlias("x-a")) != "" {
				t.Errorf("values %+v; the alias names %q", got, named(t, s, learnedAlias("x-a")))
			}
		}},
		{"what is dropped and forgotten is gone, but not what was found out meanwhile", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), newSession(2), learning(
				mooring.LearnedHeader{Name: "x-a", Values: []mooring.LearnedValue{learnt(1, 1), learnt(2, 1)}},
				mooring.LearnedHeader{Name: "x-b", Values: []mooring.LearnedValue{learnt(1, 1)}},
				mooring.LearnedHeader{Name: "x-c", State: mooring.LearnBelieved, Values: []mooring.LearnedValue{learnt(1, 3)}},
			), &mooring.Learning{Tenant: tenant, Dropped: []mooring.LearnedDrop{{Name: "x-a", Session: sessionID(1)}}, Forgot: []string{"x-b", "x-c"}})
			var got []string
			for _, l := range learnedOf(t, s, tenant) {
				for _, v := range l.Values {
					got = append(got, l.Name+" "+string(v.Session))
				}
			}
			if want := []string{"x-a " + string(sessionID(2)), "x-c " + string(sessionID(1))}; !slices.Equal(got, want) {
				t.Errorf("left: %q, want %q", got, want)
			}
		}},
		{"learning the same again does no harm, and nothing is learned without a tenant", func(t *testing.T, s Store) {
			c := learning(mooring.LearnedHeader{Name: "x-a", Values: []mooring.LearnedValue{learnt(1, 2)}})
			apply(t, s, newSession(1), c)
			before := learnedOf(t, s, tenant)
			apply(t, s, c)
			if diff := cmp.Diff(before, learnedOf(t, s, tenant)); diff != "" {
				t.Errorf("Learned (-before +after):\n%s", diff)
			}
			if got := outcome(t, s, &mooring.Learning{Headers: before}); got != mooring.CodeInternal {
				t.Errorf("outcome %q, want internal", got)
			}
		}},
	}
}
