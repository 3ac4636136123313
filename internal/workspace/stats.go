package workspace

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"mooring"
)

// recently is the span that turns are counted over by what became of them: older ones count in the totals alone, so that a long
// history makes the answer no slower.
const recently = 24 * time.Hour

type statsView struct {
	Sessions sessionCount `json:"sessions"`
	Turns    int          `json:"turns"`
	Usage    costView     `json:"usage"`
	LastDay  dayView      `json:"last_24h"`
	Prices   PriceList    `json:"prices"`
}

// PriceList says what list prices come from where the configuration has none.
type PriceList struct {
	Date   string `json:"date"` // day of its publication
	Source string `json:"source"`
	Models int    `json:"models"`
}

type sessionCount struct {
	Total    int `json:"total"`
	Archived int `json:"archived"`
	SideOnly int `json:"side_only"`
}

type dayView struct {
	Since      instant                   `json:"since"`
	Turns      map[mooring.TurnState]int `json:"turns"`
	Pins       map[mooring.PinMark]int   `json:"pins"`
	Usage      costView                  `json:"usage"`
	ByUpstream []upstreamTally           `json:"by_upstream"`
	ByModel    []modelTally              `json:"by_model"`
}

type upstreamTally struct {
	Upstream *mooring.UpstreamName `json:"upstream"`
	tallyView
}

type modelTally struct {
	Model *string `json:"model"`
	tallyView
}

type tallyView struct {
	Turns int      `json:"turns"`
	Usage costView `json:"usage"`
}

func (a *API) showStats(r *http.Request, tenant mooring.Tenant) (any, error) {
	since := a.now().Add(-recently)
	f, err := a.store.Figures(r.Context(), tenant, since)
	if err != nil {
		return nil, err
	}
	return statsView{
		Sessions: sessionCount{Total: f.Sessions, Archived: f.Archived, SideOnly: f.Side},
		Turns:    f.Turns,
		Usage:    viewSpending(f.Spent),
		LastDay:  viewDay(since, f.Recent),
		Prices:   a.prices(),
	}, nil
}

func viewDay(since time.Time, recent []mooring.Tally) dayView {
	day := dayView{
		Since: instant(since), ByUpstream: []upstreamTally{}, ByModel: []modelTally{},
		Turns: map[mooring.TurnState]int{mooring.Running: 0, mooring.Completed: 0, mooring.Failed: 0, mooring.Cancelled: 0, mooring.Interrupted: 0},
		Pins:  map[mooring.PinMark]int{mooring.PinNew: 0, mooring.PinHit: 0, mooring.PinMoved: 0, mooring.PinSpill: 0},
	}
	for _, t := range recent {
		day.Turns[t.State] += t.Turns
		if t.Pin != "" { // of a turn that kept none
			day.Pins[t.Pin] += t.Turns
		}
	}
	for _, sum := range tallies(recent, func(mooring.Tally) string { return "" }) {
		day.Usage = sum.Usage
	}
	if len(recent) == 0 {
		day.Usage = viewSpending(nothingSpent())
	}
	for name, sum := range tallies(recent, func(t mooring.Tally) mooring.UpstreamName { return t.Upstream }) {
		day.ByUpstream = append(day.ByUpstream, upstreamTally{Upstream: known(name), tallyView: sum})
	}
	for name, sum := range tallies(recent, func(t mooring.Tally) string { return t.Model }) {
		day.ByModel = append(day.ByModel, modelTally{Model: known(name), tallyView: sum})
	}
	return day
}

// tallies sums by a name, in the order of the names.
func tallies[T cmp.Ordered](all []mooring.Tally, name func(mooring.Tally) T) func(yield func(T, tallyView) bool) {
	turns, spent := map[T]int{}, map[T]mooring.Spending{}
	for _, t := range all {
		n := name(t)
		sum, ok := spent[n]
		if !ok {
			sum = nothingSpent()
		}
		turns[n] += t.Turns
		spent[n] = mooring.Spending{Usage: sum.Usage.Add(t.Spent.Usage), CostUSD: addDollars(sum.CostUSD, t.Spent.CostUSD)}
	}
	return func(yield func(T, tallyView) bool) {
		for _, n := range slices.Sorted(maps.Keys(turns)) {
			if !yield(n, tallyView{Turns: turns[n], Usage: viewSpending(spent[n])}) {
				return
			}
		}
	}
}

func nothingSpent() mooring.Spending {
	zero := 0.0
	return mooring.Spending{CostUSD: &zero}
}
