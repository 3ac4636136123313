package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// UpstreamState is how an upstream stands at the moment when the metrics are read.
type UpstreamState struct {
	Name        string
	Up          bool
	Circuit     string // "closed", "open" or "half_open"
	Drained     bool
	InFlight    int
	MaxInFlight int // 0 for no limit
	Waiting     int
	Spills      int64
	Rest        time.Duration // what is left of the time that it asked for; 0 for none
	Accounts    []AccountState
}

// AccountState is how one of its accounts stands.
type AccountState struct {
	Name     string
	Requests int64
	Refused  int64
	Rest     time.Duration
}

// UpstreamMoved counts a session that moved to an upstream, or there to another account.
func (m *Metrics) UpstreamMoved(upstream string) { m.moves.WithLabelValues(upstream).Inc() }

// WatchUpstreams shows upstreams as they stand; states is asked whenever the metrics are read. It is called once.
func (m *Metrics) WatchUpstreams(states func() []UpstreamState) {
	m.registry.MustRegister(newUpstreamCollector(states))
}

// upstreamCollector makes the metrics of upstreams when they are read: those of one that a reload takes out are gone with it.
type upstreamCollector struct {
	states func() []UpstreamState

	up, circuit, drained, inFlight, limit, waiting, spills, rest *prometheus.Desc
	accountRequests, accountRefused, accountRest                 *prometheus.Desc
}

func newUpstreamCollector(states func() []UpstreamState) *upstreamCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("mooring_upstream_"+name, help, append([]string{"upstream"}, labels...), nil)
	}
	return &upstreamCollector{
		states:          states,
		up:              desc("up", "1 where the upstream is believed to answer."),
		circuit:         desc("circuit", "1 for the state that the circuit breaker is in.", "state"),
		drained:         desc("drained", "1 where the upstream takes no new sessions."),
		inFlight:        desc("in_flight", "Requests that have not ended."),
		limit:           desc("max_in_flight", "How many may run at once; 0 for no limit."),
		waiting:         desc("waiting", "Requests that wait for a place."),
		spills:          desc("spills_total", "Turns that another upstream answered because this one was full; their sessions stay here."),
		rest:            desc("rest_seconds", "What is left of the time for which the upstream asked to be left alone."),
		accountRequests: desc("account_requests_total", "Requests by account.", "account"),
		accountRefused:  desc("account_refused_total", "Of those: answered with 401, 402, 403 or 429.", "account"),
		accountRest:     desc("account_rest_seconds", "What is left of the time for which the account is left alone.", "account"),
	}
}

// Describe is for the registry.
func (c *upstreamCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect is for the registry.
func (c *upstreamCollector) Collect(ch chan<- prometheus.Metric) {
	for _, u := range c.states() {
		gauge := func(d *prometheus.Desc, v float64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, append([]string{u.Name}, labels...)...)
		}
		counter := func(d *prometheus.Desc, v int64, labels ...string) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), append([]string{u.Name}, labels...)...)
		}
		gauge(c.up, truth(u.Up))
		gauge(c.drained, truth(u.Drained))
		gauge(c.inFlight, float64(u.InFlight))
		gauge(c.limit, float64(u.MaxInFlight))
		gauge(c.waiting, float64(u.Waiting))
		gauge(c.rest, u.Rest.Seconds())
		counter(c.spills, u.Spills)
		for _, state := range []string{"closed", "open", "half_open"} {
			gauge(c.circuit, truth(u.Circuit == state), state)
		}
		for _, a := range u.Accounts {
			counter(c.accountRequests, a.Requests, a.Name)
			counter(c.accountRefused, a.Refused, a.Name)
			gauge(c.accountRest, a.Rest.Seconds(), a.Name)
		}
	}
}

func truth(is bool) float64 { //nolint:revive // a value to be shown
	if is {
		return 1
	}
	return 0
}
