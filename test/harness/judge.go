package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rules are what a fault allows.
type Rules struct {
	Excused func(*Seen) bool // whether a connection that broke or was refused is the fault's own doing; nil: none is
	Moves   bool             // a session may move to another upstream
	Errors  bool             // there may be errors at all
	Exact   bool             // the store has no fault: whoever was told of an error has no completed turn
	Settle  time.Duration    // how long a turn may be running after its client has gone
}

// Fault is something that must not be, under one of the names that Verdict counts.
type Fault struct{ What, Detail string }

// What the judge finds wrong.
const (
	Lost       = "lost"        // the client saw the end, and the turn is not stored as completed with its text
	Doubled    = "doubled"     // stored more than once
	Split      = "split"       // one conversation in several sessions
	Strayed    = "strayed"     // a session at another upstream than its own
	Stuck      = "running"     // a turn that nobody runs is still running
	Unstable   = "two states"  // a final state changed, or two replicas tell different ones
	Misled     = "false end"   // a success that is none
	Unclear    = "unclear"     // no answer, and no error that says why
	Unexpected = "unexpected"  // an error where there was none to expect
	NoReturn   = "no recovery" // it did not work again in time
)

// Verdict is what came of one repetition or of several.
type Verdict struct {
	Requests, Answers, Errors, Cuts int
	Sessions, Turns                 int
	Interrupted                     int
	Passed                          int             // requests that a load balancer gave to another replica
	Recovery                        []time.Duration // from the end of the fault to an answer for every client
	Settled                         []time.Duration // from the death of a replica to the end of its turns
	Faults                          []Fault
}

// Add takes another verdict in.
func (v *Verdict) Add(o *Verdict) {
	v.Requests += o.Requests
	v.Answers += o.Answers
	v.Errors += o.Errors
	v.Cuts += o.Cuts
	v.Sessions += o.Sessions
	v.Turns += o.Turns
	v.Interrupted += o.Interrupted
	v.Passed += o.Passed
	v.Recovery = append(v.Recovery, o.Recovery...)
	v.Settled = append(v.Settled, o.Settled...)
	v.Faults = append(v.Faults, o.Faults...)
}

// Fail notes a fault.
func (v *Verdict) Fail(what, format string, args ...any) {
	v.Faults = append(v.Faults, Fault{what, fmt.Sprintf(format, args...)})
}

// Count says how many faults of some kinds there are.
func (v *Verdict) Count(what ...string) (n int) {
	for _, f := range v.Faults {
		if slices.Contains(what, f.What) {
			n++
		}
	}
	return n
}

// Judge holds what clients saw against what is stored. It remembers the final states, to see that they stay.
type Judge struct {
	Replicas []*Replica
	Models   *Models
	Rules    Rules
	Died     time.Time // when what was running last lost its replica; zero where that is no fault here

	mu     sync.Mutex // guards the fields below
	states map[string]string
	open   map[string]time.Time // turns that ran when their session was judged, and since when
	homes  map[string]string    // their sessions
}

// NewJudge makes a judge without memories.
func NewJudge(replicas []*Replica, m *Models, r Rules) *Judge {
	return &Judge{Replicas: replicas, Models: m, Rules: r, states: map[string]string{}, open: map[string]time.Time{}, homes: map[string]string{}}
}

// Repetition judges what clients saw whose keys begin with a prefix.
func (j *Judge) Repetition(ctx context.Context, prefix string, seen []*Seen) *Verdict {
	v := &Verdict{Requests: len(seen)}
	count := Count(seen)
	v.Answers, v.Errors, v.Cuts = count[Answered], count[Refused]+count[BrokenOff], count[Cut]+count[NotThere]
	for _, s := range seen {
		v.Passed += s.Passed
		j.client(v, s)
	}
	j.names(v, seen)
	j.homesOf(v, prefix, seen)
	for _, r := range j.Replicas {
		j.stored(ctx, v, r, prefix, seen)
	}
	return v
}

// client judges one request by itself.
func (j *Judge) client(v *Verdict, s *Seen) {
	switch s.Outcome {
	case Answered:
	case False:
		v.Fail(Misled, "%s", s)
	case Hung, Muddled:
		v.Fail(Unclear, "%s", s)
	case Cut, NotThere:
		if j.Rules.Excused == nil || !j.Rules.Excused(s) {
			v.Fail(Unclear, "%s", s)
		}
	case Refused, BrokenOff:
		if !j.Rules.Errors {
			v.Fail(Unexpected, "%s", s)
		}
	}
}

