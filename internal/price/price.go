// Package price knows what models cost. It prices a usage and never guesses: a model without a price has no cost, nor has an
// answer whose upstream told no count, or one that its price leaves open. It is pure and has no goroutines.
package price

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mooring"
)

// Price is what a model costs, in USD per million tokens. Nil is unknown.
type Price struct {
	Input        *float64
	Output       *float64
	CacheRead    *float64
	CacheWrite5m *float64
	CacheWrite1h *float64
}

// Table finds the price of a model: an exact name first, then the longest glob.
type Table struct {
	rows []row
}

type row struct {
	glob string
	Price
}

// NewTable makes a table of prices by name or glob.
func NewTable(prices map[string]Price) *Table {
	t := &Table{}
	for glob, p := range prices {
		t.rows = append(t.rows, row{glob, p})
	}
	slices.SortFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(len(b.glob), len(a.glob)), strings.Compare(a.glob, b.glob))
	})
	return t
}

// Cost gives the cost of a usage in USD, nil where it is unknown.
func (t *Table) Cost(model string, u mooring.Usage) *float64 {
	p, ok := t.find(model)
	if !ok || u == (mooring.Usage{}) {
		return nil
	}
	sum := 0.0
	for _, part := range []struct {
		n     mooring.Tokens
		price *float64
	}{
		{u.Input, p.Input},
		{u.Output, p.Output},
		{u.CacheRead, p.CacheRead},
		{u.CacheWrite5m, p.CacheWrite5m},
		{u.CacheWrite1h, p.CacheWrite1h},
	} {
		if part.n.N == 0 {
			continue
		}
		if part.price == nil {
			return nil
		}
		sum += float64(part.n.N) * *part.price / perMillion
	}
	return &sum
}

const perMillion = 1e6

func (t *Table) find(model string) (Price, bool) {
	for _, exact := range []bool{true, false} {
		for i := range t.rows {
			if r := &t.rows[i]; matches(r.glob, model, exact) {
				return r.Price, true
			}
		}
	}
	return Price{}, false
}

func matches(glob, model string, exact bool) bool { //nolint:revive // one pass for names, one for globs
	if exact {
		return glob == model
	}
	ok, err := path.Match(strings.ReplaceAll(glob, "/", "\x00"), strings.ReplaceAll(model, "/", "\x00"))
	return err == nil && ok
}
