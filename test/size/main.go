// Size says what conversations cost the store: it plays them through the built program, as clients hold them, and then looks at the
// database from outside: bytes kept, rows and bytes written.
//
//	go run ./test/size
//	go run ./test/size -sessions 1000 -only chat -stores postgres
//
// It prints Markdown tables; docs/scale.md is made of them.
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
	sessions int
	only     string
	stores   string
	seed     uint64
	mooring  string
	postgres string
}

func main() {
	var o options
	flag.IntVar(&o.sessions, "sessions", 400, "chats to hold; of agents' sessions a quarter of that")
	flag.StringVar(&o.only, "only", "", "chat or agent alone")
	flag.StringVar(&o.stores, "stores", "sqlite,postgres", "where")
	flag.Uint64Var(&o.seed, "seed", 0, "what is random; 0 for a new one, which is printed")
	flag.StringVar(&o.mooring, "mooring", "", "this binary instead of one built from here")
	flag.StringVar(&o.postgres, "postgres", "", "address of a PostgreSQL instead of one of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if _, err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		stop()
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

// bill is what a kind of conversation cost a store.
type bill struct {
	kind, store string
	sessions    int
	turns       int
	messages    int
	heard       int64 // bytes of texts that are kept: questions, tool results, answers
	kept        int64 // bytes of the store
	written     int64 // bytes of its write-ahead log; of SQLite bytes that the process wrote
	pages       int64 // of them: whole pages after a checkpoint
	inserted    int64
	updated     int64
	deleted     int64
	commits     int64
	tables      []table
}

// table is a part of a PostgreSQL store.
type table struct {
	name          string
	rows          int64
	bytes, pieces int64 // of itself, of its indexes
}

func run(ctx context.Context, o options, out io.Writer) ([]bill, error) {
	if o.seed == 0 {
		o.seed = rand.Uint64N(1e6) + 1 //nolint:gosec // it is printed
	}
	stage, err := harness.NewStage(ctx, o.mooring)
	if err != nil {
		return nil, err
	}
	defer stage.Close()
	_, _ = fmt.Fprintf(out, "seed %d, load of the machine %s\n", o.seed, harness.LoadAverage())
	var bills []bill
	for store := range strings.SplitSeq(o.stores, ",") {
		for _, k := range kinds() {
			if o.only != "" && o.only != k.name {
				continue
			}
			b, err := measure(ctx, stage, o, k, store)
			stage.Drop()
			if err != nil {
				return nil, fmt.Errorf("%s on %s: %w", k.name, store, err)
			}
			bills = append(bills, b)
		}
	}
	tell(out, bills)
	return bills, nil
}

// ground is a store that is looked at from outside.
type ground interface {
	// settings is the line of the configuration.
	settings() string
	// settle waits until what follows a turn is done, the index of words, and until the store's own counts are up to date.
	settle(ctx context.Context) error
	// count adds what the store has written so far, and what it holds.
	count(ctx context.Context, b *bill) error
}

func measure(ctx context.Context, stage *harness.Stage, o options, k kind, store string) (bill, error) {
	b := bill{kind: k.name, store: store, sessions: max(1, o.sessions/k.fewer)}
	chance := harness.Chance(o.seed, len(k.name))
	talk := &talk{kind: k, chance: chance}
	model, err := stage.NewModels(ctx, 1)
	if err != nil {
		return b, err
	}
	model.Behave(talk.answer)
	g, err := stand(ctx, stage, o, store)
	if err != nil {
		return b, err
	}
	replica, err := stage.NewReplica("size", g.settings()+harness.Upstreams(model.Addrs(), ""))
	if err != nil {
		return b, err
	}
	if err = replica.Start(); err != nil {
		return b, err
	}
	if f, ok := g.(*files); ok {
		f.pid = replica.PID()
	}
	before := bill{}
	if err = errors.Join(g.settle(ctx), g.count(ctx, &before)); err != nil {
		return b, err
	}
	if err = talk.hold(ctx, replica, &b); err != nil {
		return b, err
	}
	if err = g.settle(ctx); err != nil {
		return b, err
	}
	metrics, err := replica.Metrics(ctx)
	if err != nil {
		return b, err
	}
	b.commits = int64(metrics["mooring_commit_batch_size_count"])
	if err := g.count(ctx, &b); err != nil {
		return b, err
	}
	b.less(before)
	return b, replica.Terminate()
}

// less takes off what was there before the first turn.
func (b *bill) less(before bill) {
	b.kept -= before.kept
	b.written -= before.written
	b.pages -= before.pages
	b.inserted -= before.inserted
	b.updated -= before.updated
	b.deleted -= before.deleted
	b.tables = slices.DeleteFunc(b.tables, func(t table) bool { return t.rows == 0 })
}