// names judges that a conversation had one session in all headers. One without a name is known by its first answer, not before.
func (j *Judge) names(v *Verdict, seen []*Seen) {
	first := map[string]*Seen{}
	for _, s := range byHeader(seen) {
		known := first[s.Key]
		switch {
		case known == nil && (s.Client.Style != Nameless || s.Outcome == Answered):
			first[s.Key] = s
		case known != nil && known.Session != s.Session && (s.Client.Style != Nameless || s.Began.After(known.Ended)):
			v.Fail(Split, "%s is %s by %s, and %s by %s", s.Key, known.Session, known, s.Session, s)
		}
	}
}

// byHeader are the entries whose header was seen, in its order.
func byHeader(seen []*Seen) []*Seen {
	var out []*Seen
	for _, s := range seen {
		if s.Committed() {
			out = append(out, s)
		}
	}
	slices.SortStableFunc(out, func(a, b *Seen) int { return a.Header.Compare(b.Header) })
	return out
}

// homesOf judges that a session stayed with the upstream that the first header named: by the headers, and by what the model
// servers were asked.
func (j *Judge) homesOf(v *Verdict, prefix string, seen []*Seen) {
	if j.Rules.Moves {
		return
	}
	type home struct {
		upstream string
		since    time.Time
	}
	homes, named := map[string]home{}, map[string]home{}
	for _, s := range byHeader(seen) {
		name, _, _ := strings.Cut(s.Upstream, ";")
		at, known := homes[s.Session]
		if known && at.upstream != name {
			v.Fail(Strayed, "%s was at %s: %s", s.Session, at.upstream, s)
		}
		if !known {
			homes[s.Session] = home{name, s.Header}
			if s.Client.Style != Nameless {
				named[s.Key] = homes[s.Session]
			}
		}
	}
	for _, a := range j.Models.Asked(prefix) {
		if at, known := named[a.Key]; known && a.At.After(at.since) && a.Upstream != at.upstream {
			v.Fail(Strayed, "%s belongs to %s, and %s was asked question %d", a.Key, at.upstream, a.Upstream, a.N)
		}
	}
}

// Watch looks after turns that were still running when their sessions were judged: since the replica that ran them is dead,
// another one has to end them in time. It goes on until it is told that no more will come and none is left.
func (j *Judge) Watch(ctx context.Context, most time.Duration, last <-chan struct{}) *Verdict {
	v := &Verdict{}
	for {
		ending := over(last)
		j.mu.Lock()
		open := maps.Clone(j.open)
		j.mu.Unlock()
		if ending && len(open) == 0 || ctx.Err() != nil {
			return v
		}
		for turn, since := range open {
			j.look(ctx, v, turn, since, most)
		}
		Sleep(ctx.Done(), time.Second)
	}
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// look asks for the state of one of them.
func (j *Judge) look(ctx context.Context, v *Verdict, turn string, since time.Time, most time.Duration) {
	var t turnView
	err := j.Replicas[0].Get(ctx, "/api/turns/"+turn, &t)
	waited := Now().Sub(since)
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case err == nil && t.State != running:
		v.Settled = append(v.Settled, waited)
		j.states[turn] = t.State
		if t.State == interrupted {
			v.Interrupted++
		}
	case waited > most:
		v.Fail(Stuck, "%s of %s is %q %s after its replica died (%v)", turn, j.homes[turn], t.State, waited.Round(time.Second), err)
	default:
		return
	}
	delete(j.open, turn)
}

// Leave is for those who cannot wait: it forgets the turns that run.
func (j *Judge) Leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	clear(j.open)
}

// Finally judges that every final state is still what it was, at every replica.
func (j *Judge) Finally(ctx context.Context) *Verdict {
	v := &Verdict{}
	sessions := map[string]bool{}
	for _, session := range j.homes {
		sessions[session] = true
	}
	for session := range sessions {
		for _, r := range j.Replicas {
			turns, err := turnsOf(ctx, r, session)
			if err != nil {
				v.Fail(Lost, "%s at the end: %v", session, err)
				continue
			}
			for _, t := range turns {
				if was := j.states[t.ID]; was != "" && was != t.State {
					v.Fail(Unstable, "%s of %s was %s and is %s at %s", t.ID, session, was, t.State, r.Name)
				}
			}
		}
	}
	return v
}
