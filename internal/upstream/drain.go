package upstream

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"mooring"
)

// DrainOptions is what Drains needs; all but Every must be set.
type DrainOptions struct {
	Fleet  *Fleet
	Read   func(context.Context) (map[mooring.UpstreamName]time.Time, error) // which are drained, and since when
	Commit func(context.Context, mooring.Change) error
	Every  time.Duration // how soon what another replica drains holds here; 0 where there is no other
	Now    func() time.Time
	Log    *slog.Logger
}

// Drains keeps which upstreams are drained in the store, and the fleet in step with that: so it outlives a restart and holds on
// every replica. Requests read the fleet's own mark, never the store.
type Drains struct {
	o     DrainOptions
	reads atomic.Int64 // how many were begun
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex // guards the field below
	marked int64      // which read was marked last: an older one, that took longer, says nothing new
}

// NewDrains makes Drains; Load reads what is drained, Start follows it.
func NewDrains(o DrainOptions) *Drains { return &Drains{o: o} }

// Load reads what is drained and marks it.
func (d *Drains) Load(ctx context.Context) error {
	read := d.reads.Add(1)
	since, err := d.o.Read(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if read > d.marked {
		d.marked = read
		d.o.Fleet.SetDrained(since)
	}
	return nil
}

// Drain lets an upstream take no new sessions from now on; those that are there stay until they end.
func (d *Drains) Drain(ctx context.Context, name mooring.UpstreamName) error {
	return d.set(ctx, &mooring.Drain{Upstream: name, At: d.o.Now()})
}

// Resume lets it take new sessions again.
func (d *Drains) Resume(ctx context.Context, name mooring.UpstreamName) error {
	return d.set(ctx, &mooring.Drain{Upstream: name})
}

func (d *Drains) set(ctx context.Context, c *mooring.Drain) error {
	if d.o.Fleet.Get(c.Upstream) == nil {
		return mooring.Errorf(mooring.CodeNotFound, "No upstream has this name; ask GET /api/upstreams for those that are there.")
	}
	if err := d.o.Commit(ctx, c); err != nil {
		return err
	}
	return d.Load(context.WithoutCancel(ctx)) // it is drained by now, whether who asked for it still listens or not
}

// Start begins to follow what other replicas drain.
func (d *Drains) Start() {
	if d.o.Every <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	d.wg.Go(func() { d.follow(ctx) })
}

// Close ends that and waits.
func (d *Drains) Close() {
	if d.stop != nil {
		d.stop()
		d.wg.Wait()
	}
}

// follow reads the table again and again. While the store does not answer what was read last holds; it is said once.
func (d *Drains) follow(ctx context.Context) {
	tick := time.NewTicker(d.o.Every)
	defer tick.Stop()
	for behind := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := d.Load(ctx)
		if err != nil && !behind && ctx.Err() == nil {
			d.o.Log.LogAttrs(ctx, slog.LevelWarn, "drained upstreams not read, those known last hold", slog.Any("err", err))
		}
		behind = err != nil
	}
}
