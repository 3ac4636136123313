package upstream

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mooring"
)

const (
	checkEvery   = 10 * time.Second
	checkTimeout = 5 * time.Second
)

// Fleet is the set of configured upstreams; a reload replaces it and keeps what did not change.
type Fleet struct {
	current atomic.Pointer[[]*Upstream]

	mu     sync.Mutex // guards the two below
	cancel context.CancelFunc
	wg     *sync.WaitGroup
}

// NewFleet makes a fleet of these upstreams. Start begins its checks.
func NewFleet(all []*Upstream) *Fleet {
	f := &Fleet{}
	f.current.Store(&all)
	return f
}

// All gives the upstreams in the order of the configuration; the slice must not be changed.
func (f *Fleet) All() []*Upstream { return *f.current.Load() }

// Get gives the upstream of a name, nil where there is none.
func (f *Fleet) Get(name mooring.UpstreamName) *Upstream {
	for _, u := range f.All() {
		if u.Name == name {
			return u
		}
	}
	return nil
}

// Candidates are the upstreams whose protocol and models match best: an exact name beats a longer glob beats a shorter one.
func (f *Fleet) Candidates(p mooring.Protocol, model string) []*Upstream {
	var out []*Upstream
	best := -1
	for _, u := range f.All() {
		if !u.Understands(p) {
			continue
		}
		rank, ok := u.Match(model)
		switch {
		case !ok || rank < best:
		case rank > best:
			best, out = rank, append(out[:0], u)
		default:
			out = append(out, u)
		}
	}
	return out
}

// Replace takes over the upstreams of a new configuration; equal ones keep their state and connections.
func (f *Fleet) Replace(next []*Upstream) {
	old := f.All()
	merged := slices.Clone(next)
	for i, u := range merged {
		if j := slices.IndexFunc(old, func(o *Upstream) bool { return same(o.Spec, u.Spec) }); j >= 0 {
			merged[i] = old[j]
		}
	}
	f.swap(merged)
	for _, o := range old {
		if !slices.Contains(merged, o) {
			o.closeIdle()
		}
	}
}

func same(a, b Spec) bool {
	return a.Name == b.Name && a.URL == b.URL && a.Speaks == b.Speaks && a.KeyMode == b.KeyMode && slices.Equal(a.Accounts, b.Accounts) &&
		slices.Equal(a.Models, b.Models) && a.Remote == b.Remote && slices.Equal(a.SessionHeaders, b.SessionHeaders) && a.Weight == b.Weight &&
		a.Health == b.Health && slices.Equal(a.Passthrough, b.Passthrough) && a.Timeout == b.Timeout && a.MaxInFlight == b.MaxInFlight &&
		a.Failover == b.Failover && maps.Equal(a.Headers, b.Headers) && (a.Builtin == nil) == (b.Builtin == nil)
}

func (u *Upstream) closeIdle() {
	if t, ok := u.transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// swap takes over the upstreams. Checks go on if they ran: a fleet that has not started, or is closed, has none.
func (f *Fleet) swap(next []*Upstream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	runs := f.stopLocked()
	f.current.Store(&next)
	if runs {
		f.startLocked()
	}
}

// Start begins the active checks of the upstreams that have one.
func (f *Fleet) Start() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopLocked()
	f.startLocked()
}

func (f *Fleet) startLocked() {
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel, f.wg = cancel, &sync.WaitGroup{}
	for _, u := range f.All() {
		if u.Health != "" && u.Builtin == nil {
			f.wg.Go(func() { u.checkLoop(ctx) })
		}
	}
}

func (f *Fleet) stopLocked() (ran bool) {
	if f.cancel == nil {
		return false
	}
	f.cancel()
	f.wg.Wait()
	f.cancel = nil
	return true
}

// Close ends the checks, waits for them and closes idle connections.
func (f *Fleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stopLocked()
	for _, u := range f.All() {
		u.closeIdle()
	}
}

func (u *Upstream) checkLoop(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		u.check(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
