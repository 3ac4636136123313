package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"mooring/test/harness"
)

// target is what streams go through.
type target struct {
	name  string
	start func(ctx context.Context, l *load, up string) (*through, error)
}

// through is a process that streams go through.
type through struct {
	url  string
	pid  func() int
	stop func()
}

// held is what one round of a target showed.
type held struct {
	rest, full harness.Use   // before the streams, and with all of them open
	cpu        time.Duration // in the measured time
	open       int64
	broken     int64
	why        error
	p50, p99   time.Duration
	most       time.Duration
	chunks     int
}

// streams holds many slow streams at once through the floor and through Mooring, one after the other in each round.
func streams(ctx context.Context, l *load) ([]string, error) {
	targets := []target{{"floor", startFloor}, {"mooring, SQLite", startMooring}}
	all := map[string][]held{}
	for n := range l.rounds {
		for _, t := range targets {
			h, err := l.through(ctx, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			l.say("  round %d, %-16s %d open, %d broken, %.1f KB a stream, delay p50 %s p99 %s\n",
				n+1, t.name, h.open, h.broken, h.perStream(), h.p50.Round(time.Microsecond), h.p99.Round(time.Microsecond))
			all[t.name] = append(all[t.name], h)
		}
	}
	l.say("\n## %d streams at once, a chunk each %s, %d rounds of %s\n\n", l.streams, l.chunkGap, l.rounds, l.hold)
	l.say("| median of rounds | resident before, MB | with all streams, MB | KB a stream | delay of a chunk p50 | p99 | most | processor time of a chunk, us | broken |\n|---|---|---|---|---|---|---|---|---|\n")
	var faults []string
	for _, t := range targets {
		rows := all[t.name]
		broken := int64(0)
		for _, h := range rows {
			broken += h.broken
			if h.broken > 0 || h.open != int64(l.streams) {
				faults = append(faults, fmt.Sprintf("%s: %d of %d streams open, %d broken (%v)", t.name, h.open, l.streams, h.broken, h.why))
			}
		}
		l.say("| %s | %.1f | %.1f | %.1f | %s | %s | %s | %.1f | %d |\n", t.name,
			middle(rows, func(h held) float64 { return megabytes(h.rest.Resident) }), middle(rows, func(h held) float64 { return megabytes(h.full.Resident) }),
			middle(rows, held.perStream), middleTime(rows, func(h held) time.Duration { return h.p50 }), middleTime(rows, func(h held) time.Duration { return h.p99 }),
			middleTime(rows, func(h held) time.Duration { return h.most }),
			middle(rows, func(h held) float64 { return float64(h.cpu.Microseconds()) / float64(max(1, h.chunks)) }), broken)
	}
	return faults, nil
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

func (h held) perStream() float64 {
	return float64(h.full.Resident-h.rest.Resident) / 1024 / float64(max(1, h.open))
}

func middle(rows []held, of func(held) float64) float64 {
	var all []float64
	for _, h := range rows {
		all = append(all, of(h))
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

func middleTime(rows []held, of func(held) time.Duration) time.Duration {
	return time.Duration(middle(rows, func(h held) float64 { return float64(of(h)) })).Round(10 * time.Microsecond)
}

// opening is how many streams are opened a second: what is measured is holding them.
const opening = 400

// through opens all streams through a target, holds them, and lets them go.
func (l *load) through(ctx context.Context, t target) (h held, err error) {
	source, err := startStamped(l.chunkGap)
	if err != nil {
		return h, err
	}
	defer func() { _ = source.server.Close() }()
	p, err := t.start(ctx, l, source.url)
	if err != nil {
		return h, err
	}
	defer p.stop()
	if h.rest, err = harness.UseOf(p.pid()); err != nil {
		return h, err
	}
	held, release := context.WithCancel(ctx)
	defer release()
	w := &watch{source: source}
	transport := &http.Transport{DisableCompression: true, ReadBufferSize: 1024, WriteBufferSize: 1024}
	client := &http.Client{Transport: transport}
	var all sync.WaitGroup
	for n := range l.streams {
		all.Go(func() { w.read(held, client, p.url, n) })
		harness.Sleep(ctx.Done(), time.Second/opening)
	}
	l.awaitOpen(ctx, w)
	began, err := harness.UseOf(p.pid())
	if err != nil {
		return h, err
	}
	w.from.Store(int64(source.since()))
	harness.Sleep(ctx.Done(), l.hold)
	w.to.Store(int64(source.since()))
	if h.full, err = harness.UseOf(p.pid()); err != nil {
		return h, err
	}
	h.cpu, h.open, h.broken = h.full.CPU-began.CPU, w.open.Load(), w.broken.Load()
	if err := w.first.Load(); err != nil {
		h.why = *err
	}
	harness.Sleep(ctx.Done(), time.Second) // for chunks that were sent in time and are late
	release()
	all.Wait()
	transport.CloseIdleConnections()
	h.chunks, h.p50, h.p99, h.most = len(w.delays), quantile(w.delays, .5), quantile(w.delays, .99), quantile(w.delays, 1)
	return h, ctx.Err()
}

// awaitOpen waits until every stream has had chunks, or has failed.
func (l *load) awaitOpen(ctx context.Context, w *watch) {
	end := harness.Now().Add(harness.Patience)
	for w.open.Load()+w.broken.Load() < int64(l.streams) && harness.Now().Before(end) && ctx.Err() == nil {
		harness.Sleep(ctx.Done(), 50*time.Millisecond)
	}
	harness.Sleep(ctx.Done(), 2*l.chunkGap)
}

func startMooring(_ context.Context, l *load, up string) (*through, error) {
	r, err := l.stage.NewReplica("streams", "store: sqlite:mooring.db\nupstreams:\n  - {name: mock, url: \""+up+"\", protocol: openai, key: none}\n")
	if err == nil {
		err = r.Start()
	}
	if err != nil {
		return nil, err
	}
	return &through{r.URL, r.PID, r.Kill}, nil
}

func startFloor(ctx context.Context, l *load, up string) (*through, error) {
	p, url, err := l.stage.StartProgram(ctx, "./test/bench/floor", "-up", up)
	if err != nil {
		return nil, err
	}
	return &through{url, p.PID, p.Kill}, nil
}
