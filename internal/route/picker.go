package route

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"mooring"
)

// Store reads where sessions live.
type Store interface {
	Pins(ctx context.Context, t mooring.Tenant, s mooring.SessionID) ([]mooring.Pin, error)
	Remote(ctx context.Context, t mooring.Tenant, s mooring.SessionID, server string) (string, error)
	MadeAt(ctx context.Context, t mooring.Tenant, message mooring.MessageID) (mooring.Turn, error)
}

// Log writes when pins were used.
type Log interface {
	Commit(ctx context.Context, c mooring.Change) error
}

// Options of a Picker.
type Options struct {
	Store   Store
	Log     Log
	Logger  *slog.Logger
	Now     func() time.Time
	Policy  Policy
	PinIdle time.Duration
	Memory  int // pins, remote ids and places of last answers kept in memory, each; 0 for 50,000
}

// home is the key of what is known of a session.
type home struct {
	tenant  mooring.Tenant
	session mooring.SessionID
}

type berth struct {
	home
	server string
}

// Picker finds and keeps where sessions live.
type Picker struct {
	Options
	rules  atomic.Pointer[rules]
	turn   atomic.Uint64
	pins   *otter.Cache[home, []mooring.Pin]
	remote *otter.Cache[berth, string]
	made   *otter.Cache[home, made]

	mu   sync.Mutex // guards the map below
	used map[pinKey]time.Time

	stop context.CancelFunc // set by Start
	wg   sync.WaitGroup
}

type rules struct {
	policy  Policy
	pinIdle time.Duration
}

type pinKey struct {
	home
	set string
}

// A time of use that is younger than noteAfter, or than that share of pin_idle, needs no new note.
const (
	noteAfter = time.Minute
	noteShare = 10
)

// flushEvery is how far behind the stored time of last use may be; pins idle out over an hour by default.
const flushEvery = 30 * time.Second

// New makes a Picker; Start begins its goroutine.
func New(o Options) *Picker {
	if o.Memory == 0 {
		o.Memory = 50_000
	}
	p := &Picker{Options: o, used: map[pinKey]time.Time{}}
	p.Set(o.Policy, o.PinIdle)
	p.pins = otter.Must(&otter.Options[home, []mooring.Pin]{MaximumSize: o.Memory})
	p.remote = otter.Must(&otter.Options[berth, string]{MaximumSize: o.Memory})
	p.made = otter.Must(&otter.Options[home, made]{MaximumSize: o.Memory})
	return p
}

// Set takes over the rules of a new configuration.
func (p *Picker) Set(policy Policy, pinIdle time.Duration) {
	p.rules.Store(&rules{policy: policy, pinIdle: pinIdle})
}

// Find gives the session's pin among the candidates, nil where it has none that still holds. The pin of exactly this set of
// candidates comes first, then the newest whose upstream is a candidate: so a set that grows or shrinks moves nobody.
func (p *Picker) Find(ctx context.Context, t mooring.Tenant, s mooring.SessionID, all []Candidate) (*mooring.Pin, error) {
	pins, err := p.known(ctx, home{t, s})
	if err != nil || len(pins) == 0 {
		return nil, err
	}
	alias := aliasOf(all)
	pin := p.best(pins, all, func(pin *mooring.Pin) bool { return alias == "" || ofAlias(pin, alias) })
	if pin == nil && alias != "" { // under its own name the session may be with the model that the alias names first
		if pin = p.best(pins, named(ofFirst(all)), func(*mooring.Pin) bool { return true }); pin != nil {
			pin.Model = all[0].Model
		}
	}
	return pin, nil
}

// best gives a copy of the pin that Find looks for, of those that may be it.
func (p *Picker) best(pins []mooring.Pin, all []Candidate, may func(*mooring.Pin) bool) *mooring.Pin {
	set := SetKey(all)
	var best *mooring.Pin
	for i := range pins {
		pin := &pins[i]
		if At(all, pin.Spot()) < 0 || !may(pin) || p.idle(pin) {
			continue
		}
		if pin.Set == set {
			return new(*pin)
		}
		if best == nil || pin.UsedAt.After(best.UsedAt) {
			best = pin
		}
	}
	if best == nil {
		return nil
	}
	return new(*best)
}

// Former gives the pin that would hold the session, if its upstream had not left the configuration; nil where there is none such.
// there says which upstreams there are.
func (p *Picker) Former(ctx context.Context, t mooring.Tenant, s mooring.SessionID, all []Candidate, there func(mooring.UpstreamName) bool) (*mooring.Pin, error) {
	pins, err := p.known(ctx, home{t, s})
	if err != nil {
		return nil, err
	}
	set := SetKey(all)
	var last *mooring.Pin
	for i := range pins {
		pin := &pins[i]
		lost := pin.Set == set || !there(pin.Upstream) && slices.ContainsFunc(all, func(c Candidate) bool { return Within(pin.Set, c) })
		if lost && pin.Bound && At(all, pin.Spot()) < 0 && !p.idle(pin) && (last == nil || pin.UsedAt.After(last.UsedAt)) {
			last = pin
		}
	}
	if last == nil {
		return nil, nil //nolint:nilnil // no pin is an answer
	}
	return new(*last), nil
}

func (p *Picker) idle(pin *mooring.Pin) bool {
	limit := p.rules.Load().pinIdle
	last := pin.UsedAt
	p.mu.Lock()
	if u, ok := p.used[pinKey{home{pin.Tenant, pin.Session}, pin.Set}]; ok && u.After(last) {
		last = u
	}
	p.mu.Unlock()
	return limit > 0 && p.Now().Sub(last) > limit
}

