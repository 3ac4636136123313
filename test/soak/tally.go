package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"mooring/test/harness"
)

// tally counts what happened, and keeps the first of what went wrong.
type tally struct {
	mu     sync.Mutex // guards the fields below
	counts map[string]int
	wrong  []string
	more   int // faults beyond those that are kept
}

// mostWrong faults are kept in words.
const mostWrong = 20

func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts, t.wrong, t.more = nil, nil, 0
}

func (t *tally) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += n
}

func (t *tally) count(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

func (t *tally) fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wrong) == mostWrong {
		t.more++
		return
	}
	t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
}

// seen counts a turn. Nothing is broken here, so whoever stays until the end gets a right answer.
func (t *tally) seen(s *harness.Seen) {
	t.add(string(s.Outcome), 1)
	if s.Outcome != harness.Answered {
		t.fail("%s", s)
	}
}

func (t *tally) faults() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.wrong)
	if t.more > 0 {
		all = append(all, fmt.Sprintf("… and %d more", t.more))
	}
	return all
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", t.counts[what], what))
	}
	return strings.Join(parts, ", ")
}
