package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"mooring"
	"mooring/internal/config"
	"mooring/internal/eval"
	"mooring/internal/identify"
	"mooring/internal/turn"
	"mooring/internal/upstream"
)

// Replay sends the requests of a trace, one after the other, through all rooms that a server has for them, and says what was
// made of each. It listens nowhere and asks nobody: the answers are the trace's, the time is too, and the store is a file in a
// folder that is gone afterwards. A line that restarts stops everything and starts it again on that store. Every line needs its
// reply.
func Replay(ctx context.Context, t *eval.Trace, log *slog.Logger) (out []eval.Prediction, err error) {
	dir, err := os.MkdirTemp("", "mooring-eval-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &replay{log: log, cfg: replayConfig(dir, t)}
	if err = r.start(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.stop(ctx)) }()
	for i := range t.Lines {
		line := &t.Lines[i]
		r.clock.reach(line.T)
		if line.Restart {
			if err = errors.Join(r.stop(ctx), r.start(ctx)); err != nil {
				return nil, fmt.Errorf("restart at line %d: %w", line.N, err)
			}
			continue
		}
		p, err := r.send(ctx, line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line.N, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// replay is the program with what stands around it in a replay. Its requests come one after the other, so nothing is guarded.
type replay struct {
	log     *slog.Logger
	cfg     config.Config
	clock   traceClock
	app     *App
	handler http.Handler

	line *eval.Line // the request that is on its way
	seen sighting
}

// replayConfig is that of a program nobody has configured, with a key for each tenant of the trace.
func replayConfig(dir string, t *eval.Trace) config.Config {
	cfg := config.Default()
	cfg.Store = config.DSN("sqlite:" + filepath.Join(dir, "trace.db"))
	known := map[string]bool{}
	for _, line := range t.Requests() {
		if known[line.Tenant] {
			continue
		}
		known[line.Tenant] = true
		cfg.Keys = append(cfg.Keys, config.Key{
			Name: mooring.KeyName(line.Tenant), Tenant: mooring.Tenant(line.Tenant), Role: mooring.RoleUser, Hash: config.HashOf(replayKey(line.Tenant)),
		})
	}
	return cfg
}

func replayKey(tenant string) string { return "key-of-" + tenant }

func (r *replay) start(ctx context.Context) error {
	a, err := New(r.cfg, Options{Log: r.log, Version: "eval", Now: r.clock.now})
	if err != nil {
		return err
	}
	model, err := upstream.New(upstream.Spec{
		Name: "trace", Speaks: upstream.SpeaksBoth, Models: []string{"*"}, Weight: 1, KeyMode: upstream.KeyNone, Builtin: modelFunc(r.answer),
		Failover: config.FailoverNext, Timeout: time.Minute,
	})
	if err != nil {
		return err
	}
	a.fleet = upstream.NewFleet([]*upstream.Upstream{model})
	a.watch = func(engine turn.Identifier) turn.Identifier { return &watched{engine, &r.seen} }
	if err := a.startUnheard(ctx); err != nil {
		return err
	}
	r.app, r.handler = a, a.handler(&r.cfg) //nolint:contextcheck // requests have contexts of their own
	return nil
}

// startUnheard starts what answers requests, without a listener and without what works behind their backs.
func (a *App) startUnheard(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			a.unwind()
		}
	}()
	cfg := a.cfg.Load()
	if err := a.open(ctx, cfg); err != nil {
		return err
	}
	a.build(cfg)                                              //nolint:contextcheck // what it starts outlives the start
	a.onStop(func() { a.closed("server", a.server.Close()) }) //nolint:contextcheck // closing is not cut short
	return a.takeUp(ctx)
}

func (r *replay) stop(ctx context.Context) error {
	if r.app == nil {
		return nil
	}
	err := r.app.Stop(ctx)
	r.app = nil
	return err
}

// send serves one request and reads off its answer what was made of it.
func (r *replay) send(ctx context.Context, line *eval.Line) (eval.Prediction, error) {
	req, err := http.NewRequestWithContext(ctx, line.Method, "http://127.0.0.1"+line.Path, bytes.NewReader(line.Body))
	if err != nil {
		return eval.Prediction{}, fmt.Errorf("path %q: %w", line.Path, err)
	}
	req.RequestURI, req.RemoteAddr = line.Path, "127.0.0.1:1"
	for name, values := range line.Headers {
		if !ofConnection(name) {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+replayKey(line.Tenant))
	r.line, r.seen = line, sighting{}
	w := &silent{header: http.Header{}}
	serveRecovered(r.handler, w, req)
	return r.predicted(line, w), nil
}

// ofConnection names headers of a log that belonged to its connection or its caller.
func ofConnection(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "x-api-key", "x-mooring-key", "cookie", "host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection":
		return true
	}
	return false
}

// serveRecovered serves a request whose connection may break, as the one of a broken answer does.
func serveRecovered(h http.Handler, w http.ResponseWriter, r *http.Request) {
	defer func() {
		if cause := recover(); cause != nil && cause != http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared by net/http in the same way
			panic(cause)
		}
	}()
	h.ServeHTTP(w, r)
}

