package eval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"mooring"
)

// Prediction is what an engine made of one line.
type Prediction struct {
	Line     int                `json:"line"`
	Session  string             `json:"session,omitempty"` // any name; empty where the answer named none
	Kind     *mooring.Kind      `json:"kind,omitempty"`    // nil where the engine does not say: it is not scored then, nor is the parent
	Parent   string             `json:"parent,omitempty"`
	Identity string             `json:"identity,omitempty"` // what decided
	Error    string             `json:"error,omitempty"`    // the answer was not the upstream's, or named no session
	Evidence []mooring.Evidence `json:"-"`
	Took     time.Duration      `json:"-"` // to identify the request
}

// Share counts what was right of what was judged.
type Share struct{ Right, Of int }

func (s *Share) count(right bool) { //nolint:revive // what is counted is whether it is so
	s.Of++
	if right {
		s.Right++
	}
}

// Percent gives the share; false where nothing was judged.
func (s Share) Percent() (float64, bool) {
	if s.Of == 0 {
		return 0, false
	}
	return 100 * float64(s.Right) / float64(s.Of), true
}

// Score is how an engine did on a family of requests. Scores add up.
type Score struct {
	Requests int
	True     int   // sessions in the truth
	Found    int   // sessions that the engine made
	Split    int   // true sessions found as more than one
	Merge    int   // found sessions that hold more than one true session
	Cross    int   // found sessions with requests of two tenants
	Errors   int   // answers that were not the upstream's or named no session
	Unscored int   // error answers that named no session
	Placed   Share // requests in the right session
	Kind     Share
	Parent   Share // of those that have a parent or got one
	Took     []time.Duration
}

// Add takes another score in.
func (s *Score) Add(o *Score) {
	s.Requests += o.Requests
	s.True += o.True
	s.Found += o.Found
	s.Split += o.Split
	s.Merge += o.Merge
	s.Cross += o.Cross
	s.Errors += o.Errors
	s.Unscored += o.Unscored
	for _, p := range []struct{ to, from *Share }{{&s.Placed, &o.Placed}, {&s.Kind, &o.Kind}, {&s.Parent, &o.Parent}} {
		p.to.Right += p.from.Right
		p.to.Of += p.from.Of
	}
	s.Took = append(s.Took, o.Took...)
}

// Quantile gives the time that this share of the requests took at most, 0.5 for the median; 0 where none was measured.
func (s *Score) Quantile(q float64) time.Duration {
	if len(s.Took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s.Took))
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*q))]
}

// Wrong is a request that was not placed, called or attached right.
type Wrong struct {
	Line  *Line
	Found Prediction
	Why   []string
}

// Scores are those of one trace.
type Scores struct {
	Families map[string]*Score
	Wrong    []Wrong // in the order of the lines
}

// Names gives the families in order.
func (s *Scores) Names() []string { return slices.Sorted(maps.Keys(s.Families)) }

// talk is a true session: names are given per tenant.
type talk struct{ tenant, session string }

func talkOf(l *Line) talk { return talk{l.Tenant, l.Truth.Session} }

// tally counts labels.
type tally map[string]int

// holds says that no label was counted more often than this one, and that it was counted.
func (t tally) holds(label string) bool {
	return t[label] > 0 && t[label] == slices.Max(slices.Collect(maps.Values(t)))
}

// scoring is the work on one trace.
type scoring struct {
	lines []*Line
	pred  []Prediction
	found []string // the label of each request; empty where it is not scored

	at     map[talk]tally           // labels of a true session's requests, less those that may stand alone
	holds  map[string]map[talk]bool // true sessions in a label
	fams   map[string]*Score
	so     map[talk]tally           // at, so far
	own    map[talk]map[string]bool // labels of requests that may stand alone
	seen   map[string]bool
	misses []Wrong
}

// Evaluate scores predictions for a labelled trace. A request that was answered without a session counts as one of its own; an
// error answer without one is not scored.
func Evaluate(t *Trace, predictions []Prediction) (*Scores, error) {
	if !t.Labelled {
		return nil, fmt.Errorf("%s is not labelled", t.Name)
	}
	byLine := make(map[int]Prediction, len(predictions))
	for _, p := range predictions {
		byLine[p.Line] = p
	}
	s := &scoring{
		lines: t.Requests(), at: map[talk]tally{}, holds: map[string]map[talk]bool{}, fams: map[string]*Score{},
		so: map[talk]tally{}, own: map[talk]map[string]bool{}, seen: map[string]bool{},
	}
	for _, l := range s.lines {
		p := byLine[l.N]
		label := p.Session
		if label == "" && l.Reply.Status == ok {
			label = fmt.Sprintf("?%d", l.N)
		}
		s.pred, s.found = append(s.pred, p), append(s.found, label)
	}
	s.swapTwins()
	s.sessions()
	for i := range s.lines {
		s.request(i)
	}
	return &Scores{Families: s.fams, Wrong: s.misses}, nil
}

func (s *scoring) family(name string) *Score {
	if s.fams[name] == nil {
		s.fams[name] = &Score{}
	}
	return s.fams[name]
}

