package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"mooring/test/harness"
)

// scene is one fault and the cast that it strikes.
type scene struct {
	name, title string
	cast        func(ctx context.Context, p *play) (*cast, error)
	rules       harness.Rules
	strike      func(ctx context.Context, c *cast, r *repetition) error // breaks something and mends it
	balanced    bool                                                    // clients behind a load balancer
	share       int                                                     // of the repetitions, one in so many; 0 counts as 1
	perform     func(ctx context.Context, p *play, s scene) (*verdict, error)
}

// play is the run of several scenes.
type play struct {
	stage   *harness.Stage
	options options
	out     io.Writer
}

type verdict struct {
	harness.Verdict

	repetitions int
}

// cast is what runs in a scene.
type cast struct {
	stage    *harness.Stage
	replicas []*harness.Replica
	models   *harness.Models
	postgres *harness.Postgres
	dsn      string

	toStore  []*harness.Proxy // of each replica, where the scene cuts there
	toModels []*harness.Proxy // of each upstream

	mu      sync.Mutex // guards the field below
	windows []window
}

// window is a time in which a replica was dead.
type window struct {
	replica  string
	from, to time.Time // zero: not over
}

// excused says whether a lost connection is what a killed replica owes nobody an answer for.
func (c *cast) excused(s *harness.Seen) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.windows {
		if w.replica == s.Replica && s.Ended.After(w.from) && (w.to.IsZero() || s.Began.Before(w.to)) {
			return true
		}
	}
	return false
}

// repetition is one strike at one crowd.
type repetition struct {
	number int
	chance *rand.Rand
	prefix string
	crowd  *harness.Crowd
	ledger *harness.Ledger
	judge  *harness.Judge
	note   string // what struck, in words
}

func (r *repetition) between(low, high time.Duration) time.Duration {
	return harness.Between(r.chance, low, high)
}

const (
	clients = 12
	pause   = 10 * time.Millisecond
	tries   = 3
	// returns is how long it may take until every client has its answers again after a fault has gone: longer than the ten seconds
	// that a commit may wait, and than a busy machine.
	returns = 45 * time.Second
	// left is when another replica must have ended the turns of a dead one: the 30 s that are promised, and a look of this program.
	left = 32 * time.Second
)

// perform plays a scene to its end.
func (p *play) perform(ctx context.Context, s scene) (*verdict, error) {
	p.say("\n%s: %s\n", s.name, s.title)
	defer p.stage.Drop()
	if s.perform != nil {
		return s.perform(ctx, p, s)
	}
	c, err := s.cast(ctx, p)
	if err != nil {
		return nil, err
	}
	rules := s.rules
	rules.Excused = c.excused
	judge := harness.NewJudge(c.replicas, c.models, rules)
	watched, last := make(chan *harness.Verdict, 1), make(chan struct{})
	go func() { watched <- judge.Watch(ctx, left, last) }()
	sum := &verdict{}
	for n := range max(1, p.options.repetitions/max(1, s.share)) {
		v, err := p.repeat(ctx, c, s, judge, n)
		if err != nil {
			return nil, err
		}
		sum.Add(v)
		sum.repetitions++
	}
	if p.options.brief {
		judge.Leave()
	}
	close(last)
	sum.Add(<-watched)
	if !p.options.brief {
		sum.Add(judge.Finally(ctx))
	}
	p.faults(&sum.Verdict)
	return sum, ctx.Err()
}

// repeat strikes once.
func (p *play) repeat(ctx context.Context, c *cast, s scene, judge *harness.Judge, n int) (*harness.Verdict, error) {
	r := &repetition{number: n, chance: harness.Chance(p.options.seed, n), prefix: fmt.Sprintf("%s-%x-%d-", s.name, p.options.seed, n), judge: judge, ledger: &harness.Ledger{}}
	transport := harness.NewTransport()
	defer transport.CloseIdleConnections()
	r.crowd = harness.NewCrowd(crowd(r, c, s, transport), pause, tries)
	r.crowd.Go(ctx)
	_, err := r.crowd.Await(1, returns)
	v := &harness.Verdict{}
	if err == nil {
		harness.Sleep(ctx.Done(), r.between(0, 300*time.Millisecond))
		err = s.strike(ctx, c, r)
	} else {
		v.Fail(harness.NoReturn, "repetition %d, before anything was broken: %v", n, err)
		err = nil
	}
	took, slow := r.crowd.Await(2, returns)
	r.crowd.Halt()
	if err != nil {
		return nil, err
	}
	v.Add(judge.Repetition(ctx, r.prefix, r.ledger.All()))
	if slow != nil && ctx.Err() == nil {
		v.Fail(harness.NoReturn, "repetition %d: %v", n, slow)
	}
	v.Recovery = append(v.Recovery, took)
	p.say("  %2d: %-60s %4d requests, %d errors, %d lost connections, answers for all after %s%s\n",
		n+1, r.note, v.Requests, v.Errors, v.Cuts, rounded(took), found(v))
	c.models.Forget()
	return v, ctx.Err()
}

