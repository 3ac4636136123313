// Package app is the only room that sees all others: it builds them from the configuration, starts, reloads and stops
// them. What would be an import between rooms of one floor goes through func fields that it sets.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mooring"
	"mooring/internal/admin"
	"mooring/internal/config"
	"mooring/internal/edge"
	"mooring/internal/forward"
	"mooring/internal/identify"
	"mooring/internal/peer"
	"mooring/internal/price"
	"mooring/internal/record"
	"mooring/internal/relay"
	"mooring/internal/route"
	"mooring/internal/search"
	"mooring/internal/serve"
	"mooring/internal/telemetry"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// Options is what an App is given besides its configuration.
type Options struct {
	Log     *slog.Logger
	Version string
	Now     func() time.Time // time.Now where nil
	Lull    time.Duration    // see serve.Options
}

// App is the running program.
type App struct {
	opts    Options
	started config.Config // for the keys that take a restart
	cfg     atomic.Pointer[config.Config]
	prices  atomic.Pointer[price.Table]
	listed  *price.List
	metrics *telemetry.Metrics
	tracer  *telemetry.Tracer // nil where nobody traces
	ids     *ids
	hub     *admin.Hub

	store  Store
	reader reader
	secret []byte

	fleet  *upstream.Fleet
	drains *upstream.Drains
	record *record.Writer
	index  *search.Index
	route  *route.Picker
	ident  *identify.Engine
	watch  func(turn.Identifier) turn.Identifier // put around the engine; nil for nothing
	turns  *turn.Runner
	peers  *peer.Exchange // with other replicas; nil where there can be none
	clock  *clock
	relay  *relay.API
	load   *load
	server *serve.Server
	edge   *edge.Edge // nil where none is configured
	addr   string
	stop   []func() // in the order of starting; called backwards
}

// New checks what can be checked before anything is opened: the upstreams' addresses.
func New(cfg config.Config, o Options) (*App, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	ticks := &clock{base: o.Now, log: o.Log}
	o.Now = ticks.now
	a := &App{opts: o, started: cfg, metrics: telemetry.NewMetrics(), ids: newIDs(o.Now), listed: price.Published(), clock: ticks}
	a.cfg.Store(&cfg)
	all, err := upstreams(cfg)
	if err != nil {
		return nil, err
	}
	a.fleet = upstream.NewFleet(all)
	a.setPrices(cfg)
	return a, nil
}

// recoverTimeout bounds the work on what a dead process left behind.
const recoverTimeout = 30 * time.Second

// Start opens the store, takes the port, takes up what a dead process left behind and accepts requests. After an error nothing
// runs, and where the port is taken nothing of what was left has changed: whoever has it may still be at work on it.
func (a *App) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			a.unwind()
		}
	}()
	cfg := a.cfg.Load()
	if err := a.open(ctx, cfg); err != nil {
		return err
	}
	if err := a.trace(cfg); err != nil { //nolint:contextcheck // as below
		return err
	}
	a.build(cfg)                        //nolint:contextcheck // what it starts outlives the start
	if err := a.meet(cfg); err != nil { //nolint:contextcheck // closing is not cut short
		return err
	}
	if err := a.listen(ctx, cfg); err != nil {
		return err
	}
	if err := a.takeUp(ctx); err != nil {
		return err
	}
	if err := a.openEdge(ctx, cfg); err != nil {
		return err
	}
	a.greet()       //nolint:contextcheck // it runs until it is closed
	a.index.Start() //nolint:contextcheck // it runs until it is closed
	a.onStop(a.index.Close)
	a.server.Start(a.handler(cfg)) //nolint:contextcheck // requests have contexts of their own
	if a.edge != nil {
		a.edge.Start()
	}
	return nil
}

// takeUp goes on with what a dead process left behind.
func (a *App) takeUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	if err := a.record.Start(ctx); err != nil {
		return &config.Error{Key: "store", Msg: fmt.Sprintf("cannot take up what was left: %v", err)}
	}
	if err := a.drains.Load(ctx); err != nil {
		return &config.Error{Key: "store", Msg: fmt.Sprintf("cannot read which upstreams are drained: %v", err)}
	}
	a.drains.Start() //nolint:contextcheck // it runs until it is closed
	a.onStop(a.drains.Close)
	return nil
}

