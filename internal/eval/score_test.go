package eval_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/eval"
)

// judged scores "session kind parent flags" against "session kind parent", a pair a line.
func judged(t *testing.T, rows ...string) (*eval.Score, []eval.Wrong) {
	t.Helper()
	trace := &eval.Trace{Name: "t", Labelled: true}
	var found []eval.Prediction
	for i, row := range rows {
		truth, made, _ := strings.Cut(row, " -> ")
		want, got := strings.Fields(truth), strings.Fields(made)
		tenant, session, _ := strings.Cut(want[0], ":")
		l := eval.Line{N: i + 1, Tenant: tenant, Reply: &eval.Reply{Status: 200}, Truth: &eval.Truth{Session: session, Kind: mooring.Kind(want[1])}, Family: "f"}
		for _, flag := range want[2:] {
			name, value, _ := strings.Cut(flag, "=")
			switch name {
			case "of":
				l.Truth.Parent = &value
			case "own":
				l.Truth.OwnOK = true
			case "twin":
				l.Truth.Twin = value
			case "free":
				l.Truth.ParentFree = true
			case "status":
				_, _ = fmt.Sscan(value, &l.Reply.Status)
			default:
				t.Fatalf("flag %q", flag)
			}
		}
		trace.Lines = append(trace.Lines, l)
		p := eval.Prediction{Line: i + 1}
		if len(got) > 0 {
			p.Session = got[0]
		}
		if len(got) > 1 {
			kind := mooring.Kind(got[1])
			p.Kind = &kind
		}
		if len(got) > 2 {
			p.Parent = got[2]
		}
		found = append(found, p)
	}
	scores, err := eval.Evaluate(trace, found)
	if err != nil {
		t.Fatal(err)
	}
	return scores.Families["f"], scores.Wrong
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule string
		rows []string
		want eval.Score
	}{
		{
			"all is right",
			[]string{"n:A main -> x main", "n:B main -> y main", "n:A main -> x main"},
			eval.Score{Requests: 3, True: 2, Found: 2, Placed: eval.Share{Right: 3, Of: 3}, Kind: eval.Share{Right: 3, Of: 3}},
		},
		{
			"a split is a later request elsewhere",
			[]string{"n:A main -> x", "n:A main -> y", "n:A main -> x"},
			eval.Score{Requests: 3, True: 1, Found: 2, Split: 1, Placed: eval.Share{Right: 2, Of: 3}},
		},
		{
			"a merge is a first request in an earlier session",
			[]string{"n:A main -> x", "n:B main -> x"},
			eval.Score{Requests: 2, True: 2, Found: 1, Merge: 1, Placed: eval.Share{Right: 1, Of: 2}},
		},
		{
			"equal names of two tenants are two sessions",
			[]string{"n:A main -> x", "s:A main -> x"},
			eval.Score{Requests: 2, True: 2, Found: 1, Merge: 1, Cross: 1, Placed: eval.Share{Right: 1, Of: 2}},
		},
		{
			"a request that may stand alone is right alone",
			[]string{"n:A main -> x main", "n:A side own -> y side", "n:A main -> x main"},
			eval.Score{Requests: 3, True: 1, Found: 2, Placed: eval.Share{Right: 3, Of: 3}, Kind: eval.Share{Right: 3, Of: 3}},
		},
		{
			"and right in its session",
			[]string{"n:A main -> x", "n:A side own -> x"},
			eval.Score{Requests: 2, True: 1, Found: 1, Placed: eval.Share{Right: 2, Of: 2}},
		},
		{
			"but wrong in another one",
			[]string{"n:A main -> x", "n:B main -> y", "n:A side own -> y"},
			eval.Score{Requests: 3, True: 2, Found: 2, Merge: 1, Placed: eval.Share{Right: 2, Of: 3}},
		},
		{
			"a session may go on where its side request stood alone",
			[]string{"n:A side own -> x", "n:A main -> x"},
			eval.Score{Requests: 2, True: 1, Found: 1, Placed: eval.Share{Right: 2, Of: 2}},
		},
		{
			"twins may be taken for each other",
			[]string{"n:A main twin=1 -> x", "n:B main twin=1 -> y", "n:A main -> y", "n:B main -> x"},
			eval.Score{Requests: 4, True: 2, Found: 2, Placed: eval.Share{Right: 4, Of: 4}},
		},
		{
			"but not for one",
			[]string{"n:A main twin=1 -> x", "n:B main twin=1 -> x"},
			eval.Score{Requests: 2, True: 2, Found: 1, Merge: 1, Placed: eval.Share{Right: 1, Of: 2}},
		},
		{
			"a parent is where most of its requests are",
			[]string{"n:A main -> x main", "n:A main -> x main", "n:A main -> z main", "n:B subagent of=A -> y subagent x", "n:C subagent of=A -> w subagent z"},
			eval.Score{Requests: 5, True: 3, Found: 4, Split: 1, Placed: eval.Share{Right: 4, Of: 5}, Kind: eval.Share{Right: 5, Of: 5}, Parent: eval.Share{Right: 1, Of: 2}},
		},
		{
			"a parent that is none is wrong",
			[]string{"n:A main -> x main", "n:B main -> y main x"},
			eval.Score{Requests: 2, True: 2, Found: 2, Placed: eval.Share{Right: 2, Of: 2}, Kind: eval.Share{Right: 2, Of: 2}, Parent: eval.Share{Of: 1}},
		},
		{
			"unless any is right",
			[]string{"n:A main -> x main", "n:B main free -> y main x"},
			eval.Score{Requests: 2, True: 2, Found: 2, Placed: eval.Share{Right: 2, Of: 2}, Kind: eval.Share{Right: 2, Of: 2}},
		},
		{
			"an answer without a session is one of its own",
			[]string{"n:A main -> x", "n:A main -> "},
			eval.Score{Requests: 2, True: 1, Found: 2, Split: 1, Placed: eval.Share{Right: 1, Of: 2}},
		},
		{
			"an error without one is not scored",
			[]string{"n:A main -> x", "n:A main status=503 -> "},
			eval.Score{Requests: 2, True: 1, Found: 1, Unscored: 1, Placed: eval.Share{Right: 1, Of: 1}},
		},
		{"a kind that is not said is not scored", []string{"n:A side -> x"}, eval.Score{Requests: 1, True: 1, Found: 1, Placed: eval.Share{Right: 1, Of: 1}}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			got, _ := judged(t, tt.rows...)
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrongRequestsSayWhy(t *testing.T) {
	t.Parallel()
	_, wrong := judged(t, "n:A main -> x main", "n:B main -> x side q", "n:A main -> y main")
	got := make([]string, len(wrong))
	for i, w := range wrong {
		got[i] = fmt.Sprintf("%d %s", w.Line.N, strings.Join(w.Why, "; "))
	}
	want := []string{`2 the first request of a session went into an earlier one; kind "side" instead of "main"; parent q`, "3 it opened a new session"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	s := &eval.Score{}
	if got := s.Quantile(0.5); got != 0 {
		t.Errorf("of nothing = %v, want 0", got)
	}
	for i := range 100 {
		s.Took = append(s.Took, time.Duration(100-i))
	}
	if p50, p99 := s.Quantile(0.5), s.Quantile(0.99); p50 != 51 || p99 != 100 {
		t.Errorf("quantiles = %d, %d, want 51, 100", p50, p99)
	}
}
