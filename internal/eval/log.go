package eval

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/wire"
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
	Lines []int  `json:"lines"` // what it is about, the suspicious request last
	Why   string `json:"why"`
}

// Examine says what decided the requests of a log and what looks wrong.
func Examine(t *Trace, found []Prediction) LogReport {
	r := LogReport{Name: t.Name, Requests: len(found), Evidence: shares(found), Splits: []Suspicion{}, Merges: []Suspicion{}}
	byLine := make(map[int]Prediction, len(found))
	for _, p := range found {
		byLine[p.Line] = p
	}
	x := examination{sessions: map[string]*suspect{}}
	digester := wire.NewDigester([]byte("the messages of a log"), nil)
	for _, l := range t.Requests() {
		p := byLine[l.N]
		if p.Session == "" {
			continue
		}
		now := saidIn(l, digester)
		s := x.sessions[p.Session]
		if s == nil {
			if why := x.split(l, now, &p); why != nil {
				r.Splits = append(r.Splits, *why)
			}
			s = &suspect{line: l, asked: now.question(), ids: map[string]idSeen{}, said: map[string]bool{}, sent: map[string]bool{}}
			x.sessions[p.Session] = s
			x.order = append(x.order, s)
		} else if why := s.foreign(l, now, &p); why != nil {
			r.Merges = append(r.Merges, *why)
		}
		if why := s.otherID(l); why != nil {
			r.Merges = append(r.Merges, *why)
		}
		s.take(now)
	}
	r.Sessions = len(x.sessions)
	return r
}

// shares counts what decided.
func shares(found []Prediction) []Deciding {
	by := map[string]int{}
	for _, p := range found {
		by[cmp.Or(p.Identity, "none")]++
	}
	out := make([]Deciding, 0, len(by))
	for identity, n := range by {
		out = append(out, Deciding{identity, n})
	}
	slices.SortFunc(out, func(a, b Deciding) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Identity, b.Identity))
	})
	return out
}

// examination is the walk through a log.
type examination struct {
	sessions map[string]*suspect
	order    []*suspect
}

// suspect is what is known of a session.
type suspect struct {
	line  *Line  // its first request
	asked string // digest of what that asked, the whole of it
	ids   map[string]idSeen
	said  map[string]bool // digests of its messages so far
	sent  map[string]bool // digests of its whole conversations so far
}

func (s *suspect) take(now said) {
	for _, e := range now.messages {
		s.said[e.digest] = true
	}
	if len(now.messages) > 0 {
		s.sent[now.question()] = true
	}
}

type idSeen struct {
	value string
	line  int
}

const (
	// shortly is how long after another session one that opens alike is suspicious, in seconds.
	shortly = 1800
	// ownWords is from how many bytes of its message on a question is hardly asked twice by chance: greetings are shorter.
	ownWords = 64
)

// question is the digest of the conversation without the beginning of an answer at its end.
func (s said) question() string {
	n := len(s.messages)
	for n > 0 && s.messages[n-1].byModel {
		n--
	}
	return s.prefixes[n]
}

// split suspects a new session that no id named, where an earlier one of the same client opened with the same words: either it
// goes on from there with answers that were not given here, or it asks the very same.
func (x *examination) split(l *Line, now said, p *Prediction) *Suspicion {
	if p.Identity != "minted" || p.Kind == nil || *p.Kind == mooring.KindSide || len(now.messages) == 0 {
		return nil
	}
	for _, s := range slices.Backward(x.order) {
		if s.line.Tenant != l.Tenant || s.line.Client != l.Client || l.T-s.line.T > shortly {
			continue
		}
		at := slices.Index(now.prefixes, s.asked)
		switch {
		case at <= 0:
		case at == len(now.messages) && now.messages[at-1].size >= ownWords:
			return &Suspicion{[]int{s.line.N, l.N}, "the same was asked shortly before; where no id names a session, asking again after an answer opens another one"}
		case at < len(now.messages) && now.messages[at].byModel:
			return &Suspicion{[]int{s.line.N, l.N}, "it goes on from the same words, with an answer that was not given here"}
		}
	}
	return nil
}

// foreign suspects a request that brings a whole history of which nothing was said in its session.
func (s *suspect) foreign(l *Line, now said, p *Prediction) *Suspicion {
	if p.Kind == nil || *p.Kind == mooring.KindSide || *p.Kind == mooring.KindCompaction {
		return nil
	}
	switch p.Identity {
	case "content:summary", "content:spawn", "content:retry", "response:previous_response_id":
		return nil // these say why the words are new
	}
	if slices.ContainsFunc(now.prefixes, func(p string) bool { return s.sent[p] }) {
		return nil
	}
	answered := false
	for _, e := range now.messages {
		answered = answered || e.byModel
		if e.size >= minShared && s.said[e.digest] {
			return nil
		}
	}
	if !answered {
		return nil
	}
	return &Suspicion{[]int{s.line.N, l.N}, "its history shares nothing with what was said in the session before; that may be a history that was replaced by a summary"}
}

// minShared is from how many bytes on a message counts as shared: "ok" is said everywhere.
const minShared = 48

var (
	idName  = regexp.MustCompile(`(session|conversation|thread|chat|task)[-_]?id$`)
	notMine = regexp.MustCompile(`parent|affinity|request|remote`)
)

// otherID suspects a session that shows two values under one name of an id.
func (s *suspect) otherID(l *Line) *Suspicion {
	var why *Suspicion
	for name, value := range idsOf(l) {
		old, seen := s.ids[name]
		if seen && old.value != value && why == nil {
			why = &Suspicion{[]int{old.line, l.N}, fmt.Sprintf("one session shows two values of %s", name)}
		}
		s.ids[name] = idSeen{value, l.N}
	}
	return why
}

func idsOf(l *Line) map[string]string {
	out := map[string]string{}
	take := func(where, name, value string) {
		if name = strings.ToLower(name); len(value) >= minID && idName.MatchString(name) && !notMine.MatchString(name) {
			out[where+" "+name] = value
		}
	}
	for name, values := range l.Headers {
		take("header", name, values[0])
	}
	for name, value := range readSent(l.Body).fields {
		text, _ := value.(string)
		take("field", name, text)
	}
	return out
}

// minID keeps placeholders out: they are short.
const minID = 10
