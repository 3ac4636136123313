package telemetry

import "github.com/prometheus/client_golang/prometheus"

// Watched is what is read whenever somebody asks for the metrics. A nil function leaves its metric out; each is cheap and asks no
// store.
type Watched struct {
	Version        string
	TurnsRunning   func() int   // of this process, those that wait included
	ChangesWaiting func() int64 // that the store has not got yet
	JournalBytes   func() int64 // of those of them that stand in the journal
	EventListeners func() int
	Replicas       func() int // that share the store, this one included
}

// Watch registers the metrics that are read and not counted; it is called once.
func (m *Metrics) Watch(w Watched) {
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "mooring_build_info", Help: "1, under the version that runs."}, []string{"version"})
	build.WithLabelValues(w.Version).Set(1)
	m.registry.MustRegister(build)
	gauge(m, "mooring_turns_running", "Turns of this process that run or wait to.", w.TurnsRunning)
	gauge(m, "mooring_writer_waiting_changes", "Changes on their way into the store.", w.ChangesWaiting)
	gauge(m, "mooring_journal_bytes", "Bytes that the journal is ahead of the store.", w.JournalBytes)
	gauge(m, "mooring_event_listeners", "Live event streams that are open.", w.EventListeners)
	gauge(m, "mooring_replicas", "Processes that share the store, as this one last heard.", w.Replicas)
}

func gauge[N int | int64](m *Metrics, name, help string, value func() N) {
	if value == nil {
		return
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
}
