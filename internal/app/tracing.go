package app

import (
	"context"
	"strconv"
	"time"

	"mooring"
	"mooring/internal/config"
	"mooring/internal/telemetry"
)

// lastSpans is how long a stop waits for a collector to take what is left.
const lastSpans = 2 * time.Second

// trace begins to tell a collector of turns, where there is one.
func (a *App) trace(cfg *config.Config) error {
	if cfg.Telemetry.OTLP == "" {
		return nil
	}
	tracer, err := telemetry.NewTracer(telemetry.TraceOptions{
		Endpoint: cfg.Telemetry.OTLP.Reveal(), Version: a.opts.Version, Replica: a.ids.replica, Log: a.opts.Log, Server: a.serverOf,
	})
	if err != nil {
		return &config.Error{Key: "telemetry.otlp", Msg: err.Error()}
	}
	a.tracer = tracer
	a.onStop(func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastSpans)
		defer cancel()
		a.closed("traces", tracer.Close(ctx))
	})
	return nil
}

// serverOf is where an upstream is.
func (a *App) serverOf(name mooring.UpstreamName) (host string, port int) {
	for _, u := range a.fleet.All() {
		if u.Name != name || u.Builtin != nil || u.Base == nil {
			continue
		}
		if port, _ = strconv.Atoi(u.Base.Port()); port == 0 {
			port = map[string]int{"http": 80, "https": 443}[u.Base.Scheme]
		}
		return u.Base.Hostname(), port
	}
	return "", 0
}
