// These tests say how far identification has to reach: on the traces that are kept, and on traffic that is made up anew for
// each run. MOORING_TEST_SEED repeats a run.
package main

import (
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"mooring/internal/app"
	"mooring/internal/eval"
	"mooring/internal/traffic"
)

// What is reached, in percent.
const (
	placed       = 99.5 // requests in the right session, of all
	placedFamily = 98.0 // of a family
	kinds        = 99.0
	parents      = 98.0
)

func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64N(1e6)
	if text := os.Getenv("MOORING_TEST_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("MOORING_TEST_SEED: %v", err)
		}
	}
	t.Logf("MOORING_TEST_SEED=%d", n)
	return n
}

func replay(t *testing.T, trace *eval.Trace) []eval.Prediction {
	t.Helper()
	found, err := app.Replay(t.Context(), trace, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// scored is what came out of several traces.
type scored struct {
	mu  sync.Mutex // guards the report
	all eval.Report
}

func (s *scored) take(t *testing.T, trace *eval.Trace) {
	t.Helper()
	scores, err := eval.Evaluate(trace, replay(t, trace))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range scores.Families {
		if right, ok := f.Placed.Percent(); ok && right < placedFamily {
			t.Errorf("%s: %.1f %% of the requests are in the right session, want %.1f %%", name, right, placedFamily)
		}
		if f.Split > 0 || f.Merge > 0 || f.Cross > 0 || f.Errors > 0 {
			t.Errorf("%s: split %d, merge %d, cross %d, errors %d, want none", name, f.Split, f.Merge, f.Cross, f.Errors)
		}
	}
	for i, w := range scores.Wrong {
		if i == 5 {
			break
		}
		t.Logf("%s:%d %s, %s %s: %s; found by %s", trace.Name, w.Line.N, w.Line.Client, w.Line.Truth.Kind, w.Line.Truth.Session, strings.Join(w.Why, "; "), w.Found.Identity)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Take(scores)
}

func (s *scored) judge(t *testing.T) {
	t.Helper()
	total := s.all.Total()
	for _, want := range []struct {
		what  string
		share eval.Share
		least float64
	}{{"requests in the right session", total.Placed, placed}, {"kinds", total.Kind, kinds}, {"parents", total.Parent, parents}} {
		if got, ok := want.share.Percent(); !ok || got < want.least {
			t.Errorf("%s: %.2f %% are right, want %.1f %%", want.what, got, want.least)
		}
	}
}

func TestReachOnKeptTraces(t *testing.T) {
	t.Parallel()
	files, err := eval.Files([]string{"testdata"})
	if err != nil {
		t.Fatal(err)
	}
	s := &scored{all: eval.Report{Families: map[string]*eval.Score{}}}
	t.Cleanup(func() { s.judge(t) }) // when all traces are through
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl.gz"), func(t *testing.T) {
			t.Parallel()
			trace, err := eval.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s.take(t, trace)
		})
	}
}

func TestReachOnFreshTraffic(t *testing.T) {
	t.Parallel()
	n := seed(t)
	s := &scored{all: eval.Report{Families: map[string]*eval.Score{}}}
	t.Cleanup(func() { s.judge(t) }) // when all families are through
	for _, name := range traffic.Families() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace, err := traffic.Make(name, traffic.Options{Seed: n})
			if err != nil {
				t.Fatal(err)
			}
			s.take(t, trace)
		})
	}
}
