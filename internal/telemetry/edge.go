package telemetry

import "github.com/prometheus/client_golang/prometheus"

// edgeMetrics are the tenant edge's. No label says who.
type edgeMetrics struct {
	answers  *prometheus.CounterVec
	refusals *prometheus.CounterVec
	untagged *prometheus.CounterVec
}

func newEdgeMetrics() edgeMetrics {
	return edgeMetrics{
		answers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_edge_requests_total", Help: "Requests answered at the tenant edge, by kind of route and class of status.",
		}, []string{"route", "class"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_edge_refusals_total", Help: "Requests that the tenant edge answered with an error of its own, by its code.",
		}, []string{"code"}),
		untagged: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mooring_edge_untagged_pages_total", Help: "Pages that could not be given the continuity script, by why not.",
		}, []string{"why"}),
	}
}

// EdgeAnswered counts an answer.
func (m *Metrics) EdgeAnswered(route string, status int) {
	m.edge.answers.WithLabelValues(route, statusClass(status)).Inc()
}

// EdgeRefused counts an error of the edge's own.
func (m *Metrics) EdgeRefused(code string) { m.edge.refusals.WithLabelValues(code).Inc() }

// EdgeUntagged counts a page without the script.
func (m *Metrics) EdgeUntagged(why string) { m.edge.untagged.WithLabelValues(why).Inc() }