func found(v *harness.Verdict) string {
	if len(v.Faults) == 0 {
		return ""
	}
	return fmt.Sprintf("; %d FAULTS", len(v.Faults))
}

func crowd(r *repetition, c *cast, s scene, transport http.RoundTripper) []*harness.Client {
	all := make([]*harness.Client, clients)
	for i := range all {
		all[i] = harness.NewClient(i, fmt.Sprintf("%sc%d", r.prefix, i), r.ledger, c.replicas, transport)
		all[i].Balanced = s.balanced
	}
	return all
}

// plan says what a cast is made of.
type plan struct {
	replicas            int
	postgres            func(ctx context.Context, p *play) (*harness.Postgres, error) // nil for SQLite
	store               string                                                        // of an SQLite store, its folder; empty for the replica's own
	settings            string                                                        // further configuration
	upstream            string                                                        // further members of each upstream
	cutStore, cutModels bool
}

const models = 3

// enact starts a cast.
func (p *play) enact(ctx context.Context, o plan) (c *cast, err error) {
	c = &cast{stage: p.stage}
	if c.models, err = p.stage.NewModels(ctx, models); err != nil {
		return nil, err
	}
	c.models.Behave(harness.Pace(2 * time.Millisecond))
	addrs, err := c.addrs(o)
	if err != nil {
		return nil, err
	}
	if o.postgres != nil {
		if err = c.database(ctx, p, o); err != nil {
			return nil, err
		}
	}
	for i := range o.replicas {
		store, failed := c.storeOf(i, o)
		if failed != nil {
			return nil, failed
		}
		r, err := p.stage.NewReplica(fmt.Sprintf("r%d", i+1), fmt.Sprintf("store: %q\n%s%s", store, o.settings, harness.Upstreams(addrs, o.upstream)))
		if err == nil {
			err = r.Start()
		}
		if err != nil {
			return nil, err
		}
		c.replicas = append(c.replicas, r)
	}
	return c, nil
}

// addrs are where the replicas find the model servers, by way of proxies where the scene cuts there.
func (c *cast) addrs(o plan) ([]string, error) {
	addrs := c.models.Addrs()
	for i := range addrs {
		if !o.cutModels {
			break
		}
		proxy, err := c.stage.NewProxy(fmt.Sprintf("u%d", i+1), addrs[i])
		if err != nil {
			return nil, err
		}
		addrs[i] = proxy.Addr
		c.toModels = append(c.toModels, proxy)
	}
	return addrs, nil
}

func (c *cast) database(ctx context.Context, p *play, o plan) (err error) {
	if c.postgres, err = o.postgres(ctx, p); err != nil {
		return err
	}
	c.dsn, err = c.postgres.NewDatabase(ctx)
	if p.options.postgres != "" {
		p.stage.Defer(func() { _ = c.postgres.DropDatabase(context.WithoutCancel(ctx), c.dsn) })
	}
	return err
}

// storeOf is the store of a replica, by way of a proxy of its own where the scene cuts there.
func (c *cast) storeOf(i int, o plan) (string, error) {
	switch {
	case o.postgres == nil && o.store == "":
		return "sqlite:mooring.db", nil // in the replica's own folder
	case o.postgres == nil:
		return "sqlite:" + filepath.Join(o.store, "mooring.db"), nil
	case !o.cutStore:
		return c.dsn, nil
	}
	proxy, err := c.stage.NewProxy(fmt.Sprintf("store%d", i+1), c.postgres.Addr)
	if err != nil {
		return "", err
	}
	c.toStore = append(c.toStore, proxy)
	return harness.Through(c.dsn, proxy.Addr), nil
}

// quick is a PostgreSQL that flushes nothing: the one that was named, or one of the scene's own.
func quick(ctx context.Context, p *play) (*harness.Postgres, error) {
	if p.options.postgres != "" {
		return harness.UsePostgres(p.options.postgres)
	}
	return p.stage.StartPostgres(ctx, harness.Quick)
}

// flushed is a PostgreSQL as it comes, to be killed.
func flushed(ctx context.Context, p *play) (*harness.Postgres, error) {
	return p.stage.StartPostgres(ctx, harness.Flushed)
}
