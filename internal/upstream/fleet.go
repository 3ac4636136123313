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

// Fleet is the set of configured upstreams; a reload replaces it and keeps what did not change.
type Fleet struct {
	current atomic.Pointer[[]*Upstream]

	mu      sync.Mutex // guards the fields below
	drained map[mooring.UpstreamName]time.Time
	cancel  context.CancelFunc
	wg      *sync.WaitGroup
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

// Replace takes over the upstreams of a new configuration. Equal ones stay; one whose name and address stay keeps its state and its
// connections, whatever else has changed.
func (f *Fleet) Replace(next []*Upstream) {
	old := f.All()
	merged := slices.Clone(next)
	for i, u := range merged {
		j := slices.IndexFunc(old, func(o *Upstream) bool {
			return o.Name == u.Name && o.URL == u.URL && (o.Builtin == nil) == (u.Builtin == nil)
		})
		switch {
		case j < 0:
		case same(old[j].Spec, u.Spec):
			merged[i] = old[j]
		default:
			u.adopt(old[j])
		}
	}
	f.swap(merged)
	for _, o := range old {
		if !slices.ContainsFunc(merged, func(u *Upstream) bool { return u.state == o.state }) {
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
	f.markLocked(next)
	f.current.Store(&next)
	if runs {
		f.startLocked()
	}
}

// SetDrained says which upstreams operators drain, and since when. Names that the configuration does not have are kept: it may get
// them.
func (f *Fleet) SetDrained(since map[mooring.UpstreamName]time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drained = since
	f.markLocked(f.All())
}

func (f *Fleet) markLocked(all []*Upstream) {
	for _, u := range all {
		_, drained := f.drained[u.Name]
		u.state.drained.Store(drained)
	}
}

// DrainedSince gives when an upstream was drained; zero where it is not.
func (f *Fleet) DrainedSince(name mooring.UpstreamName) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.drained[name]
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
