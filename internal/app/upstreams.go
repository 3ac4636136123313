package app

import (
	"context"
	"time"

	"mooring"
	"mooring/internal/admin"
	"mooring/internal/config"
	"mooring/internal/telemetry"
	"mooring/internal/upstream"
)

// health is how an upstream does, as lists of upstreams say it.
type health string

const (
	healthy  health = "healthy"
	ailing   health = "unhealthy"
	draining health = "draining"
	unasked  health = "unknown"
)

func (a *App) healthOf(u *upstream.Upstream) health {
	all, _ := u.Requests()
	switch {
	case !u.Up(a.opts.Now()):
		return ailing
	case u.Drained():
		return draining
	case all == 0 && u.Health == "" && u.Builtin == nil:
		return unasked
	}
	return healthy
}

func (a *App) upstreamViews() []admin.UpstreamView {
	now := a.opts.Now()
	var out []admin.UpstreamView
	for _, u := range a.fleet.All() {
		all, failed := u.Requests()
		v := admin.UpstreamView{
			Name: u.Name, Health: string(a.healthOf(u)), Models: u.Models, Protocol: string(u.Speaks), URL: u.URL, Circuit: string(u.Circuit(now)),
			DrainedSince: a.fleet.DrainedSince(u.Name), InFlight: u.InFlight(), MaxInFlight: u.MaxInFlight, Waiting: u.Waiting(), Requests: all,
			Failures: failed, Spills: u.Spills(), Reason: u.Ailment(now), RestUntil: u.Resting(now).Until,
		}
		for _, c := range u.AccountCounts(now) {
			v.Accounts = append(v.Accounts, admin.AccountView{Name: c.Name, Requests: c.Requests, Refused: c.Refused, RestUntil: c.Rest.Until})
		}
		out = append(out, v)
	}
	return out
}

// upstreamStates is the same for the metrics.
func (a *App) upstreamStates() []telemetry.UpstreamState {
	now := a.opts.Now()
	var out []telemetry.UpstreamState
	for _, u := range a.fleet.All() {
		s := telemetry.UpstreamState{
			Name: string(u.Name), Up: u.Up(now), Circuit: string(u.Circuit(now)), Drained: u.Drained(), InFlight: u.InFlight(), MaxInFlight: u.MaxInFlight,
			Waiting: u.Waiting(), Spills: u.Spills(), Rest: left(u.Resting(now), now),
		}
		for _, c := range u.AccountCounts(now) {
			s.Accounts = append(s.Accounts, telemetry.AccountState{Name: string(c.Name), Requests: c.Requests, Refused: c.Refused, Rest: left(c.Rest, now)})
		}
		out = append(out, s)
	}
	return out
}

func left(r upstream.Rest, now time.Time) time.Duration { return max(0, r.Until.Sub(now)) }

// followDrains makes what keeps and follows which upstreams are drained.
func (a *App) followDrains(cfg *config.Config) {
	a.drains = upstream.NewDrains(upstream.DrainOptions{
		Fleet: a.fleet, Read: a.reader.Drained, Commit: a.commit, Every: drainPoll(cfg), Now: a.opts.Now, Log: a.opts.Log,
	})
}

// drainPoll is how soon a drain holds on the other replicas. A file is changed by this process alone.
func drainPoll(cfg *config.Config) time.Duration {
	if cfg.Store.Postgres() {
		return time.Second
	}
	return 0
}

// Drained reads which upstreams take no new sessions.
func (r reader) Drained(ctx context.Context) (map[mooring.UpstreamName]time.Time, error) {
	if err := r.log.Sync(ctx); err != nil {
		return nil, err
	}
	return r.Store.Drained(ctx)
}
