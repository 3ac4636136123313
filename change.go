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
	Seen     *Standing      `cbor:"-"` // how a known session stood when its turn was placed: where it stands otherwise by now, the outcome is as for Err below; nil: it is not looked at
	Sole     bool           `cbor:"-"` // the turn begins only while no other replica runs one in the session; side turns do not count
	Resumes  bool           `cbor:"-"` // it is the next attempt of a turn that has ended, the session's last one: where that runs again or another has begun since, the outcome is as for Err below

	// After the commit:
	Won      *Pin   // the claim that holds: this one, or the one of a turn that was faster
	RemoteID string // the remote id that holds
	Busy     *Turn  `cbor:"-"` // with CodeSessionBusy: the turn that runs. Tenant, ID, Session and Replica
	Fenced   []Turn `cbor:"-"` // of a reset: the turns that other replicas ran in the session which the chat has left; they are fenced. Fields as in Busy
	Err      error  // CodeSessionTaken: nothing was written, another session has the alias, another turn the client's message, or what the turn was built on has changed. CodeSessionGone: no such session any more. CodeSessionBusy: see Sole
}

// Copy is a message that a fork takes over: all of it but its id, its parent and its turn. The content is not read for that.
type Copy struct {
	From MessageID
	To   MessageID
}

// Outcome gives Err.
func (c *Begin) Outcome() error { return c.Err }

// Standing is what a turn is built on that memory may hold and other replicas may change: where its session stands, and where it lives.
type Standing struct {
	Tip     MessageID
	TipTurn TurnID // one of the replica that begins the turn is no surprise, whichever it is: that knows of its own
	State   TurnState
	Pin     *Pin           // the one that the turn follows; nil for none
	Remote  *RemoteSession // the id that the upstream is sent; nil for none, or one that the Begin brings
}

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

// End is a turn's one final state with its answer. Where the turn or its session is gone nothing is written, nor where the turn is not
// this replica's to end any more: it is fenced and the end says other than Cancelled, it was given up as a dead replica's, or it runs
// again elsewhere.
type End struct {
	Turn      Turn           // Tenant, ID, Session and everything that the end decides
	Answer    *Message       // nil where nothing arrived
	Bind      *Pin           // a binding that shares the commit
	Remote    *RemoteSession // as in Bind
	DropClaim bool           // the claim of this turn is given up
	Objects   []Object       // ids by which the upstream knows what it answered
	Models    []string       // of the session, where another model answered than its Begin says; nil leaves them

	Taken  bool        // as in Bind
	Fenced FenceReason `cbor:"-"` // with CodeTurnFenced: why
	Err    error       // CodeSessionGone; CodeTurnFenced: only an end as Cancelled is taken; CodeTurnLost
}

// Outcome gives Err.
func (c *End) Outcome() error { return c.Err }

// FenceReason says why a replica stops a turn that another one runs.
type FenceReason string

// The reasons. They stand in stores.
const (
	FencedByReset FenceReason = "reset"   // its chat has begun anew
	FencedByHand  FenceReason = "stopped" // somebody stops it
	FencedByRetry FenceReason = "again"   // its request was sent again and goes on in its place
)

// Fence stops running turns that other replicas run: from the commit on they can end as Cancelled alone. Who runs one finds the mark.
type Fence struct {
	Tenant  Tenant
	Session SessionID // all that run in it, side turns aside; empty where Turn is set
	Turn    TurnID
	Replica string // whose turns are left alone
	Why     FenceReason
	Final   bool      // those that are fenced and still run are ended as Cancelled, whatever has become of their replica
	At      time.Time // when they end so

	Turns []Turn // which they were: Tenant, ID, Session and Replica
	Err   error
}

// Outcome gives Err.
func (c *Fence) Outcome() error { return c.Err }

// Retire ends the turns that a dead process left running: they become Interrupted, their claims are dropped.
type Retire struct {
	Replica string    // of the living process; its turns are left alone
	At      time.Time // of a store of one process; where several share it its own clock decides

	Turns int // how many there were
	Err   error
}

// Alive says that a replica lives, in the transaction of what it writes.
type Alive struct {
	Replica string
	Err     error
}

// Outcome gives Err.
func (c *Alive) Outcome() error { return c.Err }

// Pulse is what a replica learns when it says that it lives.
type Pulse struct {
	Now   time.Time // by the store's clock
	Since time.Time // since when it has been heard of without a gap; after one, others may have given up its turns
	Dead  bool      // turns of others that are not heard of any more are to be retired
	Alive int       // replicas that share the store and were heard of lately, the caller included
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
