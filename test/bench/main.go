// Command bench measures Mooring beside a direct call and beside the least that a Go gateway can cost.
//
//	go run ./test/bench -rounds 5
//	go run ./test/bench -only sse1
//	go run ./test/bench -only json32 -store postgres
//
// It builds everything into a temporary folder, runs the targets one after the other in every round, and prints medians
// of ratios as a Markdown table: single times say little on a machine that is shared.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

type options struct {
	rounds   int
	measured time.Duration
	only     string
	out      string
	mooring  string
	store    string
	postgres string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 5, "rounds, each over all targets")
	flag.DurationVar(&o.measured, "d", 3*time.Second, "measured time of a target in a round")
	flag.StringVar(&o.only, "only", "", "one part alone: "+strings.Join(names(), ", "))
	flag.StringVar(&o.out, "out", "", "file for the table, beside stdout")
	flag.StringVar(&o.store, "store", sqliteStore, "what Mooring keeps turns in: sqlite, or postgres, which then runs on this machine too")
	flag.StringVar(&o.postgres, "postgres", "", "address of a PostgreSQL instead of one of its own, which flushes every commit")
	flag.StringVar(&o.mooring, "mooring", "", "this binary instead of one built from here")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

func names() []string {
	var all []string
	for _, c := range cases() {
		all = append(all, c.name)
	}
	return append(all, "truncation", "memory", "lookup")
}

func run(ctx context.Context, o options) error {
	if o.only != "" && !slices.Contains(names(), o.only) {
		return fmt.Errorf("-only %s: there are %s", o.only, strings.Join(names(), ", "))
	}
	if o.store != sqliteStore && o.store != postgresStore {
		return fmt.Errorf("-store %s: there are %s and %s", o.store, sqliteStore, postgresStore)
	}
	r, err := newRig(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	var table strings.Builder
	for _, part := range []func(context.Context, *rig, options, *strings.Builder) error{compare, truncation, memory, lookup} {
		if err := part(ctx, r, o, &table); err != nil {
			return err
		}
	}
	if _, err := io.WriteString(os.Stdout, table.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if o.out == "" {
		return nil
	}
	if err := os.WriteFile(o.out, []byte(table.String()), 0o600); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

func wanted(o options, name string) bool { return o.only == "" || o.only == name }
