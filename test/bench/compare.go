package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// testCase is one way to load all targets.
type testCase struct {
	name, title string
	args        []string
	ratios      []ratio
}

// ratio compares what the three targets measured in one round.
type ratio struct {
	title string
	of    func(direct, floor, mooring result) float64
}

func cases() []testCase {
	added := ratio{"added p50 / floor's added p50", func(d, f, m result) float64 { return (m.P50 - d.P50) / (f.P50 - d.P50) }}
	addedMS := ratio{"added p50, ms", func(d, _, m result) float64 { return (m.P50 - d.P50) / 1000 }}
	more := ratio{"p50 over floor's p50, ms", func(_, f, m result) float64 { return (m.P50 - f.P50) / 1000 }}
	rps := ratio{"requests/s", func(_, _, m result) float64 { return m.RPS }}
	rate := ratio{"requests/s / floor's", func(_, f, m result) float64 { return m.RPS / f.RPS }}
	rateDirect := ratio{"requests/s / direct", func(d, _, m result) float64 { return m.RPS / d.RPS }}
	p50 := ratio{"p50 / floor's p50", func(_, f, m result) float64 { return m.P50 / f.P50 }}
	p99 := ratio{"p99 / floor's p99", func(_, f, m result) float64 { return m.P99 / f.P99 }}
	return []testCase{
		{"json1", "JSON, c=1", []string{"-c", "1"}, []ratio{added, addedMS, more, p99}},
		{"json32", "JSON, c=32", []string{"-c", "32"}, []ratio{rps, rate, rateDirect, more, p99}},
		{"sse1", "SSE of 50 chunks, c=1", []string{"-c", "1", "-stream"}, []ratio{p50, more, p99}},
		{"sse16", "SSE of 50 chunks, c=16", []string{"-c", "16", "-stream"}, []ratio{p50, more, rate}},
	}
}

// compare runs every case in every round over direct, floor and mooring, one after the other.
func compare(ctx context.Context, r *rig, o options, table *strings.Builder) error {
	var chosen []testCase
	for _, c := range cases() {
		if wanted(o, c.name) {
			chosen = append(chosen, c)
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	targets, err := startTargets(ctx, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(table, "## Beside a direct call and the floor, with %s, %d rounds\n\n| load | figure | median | lowest | highest |\n|---|---|---|---|---|\n", o.store, o.rounds)
	if err := settle(ctx, r, targets[2]); err != nil {
		return err
	}
	measured := map[string][][3]result{}
	for round := range o.rounds {
		for _, c := range chosen {
			row, err := measure(ctx, r, targets, append(c.args, "-d", o.measured.String()))
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "round %d %-6s p50 us: direct %.0f, floor %.0f, mooring %.0f; failed %d\n",
				round+1, c.name, row[0].P50, row[1].P50, row[2].P50, row[2].Failed)
			measured[c.name] = append(measured[c.name], row)
		}
	}
	for _, c := range chosen {
		c.report(table, measured[c.name])
	}
	return nil
}

// settle gives a PostgreSQL something to make its statistics of, and has it make them, as it does by itself within a minute or two.
func settle(ctx context.Context, r *rig, mooring string) error {
	if r.postgres == nil {
		return nil
	}
	if _, err := r.load(ctx, mooring, "-c", "16", "-warm", "0s", "-d", "8s"); err != nil {
		return err
	}
	return r.postgres.Each(ctx, r.dsn, "VACUUM ANALYZE", nil)
}

func startTargets(ctx context.Context, r *rig) (urls [3]string, err error) {
	mock, err := r.start(ctx, "fakemodel", "-mock")
	if err != nil {
		return urls, err
	}
	floor, err := r.start(ctx, "floor", "-up", mock.url)
	if err != nil {
		return urls, err
	}
	mooring, err := r.startMooring(ctx, mock.url)
	if err != nil {
		return urls, err
	}
	return [3]string{mock.url, floor.url, mooring.url}, nil
}

func measure(ctx context.Context, r *rig, targets [3]string, args []string) (row [3]result, err error) {
	for i, url := range targets {
		if row[i], err = r.load(ctx, url, args...); err != nil {
			return row, err
		}
	}
	return row, nil
}

func (c testCase) report(table *strings.Builder, rows [][3]result) {
	for _, figure := range c.ratios {
		var values []float64
		for _, row := range rows {
			values = append(values, figure.of(row[0], row[1], row[2]))
		}
		slices.Sort(values)
		fmt.Fprintf(table, "| %s | %s | %s | %s | %s |\n", c.title, figure.title,
			digits(median(values)), digits(values[0]), digits(values[len(values)-1]))
	}
	failed, first := 0, ""
	for _, row := range rows {
		failed += row[2].Failed
		if first == "" {
			first = row[2].Error
		}
	}
	if failed > 0 {
		fmt.Fprintf(table, "| %s | failed requests | %d | | %s |\n", c.title, failed, first)
	}
}

// median of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func digits(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
