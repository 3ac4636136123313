// Load puts much on Mooring at once and says what it costs: thousands of slow streams beside the floor, and a million sessions
// with five million turns beside a thousand.
//
//	go run ./test/load
//	go run ./test/load -only streams -streams 500 -hold 5s
//	go run ./test/load -only sqlite -sessions 10000
//
// It prints Markdown tables, and exits with 1 where something failed or is beyond its bound.
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
	rounds  int
	seed    uint64
	only    string
	mooring string

	streams   int
	chunkGap  time.Duration
	hold      time.Duration
	sessions  int
	few       int
	turns     int
	questions int
	slower    float64
	dir       string
	postgres  string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "n", 3, "rounds, each over all targets")
	flag.Uint64Var(&o.seed, "seed", 0, "what is random; 0 for a new one, which is printed")
	flag.StringVar(&o.only, "only", "", "some parts alone, by comma: "+strings.Join(names(), ", "))
	flag.StringVar(&o.mooring, "mooring", "", "this binary instead of one built from here")
	flag.IntVar(&o.streams, "streams", 2000, "streams at once")
	flag.DurationVar(&o.chunkGap, "gap", time.Second, "between two chunks of a stream")
	flag.DurationVar(&o.hold, "hold", 20*time.Second, "how long all streams are measured")
	flag.IntVar(&o.sessions, "sessions", 1_000_000, "sessions of the large store, a multiple of those of the small one")
	flag.IntVar(&o.few, "few", 1000, "sessions of the small store")
	flag.IntVar(&o.turns, "turns", 5, "turns of a session")
	flag.IntVar(&o.questions, "questions", 300, "of each kind to each store, in each round")
	flag.Float64Var(&o.slower, "slower", 3, "how much longer a question to the large store may take at the median before that counts as a fault")
	flag.StringVar(&o.dir, "keep", "", "a folder whose filled stores are used, and left there; empty for one that is removed. With -postgres its databases are kept too")
	flag.StringVar(&o.postgres, "postgres", "", "address of a PostgreSQL instead of one of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		stop()
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

// part measures one thing; it gives what is beyond its bound.
type part struct {
	name string
	run  func(ctx context.Context, l *load) ([]string, error)
}

func parts() []part {
	return []part{{"streams", streams}, {"sqlite", onSQLite}, {"postgres", onPostgres}}
}

func names() []string {
	var all []string
	for _, p := range parts() {
		all = append(all, p.name)
	}
	return all
}

// load is a run.
type load struct {
	options

	stage *harness.Stage
	out   io.Writer
}

func (l *load) say(format string, args ...any) { _, _ = fmt.Fprintf(l.out, format, args...) }

var errFound = errors.New("not all is within its bounds, see above")

func run(ctx context.Context, o options, out io.Writer) error {
	if o.seed == 0 {
		o.seed = rand.Uint64N(1e6) + 1 //nolint:gosec // it is printed
	}
	stage, err := harness.NewStage(ctx, o.mooring)
	if err != nil {
		return err
	}
	defer stage.Close()
	l := &load{options: o, stage: stage, out: out}
	l.say("seed %d, load of the machine %s\n", o.seed, harness.LoadAverage())
	ran, bad := 0, false
	for _, p := range parts() {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), p.name) {
			continue
		}
		ran++
		faults, err := p.run(ctx, l)
		stage.Drop()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, f := range faults {
			l.say("\nFAULT: %s\n", f)
		}
		bad = bad || len(faults) > 0
	}
	if ran == 0 {
		return fmt.Errorf("-only %s: there are %s", o.only, strings.Join(names(), ", "))
	}
	l.say("\nload of the machine at the end %s\n", harness.LoadAverage())
	if bad {
		return errFound
	}
	return nil
}
