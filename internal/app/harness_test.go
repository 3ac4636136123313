package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mooring/internal/app"
	"mooring/internal/config"
)

// childEnv names the configuration file of a server that runs in a child process: it can be killed.
const childEnv = "MOORING_TEST_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childEnv); path != "" {
		os.Exit(child(path))
	}
	os.Exit(m.Run())
}

// child is the program in a process of its own, until it is killed.
func child(path string) int {
	cfg, err := config.Load(config.Source{Path: path, Env: os.LookupEnv})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	a, err := app.New(cfg, app.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil)), Version: "test"})
	if err == nil {
		err = a.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Println("listening on", a.Addr())
	select {}
}

// logs collects what the server says; it is read while the server writes.
type logs struct {
	mu  sync.Mutex // guards the buffer
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// product is the whole program on a loopback port with a store of its own, in this process or in a child.
type product struct {
	t    *testing.T
	dir  string
	yaml string
	base string
	log  *logs
	key  string // sent as a bearer where it is not empty
	app  *app.App
	proc *exec.Cmd
	env  []string         // of a child, besides this process's
	now  func() time.Time // nil for the real time
}

// upstreamYAML is an entry of `upstreams` for a fake server.
func upstreamYAML(name, address string, more ...string) string {
	return fmt.Sprintf("  - {name: %s, url: %q, protocol: both%s}\n", name, address, strings.Join(append([]string{""}, more...), ", "))
}

// start runs the program in this process with this configuration; listen and store are filled in.
func start(t *testing.T, yaml string) *product {
	t.Helper()
	p := prepare(t, yaml)
	p.run()
	return p
}

// startAt is start with a clock that is wrong by so much.
func startAt(t *testing.T, yaml, off string) *product {
	t.Helper()
	by, err := time.ParseDuration(off)
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, yaml)
	p.now = func() time.Time { return time.Now().Add(by) }
	p.run()
	return p
}

// startChild runs it in a process of its own, so that it can be killed.
func startChild(t *testing.T, yaml string) *product {
	t.Helper()
	p := prepare(t, yaml)
	p.spawn()
	return p
}

func prepare(t *testing.T, yaml string) *product {
	t.Helper()
	p := &product{t: t, dir: t.TempDir(), log: &logs{}}
	if !strings.Contains(yaml, "store:") {
		yaml += fmt.Sprintf("\nstore: %q\n", "sqlite:"+filepath.Join(p.dir, "mooring.db"))
	}
	p.yaml = yaml + "\nlisten: 127.0.0.1:0\n"
	t.Cleanup(p.stop)
	return p
}

func (p *product) load() config.Config {
	p.t.Helper()
	path := filepath.Join(p.dir, "mooring.yaml")
	if err := os.WriteFile(path, []byte(p.yaml), 0o600); err != nil {
		p.t.Fatal(err)
	}
	cfg, err := config.Load(config.Source{Path: path, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		p.t.Fatalf("configuration: %v\n%s", err, p.yaml)
	}
	return cfg
}

func (p *product) run() {
	p.t.Helper()
	a, err := app.New(p.load(), app.Options{Log: slog.New(slog.NewTextHandler(p.log, nil)), Version: "test", Now: p.now})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := a.Start(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	p.app, p.base = a, "http://"+a.Addr()
}

func (p *product) spawn() {
	p.t.Helper()
	p.load()
	p.proc = exec.Command(os.Args[0])
	p.proc.Env = append(append(os.Environ(), p.env...), childEnv+"="+filepath.Join(p.dir, "mooring.yaml"))
	p.proc.Stderr = p.log
	out, err := p.proc.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err = p.proc.Start(); err != nil {
		p.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("child did not start: %v\n%s", err, p.log)
	}
	p.base = "http://" + strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
}

// kill ends a child as a crash would.
func (p *product) kill() {
	_ = p.proc.Process.Kill()
	_ = p.proc.Wait()
	p.proc = nil
}

// restart ends the program in order and starts it on the same store.
func (p *product) restart() {
	p.t.Helper()
	p.stop()
	p.run()
}

func (p *product) stop() {
	if p.app != nil {
		if err := p.app.Stop(context.Background()); err != nil {
			p.t.Errorf("stop: %v", err)
		}
		p.app = nil
	}
	if p.proc != nil {
		p.kill()
	}
}

// reload takes over another configuration, as SIGHUP does.
func (p *product) reload(yaml string) {
	p.t.Helper()
	p.yaml = yaml + fmt.Sprintf("\nlisten: 127.0.0.1:0\nstore: %q\n", "sqlite:"+filepath.Join(p.dir, "mooring.db"))
	if err := p.app.Reload(p.load()); err != nil {
		p.t.Fatal(err)
	}
}

// reply is an answer read to its end.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
	err    error // where the body broke off
}

func (p *product) request(method, path, body string, hs ...string) *http.Request {
	p.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, r)
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	for i := 0; i+1 < len(hs); i += 2 {
		if hs[i] == "Host" {
			req.Host = hs[i+1]
			continue
		}
		req.Header.Add(hs[i], hs[i+1])
	}
	return req
}

