package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mooring/test/harness"
)

// sample is what the replicas hold at one moment, all together.
type sample struct {
	at                time.Duration // since the load began
	replicas          int
	resident          int64 // bytes
	goroutines, files int
	connections       int // to PostgreSQL
	cpu               time.Duration
}

// String says it in one line.
func (s sample) String() string {
	return fmt.Sprintf("%.1f MB resident, %d goroutines, %d open files, %d database connections", float64(s.resident)/(1<<20), s.goroutines, s.files, s.connections)
}

func (s *soak) sample(ctx context.Context) (sample, error) {
	sum := sample{replicas: len(s.replicas)}
	for _, r := range s.replicas {
		m, err := r.Metrics(ctx)
		if err != nil {
			return sum, err
		}
		use, err := harness.UseOf(r.PID())
		if err != nil {
			return sum, err
		}
		sum.resident += use.Resident
		sum.cpu += use.CPU
		sum.goroutines += int(m["go_goroutines"])
		sum.files += int(m["process_open_fds"])
	}
	if s.postgres == nil {
		return sum, nil
	}
	n, err := s.postgres.Connections(ctx, s.dsn)
	sum.connections = n
	return sum, err
}

// samples takes about a hundred of them, and prints some.
func (s *soak) samples(ctx context.Context, stop <-chan struct{}) ([]sample, error) {
	const wanted, printed = 120, 12
	var all []sample
	began := harness.Now()
	every := max(s.length/wanted, 100*time.Millisecond)
	for n := 1; ; n++ {
		harness.Sleep(stop, every)
		if over(stop, ctx) {
			return all, nil
		}
		one, err := s.sample(ctx)
		if err != nil {
			return all, err
		}
		one.at = harness.Now().Sub(began)
		all = append(all, one)
		if n%(wanted/printed) == 0 {
			s.say("  %6s: %s\n", one.at.Round(time.Second), one)
			s.models.Forget()
		}
	}
}

const (
	// spareGoroutines and spareFiles are what may be there more after a while: the runtime's own, and a connection that a look at the
	// figures itself holds.
	spareGoroutines, spareFiles = 6, 4
	// poolOf is how many connections a replica may hold to its database: eight for reading, two for writing and two for telling other
	// replicas, which are closed after a minute without use, and the one that listens to them.
	poolOf = 13
	// A heap that does not leak may still stand at another place between two collections; the runtime gives memory back slowly.
	spareShare, spareBytes = 0.20, 24 << 20
	// steady is how long a run has to be for the caches to have been full for most of it.
	steady = 5 * time.Minute
)

// compare says what is more than it was. Memory is held against the load's own second quarter: caches fill up before that.
func compare(before, after sample, load []sample, o options) []string {
	var faults []string
	more := func(what string, was, is, spare int) {
		if is > was+spare {
			faults = append(faults, fmt.Sprintf("%s: %d before, %d after, at most %d more are expected", what, was, is, spare))
		}
	}
	more("goroutines", before.goroutines, after.goroutines, spareGoroutines)
	more("open files, less database connections", before.files-before.connections, after.files-after.connections, spareFiles)
	if o.idle >= kept {
		more("database connections", before.connections, after.connections, 0)
	}
	for _, s := range load {
		if s.connections > poolOf*s.replicas {
			faults = append(faults, fmt.Sprintf("%d database connections after %s, at most %d are expected", s.connections, s.at.Round(time.Second), poolOf*s.replicas))
			break
		}
	}
	if o.length < steady {
		return faults
	}
	early, late := memoryOf(load[len(load)/4:len(load)/2]), memoryOf(load[len(load)*3/4:])
	if limit := int64(float64(early)*(1+spareShare)) + spareBytes; late > limit {
		faults = append(faults, fmt.Sprintf("memory: a median of %d MB in the second quarter, %d MB in the last one, at most %d MB are expected",
			early>>20, late>>20, limit>>20))
	}
	return faults
}

func memoryOf(samples []sample) int64 {
	var all []int64
	for _, s := range samples {
		all = append(all, s.resident)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
