package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mooring"
)

// runCommand starts a client program beside a running server.
type runCommand struct {
	Server  string         `help:"Address of the running server; MOORING_LISTEN or the configured listen where left out." placeholder:"URL"`
	Key     mooring.Secret `help:"Client key; better put it into MOORING_KEY, which others on this machine cannot see."    placeholder:"KEY"`
	Model   string         `help:"Model to use; the only one that the server offers, else the client's own choice, where not given."`
	Command []string       `arg:""                                                                                        help:"The client and its arguments, after --."                             name:"command" optional:"" passthrough:""`
}

// exitError ends the program with the code of the client that it ran.
type exitError int

// Error is for the logs of nobody: whoever gets an exitError ends with it and says nothing.
func (e exitError) Error() string { return fmt.Sprintf("the client ended with %d", int(e)) }

// Run points the client at the server, starts it, and ends as it ends.
func (c *runCommand) Run(p program, cli *commands) error {
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	} else if len(c.Command) > 0 && strings.HasPrefix(c.Command[0], "-") {
		return fmt.Errorf("run has no flag %s; a client stands behind --: mooring run -- claude", c.Command[0])
	}
	if len(c.Command) == 0 {
		return errors.New("run needs a client: mooring run -- claude")
	}
	api, err := remote{Server: base(c.Server), Key: c.Key}.client(p, cli)
	if err != nil {
		return err
	}
	at, err := reach(context.Background(), api)
	if err != nil {
		return err
	}
	at.choose(c.Model)
	l := &launch{args: c.Command[1:], env: p.env, vars: map[string]string{}}
	defer l.clean()
	known := clientOf(c.Command[0])
	if err := known.aim(l, at); err != nil {
		return err
	}
	l.spareProxy(at.url)
	_, _ = fmt.Fprintf(p.stderr, "mooring run: %s at %s%s; %s\n", known.name, at.url, at.modelNote(), l.summary())
	return l.start(c.Command[0], os.Environ())
}

// launch is a client program that is about to start: its arguments, and what its environment gets beside that of this process.
type launch struct {
	args  []string
	env   func(string) (string, bool)
	vars  map[string]string
	flags []string // options put before the client's own arguments, for the summary
	files []string // temporary ones
}

// set puts a variable over whatever the environment has.
func (l *launch) set(name, value string) { l.vars[name] = value }

// fill sets a variable that the environment lacks.
func (l *launch) fill(name, value string) {
	if !l.has(name) {
		l.set(name, value)
	}
}

// has says whether the environment has any of these variables.
func (l *launch) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return l.get(name) != "" })
}

func (l *launch) get(name string) string {
	value, _ := l.env(name)
	return value
}

// option puts an option before the client's own arguments, of which the last one counts as a rule.
func (l *launch) option(args ...string) {
	l.flags = append(l.flags, args...)
}

// file writes a file that lives as long as the client and gives its path.
func (l *launch) file(name string, content []byte) (string, error) {
	dir, err := os.MkdirTemp("", "mooring-run-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the client's configuration: %w", err)
	}
	l.files = append(l.files, dir)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("write the client's configuration: %w", err)
	}
	return path, nil
}

func (l *launch) clean() {
	for _, dir := range l.files {
		_ = os.RemoveAll(dir) // a temporary folder, and the client has its code already
	}
}

// summary names what was set, never its values: some are secrets.
func (l *launch) summary() string {
	var said []string
	if len(l.vars) > 0 {
		said = append(said, "sets "+strings.Join(slices.Sorted(maps.Keys(l.vars)), ", "))
	}
	options := slices.DeleteFunc(slices.Clone(l.flags), func(f string) bool { return !strings.HasPrefix(f, "-") })
	if len(options) > 0 {
		said = append(said, "adds "+strings.Join(slices.Compact(options), ", "))
	}
	return strings.Join(said, "; ")
}

// start runs the client with this process's own input and output and gives its exit code as an error.
func (l *launch) start(name string, environ []string) error {
	cmd := exec.CommandContext(context.Background(), name, slices.Concat(l.flags, l.args)...) //nolint:gosec // what the user asked for
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = environ
	for name, value := range l.vars {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the client: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			return ended(err)
		case sig := <-signals:
			if !typed(sig) {
				_ = cmd.Process.Signal(sig) // it may have ended just now
			}
		}
	}
}

// typed says whether a signal most likely came from the terminal, which sends it to the client as well.
func typed(sig os.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	tty, err := os.Open("/dev/tty") // only a process with a terminal can
	if err != nil {
		return false
	}
	_ = tty.Close()
	return true
}

// ended gives the client's exit code, or the shell's for one that a signal ended.
func ended(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("wait for the client: %w", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitError(128 + int(status.Signal()))
	}
	return exitError(exit.ExitCode())
}
