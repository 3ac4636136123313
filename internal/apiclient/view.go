package apiclient

import (
	"time"

	"mooring"
)

// The JSON of the session API, as far as somebody here reads it. A member that is null leaves its field zero.

// Session is one conversation, or a node of a tree of them.
type Session struct {
	ID        mooring.SessionID    `json:"id"`
	Key       string               `json:"key"`
	Title     string               `json:"title"`
	Tenant    mooring.Tenant       `json:"tenant"`
	Client    string               `json:"client"`
	Project   string               `json:"project"`
	ParentID  mooring.SessionID    `json:"parent_id"`
	Relation  mooring.Relation     `json:"relation"`
	State     mooring.TurnState    `json:"state"`
	Upstream  mooring.UpstreamName `json:"upstream"`
	Models    []string             `json:"models"`
	Turns     int                  `json:"turns"`
	Usage     Usage                `json:"usage"`
	TreeUsage Usage                `json:"tree_usage"`
	CreatedAt time.Time            `json:"created_at"`
	UpdatedAt time.Time            `json:"updated_at"`
	Pinned    bool                 `json:"pinned"`
	Archived  bool                 `json:"archived"`
	Children  []Session            `json:"children"`
}

// Usage is what answers took; nil is what nobody told.
type Usage struct {
	Input      *int64   `json:"input_tokens"`
	Output     *int64   `json:"output_tokens"`
	CacheRead  *int64   `json:"cache_read_tokens"`
	CacheWrite *int64   `json:"cache_write_tokens"`
	CostUSD    *float64 `json:"cost_usd"`
}

// MessagePage is the end of a branch, oldest message first.
type MessagePage struct {
	Messages []Message         `json:"messages"`
	Next     mooring.MessageID `json:"next_cursor"`
}

// Message is an entry of a conversation.
type Message struct {
	ID        mooring.MessageID `json:"id"`
	Branches  int               `json:"branch_count"`
	TurnID    mooring.TurnID    `json:"turn_id"`
	Role      string            `json:"role"`
	Text      string            `json:"text"`
	State     mooring.TurnState `json:"state"`
	CreatedAt time.Time         `json:"created_at"`
}

// Findings is what a search found.
type Findings struct {
	Results  []Result `json:"results"`
	Degraded bool     `json:"degraded"` // the index lags, or a bounded scan answered
}

// Result is a message that a search found.
type Result struct {
	SessionID mooring.SessionID `json:"session_id"`
	Key       string            `json:"key"`
	Title     string            `json:"title"`
	Role      string            `json:"role"`
	Snippet   string            `json:"snippet"`
	CreatedAt time.Time         `json:"created_at"`
}

// Turn is one request and its answer.
type Turn struct {
	ID         mooring.TurnID       `json:"id"`
	SessionID  mooring.SessionID    `json:"session_id"`
	Kind       mooring.Kind         `json:"kind"`
	Protocol   mooring.Protocol     `json:"protocol"`
	Model      string               `json:"model"`
	Stream     bool                 `json:"stream"`
	State      mooring.TurnState    `json:"state"`
	Status     int                  `json:"status"`
	ErrorCode  mooring.Code         `json:"error_code"`
	Upstream   mooring.UpstreamName `json:"upstream"`
	Account    mooring.AccountName  `json:"account"`
	Pin        mooring.PinMark      `json:"pin"`
	Identity   string               `json:"identity"`
	Evidence   []mooring.Evidence   `json:"evidence"`
	Attempts   []Attempt            `json:"attempts"`
	Usage      Usage                `json:"usage"`
	CostUSD    *float64             `json:"cost_usd"`
	StartedAt  time.Time            `json:"started_at"`
	FirstAt    time.Time            `json:"first_byte_at"`
	EndedAt    time.Time            `json:"ended_at"`
	DurationMS *int64               `json:"duration_ms"`
	View       *mooring.View        `json:"view"`
}

// Attempt is one try at a turn.
type Attempt struct {
	Upstream   mooring.UpstreamName `json:"upstream"`
	Account    mooring.AccountName  `json:"account"`
	Why        mooring.Why          `json:"why"`
	Alias      string               `json:"alias"`
	Model      string               `json:"model"`
	Tries      int                  `json:"tries"`
	State      mooring.TurnState    `json:"state"`
	Status     int                  `json:"status"`
	Reason     string               `json:"reason"`
	DurationMS *int64               `json:"duration_ms"`
}