// call sends a request and reads the whole answer; it fails the test where there is none.
func (p *product) call(method, path, body string, hs ...string) *reply {
	p.t.Helper()
	return p.send(p.request(method, path, body, hs...))
}

// send sends a request and reads the whole answer; it fails the test where there is none.
func (p *product) send(r *http.Request) *reply {
	p.t.Helper()
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		p.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		return &reply{t: p.t, header: http.Header{}, err: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return &reply{t: p.t, status: res.StatusCode, header: res.Header, body: data, err: err}
}

// chat sends a chat completion of one user message under a session id (none where it is empty).
func (p *product) chat(id, text string, hs ...string) *reply {
	p.t.Helper()
	if id != "" {
		hs = append(hs, "X-Session-Id", id)
	}
	return p.call(http.MethodPost, "/v1/chat/completions", chatBody(text, ""), hs...)
}

// stream is chat with a streamed answer.
func (p *product) stream(id, text string, hs ...string) *reply {
	p.t.Helper()
	if id != "" {
		hs = append(hs, "X-Session-Id", id)
	}
	return p.call(http.MethodPost, "/v1/chat/completions", chatBody(text, `"stream":true,`), hs...)
}

func chatBody(text, more string) string {
	quoted, _ := json.Marshal(text)
	return fmt.Sprintf(`{"model":"fake-1",%s"messages":[{"role":"user","content":%s}]}`, more, quoted)
}

// want checks the status.
func (r *reply) want(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status = %d, want %d; body %.300s", r.status, status, r.body)
	}
	return r
}

// get reads a value of the JSON body, by member names and list positions.
func (r *reply) get(path ...any) any {
	r.t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		r.t.Fatalf("body is no JSON: %v: %.300s", err, r.body)
	}
	for _, step := range path {
		switch s := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			l, _ := v.([]any)
			if s < 0 {
				s += len(l)
			}
			if s < 0 || s >= len(l) {
				return nil
			}
			v = l[s]
		}
	}
	return v
}

// session is the internal id that the answer names.
func (r *reply) session() string { return r.header.Get("X-Mooring-Session") }

// texts are role and text of a session's messages on its current branch.
func (p *product) texts(id string) []string {
	p.t.Helper()
	r := p.call(http.MethodGet, "/api/sessions/"+url.PathEscape(id)+"/messages?limit=200", "").want(http.StatusOK)
	list, _ := r.get("messages").([]any)
	out := make([]string, 0, len(list))
	for i := range list {
		out = append(out, fmt.Sprint(r.get("messages", i, "role"), ": ", r.get("messages", i, "text")))
	}
	return out
}

// turnState is the state of the turn that an answer belongs to.
func (p *product) turnState(r *reply) any {
	p.t.Helper()
	return p.call(http.MethodGet, "/api/turns/"+r.header.Get("X-Mooring-Turn"), "").want(http.StatusOK).get("state")
}

// eventually polls until what is wanted is there; what it waits for is asynchronous by contract.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
