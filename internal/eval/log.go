package eval

import (
	"cmp"
	"slices"
)

// LogReport is what an access log shows. Without the truth there are no rates, only suspicions.
type LogReport struct {
	Name     string      `json:"name"`
	Requests int         `json:"requests"`
	Sessions int         `json:"sessions"`
	Evidence []Deciding  `json:"evidence"` // the most frequent first
	Splits   []Suspicion `json:"suspected_splits"`
	Merges   []Suspicion `json:"suspected_merges"`
}

// Deciding is how many requests one kind of evidence decided.
type Deciding struct {
	Identity string `json:"identity"`
	Requests int    `json:"requests"`
}

// Suspicion is something that a person should look at.
type Suspicion struct {
	Lines []int  `json:"lines"`
	Why   string `json:"why"`
}

// Examine says what decided and what looks wrong.
func Examine(t *Trace, found []Prediction) LogReport {
	r := LogReport{Name: t.Name, Requests: len(found)}
	by, sessions := map[string]int{}, map[string]bool{}
	for _, p := range found {
		by[cmp.Or(p.Identity, "none")]++
		sessions[p.Session] = true
	}
	delete(sessions, "")
	r.Sessions = len(sessions)
	for identity, n := range by {
		r.Evidence = append(r.Evidence, Deciding{identity, n})
	}
	slices.SortFunc(r.Evidence, func(a, b Deciding) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Identity, b.Identity))
	})
	return r
}

// FillReplies is to be written.
func FillReplies(*Trace) {}
