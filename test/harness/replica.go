package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Replica is one mooring on an address of its own, which it keeps over restarts.
type Replica struct {
	Name string
	URL  string
	Log  string // file

	stage  *Stage
	dir    string
	config string
	http   *http.Client

	mu   sync.Mutex // guards the field below
	proc *Process
}

// Secret is every replica's: those on one database need the same one.
const Secret = "0123456789abcdef0123456789abcdef"

// NewReplica prepares a replica; settings is its configuration but for the address it listens on.
func (s *Stage) NewReplica(name, settings string) (*Replica, error) {
	dir, err := s.Folder(name)
	if err != nil {
		return nil, err
	}
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	r := &Replica{
		Name: name, URL: "http://" + addr, Log: filepath.Join(dir, "log"), stage: s, dir: dir, config: filepath.Join(dir, "mooring.yaml"),
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, Timeout: Patience},
	}
	s.Defer(func() {
		r.Kill()
		r.CloseIdleConnections()
	})
	return r, r.Configure(fmt.Sprintf("listen: %s\nsecret: %s\n%s", addr, Secret, settings))
}

// CloseIdleConnections lets go of the connections that asking it for something has left.
func (r *Replica) CloseIdleConnections() { r.http.CloseIdleConnections() }

// Configure writes the configuration file; the next start or SIGHUP reads it.
func (r *Replica) Configure(yaml string) error {
	if err := os.WriteFile(r.config, []byte(yaml), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// Start runs it and waits until it takes requests.
func (r *Replica) Start() error {
	cmd := exec.Command(string(r.stage.Binary), "serve", "--config", r.config) //nolint:gosec,noctx // the program under test; Kill ends it
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir} //nolint:forbidigo // nothing else reaches the server
	p, err := launch(cmd, r.Log)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.proc = p
	r.mu.Unlock()
	line, err := p.FirstLine()
	if err == nil && !strings.HasPrefix(line, "listening on ") {
		err = fmt.Errorf("it said %q", line)
	}
	if err != nil {
		p.Kill()
		return fmt.Errorf("start %s: %w\n%s", r.Name, err, r.LogEnd())
	}
	return nil
}

func (r *Replica) process() *Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.proc
}

// PID is its process's number, 0 while it does not run.
func (r *Replica) PID() int {
	if p := r.process(); p != nil && p.Running() {
		return p.PID()
	}
	return 0
}

// Kill ends it as `kill -9` does.
func (r *Replica) Kill() {
	if p := r.process(); p != nil && p.Running() {
		p.Kill()
	}
}

// Terminate sends SIGTERM and waits; it gives nil where the replica then exits with 0.
func (r *Replica) Terminate() error {
	p := r.process()
	if p == nil {
		return errEnded
	}
	return p.End(syscall.SIGTERM)
}

// Reload sends SIGHUP.
func (r *Replica) Reload() error {
	p := r.process()
	if p == nil {
		return errEnded
	}
	return p.Signal(syscall.SIGHUP)
}

// LogEnd is the last of what it logged.
func (r *Replica) LogEnd() string {
	b, err := os.ReadFile(r.Log)
	if err != nil {
		return err.Error()
	}
	const some = 4000
	if len(b) > some {
		b = b[len(b)-some:]
	}
	return string(b)
}

// Await waits until the replica says that it is ready, and gives how long that took.
func (r *Replica) Await(ctx context.Context, most time.Duration) (time.Duration, error) {
	began := Now()
	for {
		_, err := r.read(ctx, "/readyz")
		took := Now().Sub(began)
		if err == nil {
			return took, nil
		}
		if took > most || ctx.Err() != nil {
			return took, fmt.Errorf("%s is not ready after %s: %w", r.Name, took.Round(time.Millisecond), err)
		}
		Sleep(ctx.Done(), 20*time.Millisecond)
	}
}

// StatusError is an answer other than the one that was wanted.
type StatusError struct {
	Method, Path string
	Status       int
	Body         string
}

// Error says what was asked and what came.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s = %d %.200s", e.Method, e.Path, e.Status, e.Body)
}

// StatusOf is the status that an error speaks of, 0 where it is another one.
func StatusOf(err error) int {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status
	}
	return 0
}

// Do sends a request of the session API and reads the answer into a value, where one is given.
func (r *Replica) Do(ctx context.Context, method, path, body string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, r.URL+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := r.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s of %s: %w", method, path, r.Name, err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if res.StatusCode/100 != 2 {
		return &StatusError{method, path, res.StatusCode, string(b)}
	}
	if raw, ok := into.(*[]byte); ok {
		*raw = b
		return nil
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// Get reads an answer of the session API.
func (r *Replica) Get(ctx context.Context, path string, into any) error {
	return r.Do(ctx, http.MethodGet, path, "", into)
}

func (r *Replica) read(ctx context.Context, path string) (b []byte, err error) {
	err = r.Get(ctx, path, &b)
	return b, err
}

// Send sends a request that is made elsewhere, over the connections that the harness keeps to this replica.
func (r *Replica) Send(req *http.Request) (*http.Response, error) {
	return r.http.Do(req) //nolint:gosec // to a server of this run
}