func (a *App) open(ctx context.Context, cfg *config.Config) error {
	secret, err := secretOf(cfg)
	if err != nil {
		return err
	}
	a.secret = secret
	store, err := OpenStore(ctx, *cfg, secret)
	if err != nil {
		return err
	}
	a.store = store
	a.onStop(func() { a.closed("store", store.Close()) }) //nolint:contextcheck // closing is not cut short
	return nil
}

// build makes the rooms that need the store.
func (a *App) build(cfg *config.Config) {
	a.hub = admin.NewHub(admin.HubOptions{After: a.store.EventsAfter, Numbers: a.store.EventNumbers, Poll: eventPoll(cfg), Log: a.opts.Log})
	a.record = record.New(record.Options{
		Store: timedStore{a.store, a.metrics, a.committed, a.clock}, Journal: journalBeside(cfg.Store.File()), Straight: cfg.Durability == config.Full, Replica: a.ids.replica,
		Log: a.opts.Log, Now: a.opts.Now, Retention: cfg.Sessions.Retention, Forget: a.forget, SumUp: true, Alive: func(n int) { a.server.Replicas(n) },
		Lapsed: func() { a.turns.Lapsed() },
	})
	a.reader = reader{a.store, a.record}
	a.index = search.New(search.Options{Store: a.store, Log: a.record, Render: rendered, Now: a.opts.Now, Logger: a.opts.Log})
	a.onStop(a.record.Close)
	a.fleet.Start()
	a.onStop(a.fleet.Close)
	a.followDrains(cfg)
	a.metrics.WatchUpstreams(a.upstreamStates)
	a.route = route.New(route.Options{
		Store: a.reader, Log: a.record, Logger: a.opts.Log, Now: a.opts.Now, Policy: route.Policy(cfg.Routing.Policy), PinIdle: cfg.Routing.PinIdle,
	})
	a.route.Start()
	a.onStop(a.route.Close)
	a.ident = identify.New(identify.Options{
		Store: a.reader, Secret: a.secret, NewSession: a.ids.session, NewKey: newKey, Headers: cfg.Sessions.Headers, MemoryBytes: int64(cfg.Sessions.Memory),
		Lessons: a.store.Learned, Refresh: lessonsHold(cfg), Now: time.Now,
	})
	a.server = serve.New(serve.Options{
		Log: a.opts.Log, Now: a.opts.Now, HeaderTimeout: cfg.Limits.HeaderTimeout, SessionHeaders: a.ident.HeaderNames, Spent: a.reader.KeyUse,
		Elsewhere: a.elsewhere, Limited: func(l serve.Limit) { a.metrics.KeyLimited(string(l)) }, SignIns: a.signIns(), Answered: a.metrics.Answered,
		Lull: a.opts.Lull,
	})
	a.turns = a.runner()
	a.onStop(func() { a.turns.Close(over()) }) // after an error, or a Stop in vain, nobody waits for them
	a.relay = relay.New(relay.Options{
		Gate: a.server, Runner: a.turns, Fleet: a.fleet, Forward: a.forward(), Log: a.opts.Log, Digester: a.ident.Digester,
	})
	a.metrics.Watch(a.watched())
	a.setRules(cfg)
}

func (a *App) forward() *forward.Engine {
	return &forward.Engine{Limits: func() forward.Limits { return answerLimits(a.cfg.Load()) }, Now: a.opts.Now}
}

func (a *App) runner() *turn.Runner {
	r := &turn.Runner{
		Identify: a.identifier(), Memory: a.ident, Fleet: a.fleet, Route: a.route, Record: a.record,
		Forward: a.forward(),
		Turn:    a.reader.Turn, Failed: a.reader.FailedTurns, Owners: a.reader.Owners,
		Sent: a.reader.SentTurn, Below: a.reader.below,
		Rules:   func() turn.Rules { return turnRules(a.cfg.Load()) },
		Price:   func(t *mooring.Turn) *float64 { return a.prices.Load().Turn(t) },
		Observe: a.ended, Replica: a.ids.replica, Now: a.opts.Now, NewTurn: a.ids.turn, NewID: a.ids.message, NewKey: newKey, Log: a.opts.Log,
	}
	if a.tracer != nil {
		r.Trace = telemetry.Parent
	}
	return r
}

