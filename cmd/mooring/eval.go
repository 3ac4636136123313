package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"mooring"
	"mooring/internal/app"
	"mooring/internal/eval"
)

type evalCommand struct {
	Traces      []string `arg:"" help:"Traces or access logs, as .jsonl or .jsonl.gz; a folder stands for those in it." name:"trace"`
	JSON        bool     `help:"As JSON."`
	Predictions string   `help:"Write what was made of each request into this file; one trace only." placeholder:"FILE"`
	Show        int      `help:"Show the first N wrong requests of each trace, with what decided them." placeholder:"N"`
	Baselines   bool     `help:"Score simpler ways of telling conversations apart too."`
}

// errCross ends an evaluation that found a session with requests of two tenants.
var errCross = undone{errors.New("a session holds requests of two tenants")}

// Run replays the traces and prints what came out.
func (c *evalCommand) Run(p program) error {
	files, err := eval.Files(c.Traces)
	if err != nil {
		return err
	}
	if c.Predictions != "" && len(files) > 1 {
		return errors.New("--predictions takes one trace; evaluate the others by themselves")
	}
	traces := make([]*eval.Trace, len(files))
	for i, file := range files { // all are read before the first is replayed: a bad line should not come after minutes
		if traces[i], err = eval.ReadFile(file); err != nil {
			return err
		}
		if traces[i].Labelled != traces[0].Labelled {
			return fmt.Errorf("%s is labelled and %s is not; evaluate them one by one", files[0], file)
		}
	}
	e := evaluation{command: c, program: p, report: eval.Report{Families: map[string]*eval.Score{}, Baselines: map[string]map[string]*eval.Score{}}}
	for _, t := range traces {
		if err := e.trace(t); err != nil {
			return err
		}
	}
	if !traces[0].Labelled {
		return e.printLogs()
	}
	return e.printScores()
}

// evaluation collects what comes out of several traces.
type evaluation struct {
	command *evalCommand
	program program
	report  eval.Report
	logs    []eval.LogReport
}

func (e *evaluation) trace(t *eval.Trace) error {
	if !t.Labelled {
		eval.FillReplies(t)
	}
	quiet := slog.New(slog.NewTextHandler(e.program.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	found, err := app.Replay(context.Background(), t, quiet)
	if err != nil {
		return undone{fmt.Errorf("%s: %w", t.Name, err)}
	}
	if e.command.Predictions != "" {
		if err = writePredictions(e.command.Predictions, found); err != nil {
			return err
		}
	}
	if !t.Labelled {
		e.logs = append(e.logs, eval.Examine(t, found))
		return nil
	}
	scores, err := eval.Evaluate(t, found)
	if err != nil {
		return err
	}
	e.report.Take(scores)
	if !e.command.JSON {
		e.show(t, scores.Wrong)
	}
	if e.command.Baselines {
		return e.baselines(t)
	}
	return nil
}

func (e *evaluation) baselines(t *eval.Trace) error {
	for _, way := range eval.Ways() {
		scores, err := eval.Evaluate(t, way.Predict(t))
		if err != nil {
			return err
		}
		e.report.TakeBaseline(way.Name, scores)
	}
	return nil
}

// show prints the first wrong requests with what decided them.
func (e *evaluation) show(t *eval.Trace, wrong []eval.Wrong) {
	for i := range wrong[:min(e.command.Show, len(wrong))] {
		w := &wrong[i]
		truth := w.Line.Truth
		of := ""
		if truth.Parent != nil {
			of = " of " + *truth.Parent
		}
		_, _ = fmt.Fprintf(e.program.stdout, "%s:%d %s %s, %s %s%s: %s\n", t.Name, w.Line.N, w.Line.Family, w.Line.Client, truth.Kind, truth.Session, of, strings.Join(w.Why, "; "))
		_, _ = fmt.Fprintf(e.program.stdout, "  found %s by %s\n", cmp.Or(w.Found.Session, "no session"), cmp.Or(w.Found.Identity, "nothing"))
		for _, ev := range w.Found.Evidence {
			_, _ = fmt.Fprintf(e.program.stdout, "  - %s %s: %s\n", ev.Signal, ev.Use, ev.Why)
		}
		if w.Found.Error != "" {
			_, _ = fmt.Fprintf(e.program.stdout, "  - %s\n", w.Found.Error)
		}
	}
}

func (e *evaluation) printScores() error {
	r := &e.report
	if e.command.JSON {
		if err := json.NewEncoder(e.program.stdout).Encode(scoresJSON(r)); err != nil {
			return err
		}
	} else if err := printScores(e.program.stdout, r); err != nil {
		return err
	}
	if total := r.Total(); total.Cross > 0 {
		return errCross
	}
	return nil
}

func printScores(out io.Writer, r *eval.Report) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "family\trequests\ttrue\tfound\tsplit\tmerge\tright\tkind\tparent\tcross\terrors\tp50\tp99\t")
	row := func(name string, s *eval.Score) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t\n", name, s.Requests, s.True, s.Found, s.Split, s.Merge,
			percent(s.Placed), percent(s.Kind), percent(s.Parent), s.Cross, s.Errors, micros(s.Quantile(0.5)), micros(s.Quantile(0.99)))
	}
	for _, name := range r.Names() {
		row(name, r.Families[name])
	}
	row("total", r.Total())
	if err := table.Flush(); err != nil || len(r.Baselines) == 0 {
		return err
	}
	return printBaselines(out, r)
}

