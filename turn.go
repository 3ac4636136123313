package mooring

import "time"

// Protocol is the language of a request.
type Protocol string

// The protocols that make turns, by the last parts of their paths, and the one of the session API.
const (
	Chat        Protocol = "chat"
	Messages    Protocol = "messages"
	Responses   Protocol = "responses"
	Completions Protocol = "completions"
	API         Protocol = "api"
)

// Kind is what a request is for.
type Kind string

// The kinds of CONTRACT 3.1.
const (
	KindMain       Kind = "main"
	KindSubagent   Kind = "subagent"
	KindSide       Kind = "side"
	KindCompaction Kind = "compaction"
)

// TurnState is where a turn stands. Every state but Running is final; only a new attempt changes a final one.
type TurnState string

// The states of CONTRACT 3.4.
const (
	Running     TurnState = "running"
	Completed   TurnState = "completed"
	Failed      TurnState = "failed"
	Cancelled   TurnState = "cancelled"
	Interrupted TurnState = "interrupted"
)

// PinMark says what the turn did to its session's pin; empty where none is kept.
type PinMark string

// The marks of the header X-Mooring-Upstream. A spill has none there: another upstream answered the turn because the session's own
// was full, and the session stays.
const (
	PinNew   PinMark = "new"
	PinHit   PinMark = "hit"
	PinMoved PinMark = "moved"
	PinSpill PinMark = "spill"
)

// Tokens is a count that an upstream may not have told. The zero value is unknown.
type Tokens struct {
	N     int64
	Known bool
}

// Count is a known number of tokens.
func Count(n int64) Tokens { return Tokens{N: n, Known: true} }

// Add sums two counts; the sum is known where either is.
func (t Tokens) Add(o Tokens) Tokens { return Tokens{N: t.N + o.N, Known: t.Known || o.Known} }

// Usage is what an upstream says an answer took. Input counts tokens that were neither read from nor written to a cache.
type Usage struct {
	Input        Tokens
	Output       Tokens
	CacheRead    Tokens
	CacheWrite5m Tokens
	CacheWrite1h Tokens
}

// Add sums two usages field by field.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input:        u.Input.Add(o.Input),
		Output:       u.Output.Add(o.Output),
		CacheRead:    u.CacheRead.Add(o.CacheRead),
		CacheWrite5m: u.CacheWrite5m.Add(o.CacheWrite5m),
		CacheWrite1h: u.CacheWrite1h.Add(o.CacheWrite1h),
	}
}

// Turn is one request and its answer.
type Turn struct {
	Tenant        Tenant
	ID            TurnID
	Session       SessionID
	Kind          Kind
	Protocol      Protocol
	Model         string // that the upstream was asked for last
	Key           KeyName
	Stream        bool
	State         TurnState
	Upstream      UpstreamName // empty where none was asked
	Account       AccountName
	Pin           PinMark
	Identity      string     // what decided, as in X-Mooring-Identity
	Evidence      []Evidence // the signals seen
	Question      MessageID  // the message that the answer follows
	Answer        MessageID  // empty while there is none
	View          *View      // nil where the request held the whole branch
	Attempts      []Attempt
	Usage         Usage       // summed over the attempts
	CostUSD       *float64    // nil where the model's price is unknown
	Status        int         // HTTP status that the client got; 0 while there is none
	ErrorCode     Code        // of the error that Mooring made, if it did
	ClientMessage string      // the sender's own id of what it sent: sent again in that session it is the same turn; empty for none
	BodyDigest    []byte      // keyed digest of the request body: an equal one after a failure is a retry
	RetryKey      []byte      `cbor:",omitempty"` // keyed digest of the request's Idempotency-Key; nil where it has none
	Replica       string      // process that runs it
	Fence         FenceReason `cbor:",omitempty"` // why another replica stops it; empty where none does
	StartedAt     time.Time
	FirstAt       time.Time // when the response header went out; zero where it did not
	EndedAt       time.Time // zero while it runs
}

// View says which part of its branch a request showed, where it left something out.
type View struct {
	From MessageID `json:"from,omitempty"` // the first message of the branch that it held; empty where it held none of it
	Sent int       `json:"sent"`           // how many messages it held
}

// Why says what sent an attempt where it went.
type Why string

