package config

import "time"

// Routing is how a request finds its upstream.
type Routing struct {
	// Picks among the candidates for a session that has no pin yet.
	Policy string `jsonschema:"enum=rendezvous,enum=least_busy,enum=round_robin" yaml:"policy"`

	// What a request does when its upstream does not answer: ask the `next`, `wait` up to 10 s for it and ask no other, or `fail` at once; unset it is `fail` where the state is remote, else `next`.
	Failover string `jsonschema:"enum=,enum=next,enum=wait,enum=fail" yaml:"failover"`

	// What counts as not answering, before the first byte only: `unreachable`, `5xx`, or single status numbers as in `429`.
	FailoverOn []string `yaml:"failover_on"`

	// Whether a session that had to move stays where it is, or returns when its first upstream is well again.
	OnRecovery string `jsonschema:"enum=stay,enum=return" yaml:"on_recovery"`

	// Whether a sub-agent starts where its parent is, upstream and account, as long as that is well and serves its model, or is spread like any session.
	Subagents string `jsonschema:"enum=inherit,enum=spread" yaml:"subagents"`

	// How long a session without turns keeps its upstream.
	PinIdle time.Duration `yaml:"pin_idle"`
}

// Price is what a model costs, in USD per million tokens.
type Price struct {
	// Tokens sent.
	Input *float64 `yaml:"input,omitempty"`

	// Tokens answered.
	Output *float64 `yaml:"output,omitempty"`

	// Tokens read from the provider's cache.
	CacheRead *float64 `yaml:"cache_read,omitempty"`

	// Tokens written to the provider's cache for five minutes.
	CacheWrite5m *float64 `yaml:"cache_write_5m,omitempty"`

	// Tokens written to the provider's cache for an hour.
	CacheWrite1h *float64 `yaml:"cache_write_1h,omitempty"`
}
