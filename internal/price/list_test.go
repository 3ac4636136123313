package price_test

import (
	"testing"
	"time"

	"mooring"
	"mooring/internal/price"
	"mooring/internal/wire"
)

// Prices are those of the list of 2026-09-23; a newer list may change them.
func TestListedPrices(t *testing.T) {
	t.Parallel()
	usd := func(f float64) *float64 { return &f }
	table := price.NewTable(map[string]price.Price{"glm-*": {Input: usd(9), Output: usd(9)}}, price.Published())
	now, million := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), mooring.Count(1e6)
	in := func(n int64) mooring.Usage { return mooring.Usage{Input: mooring.Count(n), Output: mooring.Count(0)} }
	for _, tt := range []struct {
		rule  string
		model string
		at    time.Time
		use   mooring.Usage
		want  *float64
	}{
		{"a whole name", "claude-opus-5", now, in(1e6), usd(5)},
		{"a name in other letters", "Claude-Opus-5", now, in(1e6), usd(5)},
		{"a snapshot that the data set knows", "claude-opus-5-20260401", now, in(1e6), usd(5)},
		{"the next version is another model", "claude-opus-5-9", now, in(1e6), nil},
		{"so is a word behind the name", "claude-opus-5-fast", now, in(1e6), nil},
		{"and a name that only holds it", "my-claude-opus-5", now, in(1e6), nil},
		{"a snapshot that has its own price", "gpt-4o-2024-05-13", now, in(1e6), usd(5)},
		{"its newer ones have another", "gpt-4o-2024-11-20", now, in(1e6), usd(2.5)},
		{"a snapshot that the data set does not know", "gpt-4o-2031-01-01", now, in(1e6), nil},
		{"reads and both kinds of writes are priced apart", "claude-opus-5", now, mooring.Usage{
			Input: million, Output: million, CacheRead: million, CacheWrite5m: million, CacheWrite1h: million,
		}, usd(5 + 25 + 0.5 + 6.25 + 10)},
		{"a write for an hour that the data set does not price has no cost", "vertex/claude-opus-5", now, mooring.Usage{Input: million, CacheWrite1h: million}, nil},
		{"the provider in the name", "openai/gpt-5", now, in(1e6), usd(1.25)},
		{"the provider's other name", "xai/grok-4.3-20260101", now, in(1), usd(1.25e-6)},
		{"a provider with prices of its own", "openrouter/anthropic/claude-opus-5-fast", now, in(1e6), usd(10)},
		{"a provider that has the models of others", "azure/claude-opus-5", now, in(1e6), usd(5)},
		{"a provider that does not have the model", "anthropic/gpt-5", now, in(1e6), nil},
		{"a model that many providers run and nobody marks as its own", "llama-3.3-70b-versatile", now, in(1e6), nil},
		{"it with its provider", "groq/llama-3.3-70b-versatile", now, in(1e6), usd(0.59)},
		{"a provider that nobody knows", "elsewhere/gpt-5", now, in(1e6), nil},
		{"a short input", "gpt-5.5", now, in(271_999), usd(271_999 * 5e-6)},
		{"a long input makes all of the request dearer", "gpt-5.5", now, mooring.Usage{
			Input: mooring.Count(2_000), CacheRead: mooring.Count(270_000), Output: mooring.Count(1_000),
		}, usd(2_000*10e-6 + 270_000*1e-6 + 1_000*45e-6)},
		{"an input that nobody told, where the price hangs on it", "gpt-5.5", now, mooring.Usage{Output: million}, nil},
		{"a price that is announced, before its day", "gemini-3.6-flash", now, in(1e6), usd(0.75)},
		{"and from its day on", "gemini-3.6-flash", time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), in(1e6), usd(1.5)},
		{"a price by the time of day", "deepseek-v4-pro", now, in(1e6), nil},
		{"a model with a price for sound", "gpt-4o-realtime-preview", now, in(1e6), nil},
		{"a model with a price by request", "perplexity/sonar", now, in(1e6), nil},
		{"the configuration beats the list", "glm-5", now, in(1e6), usd(9)},
		{"no name", "", now, in(1e6), nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			if got := table.Cost(tt.model, tt.at, tt.use); !near(got, tt.want) {
				t.Errorf("Cost(%s) = %v, want %v", tt.model, show(got), show(tt.want))
			}
		})
	}
}

