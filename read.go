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
	Kind     Kind  // KindSide lists the sessions with nothing but side requests, which others leave out
	Pinned   *bool // nil for both
	Archived *bool
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
	Bytes  int // the page ends early with the message whose content goes beyond; 0 for no bound
}

// TurnPage asks for a part of a session's turns, the last ones first.
type TurnPage struct {
	Before TurnID // only those that began before this one; empty for the last ones
	Limit  int
}

// Spending is what turns took together.
type Spending struct {
	Usage   Usage
	CostUSD *float64 // nil where the price of a part is unknown
}

// Figures are a tenant's sums.
type Figures struct {
	Sessions int      // those of lists
	Side     int      // those with nothing but side requests
	Archived int      // of Sessions
	Turns    int      // of the sessions that are there now
	Spent    Spending // of the same
	Recent   []Tally  // of the turns that began in the span asked for
}

// Tally sums the turns of one state, pin mark, upstream and model.
type Tally struct {
	State    TurnState
	Pin      PinMark
	Upstream UpstreamName
	Model    string
	Turns    int
	Spent    Spending
}

// KeyUse is what a key has used in a span of time.
type KeyUse struct {
	Turns   int
	CostUSD float64 // of the turns whose price is known
}
