package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/eval"
	"mooring/internal/traffic"
)

// placing says of each request what was made of it, with sessions named in the order in which they appear.
func placing(t *testing.T, lines []*eval.Line, found []eval.Prediction) []string {
	t.Helper()
	by := map[int]eval.Prediction{}
	for _, p := range found {
		by[p.Line] = p
	}
	names := map[string]string{"": "none"}
	name := func(session string) string {
		if names[session] == "" {
			names[session] = fmt.Sprintf("s%d", len(names))
		}
		return names[session]
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		p := by[l.N]
		kind := "none"
		if p.Kind != nil {
			kind = string(*p.Kind)
		}
		out[i] = fmt.Sprintf("%d: %s %s of %s", i, kind, name(p.Session), name(p.Parent))
	}
	return out
}

func trafficOf(t *testing.T, name string, o traffic.Options) *eval.Trace {
	t.Helper()
	trace, err := traffic.Make(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// trees takes a trace apart into its conversations, each with what is below it, in the order of their first requests.
func trees(trace *eval.Trace) [][]*eval.Line {
	parent := map[string]string{}
	for _, l := range trace.Requests() {
		if l.Truth.Parent != nil {
			parent[l.Tenant+l.Truth.Session] = l.Tenant + *l.Truth.Parent
		}
	}
	at := map[string]int{}
	var out [][]*eval.Line
	for _, l := range trace.Requests() {
		root := l.Tenant + l.Truth.Session
		for parent[root] != "" {
			root = parent[root]
		}
		i, known := at[root]
		if !known {
			i = len(out)
			at[root], out = i, append(out, nil)
		}
		out[i] = append(out[i], l)
	}
	return out
}

// sequence makes a trace of lines in this order; they keep their numbers.
func sequence(name string, lines []*eval.Line) *eval.Trace {
	out := &eval.Trace{Name: name, Labelled: true}
	for i, l := range lines {
		line := *l
		line.T = float64(i)
		out.Lines = append(out.Lines, line)
	}
	return out
}

// TestInterleavingChangesNothing: whatever order the requests of different conversations come in, each conversation is
// recognised as it is alone.
func TestInterleavingChangesNothing(t *testing.T) {
	t.Parallel()
	n := seed(t)
	for _, name := range []string{"weave", "coders_chat", "coders_messages", "branches", "windows", "chains", "ids", "subagents", "compaction", "side_ids"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(n, 1))
			all := trees(trafficOf(t, name, traffic.Options{Seed: n}))
			all = all[:min(8, len(all))] // a store for each
			next, mixed := make([]int, len(all)), []*eval.Line(nil)
			for {
				var open []int
				for i := range all {
					if next[i] < len(all[i]) {
						open = append(open, i)
					}
				}
				if len(open) == 0 {
					break
				}
				i := open[rng.IntN(len(open))]
				mixed = append(mixed, all[i][next[i]])
				next[i]++
			}
			together := replay(t, sequence(name, mixed))
			owner := map[string]int{}
			where := map[int]int{}
			for i, lines := range all {
				for _, l := range lines {
					where[l.N] = i
				}
				alone := placing(t, lines, replay(t, sequence(name, lines)))
				if diff := cmp.Diff(alone, placing(t, lines, together)); diff != "" {
					t.Errorf("conversation %d (-alone +among others):\n%s", i, diff)
				}
			}
			for _, p := range together {
				if i, known := owner[p.Session]; known && i != where[p.Line] && p.Session != "" {
					t.Errorf("conversations %d and %d share a session at line %d", i, where[p.Line], p.Line)
				}
				owner[p.Session] = where[p.Line]
			}
		})
	}
}

// seedsTried is how often traffic is made up anew of which by chance no history was changed: some families are small.
const seedsTried = 50

// rewritten gives a family's traffic as it is, and with histories that clients have changed.
func rewritten(t *testing.T, name string, first uint64) (plain, changed *eval.Trace) {
	t.Helper()
	for n := first; n < first+seedsTried; n++ {
		plain, changed = trafficOf(t, name, traffic.Options{Seed: n, Plain: true}), trafficOf(t, name, traffic.Options{Seed: n})
		differ := false
		for i, l := range plain.Requests() {
			other := changed.Requests()[i]
			if other.Truth.Session != l.Truth.Session {
				t.Fatalf("line %d is another request", l.N)
			}
			differ = differ || !bytes.Equal(l.Body, other.Body)
		}
		if differ {
			return plain, changed
		}
	}
	t.Fatal("no history was changed")
	return nil, nil
}

// TestRewritingChangesNothing: what clients do to a history without meaning anything leaves each request where it was.
func TestRewritingChangesNothing(t *testing.T) {
	t.Parallel()
	n := seed(t)
	for _, name := range []string{"rewrites", "coders_chat", "coders_messages", "coders_responses", "weave", "windows", "branches", "pictures", "subagents", "claude"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, changed := rewritten(t, name, n)
			want := placing(t, plain.Requests(), replay(t, plain))
			if diff := cmp.Diff(want, placing(t, changed.Requests(), replay(t, changed))); diff != "" {
				t.Errorf("(-as it is +rewritten):\n%s", diff)
			}
		})
	}
}

// TestTenantsKnowNothingOfEachOther: what one tenant sends, be it the very same, changes no answer for another.
func TestTenantsKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	n := seed(t)
	for _, name := range traffic.Families() {
		if name == "everything" {
			continue // all of it is in the others
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace := trafficOf(t, name, traffic.Options{Seed: n})
			var own []eval.Line
			for _, l := range trace.Lines {
				if l.Restart || l.Tenant == "north" {
					own = append(own, l)
				}
			}
			trace.Lines = own
			want := placing(t, trace.Requests(), replay(t, trace))
			shadowed := &eval.Trace{Name: name, Labelled: true}
			rng := rand.New(rand.NewPCG(n, 2))
			for _, l := range own {
				if !l.Restart && rng.IntN(4) > 0 {
					shadowed.Lines = append(shadowed.Lines, shadow(l))
				}
				shadowed.Lines = append(shadowed.Lines, l)
			}
			if diff := cmp.Diff(want, placing(t, trace.Requests(), replay(t, shadowed))); diff != "" {
				t.Errorf("(-alone +beside another tenant):\n%s", diff)
			}
		})
	}
}

// shadow is the same request of another tenant. What a server made has an id of its own: nobody can have been given another's.
func shadow(l eval.Line) eval.Line {
	l.Tenant, l.N = "shadow", -l.N
	for _, prefix := range []string{"resp_", "conv_"} {
		l.Body = bytes.ReplaceAll(l.Body, []byte(`"`+prefix), []byte(`"`+prefix+"a"))
		if reply := *l.Reply; strings.HasPrefix(reply.ID, prefix) {
			reply.ID = prefix + "a" + strings.TrimPrefix(reply.ID, prefix)
			l.Reply = &reply
		}
	}
	return l
}