func (a *App) identifier() turn.Identifier { //nolint:ireturn // what watches the engine stands in its place
	if a.watch != nil {
		return a.watch(a.ident)
	}
	return a.ident
}

// listen takes the port; nothing is accepted yet.
func (a *App) listen(ctx context.Context, cfg *config.Config) error {
	addr, err := a.server.Listen(ctx, cfg.Listen)
	if err != nil {
		return &config.Error{Key: "listen", Msg: err.Error()}
	}
	a.addr = addr.String()
	a.onStop(func() { a.closed("listener", a.server.Close()) }) //nolint:contextcheck // as above
	return cfg.CheckReach(a.addr)                               // a name may have been taken for this machine's own
}

// Addr gives the address that is listened on.
func (a *App) Addr() string { return a.addr }

// Reload takes over what can change while the program runs; the rest is named in the log and waits for a restart. After an
// error nothing has changed.
func (a *App) Reload(cfg config.Config) error {
	if err := cfg.CheckReach(a.addr); err != nil {
		return err // whatever the file says, this is the address that is listened on
	}
	all, err := upstreams(cfg)
	if err != nil {
		return err
	}
	for _, key := range fixed(a.started, cfg) {
		a.opts.Log.LogAttrs(context.Background(), slog.LevelWarn, "a restart is needed for this key to change", slog.String("config_key", key))
	}
	if err := a.replaceSlots(cfg); err != nil {
		return err
	}
	a.fleet.Replace(all)
	a.cfg.Store(&cfg)
	a.setPrices(cfg)
	a.setRules(&cfg)
	a.route.Set(route.Policy(cfg.Routing.Policy), cfg.Routing.PinIdle)
	return nil
}

func (a *App) setRules(cfg *config.Config) {
	minimal := cfg.Sessions.ResponseHeaders == config.HeadersMinimal
	a.server.SetRules(serve.Rules{Hosts: cfg.Hosts, Origins: cfg.CORS.Origins, Keys: clientKeys(cfg), BodyLimit: int64(cfg.Limits.Body), Minimal: minimal})
	a.relay.Set(relay.Rules{Wire: wire.Limits{JSONDepth: cfg.Limits.JSONDepth}, Minimal: minimal, Keys: !cfg.Open(), Aliases: cfg.Models})
}

// DrainTimeout is how long running turns may take to end once the server is told to stop.
const DrainTimeout = 30 * time.Second

// ClosingTimeout is how long the rest of a stop may take then: what still runs is told why it ends, the last commits are made or given up, the last
// traces sent. Whoever runs the program waits for both before it kills.
const ClosingTimeout = 15 * time.Second

// Lull is how long connections that clients keep are left open at a stop, so that a request on its way is answered: a load balancer that is
// busy uses each of its connections more often.
const Lull = time.Second

// over is a context that has ended.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// lastWords is how long before the end of a drain the server's own turns end, so that those who listen still hear of it.
const lastWords = time.Second

// before ends some time before another context does.
func before(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-by))
}

// Stop drains: what runs goes on to its end, or to the context's; then everything is closed and waited for.
func (a *App) Stop(ctx context.Context) error {
	early, cancel := before(ctx, lastWords)
	defer cancel()
	var turns sync.WaitGroup
	turns.Go(func() { a.turns.Close(early) })
	turns.Go(func() { a.drainEdge(early) })
	err := a.server.Shutdown(ctx)
	turns.Wait()
	a.unwind()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

func (a *App) onStop(f func()) { a.stop = append(a.stop, f) }

func (a *App) unwind() {
	for _, stop := range slices.Backward(a.stop) {
		stop()
	}
	a.stop = nil
}

func (a *App) closed(part string, err error) {
	if err != nil {
		a.opts.Log.LogAttrs(context.Background(), slog.LevelWarn, "not closed in order", slog.String("part", part), slog.Any("err", err))
	}
}