func (r *replay) predicted(line *eval.Line, w *silent) eval.Prediction {
	h := w.sent
	p := eval.Prediction{
		Line: line.N, Session: h.Get("X-Mooring-Session"), Parent: h.Get("X-Mooring-Parent"), Identity: h.Get("X-Mooring-Identity"),
		Evidence: r.seen.evidence, Took: r.seen.took,
	}
	if p.Session != "" {
		kind := mooring.Kind(h.Get("X-Mooring-Kind"))
		p.Kind = &kind
	}
	switch want := line.Reply.Status; {
	case w.status != want && want != 0:
		p.Error = fmt.Sprintf("status %d, the upstream said %d; X-Mooring-Error %s", w.status, want, h.Get("X-Mooring-Error"))
	case w.status == http.StatusOK && p.Session == "":
		p.Error = "no X-Mooring-Session"
	}
	return p
}

// answer is the model server of a replay: it gives the reply of the request that is on its way.
func (r *replay) answer(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, err := io.Copy(io.Discard, req.Body)
		if err = errors.Join(err, req.Body.Close()); err != nil {
			return nil, err
		}
	}
	a := r.line.Answer()
	var body io.Reader = bytes.NewReader(a.Body)
	if a.Broken {
		body = io.MultiReader(body, brokenOff{})
	}
	return &http.Response{
		Status: http.StatusText(a.Status), StatusCode: a.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {a.Type}}, Body: io.NopCloser(body), ContentLength: int64(a.Length), Request: req,
	}, nil
}

// modelFunc answers in place of the network.
type modelFunc func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f modelFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// brokenOff is where a connection breaks.
type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// traceStart is when every trace begins.
const traceStart = 1_790_000_000

// traceClock tells the time of the trace. It moves a little each time it is read, so that what happens is in order.
type traceClock struct{ nanos atomic.Int64 }

// reach puts the clock forward to so many seconds after the start.
func (c *traceClock) reach(seconds float64) {
	c.nanos.Store(max(c.nanos.Load(), int64(seconds*float64(time.Second))))
}

func (c *traceClock) now() time.Time {
	return time.Unix(traceStart, c.nanos.Add(int64(time.Microsecond))).UTC()
}

// sighting is what was seen of the identification of one request.
type sighting struct {
	took     time.Duration
	evidence []mooring.Evidence
}

// watched measures an engine.
type watched struct {
	turn.Identifier
	seen *sighting
}

// Resolve finds the session.
func (w *watched) Resolve(ctx context.Context, q identify.Request) (*identify.Finding, error) {
	start := time.Now()
	f, err := w.Identifier.Resolve(ctx, q)
	w.seen.took += time.Since(start)
	if f != nil {
		w.seen.evidence = f.Evidence
	}
	return f, err
}

// Locate finds the place in it.
func (w *watched) Locate(ctx context.Context, f *identify.Finding, q identify.Request) (*identify.Place, error) {
	start := time.Now()
	p, err := w.Identifier.Locate(ctx, f, q)
	w.seen.took += time.Since(start)
	return p, err
}

// silent takes an answer that nobody reads.
type silent struct {
	header http.Header
	sent   http.Header // as it stood when the answer began
	status int
}

// Header is that of the answer.
func (s *silent) Header() http.Header { return s.header }

// WriteHeader begins the answer.
func (s *silent) WriteHeader(status int) {
	if s.status == 0 && status >= http.StatusOK {
		s.status, s.sent = status, s.header.Clone()
	}
}

// Write takes a part of the answer.
func (s *silent) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return len(p), nil
}

// Flush is what a stream needs.
func (s *silent) Flush() {}
