// Traces writes made-up labelled traffic into a folder, a file per family, for `mooring eval`.
//
//	go run ./test/traces -seed 7 -out /tmp/traces
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mooring/internal/traffic"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "traces:", err)
		os.Exit(2) //nolint:forbidigo // this is the program
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("traces", flag.ContinueOnError)
	seed := flags.Uint64("seed", 1, "what is made up; the same seed gives the same traffic")
	dir := flags.String("out", "traces", "folder for the files")
	list := flags.Bool("list", false, "name the families and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	names := flags.Args()
	if len(names) == 0 {
		names = traffic.Families()
	}
	if *list {
		_, err := fmt.Fprintln(out, strings.Join(names, "\n"))
		return err
	}
	if err := os.MkdirAll(*dir, 0o750); err != nil {
		return err
	}
	for _, name := range names {
		if err := write(filepath.Join(*dir, name+".jsonl"), name, *seed); err != nil {
			return err
		}
	}
	return nil
}

func write(path, name string, seed uint64) (err error) {
	trace, err := traffic.Make(name, traffic.Options{Seed: seed})
	if err != nil {
		return err
	}
	f, err := os.Create(path) //nolint:gosec // the caller's own folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for i := range trace.Lines {
		if err := lines.Encode(&trace.Lines[i]); err != nil {
			return err
		}
	}
	return w.Flush()
}
