package route_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/route"
)

// candidates makes candidates of weight 1 that are well.
func candidates(names ...string) []route.Candidate {
	out := make([]route.Candidate, len(names))
	for i, name := range names {
		out[i] = route.Candidate{Name: mooring.UpstreamName(name), Weight: 1, Up: true}
	}
	return out
}

func names(all []route.Candidate) []string {
	out := make([]string, len(all))
	for i, c := range all {
		out[i] = string(c.Name)
	}
	return out
}

// firsts counts which candidate comes first for n sessions.
func firsts(n int, p route.Policy, all []route.Candidate) map[string]int {
	out := map[string]int{}
	for i := range n {
		out[string(route.Order(p, fmt.Sprint("ses_", i), uint64(i), all)[0].Name)]++
	}
	return out
}

// near says that a count is within a tenth of all of what is expected.
func near(got, n int, share float64) bool {
	return math.Abs(float64(got)-float64(n)*share) < float64(n)/10
}

func TestSpread(t *testing.T) {
	t.Parallel()
	const n = 3000
	for _, p := range []route.Policy{route.Rendezvous, route.LeastBusy, route.RoundRobin} {
		got := firsts(n, p, candidates("a", "b", "c"))
		for _, name := range []string{"a", "b", "c"} {
			if !near(got[name], n, 1.0/3) {
				t.Errorf("%s: %v, want a third each", p, got)
			}
		}
	}
	heavy := candidates("a", "b", "c")
	heavy[1].Weight = 2
	got := firsts(n, route.Rendezvous, heavy)
	if !near(got["a"], n, .25) || !near(got["b"], n, .5) || !near(got["c"], n, .25) {
		t.Errorf("with b of weight 2: %v, want a half there", got)
	}
}

func TestRendezvousMovesOnlyWhatItMust(t *testing.T) {
	t.Parallel()
	const n = 2000
	before, after := candidates("a", "b", "c"), candidates("d", "c", "a", "b")
	moved := 0
	for i := range n {
		key := fmt.Sprint("ses_", i)
		old, now := route.Order(route.Rendezvous, key, 0, before), route.Order(route.Rendezvous, key, 0, after)
		if now[0].Name == "d" {
			moved++
		}
		left := slices.DeleteFunc(now, func(c route.Candidate) bool { return c.Name == "d" })
		if diff := cmp.Diff(names(old), names(left)); diff != "" {
			t.Fatalf("%s: a candidate that joined or left has changed the order of the others:\n%s", key, diff)
		}
	}
	if !near(moved, n, .25) {
		t.Errorf("%d of %d go to the one that joined, want a quarter", moved, n)
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	down, full, drained := candidates("a", "b", "c"), candidates("a", "b", "c"), candidates("a", "b", "c")
	down[0].Up, full[0].Full, drained[0].Drained = false, true, true
	allBad := candidates("drained", "down", "resting", "full")
	allBad[0].Drained, allBad[1].Up, allBad[2].Resting, allBad[3].Full = true, false, true, true
	busy := candidates("a", "b", "c")
	busy[0].InFlight, busy[1].InFlight, busy[2].InFlight = 4, 3, 9
	busy[2].Weight = 5
	for _, tt := range []struct {
		rule string
		p    route.Policy
		turn uint64
		all  []route.Candidate
		want []string // nil: only what is said of the last
		last string
	}{
		{"round robin begins where the turn says", route.RoundRobin, 4, candidates("a", "b", "c"), []string{"b", "c", "a"}, ""},
		{"round robin keeps its order around", route.RoundRobin, 5, candidates("a", "b", "c"), []string{"c", "a", "b"}, ""},
		{"the least busy comes first, by weight", route.LeastBusy, 0, busy, []string{"c", "b", "a"}, ""},
		{"who is down comes last", route.RoundRobin, 0, down, []string{"b", "c", "a"}, ""},
		{"who is full comes last", route.RoundRobin, 0, full, []string{"b", "c", "a"}, ""},
		{"who is drained comes last", route.RoundRobin, 0, drained, []string{"b", "c", "a"}, ""},
		{"full is better than resting, that than down, and that than drained", route.RoundRobin, 0, allBad, []string{"full", "resting", "down", "drained"}, ""},
		{"rendezvous leaves out who is down until nobody else is there", route.Rendezvous, 0, down, nil, "a"},
		{"least busy too", route.LeastBusy, 0, down, nil, "a"},
		{"one candidate is the order", route.RoundRobin, 7, candidates("a"), []string{"a"}, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			input := slices.Clone(tt.all)
			got := names(route.Order(tt.p, "ses_1", tt.turn, tt.all))
			if tt.want != nil && !slices.Equal(got, tt.want) || tt.last != "" && got[len(got)-1] != tt.last {
				t.Errorf("Order = %v, want %v%s", got, tt.want, tt.last)
			}
			if diff := cmp.Diff(input, tt.all); diff != "" {
				t.Errorf("the candidates were changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTaking(t *testing.T) {
	t.Parallel()
	all := candidates("a", "b", "c")
	all[1].Drained, all[2].Up, all[2].Full, all[2].Resting = true, false, true, true
	if got := names(route.Taking(all)); !slices.Equal(got, []string{"a", "c"}) || len(all) != 3 || all[1].Name != "b" {
		t.Errorf("Taking = %v of %v, want all that are not drained", got, names(all))
	}
	all[0].Drained, all[2].Drained = true, true
	if got := route.Taking(all); len(got) != 0 {
		t.Errorf("Taking = %v, want none", names(got))
	}
}

func TestSetKey(t *testing.T) {
	t.Parallel()
	if got := route.SetKey(candidates("b", "a", "c")); got != "a,b,c" || got != route.SetKey(candidates("c", "b", "a")) {
		t.Errorf("SetKey = %q, want a,b,c in any order", got)
	}
	if got := route.SetKey(candidates("a")); got != "a" {
		t.Errorf("SetKey = %q, want a", got)
	}
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	const n = 3000
	c := candidates("u1")[0]
	if got := route.AccountFor("ses_1", c); got != "" {
		t.Errorf("AccountFor without accounts = %q", got)
	}
	c.Accounts = []route.Account{{Name: "x", Weight: 3}, {Name: "y"}}
	more := c
	more.Accounts = append(slices.Clone(c.Accounts), route.Account{Name: "z", Weight: 1})
	share := map[mooring.AccountName]int{}
	for i := range n {
		key := fmt.Sprint("ses_", i)
		first := route.AccountFor(key, c)
		share[first]++
		if again := route.AccountFor(key, c); again != first {
			t.Fatalf("%s: %s, then %s", key, first, again)
		}
		if now := route.AccountFor(key, more); now != first && now != "z" {
			t.Fatalf("%s: an account that joined has moved it from %s to %s", key, first, now)
		}
	}
	if !near(share["x"], n, .75) || !near(share["y"], n, .25) {
		t.Errorf("%v, want three to one", share)
	}
	more.Accounts[0].Resting = true
	for i := range 100 {
		key := fmt.Sprint("ses_", i)
		switch first, now := route.AccountFor(key, c), route.AccountFor(key, more); {
		case now == "x":
			t.Fatalf("%s is given x, which rests", key)
		case first == "y" && now == "x":
			t.Fatalf("%s: a rest of x has moved it off y", key)
		}
	}
	more.Accounts[1].Resting, more.Accounts[2].Resting = true, true
	if got := route.AccountFor("ses_1", more); got == "" {
		t.Error("none is given where all rest")
	}
}
