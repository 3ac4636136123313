//go:build linux

// Package clients_test runs released command-line clients against the built binary, the fake model server behind it.
//
// Everything happens in a network namespace that has nothing but loopback: the test binary starts itself again inside one.
// Tests run one after the other; each of these programs wants a processor for itself.
package clients_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"mooring/test/product"
)

var (
	update  = flag.Bool("update", false, "rewrite the golden files")
	binary  product.Binary
	missing error // why the clients cannot be run here
)

// inside tells the test binary that it runs in the namespace, and where the built binary is.
const inside = "MOORING_TEST_CLIENTS_BINARY"

func TestMain(m *testing.M) {
	if built := os.Getenv(inside); built != "" {
		binary = product.Binary(built)
		os.Exit(m.Run())
	}
	if missing = available(); missing != nil {
		os.Exit(m.Run())
	}
	os.Exit(enter())
}

// available says what is missing to run the clients.
func available() error {
	for _, c := range programs() {
		if _, err := os.Stat(filepath.Join(installed(), c)); err != nil {
			return errors.New("the clients are not installed: make clients")
		}
	}
	if out, err := namespace("true").CombinedOutput(); err != nil {
		return fmt.Errorf("no network namespace here, which needs root, unshare and ip: %w: %s", err, out)
	}
	return nil
}

// namespace is a command in a network of its own.
func namespace(args ...string) *exec.Cmd {
	return exec.CommandContext(context.Background(), "unshare", append([]string{"--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}, args...)...)
}

// enter runs the tests in a namespace and gives their exit code.
func enter() int {
	dir, err := os.MkdirTemp("", "mooring-clients-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	built, err := product.Build(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cmd := namespace(append([]string{self}, os.Args[1:]...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"="+string(built))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} // a test binary that runs out of time is killed
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// need passes a test over where the clients cannot be run, or fails it where they must.
func need(t *testing.T) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("MOORING_TEST_CLIENTS") != "":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}
