package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"mooring/test/harness"
)

// soak is one run on one store.
type soak struct {
	options

	stage    *harness.Stage
	store    string
	chance   *rand.Rand
	say      func(format string, args ...any)
	replicas []*harness.Replica
	models   *harness.Models
	postgres *harness.Postgres
	dsn      string

	transport *http.Transport
	tally     tally
}

const (
	workers = 16 // clients that hold conversations
	gap     = 2 * time.Millisecond
	// memory bounds the cache of identification, so that it is full after minutes and not after hours.
	memory = "16MiB"
	models = 2
)

// perform gives what is wrong.
func (s *soak) perform(ctx context.Context) ([]string, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	s.say("\n%s, %d replicas\n", s.store, len(s.replicas))
	rate := s.fullLoad(ctx, s.full)
	s.say("  full load: %.0f turns a second with %d clients, on the machine that the clients and the models use too\n", rate, workers)
	before, err := s.atRest(ctx)
	if err != nil {
		return nil, err
	}
	s.say("  before: %s\n", before)
	s.tally.reset()
	samples, err := s.underLoad(ctx, rate/2)
	if err != nil {
		return nil, err
	}
	after, err := s.atRest(ctx)
	if err != nil {
		return nil, err
	}
	s.say("  after:  %s\n", after)
	faults := compare(before, after, samples, s.options)
	return append(append(faults, s.tally.faults()...), s.leftRunning(ctx)...), ctx.Err()
}

// atRest is what the replicas hold when nobody uses them.
func (s *soak) atRest(ctx context.Context) (sample, error) {
	if err := s.quiet(ctx); err != nil {
		return sample{}, err
	}
	return s.sample(ctx)
}

func (s *soak) start(ctx context.Context) (err error) {
	s.transport = harness.NewTransport()
	if s.models, err = s.stage.NewModels(ctx, models); err != nil {
		return err
	}
	s.models.Behave(harness.Pace(gap))
	replicas, store := 1, "sqlite:mooring.db"
	if s.store == "postgres" {
		if err := s.database(ctx); err != nil {
			return err
		}
		replicas, store = 2, s.dsn
	}
	for i := range replicas {
		r, err := s.stage.NewReplica(fmt.Sprintf("r%d", i+1), fmt.Sprintf("store: %q\nsessions: {memory: %s}\n%s",
			store, memory, harness.Upstreams(s.models.Addrs(), "")))
		if err == nil {
			err = r.Start()
		}
		if err != nil {
			return err
		}
		s.replicas = append(s.replicas, r)
	}
	return nil
}

// database makes one on the server that was named, else on one of this run's own.
func (s *soak) database(ctx context.Context) (err error) {
	if s.options.postgres == "" {
		s.postgres, err = s.stage.StartPostgres(ctx, harness.Flushed)
	} else {
		s.postgres, err = harness.UsePostgres(s.options.postgres)
	}
	if err != nil {
		return err
	}
	s.dsn, err = s.postgres.NewDatabase(ctx)
	if s.options.postgres != "" {
		s.stage.Defer(func() { _ = s.postgres.DropDatabase(context.WithoutCancel(ctx), s.dsn) })
	}
	return err
}

// fullLoad is how many turns a second there are when every client asks again at once.
func (s *soak) fullLoad(ctx context.Context, d time.Duration) float64 {
	began := harness.Now()
	s.hold(ctx, d, 0)
	return float64(s.tally.count("answered")) / harness.Now().Sub(began).Seconds()
}

// hold has the clients hold conversations for a while, each with a pause before each question.
func (s *soak) hold(ctx context.Context, d, every time.Duration) {
	end := time.NewTimer(d)
	defer end.Stop()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range workers {
		chance := rand.New(rand.NewPCG(s.chance.Uint64(), uint64(i))) //nolint:gosec // it has to be repeatable, not secret
		all.Go(func() { s.converse(ctx, stop, i, every, chance) })
	}
	select {
	case <-end.C:
	case <-ctx.Done():
	}
	close(stop)
	all.Wait()
}

// underLoad does all at once for as long as it is asked for: turns, and what people do beside them.
func (s *soak) underLoad(ctx context.Context, rate float64) ([]sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var others sync.WaitGroup
	for _, do := range s.incidents() {
		chance := rand.New(rand.NewPCG(s.chance.Uint64(), 1)) //nolint:gosec // as above
		others.Go(func() { s.again(ctx, do, chance) })
	}
	var samples []sample
	var failed error
	sampled := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(sampled)
		samples, failed = s.samples(ctx, stop)
	}()
	s.hold(ctx, s.length, time.Duration(float64(workers)/rate*float64(time.Second)))
	close(stop)
	<-sampled
	cancel()
	others.Wait()
	s.say("  done: %s\n", s.tally.String())
	return samples, failed
}

// kept is how long replicas keep connections to upstreams (90 s) and to the database (1 min) that nobody uses.
const kept = 95 * time.Second

// quiet waits until what is idle is closed: connections of clients at once, those of the replicas after their own time. Where that is
// not waited for, the upstreams close theirs.
func (s *soak) quiet(ctx context.Context) error {
	s.transport.CloseIdleConnections()
	for _, r := range s.replicas {
		r.CloseIdleConnections()
	}
	s.models.Forget()
	if s.idle < kept {
		for _, server := range s.models.Servers {
			server.Down()
			if err := server.Up(); err != nil {
				return err
			}
		}
	}
	harness.Sleep(ctx.Done(), s.idle)
	return nil
}

// leftRunning says which sessions have a turn that nobody runs any more.
func (s *soak) leftRunning(ctx context.Context) []string {
	var list struct {
		Sessions []harness.SessionView `json:"sessions"`
	}
	if err := s.replicas[0].Get(ctx, "/api/sessions?limit=200&state=running", &list); err != nil {
		return []string{err.Error()}
	}
	var faults []string
	for _, session := range list.Sessions {
		faults = append(faults, fmt.Sprintf("session %s (%s) is still running", session.ID, session.Key))
	}
	return faults
}
