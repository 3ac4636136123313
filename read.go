package mooring

import "time"

// SessionFilter narrows a list of sessions. Zero fields do not narrow.
type SessionFilter struct {
	Query    string // part of title or key
	Client   string
	Project  string
	Upstream UpstreamName
	State    TurnState
	Parent   SessionID
	Kind     Kind // KindSide lists the sessions with nothing but side requests, which others leave out
	Limit    int
	After    SessionCursor // zero for the first page
}

// SessionCursor is a place in the list: newest activity first, ties by id.
type SessionCursor struct {
	UpdatedAt time.Time
	ID        SessionID
}

// SessionPage is a part of a list.
type SessionPage struct {
	Sessions []Session
	More     bool
	Total    int // of all that the filter lets through, exact to 10,000
}

// BranchPage asks for a part of a branch, from its tip upwards.
type BranchPage struct {
	Tip    MessageID // the branch's end; empty for the session's current one
	Before MessageID // only what stands above this message; empty for all
	Limit  int
}

// KeyUse is what a key has used in a span of time.
type KeyUse struct {
	Turns   int
	CostUSD float64 // of the turns whose price is known
}
