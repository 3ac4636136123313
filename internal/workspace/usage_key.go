package workspace

import (
	"context"
	"time"

	"mooring"
)

// KeyLimits are a key's limits; zero is none.
type KeyLimits struct {
	RequestsPerMinute int
	Streams           int
	BudgetUSD         float64
	Models            []string
	Expires           time.Time
}

// limitsView has those limits that are set.
type limitsView struct {
	RequestsPerMinute int      `json:"requests_per_minute,omitempty"`
	Streams           int      `json:"streams,omitempty"`
	BudgetUSD         float64  `json:"budget_usd,omitempty"`
	Models            []string `json:"models,omitempty"`
	Expires           instant  `json:"expires,omitzero"`
}

func viewLimits(l *KeyLimits) *limitsView {
	if l == nil {
		return nil
	}
	return &limitsView{l.RequestsPerMinute, l.Streams, l.BudgetUSD, l.Models, instant(l.Expires)}
}

// keyRow is what a row of usage says besides where it is a key's that the caller may know about.
type keyRow struct {
	Limits *limitsView `json:"limits,omitempty"`    // of a key that the configuration has
	Spent  *float64    `json:"spent_usd,omitempty"` // in this calendar month, in UTC; what is of unknown price counts nothing
}

// addLimits says of the caller's own key, an operator of all, what it may do and what it has spent.
func (a *API) addLimits(ctx context.Context, caller mooring.Caller, q mooring.UseQuery, rows []useRow) error {
	mine := func(row *useRow) bool {
		return row.Name != nil && (caller.Operator() || caller.Key != "" && *row.Name == string(caller.Key))
	}
	now := a.now().UTC()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	q.From, q.To = month, month.AddDate(0, 1, 0)
	list, err := a.store.Use(ctx, q)
	if err != nil {
		return err
	}
	spent := make(map[string]float64, len(list))
	for i := range list {
		spent[list[i].Name] = list[i].CostUSD
	}
	for i := range rows {
		if row := &rows[i]; mine(row) {
			usd := spent[*row.Name]
			row.keyRow = keyRow{Limits: viewLimits(a.limits(mooring.KeyName(*row.Name))), Spent: &usd}
		}
	}
	return nil
}
