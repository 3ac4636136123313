package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mooring/test/harness"
)

// rig is the folder with the programs, and the processes that run.
type rig struct {
	dir      string
	running  []*process
	stage    *harness.Stage    // of the database; nil for SQLite
	postgres *harness.Postgres // as above
	dsn      string            // of Mooring's last database there
}

type process struct {
	cmd *exec.Cmd
	url string
}

func newRig(ctx context.Context, o options) (*rig, error) {
	dir, err := os.MkdirTemp("", "mooring-bench-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	r := &rig{dir: dir}
	packages := map[string]string{
		"floor": "./test/bench/floor", "load": "./test/bench/load", "fakemodel": "./cmd/fakemodel", "mooring": "./cmd/mooring",
	}
	if o.mooring != "" {
		delete(packages, "mooring")
		err = r.link(o.mooring)
	}
	for name, pkg := range packages {
		err = errors.Join(err, r.build(ctx, name, pkg))
	}
	if err == nil && o.store == postgresStore {
		err = r.startPostgres(ctx, o.postgres)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// The stores of -store.
const (
	sqliteStore   = "sqlite"
	postgresStore = "postgres"
)

// startPostgres runs a PostgreSQL as it comes, every commit flushed, unless one is named.
func (r *rig) startPostgres(ctx context.Context, dsn string) (err error) {
	if r.stage, err = harness.NewStage(ctx, r.program("mooring")); err != nil {
		return err
	}
	if dsn != "" {
		r.postgres, err = harness.UsePostgres(dsn)
		return err
	}
	r.postgres, err = r.stage.StartPostgres(ctx, harness.Flushed)
	return err
}

// store is a new one, in the words of the configuration.
func (r *rig) store(ctx context.Context, dir string) (string, error) {
	if r.postgres == nil {
		return fmt.Sprintf("store: %q\n", "sqlite:"+filepath.Join(dir, "mooring.db")), nil
	}
	var err error
	r.dsn, err = r.postgres.NewDatabase(ctx)
	return fmt.Sprintf("store: %q\nsecret: %s\n", r.dsn, harness.Secret), err
}

func (r *rig) program(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) link(binary string) error {
	path, err := filepath.Abs(binary)
	if err == nil {
		err = os.Symlink(path, r.program("mooring"))
	}
	if err != nil {
		return fmt.Errorf("take %s: %w", binary, err)
	}
	return nil
}

func (r *rig) build(ctx context.Context, name, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", r.program(name), pkg) //nolint:gosec // names from above
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

func (r *rig) close() {
	for _, p := range r.running {
		r.stop(p)
	}
	if r.stage != nil {
		r.stage.Close()
	}
	_ = os.RemoveAll(r.dir)
}

const patience = 20 * time.Second

// start runs a program and waits for its line "listening on URL".
func (r *rig) start(ctx context.Context, name string, args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, r.program(name), args...) //nolint:gosec // a program that was just built
	cmd.Dir = r.dir
	log, err := os.Create(r.program(name + ".log"))
	if err != nil {
		return nil, fmt.Errorf("make log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{cmd: cmd}
	r.running = append(r.running, p)
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "listening on "); found {
			p.url = strings.TrimSpace(url)
			go func() { _, _ = io.Copy(io.Discard, stdout) }() // ends with the process, which stop waits for
			return p, nil
		}
	}
	said, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("%s did not listen: %.500s", name, said) //nolint:err113 // ends the program
}

func (r *rig) stop(p *process) {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	_ = p.cmd.Wait()
}

// startMooring runs Mooring with the defaults before one upstream, with a store of its own.
func (r *rig) startMooring(ctx context.Context, upstream string) (*process, error) {
	dir, err := os.MkdirTemp(r.dir, "mooring-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	store, err := r.store(ctx, dir)
	if err != nil {
		return nil, err
	}
	config := fmt.Sprintf("listen: %s\n%supstreams:\n  - {name: mock, url: %q, protocol: openai, key: none}\n", addr, store, upstream)
	file := filepath.Join(dir, "mooring.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return r.start(ctx, "mooring", "serve", "--config", file)
}

func freeAddr(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// result is what load prints.
type result struct {
	OK     int     `json:"ok"`
	Failed int     `json:"failed"`
	Error  string  `json:"error"`
	RPS    float64 `json:"rps"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
}

func (r *rig) load(ctx context.Context, url string, args ...string) (result, error) {
	args = append([]string{"-url", url + "/v1/chat/completions"}, args...)
	out, err := exec.CommandContext(ctx, r.program("load"), args...).Output() //nolint:gosec // a program that was just built
	var res result
	if err == nil {
		err = json.Unmarshal(out, &res)
	}
	if err != nil {
		return res, fmt.Errorf("load %s: %w", url, err)
	}
	return res, nil
}