func printBaselines(out io.Writer, r *eval.Report) error {
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "way\tsplit\tmerge\tcross\tright")
	row := func(name string, s *eval.Score) {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\n", name, s.Split, s.Merge, s.Cross, percent(s.Placed))
	}
	row("Mooring", r.Total())
	for _, way := range eval.Ways() {
		row(way.Name+": "+way.Does, eval.Sum(r.Baselines[way.Name]))
	}
	return table.Flush()
}

func percent(s eval.Share) string {
	p, ok := s.Percent()
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.1f%%", p)
}

func micros(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%dµs", d.Microseconds())
}

// scoreJSON is a score for programs; a share that nothing was judged for is null.
type scoreJSON struct {
	Requests int      `json:"requests"`
	True     int      `json:"true"`
	Found    int      `json:"found"`
	Split    int      `json:"split"`
	Merge    int      `json:"merge"`
	Right    *float64 `json:"right_percent"`
	Kind     *float64 `json:"kind_percent"`
	Parent   *float64 `json:"parent_percent"`
	Cross    int      `json:"cross"`
	Errors   int      `json:"errors"`
	Unscored int      `json:"unscored"`
	P50      int64    `json:"identify_p50_us,omitempty"`
	P99      int64    `json:"identify_p99_us,omitempty"`
}

func scoreOf(s *eval.Score) scoreJSON {
	share := func(s eval.Share) *float64 {
		p, ok := s.Percent()
		if !ok {
			return nil
		}
		return &p
	}
	return scoreJSON{
		s.Requests, s.True, s.Found, s.Split, s.Merge, share(s.Placed), share(s.Kind), share(s.Parent), s.Cross, s.Errors, s.Unscored,
		s.Quantile(0.5).Microseconds(), s.Quantile(0.99).Microseconds(),
	}
}

func scoresJSON(r *eval.Report) any {
	all := func(of map[string]*eval.Score) map[string]scoreJSON {
		out := map[string]scoreJSON{}
		for name, s := range of {
			out[name] = scoreOf(s)
		}
		out["total"] = scoreOf(eval.Sum(of))
		return out
	}
	out := map[string]any{"families": all(r.Families)}
	if len(r.Baselines) > 0 {
		ways := map[string]any{}
		for name, of := range r.Baselines {
			ways[name] = all(of)
		}
		out["baselines"] = ways
	}
	wrong := make([]map[string]any, 0, len(r.Wrong))
	for i := range r.Wrong {
		w := &r.Wrong[i]
		wrong = append(wrong, map[string]any{
			"line": w.Line.N, "family": w.Line.Family, "client": w.Line.Client, "truth": w.Line.Truth, "found": w.Found, "why": w.Why,
			"evidence": append([]mooring.Evidence{}, w.Found.Evidence...),
		})
	}
	out["wrong"] = wrong
	return out
}

func (e *evaluation) printLogs() error {
	if e.command.JSON {
		return json.NewEncoder(e.program.stdout).Encode(map[string]any{"logs": e.logs})
	}
	for i := range e.logs {
		if err := e.printLog(&e.logs[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *evaluation) printLog(l *eval.LogReport) error {
	out := e.program.stdout
	_, _ = fmt.Fprintf(out, "%s: %d requests in %d sessions; it is not labelled, so nothing is scored\n\n", l.Name, l.Requests, l.Sessions)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "what decided\trequests\tshare")
	for _, s := range l.Evidence {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%.1f%%\n", s.Identity, s.Requests, 100*float64(s.Requests)/float64(l.Requests))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	shown := e.command.Show
	if shown == 0 {
		shown = len(l.Splits) + len(l.Merges)
	}
	for _, part := range []struct {
		what string
		list []eval.Suspicion
	}{{"splits", l.Splits}, {"merges", l.Merges}} {
		_, _ = fmt.Fprintf(out, "\nsuspected %s: %d\n", part.what, len(part.list))
		for _, s := range part.list[:min(shown, len(part.list))] {
			_, _ = fmt.Fprintf(out, "  lines %s: %s\n", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(s.Lines)), ", "), "[]"), s.Why)
		}
	}
	return nil
}

func writePredictions(path string, found []eval.Prediction) (err error) {
	f, err := os.Create(path) //nolint:gosec // the caller's own file
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	for _, p := range slices.SortedFunc(slices.Values(found), func(a, b eval.Prediction) int { return cmp.Compare(a.Line, b.Line) }) {
		if err := lines.Encode(p); err != nil {
			return err
		}
	}
	return w.Flush()
}
