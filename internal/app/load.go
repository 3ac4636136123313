package app

import (
	"context"
	"sync/atomic"
	"time"

	"mooring"
	"mooring/internal/admin"
)

// loadHolds is how long what was read of the upstreams' load is shown: a page that asks again and again costs little.
const loadHolds = 10 * time.Second

// load reads what the upstreams bear.
type load struct {
	store reader
	now   func() time.Time
	idle  func() time.Duration // how long a pin holds that is not used
	last  atomic.Pointer[loadRead]
}

type loadRead struct {
	at time.Time
	of map[mooring.UpstreamName]admin.Load
}

func (l *load) read(ctx context.Context) (map[mooring.UpstreamName]admin.Load, error) {
	now := l.now()
	if last := l.last.Load(); last != nil && now.Sub(last.at) < loadHolds {
		return last.of, nil
	}
	of, err := l.fresh(ctx, now)
	if err == nil {
		l.last.Store(&loadRead{at: now, of: of})
	}
	return of, err
}

func (l *load) fresh(ctx context.Context, now time.Time) (map[mooring.UpstreamName]admin.Load, error) {
	q := mooring.UseQuery{Everyone: true, From: now.Add(-time.Hour), To: now, By: mooring.ByUpstream}
	rows, err := l.store.Use(ctx, q)
	if err != nil {
		return nil, err
	}
	times, err := l.store.UseTimes(ctx, q)
	if err != nil {
		return nil, err
	}
	pinned, err := l.store.Pinned(ctx, now.Add(-l.idle()))
	if err != nil {
		return nil, err
	}
	of := map[mooring.UpstreamName]admin.Load{}
	for name, n := range pinned {
		of[name] = admin.Load{Pinned: n}
	}
	for _, r := range rows {
		one := of[mooring.UpstreamName(r.Name)]
		one.Turns, one.Errors = r.Turns, r.Failed
		of[mooring.UpstreamName(r.Name)] = one
	}
	for _, t := range times {
		one := of[mooring.UpstreamName(t.Name)]
		one.FirstP50, one.WholeP50, one.WholeP95 = quantile(t.First, 0.5), quantile(t.Whole, 0.5), quantile(t.Whole, 0.95)
		of[mooring.UpstreamName(t.Name)] = one
	}
	return of, nil
}

func quantile(t mooring.Times, part float64) *time.Duration {
	if took, ok := t.Quantile(part); ok {
		return &took
	}
	return nil
}