// What the wire counts is what is priced: tokens of a cache stand inside the input in two protocols and beside it in the third.
func TestUsageIsPricedOnce(t *testing.T) {
	t.Parallel()
	usd := func(f float64) *float64 { return &f }
	table := price.NewTable(map[string]price.Price{"m": {Input: usd(10), Output: usd(100), CacheRead: usd(1), CacheWrite5m: usd(12.5), CacheWrite1h: usd(20)}}, nil)
	for _, tt := range []struct {
		name     string
		protocol mooring.Protocol
		body     string
		want     float64
	}{
		{
			"chat: cached tokens are a part of the prompt", mooring.Chat,
			`{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":50,"total_tokens":1050,"prompt_tokens_details":{"cached_tokens":600},"completion_tokens_details":{"reasoning_tokens":20}}}`,
			400*10e-6 + 600*1e-6 + 50*100e-6,
		},
		{
			"chat: so are written ones", mooring.Chat,
			`{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":600,"cache_write_tokens":300}}}`,
			100*10e-6 + 600*1e-6 + 300*12.5e-6 + 50*100e-6,
		},
		{
			"responses: the same under other names", mooring.Responses,
			`{"output":[],"usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":600,"cache_write_tokens":300},"output_tokens":50,"output_tokens_details":{"reasoning_tokens":20},"total_tokens":1050}}`,
			100*10e-6 + 600*1e-6 + 300*12.5e-6 + 50*100e-6,
		},
		{
			"messages: they stand beside the input", mooring.Messages,
			`{"content":[],"usage":{"input_tokens":100,"cache_creation_input_tokens":500,"cache_read_input_tokens":600,"cache_creation":{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":200},"output_tokens":50,"service_tier":"standard"}}`,
			100*10e-6 + 600*1e-6 + 300*12.5e-6 + 200*20e-6 + 50*100e-6,
		},
		{
			"messages: writes that tell no lifetime are short ones", mooring.Messages,
			`{"content":[],"usage":{"input_tokens":100,"cache_creation_input_tokens":300,"cache_read_input_tokens":0,"output_tokens":50}}`,
			100*10e-6 + 300*12.5e-6 + 50*100e-6,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, err := wire.DecodeAnswer(tt.protocol, []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := table.Cost("m", time.Time{}, a.Usage); !near(got, &tt.want) {
				t.Errorf("cost of %+v = %v, want %v", a.Usage, show(got), tt.want)
			}
		})
	}
}

func TestTurnCost(t *testing.T) {
	t.Parallel()
	usd := func(f float64) *float64 { return &f }
	table := price.NewTable(nil, price.Published())
	attempt := func(in, out int64) mooring.Attempt {
		return mooring.Attempt{Usage: mooring.Usage{Input: mooring.Count(in), Output: mooring.Count(out)}, StartedAt: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	}
	for _, tt := range []struct {
		rule     string
		model    string
		attempts []mooring.Attempt
		want     *float64
	}{
		{"C107 every attempt counts once", "claude-opus-5", []mooring.Attempt{attempt(100, 5), attempt(100, 50)}, usd(200*5e-6 + 55*25e-6)},
		{"each is as long as it is by itself", "gpt-5.5", []mooring.Attempt{attempt(200_000, 0), attempt(200_000, 0)}, usd(400_000 * 5e-6)},
		{"C109 one that used nothing costs nothing", "claude-opus-5", []mooring.Attempt{{}, attempt(100, 50)}, usd(100*5e-6 + 50*25e-6)},
		{"C109 none that used anything have no cost", "claude-opus-5", []mooring.Attempt{{}}, nil},
		{"C109 an unknown model has none", "nobody-knows", []mooring.Attempt{attempt(100, 50)}, nil},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			if got := table.Turn(&mooring.Turn{Model: tt.model, Attempts: tt.attempts}); !near(got, tt.want) {
				t.Errorf("Turn = %v, want %v", show(got), show(tt.want))
			}
		})
	}
}

func TestListSaysWhatItIs(t *testing.T) {
	t.Parallel()
	l := price.Published()
	if _, err := time.Parse(time.DateOnly, l.Date); err != nil || l.Name == "" || l.Models < 1000 {
		t.Errorf("list %q of %q with %d models", l.Name, l.Date, l.Models)
	}
}

func near(got, want *float64) bool {
	if got == nil || want == nil {
		return got == want
	}
	return max(*got-*want, *want-*got) < 1e-9
}
