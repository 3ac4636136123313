package price_test

import (
	"testing"
	"time"

	"mooring"
	"mooring/internal/price"
)

func TestCost(t *testing.T) {
	t.Parallel()
	usd := func(f float64) *float64 { return &f }
	table := price.NewTable(map[string]price.Price{
		"*":             {Input: usd(100), Output: usd(100)},
		"gpt-*":         {Input: usd(1), Output: usd(2)},
		"gpt-x":         {Input: usd(3), Output: usd(4), CacheRead: usd(0.5), CacheWrite5m: usd(6), CacheWrite1h: usd(8)},
		"openai/*-mini": {Input: usd(0), Output: usd(0)},
		"only-input":    {Input: usd(1)},
		"[broken":       {Input: usd(7), Output: usd(7)},
	}, nil)
	million := mooring.Count(1e6)
	for _, tt := range []struct {
		rule  string
		model string
		use   mooring.Usage
		want  *float64
	}{
		{"prices are per million tokens", "gpt-y", mooring.Usage{Input: mooring.Count(500_000), Output: million}, usd(2.5)},
		{"an exact name beats every glob", "gpt-x", mooring.Usage{Input: million}, usd(3)},
		{"a longer glob beats a shorter one", "gpt-z", mooring.Usage{Input: million}, usd(1)},
		{"a star covers slashes", "openai/a/b-mini", mooring.Usage{Input: million, Output: million}, usd(0)},
		{"a pattern that is none still names itself", "[broken", mooring.Usage{Input: million}, usd(7)},
		{"each kind of cache has its price", "gpt-x", mooring.Usage{CacheRead: million, CacheWrite5m: million, CacheWrite1h: million}, usd(14.5)},
		{"a cache read without a price has no cost", "gpt-y", mooring.Usage{Input: million, CacheRead: million}, nil},
		{"nor has a write for five minutes", "gpt-y", mooring.Usage{Input: million, CacheWrite5m: million}, nil},
		{"nor one for an hour", "gpt-y", mooring.Usage{Input: million, CacheWrite1h: million}, nil},
		{"a count that the price leaves open has no cost", "only-input", mooring.Usage{Input: million, Output: million}, nil},
		{"what was not used needs no price", "only-input", mooring.Usage{Input: million, Output: mooring.Count(0)}, usd(1)},
		{"an answer that used nothing costs nothing", "gpt-x", mooring.Usage{Input: mooring.Count(0), Output: mooring.Count(0)}, usd(0)},
		{"an answer whose upstream told nothing has no cost", "gpt-x", mooring.Usage{}, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			got := table.Cost(tt.model, time.Time{}, tt.use)
			if !near(got, tt.want) {
				t.Errorf("Cost(%s) = %v, want %v", tt.model, show(got), show(tt.want))
			}
		})
	}
	t.Run("a model without a price has no cost", func(t *testing.T) {
		t.Parallel()
		if got := price.NewTable(map[string]price.Price{"gpt-*": {Input: usd(1)}}, nil).Cost("claude", time.Time{}, mooring.Usage{Input: million}); got != nil {
			t.Errorf("Cost = %v, want none", *got)
		}
	})
}

func show(f *float64) any {
	if f == nil {
		return nil
	}
	return *f
}
