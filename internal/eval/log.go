package eval

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mooring"
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
	for _, l := range t.Requests() {
		p := byLine[l.N]
		if p.Session == "" {
			continue
		}
		now := readSent(l.Body)
		s := x.sessions[p.Session]
		if s == nil {
			if why := x.split(l, now, &p); why != nil {
				r.Splits = append(r.Splits, *why)
			}
			s = &suspect{line: l, opener: now.opener, ids: map[string]idSeen{}, said: map[string]bool{}}
			x.sessions[p.Session] = s
			x.order = append(x.order, s)
		} else if why := s.foreign(l, now, &p); why != nil {
			r.Merges = append(r.Merges, *why)
		}
		if why := s.otherID(l, now); why != nil {
			r.Merges = append(r.Merges, *why)
		}
		s.take(l, now)
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
	line   *Line // its first request
	opener string
	ids    map[string]idSeen
	said   map[string]bool // messages and answers so far, by their texts
}

type idSeen struct {
	value string
	line  int
}

const (
	// shortly is how long after another session one that opens alike is suspicious, in seconds.
	shortly = 1800
	// ownWords is from how many bytes on an opening is hardly said twice by chance: greetings are shorter.
	ownWords = 40
)

// split suspects a new session that no id named: it opens with the same words as an earlier one of the same client, and either
// brings a history that was tied to none or asks the very same again.
func (x *examination) split(l *Line, now *sent, p *Prediction) *Suspicion {
	if p.Identity != "minted" || p.Kind == nil || *p.Kind == mooring.KindSide || now.opener == "" {
		return nil
	}
	for _, s := range slices.Backward(x.order) {
		if s.line.Tenant != l.Tenant || s.line.Client != l.Client || l.T-s.line.T > shortly || s.opener != now.opener {
			continue
		}
		lines := []int{s.line.N, l.N}
		switch {
		case now.answers() > 0:
			return &Suspicion{lines, "it opens with the same words, and its history holds no answer that was given here"}
		case len(now.opener) >= ownWords:
			return &Suspicion{lines, "the same question was asked shortly before; a retry or a regeneration opens a session of its own where nothing names one"}
		}
	}
	return nil
}

// foreign suspects a request that brings a whole history of which nothing was said in its session.
func (s *suspect) foreign(l *Line, now *sent, p *Prediction) *Suspicion {
	if p.Kind == nil || *p.Kind == mooring.KindSide || *p.Kind == mooring.KindCompaction || now.answers() == 0 {
		return nil
	}
	switch p.Identity {
	case "content:summary", "content:spawn", "content:retry", "response:previous_response_id":
		return nil // these say why the words are new
	}
	for _, m := range now.messages {
		if text := textIn(m["content"]); len(text) >= minShared && s.said[strings.TrimSpace(text)] {
			return nil
		}
	}
	return &Suspicion{[]int{s.line.N, l.N}, "its history shares nothing with what was said in the session before"}
}

// minShared is from how many bytes on a text counts as shared: "ok" is said everywhere.
const minShared = 12

var (
	idName  = regexp.MustCompile(`(session|conversation|thread|chat|task)[-_]?id$`)
	notMine = regexp.MustCompile(`parent|affinity|request|remote`)
)

// otherID suspects a session that shows two values under one name of an id.
func (s *suspect) otherID(l *Line, now *sent) *Suspicion {
	var why *Suspicion
	for name, value := range idsOf(l, now) {
		old, seen := s.ids[name]
		if seen && old.value != value && why == nil {
			why = &Suspicion{[]int{old.line, l.N}, fmt.Sprintf("one session shows two values of %s", name)}
		}
		s.ids[name] = idSeen{value, l.N}
	}
	return why
}

func idsOf(l *Line, now *sent) map[string]string {
	out := map[string]string{}
	for name, values := range l.Headers {
		name = strings.ToLower(name)
		if len(values) > 0 && len(values[0]) >= minID && idName.MatchString(name) && !notMine.MatchString(name) {
			out["header "+name] = values[0]
		}
	}
	for name, value := range now.fields {
		if text, ok := value.(string); ok && len(text) >= minID && idName.MatchString(strings.ToLower(name)) && !notMine.MatchString(name) {
			out["field "+name] = text
		}
	}
	return out
}

// minID keeps placeholders out: they are short.
const minID = 10

// take notes what a request and its answer said.
func (s *suspect) take(l *Line, now *sent) {
	for _, m := range now.messages {
		s.said[strings.TrimSpace(textIn(m["content"]))] = true
	}
	if l.Reply != nil {
		s.said[strings.TrimSpace(l.Reply.Text)] = true
	}
}

// answers counts the answers that the request holds.
func (s *sent) answers() int {
	n := 0
	for _, m := range s.messages {
		n += one(m["role"] == "assistant")
	}
	return n
}
