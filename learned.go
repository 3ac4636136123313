package mooring

import "time"

// LearnState says what is held of a header that may name a tenant's sessions. It only ever grows.
type LearnState int

// The states of a header.
const (
	LearnWatched  LearnState = iota // it may turn out to name sessions
	LearnBelieved                   // its values name sessions
	LearnRefused                    // it does not name sessions; that is final
)

// LearnedHeader is what a tenant's traffic has shown of one header.
type LearnedHeader struct {
	Name     string // lower case with hyphens
	State    LearnState
	Believed time.Time      // since when, or when it once was; zero for never
	Refused  time.Time      // zero where it is not
	Why      string         // it was refused; a sentence part for people
	Doubts   int            // how often a believed one was all that spoke for its session, less what speaks for it since
	Values   []LearnedValue // seen in sessions of which is known that they are different
}

// LearnedValue is a value that a header had in a session. Neither the value nor its length can be found out from it.
type LearnedValue struct {
	Session SessionID
	Digest  []byte // keyed, of name and value
	Client  []byte // keyed digest of the client key's name and the program that sent it
	Turns   int    // how many turns of the session had it; counted no further than it matters
	Whole   bool   // the client sends what was said before: its requests are told by their messages
	At      time.Time
}

// A Learning is what turns have shown of headers that may name sessions. A header that is refused is so for good, whatever comes
// later; a value or an alias of a session that is gone is left out.
type Learning struct {
	Tenant  Tenant
	Headers []LearnedHeader // their state, and the values to be added
	Dropped []LearnedDrop   // values that are out of date
	Forgot  []string        // headers of which nothing need be known any more, where they are still only watched
	Aliases []AliasHit      // to be added where nobody has them

	Err error
}

// LearnedDrop is the value of a header in a session.
type LearnedDrop struct {
	Name    string
	Session SessionID
}

// Outcome gives Err.
func (c *Learning) Outcome() error { return c.Err }
