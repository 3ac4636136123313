// Package price knows what models cost. It prices a usage and never guesses: a model without a price has no cost, nor has an
// answer whose upstream told no count, or one that its price leaves open. It is pure and has no goroutines.
package price

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"mooring"
)

// Price is what a model costs by the configuration, in USD per million tokens. Nil is unknown.
type Price struct {
	Input        *float64
	Output       *float64
	CacheRead    *float64
	CacheWrite5m *float64
	CacheWrite1h *float64
}

// Table finds the price of a model: an exact name of the configuration first, then its longest glob, then the list.
type Table struct {
	rows []row
	list *List
}

type row struct {
	glob string
	tariff
}

// NewTable makes a table of the configured prices, by name or glob, and of a list for what they leave out; nil for none.
func NewTable(prices map[string]Price, list *List) *Table {
	t := &Table{list: list}
	for glob, p := range prices {
		t.rows = append(t.rows, row{glob, tariff{
			Input: flat(p.Input), Output: flat(p.Output), CacheRead: flat(p.CacheRead), CacheWrite5m: flat(p.CacheWrite5m), CacheWrite1h: flat(p.CacheWrite1h),
		}})
	}
	slices.SortFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(len(b.glob), len(a.glob)), strings.Compare(a.glob, b.glob))
	})
	return t
}

// Turn gives what a turn costs in USD, nil where a part of it is unknown. Each attempt is priced by itself, since a price may
// hang on the length of its input, and another model may have been asked; one that used nothing costs nothing.
func (t *Table) Turn(turn *mooring.Turn) *float64 {
	var sum *float64
	for i := range turn.Attempts {
		a := &turn.Attempts[i]
		if a.Usage == (mooring.Usage{}) {
			continue
		}
		cost := t.Cost(cmp.Or(a.Model, turn.Model), a.StartedAt, a.Usage)
		if cost == nil {
			return nil
		}
		if sum != nil {
			*cost += *sum
		}
		sum = cost
	}
	return sum
}

// Cost gives what one answer of that time costs in USD, nil where it is unknown.
func (t *Table) Cost(model string, at time.Time, u mooring.Usage) *float64 {
	p, ok := t.find(model, at)
	if !ok || u == (mooring.Usage{}) {
		return nil
	}
	input := u.Input.Add(u.CacheRead).Add(u.CacheWrite5m).Add(u.CacheWrite1h)
	sum := 0.0
	for _, part := range []struct {
		n    mooring.Tokens
		rate *rate
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
		usd, told := part.rate.of(input)
		if !told {
			return nil
		}
		sum += float64(part.n.N) * usd / perMillion
	}
	return &sum
}

const perMillion = 1e6

func (t *Table) find(model string, at time.Time) (tariff, bool) {
	for _, exact := range []bool{true, false} {
		for i := range t.rows {
			if r := &t.rows[i]; matches(r.glob, model, exact) {
				return r.tariff, true
			}
		}
	}
	if t.list == nil {
		return tariff{}, false
	}
	return t.list.find(model, at)
}

func matches(glob, model string, exact bool) bool { //nolint:revive // one pass for names, one for globs
	if exact {
		return glob == model
	}
	ok, err := path.Match(strings.ReplaceAll(glob, "/", "\x00"), strings.ReplaceAll(model, "/", "\x00"))
	return err == nil && ok
}
