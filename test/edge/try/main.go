// Command try lets somebody see the tenant edge on one machine: it starts an OpenID provider with a login page, two web UIs and the built
// mooring with direct login before them, says what to open and what to type, and runs until it is interrupted.
//
//	make try-edge
//	go run ./test/edge/try -house
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mooring/test/edge/house"
)

// Where everything stands; docs/edge.md names these too.
const (
	edgeAddr     = "127.0.0.1:4748"
	edgeHost     = "localhost:4748"
	origin       = "http://" + edgeHost
	providerAddr = "127.0.0.1:4750"
	patience     = 20 * time.Second
)

func main() {
	binary := flag.String("mooring", "bin/mooring", "the built program")
	alone := flag.Bool("house", false, "start the provider and the web UIs alone, for a mooring that you start yourself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	t := try{binary: *binary, out: os.Stdout}
	act := t.all
	if *alone {
		act = t.house
	}
	err := act(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "try:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

type try struct {
	binary string
	out    io.Writer
}

func open(ctx context.Context) (*house.House, error) {
	return house.Open(ctx, house.Options{
		Origin: origin, ProviderAddr: providerAddr, WebUIAddrs: [2]string{"127.0.0.1:8787", "127.0.0.1:8788"},
		Now: time.Now, //nolint:forbidigo // a program of its own
	})
}

// house starts everything but mooring.
func (t *try) house(ctx context.Context) error {
	h, err := open(ctx)
	if err != nil {
		return err
	}
	t.say("The provider is %s, the web UIs are %s and %s.\n\nThe configuration that goes with them:\n\n%s\n", h.Provider.Issuer, h.WebUIs[0].URL, h.WebUIs[1].URL, h.Edge(edgeAddr, edgeHost))
	t.people(h)
	<-ctx.Done()
	return h.Close()
}

// all starts everything.
func (t *try) all(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "mooring-try-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	file := filepath.Join(dir, "mooring.yaml")
	if err = os.WriteFile(file, []byte(h.Edge(edgeAddr, edgeHost)), 0o600); err != nil {
		return err
	}
	server, ended, err := t.start(ctx, dir, file)
	if err != nil {
		return err
	}
	if err = up(ctx, ended); err != nil {
		return err
	}
	t.say("\nOpen %s/\n\n", origin)
	t.people(h)
	t.say("\nWhose slots they are:\n\n  %s tenants list --server %s\n  %[1]s tenants show --subject %[3]s --server %[2]s\n", t.binary, server, h.Provider.People[0].Subject)
	t.say("\nIts configuration, while this runs: %s\nCtrl-C ends it all.\n", file)
	if err = <-ended; ctx.Err() != nil {
		return nil // it was told to
	}
	return fmt.Errorf("mooring has ended: %w", err)
}

// start starts mooring in that folder, and gives the address of its API and, when it has ended, why.
func (t *try) start(ctx context.Context, dir, config string) (server string, ended <-chan error, err error) {
	binary, err := filepath.Abs(t.binary)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "serve", "--listen", "127.0.0.1:0", "--config", config) //nolint:gosec // the program that the user names
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the keyboard reaches it through this program alone
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err = cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start %s: %w", t.binary, err)
	}
	line, _ := bufio.NewReader(stdout).ReadString('\n') // nothing where it has ended, which is told below
	out := make(chan error, 1)
	go func() { out <- cmd.Wait() }()
	return strings.TrimPrefix(strings.TrimSpace(line), "listening on "), out, nil
}

func (t *try) people(h *house.House) {
	t.say("Two people:\n")
	for _, p := range h.Provider.People {
		t.say("  %-20s password %s, subject %s\n", p.Name, p.Password, p.Subject)
	}
}

func (t *try) say(format string, args ...any) { _, _ = fmt.Fprintf(t.out, format, args...) }

// up waits until the edge answers.
func up(ctx context.Context, ended <-chan error) error {
	late := time.After(patience)
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, origin+"/oauth2/sign_out", nil)
		if err != nil {
			return err
		}
		res, err := (&http.Client{Timeout: time.Second}).Do(req)
		if err == nil {
			return res.Body.Close()
		}
		select {
		case err = <-ended:
			return fmt.Errorf("mooring has ended: %w", err)
		case <-late:
			return errors.New("mooring does not answer")
		case <-time.After(50 * time.Millisecond):
		}
	}
}
