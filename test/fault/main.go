// Fault breaks what Mooring stands on, again and again at random moments under running clients, and says what was lost.
//
//	go run ./test/fault -n 50
//	go run ./test/fault -only kill-postgres -n 3 -seed 7
//
// Each fault is a scene of its own: replicas as processes, PostgreSQL or SQLite, model servers, clients of several kinds. After
// each repetition what the clients saw is held against what every replica shows. It prints a table, and exits with 1 where
// anything was wrong.
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

	"mooring/test/harness"
)

type options struct {
	repetitions int
	seed        uint64
	only        string
	mooring     string
	postgres    string
	brief       bool // one that nobody waits for: no turn is waited for that only time ends
}

func main() {
	var o options
	flag.IntVar(&o.repetitions, "n", 50, "repetitions of each fault")
	flag.Uint64Var(&o.seed, "seed", 0, "what is random; 0 for a new one, which is printed")
	flag.StringVar(&o.only, "only", "", "some faults alone, by comma: "+strings.Join(names(), ", "))
	flag.StringVar(&o.mooring, "mooring", "", "this binary instead of one built from here")
	flag.StringVar(&o.postgres, "postgres", "", "address of a PostgreSQL for the faults that leave it alive, instead of one of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		stop()
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

func names() []string {
	var all []string
	for _, s := range scenes() {
		all = append(all, s.name)
	}
	return all
}

var errFound = errors.New("not all is as promised, see above")

func run(ctx context.Context, o options, out io.Writer) error {
	var chosen []scene
	for _, s := range scenes() {
		if o.only == "" || slices.Contains(strings.Split(o.only, ","), s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("-only %s: there are %s", o.only, strings.Join(names(), ", "))
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1e6) + 1 //nolint:gosec // it is printed
	}
	stage, err := harness.NewStage(ctx, o.mooring)
	if err != nil {
		return err
	}
	defer stage.Close()
	p := &play{stage: stage, options: o, out: out}
	p.say("seed %d, %d repetitions, load of the machine %s\n", o.seed, o.repetitions, harness.LoadAverage())
	var table strings.Builder
	bad := false
	for _, s := range chosen {
		v, err := p.perform(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		bad = bad || len(v.Faults) > 0
		row(&table, s, v)
	}
	p.say("\n%s%s", heading, table.String())
	p.say("\nload of the machine at the end %s\n", harness.LoadAverage())
	if bad {
		return errFound
	}
	return nil
}
