// Soak has Mooring work at half of what it can for a long time, with all that happens to a server that people use, and says
// whether memory, goroutines, files and database connections are where they were when it is idle again.
//
//	go run ./test/soak -d 30m
//	go run ./test/soak -d 1m -store sqlite -seed 7
//
// First it measures how many turns a second there can be, then it asks for half of that. It prints samples, a table, and exits with 1
// where something was left, or a turn went wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"mooring/test/harness"
)

type options struct {
	length   time.Duration
	full     time.Duration // of the measurement of full load
	idle     time.Duration // before what is left is counted
	seed     uint64
	runs     int
	only     string
	mooring  string
	postgres string
}

func main() {
	var o options
	flag.DurationVar(&o.length, "d", 30*time.Minute, "time under load")
	flag.DurationVar(&o.full, "full", 10*time.Second, "time in which full load is measured")
	flag.DurationVar(&o.idle, "idle", 100*time.Second, "idle time before what is left is counted: longer than connections are kept")
	flag.Uint64Var(&o.seed, "seed", 0, "what is random; 0 for a new one, which is printed")
	flag.IntVar(&o.runs, "n", 1, "repetitions")
	flag.StringVar(&o.only, "only", "", "one store alone: "+strings.Join(stores(), ", "))
	flag.StringVar(&o.mooring, "mooring", "", "this binary instead of one built from here")
	flag.StringVar(&o.postgres, "postgres", "", "address of a PostgreSQL instead of one of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		stop()
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

// stores are what the replicas stand on: one on SQLite, two on one PostgreSQL.
func stores() []string { return []string{"sqlite", "postgres"} }

var errFound = errors.New("not all is as it was, see above")

func run(ctx context.Context, o options, out io.Writer) error {
	chosen := stores()
	if o.only != "" {
		chosen = []string{o.only}
	}
	if !slices.Contains(stores(), chosen[0]) {
		return fmt.Errorf("-only %s: there are %s", o.only, strings.Join(stores(), ", "))
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1e6) + 1 //nolint:gosec // it is printed
	}
	stage, err := harness.NewStage(ctx, o.mooring)
	if err != nil {
		return err
	}
	defer stage.Close()
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	say("seed %d, %s under load, load of the machine %s\n", o.seed, o.length, harness.LoadAverage())
	bad := false
	for n := range o.runs {
		for _, store := range chosen {
			s := &soak{options: o, stage: stage, store: store, chance: harness.Chance(o.seed, n), say: say}
			faults, err := s.perform(ctx)
			stage.Drop()
			if err != nil {
				return fmt.Errorf("%s: %w", store, err)
			}
			for _, f := range faults {
				say("  FAULT: %s\n", f)
			}
			bad = bad || len(faults) > 0
		}
	}
	say("\nload of the machine at the end %s\n", harness.LoadAverage())
	if bad {
		return errFound
	}
	return nil
}
