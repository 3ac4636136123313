package app

import (
	"context"
	"net/http"

	"mooring"
	"mooring/internal/telemetry"
)

// nobody stands in a metric for the upstream of a turn that none was asked for.
const nobody = "none"

// watched is what the metrics read of the rooms.
func (a *App) watched() telemetry.Watched {
	return telemetry.Watched{
		Version: a.opts.Version, TurnsRunning: a.turns.UnderWay, ChangesWaiting: a.record.Waiting, JournalBytes: a.record.Ahead,
		EventListeners: a.hub.Listeners, Replicas: a.server.Shares,
	}
}

// ended tells of a turn that ended, with the attempts of its last request alone, whoever counts such things.
func (a *App) ended(t *mooring.Turn, asked http.Header) {
	a.count(t)
	if a.tracer != nil {
		a.tracer.Turn(t, asked)
	}
	usd := a.prices.Load().Turn(t)
	a.metrics.Cost(telemetry.CostOf{Upstream: upstreamLabel(t.Upstream), USD: usd, Used: usedSomething(t)})
	if usd != nil {
		a.server.Spend(t.Key, t.StartedAt, *usd)
	}
}

// count feeds the metrics with a turn that ended.
func (a *App) count(t *mooring.Turn) {
	end := telemetry.TurnEnd{
		Protocol: string(t.Protocol), Kind: string(t.Kind), State: string(t.State), Upstream: upstreamLabel(t.Upstream), Duration: t.EndedAt.Sub(t.StartedAt),
	}
	if !t.FirstAt.IsZero() {
		end.FirstByte = t.FirstAt.Sub(t.StartedAt)
	}
	a.metrics.TurnEnded(end)
	if t.Pin == mooring.PinMoved {
		a.metrics.UpstreamMoved(string(t.Upstream))
	}
	for i := range t.Attempts {
		at := &t.Attempts[i]
		for range max(at.Tries, 1) {
			a.metrics.UpstreamAnswered(telemetry.UpstreamAnswer{Upstream: string(at.Upstream), Outcome: string(at.State)})
		}
		a.metrics.Routed(telemetry.Route{Upstream: string(at.Upstream), Why: string(at.Why)})
		a.metrics.TokensUsed(telemetry.TokenUse{
			Upstream: string(at.Upstream), Input: at.Usage.Input.N, Output: at.Usage.Output.N, CacheRead: at.Usage.CacheRead.N,
			CacheWrite: at.Usage.CacheWrite5m.N + at.Usage.CacheWrite1h.N,
		})
	}
}

func upstreamLabel(name mooring.UpstreamName) string {
	if name == "" {
		return nobody
	}
	return string(name)
}

func usedSomething(t *mooring.Turn) bool {
	for i := range t.Attempts {
		if t.Attempts[i].Usage != (mooring.Usage{}) {
			return true
		}
	}
	return false
}

// countBegun counts the sessions that a batch began.
func (a *App) countBegun(batch []mooring.Change) {
	for _, change := range batch {
		if c, ok := change.(*mooring.Begin); ok && c.New && c.Err == nil {
			a.metrics.SessionStarted(string(c.Session.Relation))
		}
	}
}

// elsewhere counts the turns of a key that other replicas run.
func (a *App) elsewhere(ctx context.Context, t mooring.Tenant, key mooring.KeyName) (int, error) {
	return a.store.RunningElsewhere(ctx, t, key, a.ids.replica)
}
