package main

import (
	"context"
	"time"

	"mooring/internal/upstreamtest"
	"mooring/test/harness"
)

// impatient has upstreams given up soon, so that a hanging one does not take the repetition's time.
const impatient = "limits: {stream_idle: 2s}\n"

func shared(settings string) func(context.Context, *play) (*cast, error) {
	return func(ctx context.Context, p *play) (*cast, error) {
		return p.enact(ctx, plan{replicas: 3, postgres: quick, settings: settings})
	}
}

func scenes() []scene {
	return []scene{
		{name: "first", title: "first requests of the same sessions at once, 3 replicas", perform: first("none")},
		{name: "queue", title: "the same towards servers that keep the conversation: one turn at a time", perform: first("remote")},
		{
			name: "kill-replica", title: "kill -9 of one of 3 replicas", cast: shared(""), strike: killReplica,
			rules: harness.Rules{Errors: false},
		},
		{
			name: "kill-sqlite", title: "kill -9 of the only process on SQLite", strike: killReplica,
			cast:  func(ctx context.Context, p *play) (*cast, error) { return p.enact(ctx, plan{replicas: 1}) },
			rules: harness.Rules{Settle: 5 * time.Second},
		},
		{
			name: "kill-postgres", title: "kill -9 of PostgreSQL, postmaster and all, fsync on", strike: killPostgres,
			cast: func(ctx context.Context, p *play) (*cast, error) {
				return p.enact(ctx, plan{replicas: 3, postgres: flushed})
			},
			rules: harness.Rules{Errors: true, Settle: 20 * time.Second},
		},
		{
			name: "cut-store", title: "connections to PostgreSQL cut, reset, slow, silent", strike: cutStore,
			cast: func(ctx context.Context, p *play) (*cast, error) {
				return p.enact(ctx, plan{replicas: 3, postgres: quick, cutStore: true})
			},
			rules: harness.Rules{Errors: true, Settle: 20 * time.Second},
		},
		{
			name: "cut-models", title: "connections to the upstreams cut, reset, slow, silent", strike: cutModels,
			cast: func(ctx context.Context, p *play) (*cast, error) {
				return p.enact(ctx, plan{replicas: 3, postgres: quick, cutModels: true, settings: impatient, upstream: ", timeout: 2s"})
			},
			rules: harness.Rules{Errors: true, Moves: true, Exact: true, Settle: 5 * time.Second},
		},
		{
			name: "sick-models", title: "upstreams hang, lose the connection, answer slowly, break off, die", strike: sickModels,
			cast: func(ctx context.Context, p *play) (*cast, error) {
				return p.enact(ctx, plan{replicas: 3, postgres: quick, settings: impatient, upstream: ", timeout: 2s"})
			},
			rules: harness.Rules{Errors: true, Moves: true, Exact: true, Settle: 5 * time.Second},
		},
		{
			name: "disk-full", title: "the disk below SQLite full, then free again", strike: diskFull,
			cast: onSmallDisk, rules: harness.Rules{Errors: true, Settle: 20 * time.Second},
		},
		{
			name: "term", title: "SIGTERM of one of 3 replicas behind a load balancer", cast: shared(""), strike: terminate, balanced: true,
			rules: harness.Rules{Errors: false, Settle: 5 * time.Second},
		},
	}
}

// dead notes that a replica is dead from now on; what it gives notes the end of that.
func (c *cast) dead(r *harness.Replica) (alive func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.windows = append(c.windows, window{replica: r.Name, from: harness.Now()})
	i := len(c.windows) - 1
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.windows[i].to = harness.Now()
	}
}

func killReplica(ctx context.Context, c *cast, r *repetition) error {
	victim := c.replicas[r.chance.IntN(len(c.replicas))]
	down := r.between(0, 300*time.Millisecond)
	r.note = victim.Name + " dead for " + rounded(down).String()
	alive := c.dead(victim)
	defer alive()
	if len(c.replicas) > 1 {
		r.judge.Died = harness.Now()
	}
	victim.Kill()
	harness.Sleep(ctx.Done(), down)
	return victim.Start()
}

func terminate(ctx context.Context, c *cast, r *repetition) error {
	victim := c.replicas[r.chance.IntN(len(c.replicas))]
	began := harness.Now()
	if err := victim.Terminate(); err != nil {
		return err
	}
	r.note = victim.Name + " ended with 0 after " + rounded(harness.Now().Sub(began)).String()
	harness.Sleep(ctx.Done(), r.between(0, 200*time.Millisecond))
	return victim.Start()
}

