package serve

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"mooring"
	"mooring/internal/problem"
)

// statusClientGone is logged where a client went away before its answer began; nobody ever receives it.
const statusClientGone = 499

type requestIDKey struct{}

// RequestID is the id that Wrap or Observe gave the request, for the log; empty outside of one.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// Wrap puts everything around a handler that holds on the main listener: request id, access line, panics, draining, the
// rules on Host and Origin, and CORS. It has the last word on Access-Control headers and Vary, and on X-Mooring headers
// where the rules say minimal: relayed ones cannot override them.
func (s *Server) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rules := s.rules.Load()
		caller, keyErr := s.keyCaller(rules, r)
		a := s.newAnswer(w)
		a.guarded, a.grant, a.minimal = true, rules.grantTo(r), rules.minimal
		s.run(a, visiting(r), caller, func(r *http.Request) {
			authenticated := len(rules.keys) > 0 && keyErr == nil
			s.guard(a, r, guarded{rules: rules, authenticated: authenticated, next: next})
		})
	})
}

// Observe is Wrap without rules and CORS: for a listener that brings its own.
func (s *Server) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := s.newAnswer(w)
		s.run(a, r, mooring.Caller{}, func(r *http.Request) { next.ServeHTTP(a, r) })
	})
}

type guarded struct {
	rules         *ruleset
	authenticated bool // by a valid key in a header
	next          http.Handler
}

// guard lets a request through to its handler or answers it.
func (s *Server) guard(a *answer, r *http.Request, g guarded) {
	if !g.authenticated {
		if err := g.rules.checkHost(r); err != nil {
			problem.Write(a, problem.ProtocolOf(r.URL.Path), err)
			return
		}
	}
	if err := g.rules.checkOrigin(r); err != nil {
		problem.Write(a, problem.ProtocolOf(r.URL.Path), err)
		return
	}
	if isPreflight(r) {
		a.grant.preflight = true
		a.grant.headers = s.allowedHeaders(r)
		a.WriteHeader(http.StatusNoContent)
		return
	}
	g.next.ServeHTTP(a, r)
}

// run serves a request under its id, and writes its access line whatever becomes of it.
func (s *Server) run(a *answer, r *http.Request, caller mooring.Caller, serve func(*http.Request)) {
	s.running.enter()
	defer s.running.leave()
	start := s.opts.Now()
	a.id = newRequestID()
	if r.ContentLength != 0 {
		a.unread = func() {
			_ = http.NewResponseController(a.ResponseWriter).SetReadDeadline(s.opts.Now().Add(s.opts.BodyTimeout))
		}
	}
	r = r.WithContext(context.WithValue(r.Context(), requestIDKey{}, a.id))
	visit := visitOf(r.Context())
	defer func() {
		cause := recover()
		abort := cause != nil && s.recovered(a, r, cause)
		s.logAccess(a, r, access{caller: visit.signedInOr(caller), took: s.opts.Now().Sub(start)})
		if abort {
			panic(http.ErrAbortHandler)
		}
	}()
	if s.isDraining() {
		a.Header().Set("Connection", "close")
		problem.Write(a, problem.ProtocolOf(r.URL.Path), errShuttingDown())
		return
	}
	serve(r)
	if a.status == 0 {
		s.unanswered(a, r)
	}
}

// unanswered ends a request whose handler wrote nothing: on purpose, or because its context ended. A client that seems to have
// gone may only have closed its half of the connection: neither it nor one that the server gives up on must take net/http's
// empty 200 for an answer.
func (s *Server) unanswered(a *answer, r *http.Request) {
	switch cause := context.Cause(r.Context()); {
	case cause == nil:
		a.WriteHeader(http.StatusOK) // what net/http would do, but with our headers
	case mooring.CodeOf(cause) == mooring.CodeShuttingDown:
		a.Header().Set("Connection", "close")
		problem.Write(a, problem.ProtocolOf(r.URL.Path), cause)
	default:
		panic(http.ErrAbortHandler)
	}
}

// recovered answers a panicked request, or says that its connection must break because part of an answer is out.
func (s *Server) recovered(a *answer, r *http.Request, cause any) (abort bool) {
	if cause == http.ErrAbortHandler { //nolint:errorlint // the sentinel is compared by net/http in the same way
		return true
	}
	s.log.LogAttrs(r.Context(), slog.LevelError, "handler panicked",
		slog.String("request_id", a.id), slog.Any("cause", cause), slog.String("stack", string(debug.Stack())))
	if a.status != 0 {
		return true
	}
	problem.Write(a, problem.ProtocolOf(r.URL.Path), &mooring.Error{Code: mooring.CodeInternal})
	return false
}

type access struct {
	caller mooring.Caller
	took   time.Duration
}

// logAccess writes the one line of a request: no query, no header values. Probes are left to debug.
func (s *Server) logAccess(a *answer, r *http.Request, of access) {
	status := a.status
	if status == 0 {
		status = statusClientGone
	}
	s.opts.Answered(status)
	level := slog.LevelInfo
	if r.URL.Path == "/health" || r.URL.Path == "/readyz" {
		level = slog.LevelDebug
	}
	if !s.log.Enabled(r.Context(), level) {
		return
	}
	s.log.LogAttrs(r.Context(), level, "request",
		slog.String("method", r.Method),
		slog.String("path", r.URL.Path),
		slog.Int("status", status),
		slog.Int64("duration_ms", of.took.Milliseconds()),
		slog.Int64("bytes", a.bytes),
		slog.String("request_id", a.id),
		slog.String("key_name", string(of.caller.Key)),
		slog.String("tenant", string(of.caller.Tenant)))
}

func newRequestID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}
