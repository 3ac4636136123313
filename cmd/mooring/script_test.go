package main

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// patience is how long a script waits for something that takes milliseconds on a quiet machine.
const patience = 20 * time.Second

// waitFor waits until a file holds a text: waitfor FILE TEXT.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: waitfor FILE TEXT")
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && strings.Contains(string(text), args[1]) {
			return
		}
	}
	text, _ := os.ReadFile(ts.MkAbs(args[0]))
	ts.Fatalf("no %q in %s:\n%s", args[1], args[0], text)
}

// sendSignal tells the process whose id stands in a file: signal HUP FILE.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: signal NAME FILE")
	}
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "INT": syscall.SIGINT}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[1])))
	ts.Check(err)
	ts.Check(syscall.Kill(pid, signals[args[0]]))
}

// checkMode holds a file's permissions against an octal number: mode FILE 600.
func checkMode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()&fs.ModePerm); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}
