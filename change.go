package mooring

import "time"

// A Change is one unit that a store commits whole or not at all. Several changes may share a transaction; each one's
// outcome is its own and stands in its Err after the commit.
type Change interface{ Outcome() error }

// Begin starts a turn: the session where it is new, its aliases, the running turn with the messages that the request
// brought, and the claim of an upstream where there is no pin.
type Begin struct {
	Session  Session // whole where New; else Tenant, ID, and what the turn changes (Client, Project, Upstream, Models)
	New      bool
	Aliases  []Alias // to be added. For a new session the first one decides a race
	Turn     Turn
	Messages []Message      // new ones, in order
	Attach   bool           // a known session that has no parent goes below Session.Parent, by Session.Relation, with all that stands below it; not where that one is gone or below it
	Copies   []Copy         // of a fork: what it takes from Session.Parent, from the root down, each below the one before
	Claim    *Pin           // nil where the session has its pin
	Stale    time.Time      // a pin that was last used before gives way to the claim
	Remote   *RemoteSession // nil where the upstream keeps no state or the id is known
	Mint     string         // the remote id to take instead where another session has the wanted one there
	Named    Alias          // by which a known session was found: where it names another one by now, the outcome is as for Err below; zero for none
	Reset    *Reset         // the new session takes its aliases from whoever has them; nil where it must be the first
	Ack      []byte         // of a new session: digest of an answer that opened it and is no message; it is found by that

	// After the commit:
	Won      *Pin   // the claim that holds: this one, or the one of a turn that was faster
	RemoteID string // the remote id that holds
	Err      error  // CodeSessionTaken: nothing was written, another session has the alias, or another turn the client's message. CodeSessionGone: no such session any more
}

// Copy is a message that a fork takes over: all of it but its id, its parent and its turn. The content is not read for that.
type Copy struct {
	From MessageID
	To   MessageID
}

// Outcome gives Err.
func (c *Begin) Outcome() error { return c.Err }

// Reset gives a chat's aliases to a new session. The session that has the first of them goes on under another key, where it has
// the chat's.
type Reset struct {
	Key   string
	Alias Alias // that names it from now on
}

// Bind makes a claim a pin, or moves a pin; it is committed before the response header goes out.
type Bind struct {
	Pin    Pin
	Remote *RemoteSession // set where the upstream answered with another session id than it was sent

	Taken bool // after the commit: the remote id is another session's, and nothing of it was written
	Err   error
}

// Outcome gives Err.
func (c *Bind) Outcome() error { return c.Err }

// End is a turn's one final state with its answer. Where the turn or its session is gone nothing is written.
type End struct {
	Turn      Turn           // Tenant, ID, Session and everything that the end decides
	Answer    *Message       // nil where nothing arrived
	Bind      *Pin           // a binding that shares the commit
	Remote    *RemoteSession // as in Bind
	DropClaim bool           // the claim of this turn is given up
	Objects   []Object       // ids by which the upstream knows what it answered
	Models    []string       // of the session, where another model answered than its Begin says; nil leaves them

	Taken bool // as in Bind
	Err   error
}

// Outcome gives Err.
func (c *End) Outcome() error { return c.Err }

// Retire ends the turns that a dead process left running: they become Interrupted, their claims are dropped.
type Retire struct {
	Replica string // of the living process; its turns are left alone
	At      time.Time

	Turns int // how many there were
	Alive int // replicas that share the store and were heard of lately, the caller included
	Err   error
}

// Outcome gives Err.
func (c *Retire) Outcome() error { return c.Err }

// Patch changes what people may change of a session. It is no activity: the session keeps its place in lists.
type Patch struct {
	Tenant   Tenant
	Session  SessionID
	Title    *string // nil leaves it as it is, as with the two below
	Pinned   *bool
	Archived *bool
	Tip      MessageID // empty leaves it; a turn that runs moves it on at its end
	Err      error     // CodeSessionNotFound, or CodeNotFound where the session has no message Tip
}

// Outcome gives Err.
func (c *Patch) Outcome() error { return c.Err }

// Delete removes a session for good: messages, contents without other owner, aliases, pins, index rows. Children are detached.
type Delete struct {
	Tenant  Tenant
	Session SessionID
	Err     error // CodeSessionNotFound where the tenant has none such
}

// Outcome gives Err.
func (c *Delete) Outcome() error { return c.Err }

// Prune removes whole trees of sessions whose root and descendants have been idle since Before and run no turn, at most Limit
// roots.
type Prune struct {
	Before time.Time
	Limit  int

	Removed int
	Gone    []Session // tenant and id of each one; may name others too where the commit was tried more than once
	Err     error
}

// Outcome gives Err.
func (c *Prune) Outcome() error { return c.Err }

// Applied notes, in the transaction of the changes themselves, up to which number a journal before the store is in it.
type Applied struct {
	Seq uint64
	Err error
}

// Outcome gives Err.
func (c *Applied) Outcome() error { return c.Err }

// PinsUsed notes when pins were last used, so that idle ones can expire; it is written behind the turns.
type PinsUsed struct {
	Pins []Pin
	Err  error
}

// Outcome gives Err.
func (c *PinsUsed) Outcome() error { return c.Err }

// Drain says whether an upstream takes new sessions, for all replicas and until it is said otherwise.
type Drain struct {
	Upstream UpstreamName
	At       time.Time // since when it takes none; zero where it takes them again
	Err      error
}

// Outcome gives Err.
func (c *Drain) Outcome() error { return c.Err }