// sessions counts true and found sessions, splits and merges.
func (s *scoring) sessions() {
	families, tenants := map[string]map[string]bool{}, map[string]map[string]bool{}
	home := map[talk]string{} // the family of a true session's first request
	for i, l := range s.lines {
		key, label := talkOf(l), s.found[i]
		if _, known := home[key]; !known {
			home[key] = l.Family
		}
		if label == "" {
			continue
		}
		insert(s.holds, label, key)
		insert(tenants, label, l.Tenant)
		insert(families, label, l.Family)
		if !l.Truth.OwnOK {
			s.count(s.at, key, label)
		}
	}
	for key, name := range home {
		f := s.family(name)
		f.True++
		f.Split += one(len(s.at[key]) > 1)
	}
	for label, keys := range s.holds {
		for name := range families[label] {
			f := s.family(name)
			f.Found++
			f.Merge += one(len(keys) > 1)
			f.Cross += one(len(tenants[label]) > 1)
		}
	}
}

func insert[K, V comparable](into map[K]map[V]bool, key K, value V) {
	if into[key] == nil {
		into[key] = map[V]bool{}
	}
	into[key][value] = true
}

func (*scoring) count(in map[talk]tally, key talk, label string) {
	if in[key] == nil {
		in[key] = tally{}
	}
	in[key][label]++
}

func one(yes bool) int { //nolint:revive // as above
	if yes {
		return 1
	}
	return 0
}

// request judges one request by what came before it.
func (s *scoring) request(i int) {
	l, p, label := s.lines[i], s.pred[i], s.found[i]
	f, key := s.family(l.Family), talkOf(l)
	f.Requests++
	f.Errors += one(p.Error != "")
	if p.Took > 0 {
		f.Took = append(f.Took, p.Took)
	}
	if label == "" {
		f.Unscored++
		return
	}
	right, why := s.placed(l, label)
	f.Placed.count(right)
	s.seen[label] = true
	if l.Truth.OwnOK {
		insert(s.own, key, label)
	} else {
		s.count(s.so, key, label)
	}
	var faults []string
	if !right {
		faults = append(faults, why)
	}
	faults = append(faults, s.called(f, l, &p)...)
	if len(faults) > 0 {
		p.Session = label
		s.misses = append(s.misses, Wrong{Line: l, Found: p, Why: faults})
	}
}

// placed says whether a label is right for a request, and what is wrong otherwise.
func (s *scoring) placed(l *Line, label string) (right bool, why string) {
	key := talkOf(l)
	alone := len(s.holds[label]) == 1 && s.holds[label][key] // it holds nothing of anybody else
	switch {
	case l.Truth.OwnOK:
		return s.so[key].holdsAny(label) || alone, "a request that names no session sits in somebody else's"
	case len(s.so[key]) == 0:
		return !s.seen[label] || s.own[key][label] && alone, "the first request of a session went into an earlier one"
	case s.so[key].holds(label):
		return true, ""
	case s.seen[label]:
		return false, "it went into another session"
	}
	return false, "it opened a new session"
}

func (t tally) holdsAny(label string) bool { return len(t) > 0 && t.holds(label) }

// called judges kind and parent.
func (s *scoring) called(f *Score, l *Line, p *Prediction) []string {
	if p.Kind == nil {
		return nil
	}
	var faults []string
	f.Kind.count(*p.Kind == l.Truth.Kind)
	if *p.Kind != l.Truth.Kind {
		faults = append(faults, fmt.Sprintf("kind %q instead of %q", *p.Kind, l.Truth.Kind))
	}
	if l.Truth.ParentFree || l.Truth.Parent == nil && p.Parent == "" {
		return faults
	}
	right := l.Truth.Parent != nil && p.Parent != "" && s.at[talk{l.Tenant, *l.Truth.Parent}].holdsAny(p.Parent)
	f.Parent.count(right)
	if !right {
		faults = append(faults, "parent "+cmp.Or(p.Parent, "missing"))
	}
	return faults
}

// maxTwins bounds the assignments that are tried.
const maxTwins = 6

// swapTwins gives the first requests that nothing tells apart that assignment of their labels which suits the later requests best.
func (s *scoring) swapTwins() {
	groups := map[string][]int{}
	var names []string // in the order of their first lines
	for i, l := range s.lines {
		name := l.Truth.Twin
		if name == "" {
			continue
		}
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], i)
	}
	for _, name := range names {
		if group := groups[name]; len(group) <= maxTwins {
			s.assign(group)
		}
	}
}

func (s *scoring) assign(group []int) {
	later := make([]tally, len(group))
	for g, i := range group {
		later[g] = tally{}
		for j, l := range s.lines {
			if !slices.Contains(group, j) && talkOf(l) == talkOf(s.lines[i]) && s.found[j] != "" {
				later[g][s.found[j]]++
			}
		}
	}
	labels := make([]string, len(group))
	for g, i := range group {
		labels[g] = s.found[i]
	}
	best, most := labels, -1
	for order := range permutations(len(group)) {
		fits := 0
		for g, from := range order {
			fits += one(later[g].holdsAny(labels[from]))
		}
		if fits > most {
			most = fits
			best = make([]string, len(order))
			for g, from := range order {
				best[g] = labels[from]
			}
		}
	}
	for g, i := range group {
		s.found[i] = best[g]
	}
}

// permutations yields the orders of n things, the given one first, then as a dictionary has them.
func permutations(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		order := make([]int, 0, n)
		var next func() bool
		next = func() bool {
			if len(order) == n {
				return yield(order)
			}
			for i := range n {
				if slices.Contains(order, i) {
					continue
				}
				order = append(order, i)
				if !next() {
					return false
				}
				order = order[:len(order)-1]
			}
			return true
		}
		next()
	}
}