// The reasons. They stand in stores and in the API.
const (
	WhyPolicy    Why = "policy"    // the session had no upstream yet: the policy chose
	WhyPin       Why = "pin"       // the session is there
	WhyInherited Why = "inherited" // the session that it comes from is there
	WhyOrigin    Why = "origin"    // the request holds what only the upstream that made it can read
	WhyReturned  Why = "returned"  // the session had to leave it, and it is well again
	WhySpilled   Why = "spilled"   // the session's own takes no more requests now; the session stays there
	WhyRemoved   Why = "removed"   // the session's own is not in the configuration any more
	WhyFailover  Why = "failover"  // the attempt before failed elsewhere
)

// Attempt is one try at a turn.
type Attempt struct {
	Upstream  UpstreamName `json:"upstream"`
	Account   AccountName  `json:"account,omitempty"`
	Why       Why          `json:"why,omitempty"`
	Alias     string       `json:"alias,omitempty"` // the name that the client asked for where it stands for other models; else empty
	Model     string       `json:"model,omitempty"` // that the upstream was asked for in its place
	Tries     int          `json:"tries,omitempty"` // how often it was tried while its upstream was waited for; 0 for once
	State     TurnState    `json:"state"`
	Status    int          `json:"status,omitempty"`   // of the upstream's answer; 0 where there was none
	Reason    string       `json:"reason,omitempty"`   // why it did not complete, in the product's own words
	Answered  string       `json:"answered,omitempty"` // the model that the upstream says has answered
	Usage     Usage        `json:"usage"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   time.Time    `json:"ended_at"`
}

// Evidence is one signal of a request and what became of it. Values are kept for catalogued names only.
type Evidence struct {
	Signal string `json:"signal"`              // as in X-Mooring-Identity: "header:x-session-id", "body:metadata.user_id"
	Says   string `json:"says,omitempty"`      // what it is: "session", "agent", "parent", "kind", "project", "client", "never"; empty where it is no row of the catalogue
	Value  string `json:"value,omitempty"`     // the id, where the name is in the catalogue
	Points string `json:"points_to,omitempty"` // the session that it named, or "new"; empty where that was not asked
	Use    string `json:"use"`                 // "decided", "agreed", "alias", "ignored", "never"
	Why    string `json:"why,omitempty"`       // a sentence part for people
}

// Message is an entry of a conversation, a node of its tree.
type Message struct {
	Tenant    Tenant
	Session   SessionID
	ID        MessageID
	Parent    MessageID // empty at the root
	Turn      TurnID
	Role      string
	State     TurnState // of an answer: its turn's; Completed for what a client sent
	Protocol  Protocol  // language of Content
	Content   []byte    // the message object in its protocol's JSON
	Digest    []byte    // keyed digest of the normalised message
	Seen      []byte    // of an answer: keyed digest of the conversation up to it, as its client sees it. It is found by both digests
	Marks     []Mark    // what else it is found by; only written, never read
	Branches  int       // messages with the same parent, itself included; only read, never written
	CreatedAt time.Time
}

// ChainKind tells apart by what a message is found.
type ChainKind int

// The kinds. They stand in stores: their numbers stay.
const (
	ByChain   ChainKind = iota // an answer, by the conversation up to it
	BySelf                     // an answer that is long enough to be found by itself alone
	ByPair                     // a short answer, by itself and the message before it
	ByText                     // a part of an answer's text
	ByCall                     // a part of a text that an answer hands to a tool
	ByOpening                  // a part of the first thing that was said in a session
	BySummary                  // a part of an answer that sums a conversation up
)

// Mark is a keyed digest of a part of a message, by which the message is found.
type Mark struct {
	Kind   ChainKind
	Digest []byte
	Sketch []byte // digests of other parts, which tell whether the rest is there too; nil for none
}

// ChainEntry is a message that was found by one of its digests; many may have the same.
type ChainEntry struct {
	Mark
	Session SessionID
	Message MessageID // empty for the answer that opened a session and is no message
}

// Neighbour is a message near another one.
type Neighbour struct {
	Message           // Session, ID, Parent, Role and Digest
	Of      MessageID // the one it is near
	Depth   int       // how far below that it stands: 0 is the message itself, what is above has a negative one
}