func killPostgres(ctx context.Context, c *cast, r *repetition) error {
	down := r.between(0, 2*time.Second)
	if r.number%10 == 9 {
		down = r.between(4*time.Second, 9*time.Second)
	}
	if err := c.postgres.Kill(); err != nil {
		return err
	}
	harness.Sleep(ctx.Done(), down)
	began := harness.Now()
	err := c.postgres.Start(ctx)
	r.note = "dead for " + rounded(down).String() + ", back after " + rounded(harness.Now().Sub(began)).String() + " more"
	return err
}

// toxics are what can happen to connections; nil stands for all of them cut and none taken.
func toxics(r *repetition) (*harness.Toxic, string) {
	stream := []string{"upstream", "downstream"}[r.chance.IntN(2)]
	var t harness.Toxic
	switch r.chance.IntN(6) {
	case 0:
		return nil, "cut"
	case 1:
		t = harness.Toxic{Type: "reset_peer", Attributes: map[string]any{"timeout": r.chance.IntN(50)}}
	case 2:
		t = harness.Toxic{Type: "latency", Attributes: map[string]any{"latency": 50 + r.chance.IntN(300), "jitter": 50}}
	case 3:
		t = harness.Toxic{Type: "timeout", Attributes: map[string]any{"timeout": 0}} // silence, and the connection stays
	case 4:
		t = harness.Toxic{Type: "timeout", Attributes: map[string]any{"timeout": 100 + r.chance.IntN(400)}}
	case 5:
		t = harness.Toxic{Type: "bandwidth", Attributes: map[string]any{"rate": 1 + r.chance.IntN(8)}} // KB a second
	}
	t.Stream = stream
	return &t, t.String()
}

// cut has one thing happen to some of the proxies for a while.
func cut(ctx context.Context, proxies []*harness.Proxy, r *repetition, d time.Duration) error {
	toxic, what := toxics(r)
	some := proxies[:1+r.chance.IntN(len(proxies))]
	r.note = what + " for " + rounded(d).String()
	for _, p := range some {
		if toxic == nil {
			p.Down()
		} else if err := p.Poison(*toxic); err != nil {
			return err
		}
	}
	harness.Sleep(ctx.Done(), d)
	for _, p := range some {
		if err := p.Heal(ctx); err != nil {
			return err
		}
	}
	return nil
}

func cutStore(ctx context.Context, c *cast, r *repetition) error {
	d := r.between(50*time.Millisecond, 1500*time.Millisecond)
	if r.number%10 == 9 { // longer than a commit may take
		d = r.between(11*time.Second, 14*time.Second)
	}
	return cut(ctx, c.toStore, r, d)
}

func cutModels(ctx context.Context, c *cast, r *repetition) error {
	return cut(ctx, c.toModels, r, r.between(50*time.Millisecond, 1500*time.Millisecond))
}

// sickModels has a part of the answers fail, and in some repetitions a server die as well.
func sickModels(ctx context.Context, c *cast, r *repetition) error {
	faults := []upstreamtest.Reply{
		{Fault: upstreamtest.Lost},
		{Fault: upstreamtest.Hang},
		{Fault: upstreamtest.Stall, At: 3},
		{Fault: upstreamtest.Cut, At: 5},
		{Fault: upstreamtest.CutMidEvent, At: 4},
		{Fault: upstreamtest.End, At: 6},
		{Fault: upstreamtest.ErrorEvent, At: 2},
		{Fault: upstreamtest.ErrorEvent},
		{Status: 500},
		{Status: 429},
		{Delay: 700 * time.Millisecond},
		{Fault: upstreamtest.SlowHeaders, Gap: 2 * time.Millisecond},
	}
	well := harness.Pace(2 * time.Millisecond)
	seed := r.chance.Uint64()
	c.models.Behave(func(a *harness.Asked) upstreamtest.Reply {
		chance := harness.Chance(seed, a.Number)
		if chance.IntN(2) == 0 {
			return well(a)
		}
		return faults[chance.IntN(len(faults))]
	})
	r.note = "every other answer fails"
	harness.Sleep(ctx.Done(), r.between(200*time.Millisecond, 800*time.Millisecond))
	if r.chance.IntN(2) == 0 {
		server := c.models.Servers[r.chance.IntN(len(c.models.Servers))]
		r.note += ", and a server dies"
		server.Down()
		harness.Sleep(ctx.Done(), r.between(0, 500*time.Millisecond))
		if err := server.Up(); err != nil { //nolint:contextcheck // it goes on after this
			return err
		}
	}
	c.models.Behave(well)
	return nil
}
