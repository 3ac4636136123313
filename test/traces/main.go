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
	"os"
	"path/filepath"
	"slices"

	"mooring/internal/traffic"
)

func main() {
	seed := flag.Uint64("seed", 1, "what is made up; the same seed gives the same traffic")
	out := flag.String("out", "traces", "folder for the files")
	list := flag.Bool("list", false, "name the families and end")
	flag.Parse()
	if *list {
		for _, name := range traffic.Families() {
			fmt.Println(name)
		}
		return
	}
	names := flag.Args()
	if len(names) == 0 {
		names = traffic.Families()
	}
	if err := os.MkdirAll(*out, 0o750); err != nil {
		fail(err)
	}
	for _, name := range names {
		if !slices.Contains(traffic.Families(), name) {
			fail(fmt.Errorf("there is no family %q", name))
		}
		if err := write(*out, name, *seed); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "traces:", err)
	os.Exit(2)
}

func write(dir, name string, seed uint64) (err error) {
	trace, err := traffic.Make(name, traffic.Options{Seed: seed})
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, name+".jsonl"))
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
