package mooring

import "time"

// Relation says how a session came to be.
type Relation string

// The relations of CONTRACT section 4.
const (
	RelationMain     Relation = "main"
	RelationSubagent Relation = "subagent"
	RelationFork     Relation = "fork"
	RelationReset    Relation = "reset"
)

// Session is one conversation with a model.
type Session struct {
	Tenant     Tenant
	ID         SessionID
	Key        string // the id the client named it by, byte for byte, else the one Mooring minted ("api-" and a UUID)
	FriendlyID string // short name for the pages' addresses
	Title      string
	Client     string // the client program, from its User-Agent or its own headers; empty where unknown
	Project    string
	Parent     SessionID // empty for a session without parent
	Root       SessionID // its own ID where it has no parent
	Relation   Relation
	State      TurnState // of its last turn; empty where there is none
	Upstream   UpstreamName
	Models     []string
	Turns      int  // turns of kind main and subagent and compaction
	SideOnly   bool // nothing but side requests so far: hidden from lists
	Usage      Usage
	CostUSD    *float64 // nil where a price is unknown
	Tip        MessageID
	TipTurn    TurnID // the turn that last began; only that one moves the tip at its end
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Pinned     bool
	Archived   bool
	Named      []string  // names of the signals whose ids have named it
	Traits     []byte    // keyed digests of what its requests are like: they tell sessions apart that say the same
	ResetOf    SessionID // of RelationReset: the session that the chat was in before
	Cut        []byte    // of RelationReset: keyed digest of the conversation as its client held it then; empty where it held none
}

// AliasClass says under which names an id means the same session (spec of client ids, section c).
type AliasClass string

// The classes. ClassName and ClassLearned are followed by the canonical name of the header or field, as in "name:x-session-affinity".
const (
	ClassAny     AliasClass = "any"      // unguessable shape: the same session under every name
	ClassGeneric AliasClass = "generic"  // short or human-made, under the generic names
	ClassName    AliasClass = "name:"    // under its own name only
	ClassLearned AliasClass = "learned:" // of a header that was learned to name sessions, under its name; the value is a keyed digest
)

// Alias names a session: tenant, class and value are the key.
type Alias struct {
	Class AliasClass
	Value string
}

// AliasHit is an alias and the session that it names.
type AliasHit struct {
	Alias
	Session SessionID
}

// Pin says which upstream and account a session stays with among a set of candidates.
type Pin struct {
	Tenant   Tenant
	Session  SessionID
	Set      string // the candidates' names, sorted and joined by ","; behind the name of an alias and ":" where the client asks for one
	Upstream UpstreamName
	Account  AccountName
	Bound    bool // its upstream has answered 2xx; until then it is a claim of the turn below
	Turn     TurnID
	UsedAt   time.Time
	Model    string // of an alias: which of its models the session got; empty where the client names the model itself
	Home     Spot   // where the session was before it had to move; zero where it never had to, or is back
}

// Spot is where a turn may go.
type Spot struct {
	Upstream UpstreamName
	Account  AccountName
	Model    string // of an alias: the one that is asked for; empty where the client names the model itself
}

// Spot gives where the pin holds the session.
func (p *Pin) Spot() Spot { return Spot{Upstream: p.Upstream, Account: p.Account, Model: p.Model} }

// Object is what an upstream keeps under an id of its own: a stored response, a conversation.
type Object struct {
	Tenant   Tenant
	ID       string
	Session  SessionID // empty once that is deleted: then the id is still the tenant's
	Message  MessageID // the answer that it stands for; empty for a conversation
	Upstream UpstreamName
	Account  AccountName
}

// RemoteSession is the id under which a server with its own state knows a session. The pair of server and id is unique over all
// tenants.
type RemoteSession struct {
	Tenant  Tenant
	Session SessionID
	Server  string // address of the upstream: two upstreams of one address are one server, with the same sessions
	ID      string
}
