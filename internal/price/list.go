package price

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
)

// published is made by scripts/prices.mjs, which says what is taken over and what is not.
//
//go:embed prices.json
var published []byte

// List is the public list of prices that is part of the program.
type List struct {
	Name    string // of the data set, with its version
	Date    string // day of its publication
	Address string
	Models  int

	providers map[string]*provider // by id, and by the other names that the data set knows
	own       names                // of all makers, by names without a provider
}

type provider struct {
	names
	fallsBack []string // providers whose models it has too, at their prices
}

// names finds a model's prices: by a whole name, else by the longest beginning behind which stands a date at most. One that two
// models have finds neither.
type names struct {
	whole  map[string][]tariff
	starts map[string][]tariff
}

type listedModel struct {
	Own    bool     `json:"own"` // the names need no provider before them: they are the maker's
	Is     []string `json:"is"`
	Starts []string `json:"starts"`
	Prices []tariff `json:"prices"`
}

// Published reads the list.
func Published() *List {
	var doc struct {
		Name, Version, Date, Address string
		Providers                    []struct {
			ID        string        `json:"id"`
			Also      []string      `json:"also"`
			FallsBack []string      `json:"falls_back"`
			Models    []listedModel `json:"models"`
		}
	}
	if err := json.Unmarshal(published, &doc); err != nil {
		panic("price: prices.json is broken: " + err.Error())
	}
	l := &List{Name: doc.Name + " " + doc.Version, Date: doc.Date, Address: doc.Address, providers: map[string]*provider{}, own: noNames()}
	for i := range doc.Providers {
		read := &doc.Providers[i]
		p := &provider{names: noNames(), fallsBack: read.FallsBack}
		for _, name := range append(read.Also, read.ID) {
			l.providers[name] = p
		}
		for j := range read.Models {
			m := &read.Models[j]
			p.add(m)
			if m.Own {
				l.own.add(m)
			}
			l.Models++
		}
	}
	return l
}

func noNames() names {
	return names{whole: map[string][]tariff{}, starts: map[string][]tariff{}}
}

func (n names) add(m *listedModel) {
	put(n.whole, m.Is, m.Prices)
	put(n.starts, m.Starts, m.Prices)
}

func put(into map[string][]tariff, keys []string, prices []tariff) {
	for _, key := range keys {
		if _, twice := into[key]; twice {
			into[key] = nil
			continue
		}
		into[key] = prices
	}
}

// dated is what may stand behind the beginning of a name: a snapshot of the same model has a date or a number there, another
// model has a word or a version.
var dated = regexp.MustCompile(`^(?:[-@]latest|[-@]v\d|:\d|[-@]?20\d{6}|[-@]?20\d\d-\d\d-\d\d|[-@]\d\d-\d\d|[-@]?\d{3,4})*$`)

func (n names) find(name string) []tariff {
	if prices, ok := n.whole[name]; ok {
		return prices
	}
	for end := len(name); end > 0; end-- {
		if prices, ok := n.starts[name[:end]]; ok && dated.MatchString(name[end:]) {
			return prices
		}
	}
	return nil
}

// find gives what a model costs at a time. A provider in the name decides alone; without one only a maker's own name counts.
func (l *List) find(model string, at time.Time) (tariff, bool) {
	model = strings.ToLower(strings.TrimSpace(model))
	prices := l.own.find
	if before, rest, ok := strings.Cut(model, "/"); ok && l.providers[before] != nil {
		model, prices = rest, l.providers[before].findIn(l)
	}
	day := at.UTC().Format(time.DateOnly)
	for _, p := range slices.Backward(prices(model)) {
		if p.From <= day {
			return p, true
		}
	}
	return tariff{}, false
}

// findIn looks at the provider's own models, then at those that it has of others.
func (p *provider) findIn(l *List) func(string) []tariff {
	return func(name string) []tariff {
		prices := p.find(name)
		for _, other := range p.fallsBack {
			if prices != nil {
				break
			}
			if o := l.providers[other]; o != nil {
				prices = o.find(name)
			}
		}
		return prices
	}
}
