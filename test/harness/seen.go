package harness

import (
	"fmt"
	"sync"
	"time"
)

// Outcome is how a request ended for its client.
type Outcome string

// The outcomes. A client can do something with the first three; what an SDK makes of the others is a network error.
const (
	Answered  Outcome = "answered"  // the whole right answer, with its protocol's end
	Refused   Outcome = "refused"   // an error status with a body that says why
	BrokenOff Outcome = "error"     // an error event within the stream
	Cut       Outcome = "cut"       // the connection broke
	NotThere  Outcome = "not there" // connection refused
	Hung      Outcome = "hung"      // no end in sight after Patience
	False     Outcome = "false"     // looks like a success and is none: no end, no error, or another text
	Muddled   Outcome = "muddled"   // an error without a word that says what
)

// Seen is what a client saw of one request.
type Seen struct {
	Question
	Client   *Client
	Replica  string
	Protocol string
	Stream   bool
	Attempt  int // of the same question, from 1
	Passed   int // replicas that a load balancer asked in vain before

	Began, Header, Ended time.Time // Header is zero where none came

	Status   int
	Code     string // of an error
	Session  string // X-Mooring-Session
	Turn     string // X-Mooring-Turn
	Upstream string // X-Mooring-Upstream
	Outcome  Outcome
	Text     string // of the answer, as far as it came
	Note     string // what else there is to say
}

// Committed says that the client saw the header of an answer: its session and binding are stored.
func (s *Seen) Committed() bool { return !s.Header.IsZero() && s.Status/100 == 2 && s.Session != "" }

// String tells it in one line.
func (s *Seen) String() string {
	return fmt.Sprintf("%s attempt %d at %s (%s, stream %v): %s %d %s %s session %s turn %s upstream %q text %q after %s",
		s.Question.Text(), s.Attempt, s.Replica, s.Protocol, s.Stream, s.Outcome, s.Status, s.Code, s.Note, s.Session, s.Turn, s.Upstream, s.Text,
		s.Ended.Sub(s.Began).Round(time.Millisecond))
}

// Ledger is what all clients saw, in the order of the ends.
type Ledger struct {
	Tell func(*Seen) // is told of each entry in place of keeping it, where it is set

	mu   sync.Mutex // guards the field below
	seen []*Seen
}

// Note adds an entry.
func (l *Ledger) Note(s *Seen) {
	if l.Tell != nil {
		l.Tell(s)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = append(l.seen, s)
}

// All are the entries so far.
func (l *Ledger) All() []*Seen {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Seen(nil), l.seen...)
}

// Count is how many entries there are of each outcome.
func Count(seen []*Seen) map[Outcome]int {
	n := map[Outcome]int{}
	for _, s := range seen {
		n[s.Outcome]++
	}
	return n
}
