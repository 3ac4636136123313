package workspace

import (
	"encoding/json"
	"math"
	"time"

	"mooring"
	"mooring/internal/wire"
)

// The JSON of the session API. What is not known, or not there, is null; a list is never null.

type sessionView struct {
	ID         mooring.SessionID     `json:"id"`
	Key        string                `json:"key"`
	FriendlyID string                `json:"friendly_id"`
	Title      string                `json:"title"`
	Tenant     mooring.Tenant        `json:"tenant"`
	Client     *string               `json:"client"`
	Project    *string               `json:"project"`
	ParentID   *mooring.SessionID    `json:"parent_id"`
	RootID     mooring.SessionID     `json:"root_id"`
	Relation   mooring.Relation      `json:"relation"`
	State      *mooring.TurnState    `json:"state"`
	Upstream   *mooring.UpstreamName `json:"upstream"`
	Models     []string              `json:"models"`
	Turns      int                   `json:"turns"`
	Usage      costView              `json:"usage"`
	TreeUsage  costView              `json:"tree_usage"`
	CreatedAt  instant               `json:"created_at"`
	UpdatedAt  instant               `json:"updated_at"`
	Pinned     bool                  `json:"pinned"`
	Archived   bool                  `json:"archived"`
}

// dollars takes the noise of binary fractions off a sum.
func dollars(usd *float64) *float64 {
	if usd == nil {
		return nil
	}
	const parts = 1e12
	clean := math.Round(*usd*parts) / parts
	return &clean
}

// viewSession shows a session with what its whole tree took.
func viewSession(s mooring.Session, tree mooring.Spending) sessionView {
	root := s.Root
	if root == "" {
		root = s.ID
	}
	return sessionView{
		ID:         s.ID,
		Key:        s.Key,
		FriendlyID: s.FriendlyID,
		Title:      s.Title,
		Tenant:     s.Tenant,
		Client:     known(s.Client),
		Project:    known(s.Project),
		ParentID:   known(s.Parent),
		RootID:     root,
		Relation:   s.Relation,
		State:      known(s.State),
		Upstream:   known(s.Upstream),
		Models:     list(s.Models),
		Turns:      s.Turns,
		Usage:      viewSpending(mooring.Spending{Usage: s.Usage, CostUSD: s.CostUSD}),
		TreeUsage:  viewSpending(tree),
		CreatedAt:  instant(s.CreatedAt),
		UpdatedAt:  instant(s.UpdatedAt),
		Pinned:     s.Pinned,
		Archived:   s.Archived,
	}
}

type messageView struct {
	ID          mooring.MessageID  `json:"id"`
	ParentID    *mooring.MessageID `json:"parent_id"`
	BranchCount int                `json:"branch_count"`
	TurnID      *mooring.TurnID    `json:"turn_id"`
	Role        string             `json:"role"`
	Content     json.RawMessage    `json:"content"`
	Text        string             `json:"text"`
	State       mooring.TurnState  `json:"state"`
	CreatedAt   instant            `json:"created_at"`
}

func viewMessage(m mooring.Message) messageView {
	parts, text := wire.Render(m.Protocol, m.Content)
	if len(parts) == 0 {
		parts = []byte("[]")
	}
	return messageView{
		ID:          m.ID,
		ParentID:    known(m.Parent),
		BranchCount: m.Branches,
		TurnID:      known(m.Turn),
		Role:        m.Role,
		Content:     parts,
		Text:        text,
		State:       m.State,
		CreatedAt:   instant(m.CreatedAt),
	}
}

type usageView struct {
	Input      *int64 `json:"input_tokens"`
	Output     *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_tokens"`
	CacheWrite *int64 `json:"cache_write_tokens"`
}

// costView is a usage with what it cost, null where a price is unknown.
type costView struct {
	usageView
	CostUSD *float64 `json:"cost_usd"`
}

func viewSpending(s mooring.Spending) costView {
	return costView{usageView: viewUsage(s.Usage), CostUSD: dollars(s.CostUSD)}
}

func viewUsage(u mooring.Usage) usageView {
	return usageView{
		Input:      count(u.Input),
		Output:     count(u.Output),
		CacheRead:  count(u.CacheRead),
		CacheWrite: count(u.CacheWrite5m.Add(u.CacheWrite1h)),
	}
}

func count(t mooring.Tokens) *int64 {
	if !t.Known {
		return nil
	}
	return &t.N
}

// instant is a time as the API writes it: RFC 3339, UTC, milliseconds; null where it is zero.
type instant time.Time

// IsZero says that there is no time to write.
func (i instant) IsZero() bool { return time.Time(i).IsZero() }

// MarshalJSON writes the time.
func (i instant) MarshalJSON() ([]byte, error) {
	t := time.Time(i)
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(t.UTC().Format(`"2006-01-02T15:04:05.000Z"`)), nil
}

// known gives null for an empty text.
func known[T ~string](v T) *T {
	if v == "" {
		return nil
	}
	return &v
}

// list gives an empty list for none.
func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}
