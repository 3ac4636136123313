package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics counts what the product does, in a registry of its own. Its methods may be called at any time from anywhere.
type Metrics struct {
	registry *prometheus.Registry

	turns            *prometheus.CounterVec
	turnSeconds      *prometheus.HistogramVec
	firstByteSeconds *prometheus.HistogramVec
	tokens           *prometheus.CounterVec
	cost             *prometheus.CounterVec
	unpriced         *prometheus.CounterVec
	keyLimits        *prometheus.CounterVec
	upstreamRequests *prometheus.CounterVec
	moves            *prometheus.CounterVec
	routes           *prometheus.CounterVec
	sessions         *prometheus.CounterVec
	commits          *prometheus.CounterVec
	commitSeconds    prometheus.Histogram
	commitBatch      prometheus.Histogram
	requests         *prometheus.CounterVec
	edge             edgeMetrics
}

// NewMetrics makes the registry with every metric in it, the Go runtime's and the process's too.
func NewMetrics() *Metrics {
	// From a local echo to a long agent turn.
	seconds := []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_turns_total", Help: "Turns that ended, by their final state.",
		}, []string{"protocol", "kind", "state", "upstream"}),
		turnSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mooring_turn_duration_seconds", Help: "From the request to the end of its turn.", Buckets: seconds,
		}, []string{"protocol"}),
		firstByteSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mooring_first_byte_seconds", Help: "From the request to the response header.", Buckets: seconds,
		}, []string{"protocol"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_tokens_total", Help: "Tokens as the upstreams told them.",
		}, []string{"upstream", "type"}),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_cost_usd_total", Help: "What turns cost in USD, where their models' prices are known.",
		}, []string{"upstream"}),
		unpriced: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_unpriced_turns_total", Help: "Turns that used something of unknown price.",
		}, []string{"upstream"}),
		keyLimits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_key_limit_hits_total", Help: "Requests that a limit of their key refused, by that limit.",
		}, []string{"limit"}),
		upstreamRequests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_upstream_requests_total", Help: "Requests to upstreams, by what became of them.",
		}, []string{"upstream", "outcome"}),
		moves: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_upstream_moves_total", Help: "Sessions that moved to the upstream, or there to another account.",
		}, []string{"upstream"}),
		routes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_routes_total", Help: "Attempts at turns, by what sent them where they went.",
		}, []string{"upstream", "why"}),
		sessions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_sessions_total", Help: "Sessions that began, by how they came to be.",
		}, []string{"relation"}),
		commits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_commits_total", Help: "Commits of the turn log.",
		}, []string{"outcome"}),
		commitSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mooring_commit_seconds", Help: "How long a commit of the turn log took.",
			Buckets: prometheus.ExponentialBuckets(.00005, 2, 14),
		}),
		commitBatch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mooring_commit_batch_size", Help: "Changes that shared a commit.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 8),
		}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_http_requests_total", Help: "Requests answered on the main listener, by class of status.",
		}, []string{"class"}),
		edge: newEdgeMetrics(),
	}
	m.registry.MustRegister(m.edge.answers, m.edge.refusals, m.edge.untagged)
	m.registry.MustRegister(m.turns, m.turnSeconds, m.firstByteSeconds, m.tokens, m.cost, m.unpriced, m.keyLimits, m.upstreamRequests, m.moves,
		m.routes, m.sessions,
		m.commits, m.commitSeconds, m.commitBatch, m.requests,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler answers with all metrics in the Prometheus text format; who may read them is the caller's to decide.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// TurnEnd is what is counted of a turn. All its words come from fixed lists or from the configuration.
type TurnEnd struct {
	Protocol  string
	Kind      string
	State     string
	Upstream  string        // "none" where none was asked
	Duration  time.Duration // of the whole turn
	FirstByte time.Duration // until the response header; 0 where there was none
}

// TurnEnded counts a turn under its final state: a stream that broke off counts as failed, whatever its status was.
func (m *Metrics) TurnEnded(t TurnEnd) {
	m.turns.WithLabelValues(t.Protocol, t.Kind, t.State, t.Upstream).Inc()
	m.turnSeconds.WithLabelValues(t.Protocol).Observe(t.Duration.Seconds())
	if t.FirstByte > 0 {
		m.firstByteSeconds.WithLabelValues(t.Protocol).Observe(t.FirstByte.Seconds())
	}
}

// TokenUse is what an upstream told of one answer; zero where it told nothing.
type TokenUse struct {
	Upstream                             string
	Input, Output, CacheRead, CacheWrite int64
}

// TokensUsed adds an answer's tokens.
func (m *Metrics) TokensUsed(u TokenUse) {
	m.addTokens(u.Upstream, "input", u.Input)
	m.addTokens(u.Upstream, "output", u.Output)
	m.addTokens(u.Upstream, "cache_read", u.CacheRead)
	m.addTokens(u.Upstream, "cache_write", u.CacheWrite)
}

// A count below zero would make the counter panic, and the numbers are an upstream's.
func (m *Metrics) addTokens(upstream, kind string, n int64) {
	if n > 0 {
		m.tokens.WithLabelValues(upstream, kind).Add(float64(n))
	}
}

// UpstreamAnswer is the outcome of one request to an upstream: a word of the caller's fixed list.
type UpstreamAnswer struct{ Upstream, Outcome string }

// UpstreamAnswered counts a request to an upstream.
func (m *Metrics) UpstreamAnswered(a UpstreamAnswer) {
	m.upstreamRequests.WithLabelValues(a.Upstream, a.Outcome).Inc()
}

// Route is where an attempt went and why: a word of the caller's fixed list.
type Route struct{ Upstream, Why string }

// Routed counts an attempt at a turn by what sent it where it went.
func (m *Metrics) Routed(r Route) { m.routes.WithLabelValues(r.Upstream, r.Why).Inc() }

// SessionStarted counts a new session under its relation.
func (m *Metrics) SessionStarted(relation string) { m.sessions.WithLabelValues(relation).Inc() }

// Committed counts a commit of that many changes, and under which outcome.
func (m *Metrics) Committed(changes int, took time.Duration, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}
	m.commits.WithLabelValues(outcome).Inc()
	m.commitSeconds.Observe(took.Seconds())
	m.commitBatch.Observe(float64(changes))
}

// Answered counts a request by the class of its status.
func (m *Metrics) Answered(status int) {
	m.requests.WithLabelValues(statusClass(status)).Inc()
}

func statusClass(status int) string {
	if status < 100 || status >= 600 {
		return "other"
	}
	return string(rune('0'+status/100)) + "xx"
}
