package telemetry

// CostOf is what one request's attempts cost.
type CostOf struct {
	Upstream string
	USD      *float64 // nil where it is unknown
	Used     bool     // an upstream said that something was used
}

// Cost adds what a turn cost, or counts it where that is unknown. One that used nothing is no such turn.
func (m *Metrics) Cost(c CostOf) {
	switch {
	case c.USD != nil && *c.USD >= 0:
		m.cost.WithLabelValues(c.Upstream).Add(*c.USD)
	case c.Used:
		m.unpriced.WithLabelValues(c.Upstream).Inc()
	}
}

// KeyLimited counts a request that was refused by a limit of its key, under the limit's name in the configuration.
func (m *Metrics) KeyLimited(limit string) { m.keyLimits.WithLabelValues(limit).Inc() }