// Stale is the time before which a pin that was not used since has idled out; zero where none does.
func (p *Picker) Stale() time.Time {
	if limit := p.rules.Load().pinIdle; limit > 0 {
		return p.Now().Add(-limit)
	}
	return time.Time{}
}

func (p *Picker) known(ctx context.Context, h home) ([]mooring.Pin, error) {
	if pins, ok := p.pins.GetIfPresent(h); ok {
		return pins, nil
	}
	pins, err := p.Store.Pins(ctx, h.tenant, h.session)
	if err != nil {
		return nil, err
	}
	pins, _ = p.pins.SetIfAbsent(h, pins) // what a turn kept meanwhile is newer
	return pins, nil
}

// Order gives the candidates as a session without a pin tries them.
func (p *Picker) Order(key string, all []Candidate) []Candidate {
	r := p.rules.Load()
	var n uint64
	if r.policy == RoundRobin && len(all) > 1 {
		n = p.turn.Add(1) - 1
	}
	return Ranked(r.policy, key, n, all)
}

// Used notes that a pin served a turn; a health check never does. A pin whose known time of use is recent is left alone:
// pins idle out over an hour, and most sessions are short.
func (p *Picker) Used(pin mooring.Pin) {
	now := p.Now()
	fresh := noteAfter
	if idle := p.rules.Load().pinIdle; idle > 0 {
		fresh = min(fresh, idle/noteShare)
	}
	if now.Sub(pin.UsedAt) < fresh {
		return
	}
	p.mu.Lock()
	p.used[pinKey{home{pin.Tenant, pin.Session}, pin.Set}] = now
	p.mu.Unlock()
}

// Keep remembers a committed pin beside the session's others. Where those are not known it is left to the store: a part of
// them must not be taken for all.
func (p *Picker) Keep(pin mooring.Pin) {
	h := home{pin.Tenant, pin.Session}
	p.pins.ComputeIfPresent(h, func(old []mooring.Pin) ([]mooring.Pin, otter.ComputeOp) {
		next := slices.DeleteFunc(slices.Clone(old), func(o mooring.Pin) bool { return o.Set == pin.Set })
		return append(next, pin), otter.WriteOp
	})
}

// Remote gives the id under which a server knows the session, "" where none is known.
func (p *Picker) Remote(ctx context.Context, t mooring.Tenant, s mooring.SessionID, server string) (string, error) {
	b := berth{home{t, s}, server}
	if id, ok := p.remote.GetIfPresent(b); ok {
		return id, nil
	}
	id, err := p.Store.Remote(ctx, t, s, server)
	if err != nil || id == "" {
		return "", err
	}
	id, _ = p.remote.SetIfAbsent(b, id) // what a turn kept meanwhile is newer
	return id, nil
}

// KeepRemote remembers a committed remote id.
func (p *Picker) KeepRemote(r mooring.RemoteSession) {
	p.remote.Set(berth{home{r.Tenant, r.Session}, r.Server}, r.ID)
}

// Forget drops what is known of a session: its pins are read again.
func (p *Picker) Forget(t mooring.Tenant, s mooring.SessionID) { p.pins.Invalidate(home{t, s}) }

// ForgetNew spares a session that was just made the look for pins that it cannot have.
func (p *Picker) ForgetNew(t mooring.Tenant, s mooring.SessionID) {
	p.pins.SetIfAbsent(home{t, s}, nil) // what another turn of it kept meanwhile is newer
}

// Start begins the goroutine that writes times of use.
func (p *Picker) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	p.stop = cancel
	p.wg.Go(func() { p.flushLoop(ctx) })
}

// Close writes what is left and waits.
func (p *Picker) Close() {
	if p.stop != nil {
		p.stop()
		p.wg.Wait()
	}
}

func (p *Picker) flushLoop(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.flush(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			p.flush(ctx)
		}
	}
}

// flush is best effort: a lost time of use makes a pin expire early, no more. What it writes counts as noted until the store
// has it, so that no pin looks idle in between.
func (p *Picker) flush(ctx context.Context) {
	p.mu.Lock()
	used := maps.Clone(p.used)
	p.mu.Unlock()
	if len(used) == 0 {
		return
	}
	c := &mooring.PinsUsed{Pins: make([]mooring.Pin, 0, len(used))}
	for k, at := range used {
		c.Pins = append(c.Pins, mooring.Pin{Tenant: k.tenant, Session: k.session, Set: k.set, UsedAt: at})
	}
	if err := p.Log.Commit(ctx, c); err != nil {
		p.Logger.LogAttrs(ctx, slog.LevelWarn, "times of use of pins not written", slog.Any("err", err))
	}
	for k, at := range used {
		p.use(k, at)
	}
	p.mu.Lock()
	maps.DeleteFunc(p.used, func(k pinKey, at time.Time) bool { return at.Equal(used[k]) })
	p.mu.Unlock()
}

// use moves a pin's time of use on in memory.
func (p *Picker) use(k pinKey, at time.Time) {
	p.pins.ComputeIfPresent(k.home, func(old []mooring.Pin) ([]mooring.Pin, otter.ComputeOp) {
		next := slices.Clone(old)
		for i := range next {
			if next[i].Set == k.set && next[i].UsedAt.Before(at) {
				next[i].UsedAt = at
			}
		}
		return next, otter.WriteOp
	})
}
