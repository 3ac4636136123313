package main

import (
	"fmt"
	"testing"

	"mooring/internal/eval"
)

// TestWaysOnKeptTraces holds the simple ways against what they are known to make of the kept traces, and the truth against them:
// a trace that they place right proves nothing.
func TestWaysOnKeptTraces(t *testing.T) {
	t.Parallel()
	files, err := eval.Files([]string{"testdata"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a": "63 split, 47 merged, 76.9 % right", "b": "50 split, 29 merged, 82.6 % right", "c": "202 split, 36 merged, 56.1 % right",
		"d": "106 split, 18 merged, 74.9 % right", "e": "35 split, 38 merged, 85.6 % right",
	}
	r := eval.Report{Baselines: map[string]map[string]*eval.Score{}}
	for _, file := range files {
		trace, err := eval.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range eval.Ways() {
			scores, err := eval.Evaluate(trace, way.Predict(trace))
			if err != nil {
				t.Fatal(err)
			}
			r.TakeBaseline(way.Name, scores)
		}
	}
	for _, way := range eval.Ways() {
		s := eval.Sum(r.Baselines[way.Name])
		right, _ := s.Placed.Percent()
		if got := fmt.Sprintf("%d split, %d merged, %.1f %% right", s.Split, s.Merge, right); got != want[way.Name] {
			t.Errorf("%s (%s): %s, want %s", way.Name, way.Does, got, want[way.Name])
		}
	}
}
