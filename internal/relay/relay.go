// Package relay serves the LLM protocols' routes. It decodes a request, hands it to turn and writes what comes back; it holds
// no pipeline and knows no session. Its goroutines are those of a request that asks all upstreams for their models; they end
// with it.
package relay

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/problem"
	"mooring/internal/serve"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// Mux is where handlers are mounted.
type Mux interface {
	Handle(pattern string, h http.Handler)
}

// Gate is the listener's part in a request: who calls, what the key allows, and the body.
type Gate interface {
	Caller(r *http.Request) (mooring.Caller, error)
	Admit(ctx context.Context, c mooring.Caller, ask serve.Ask) (release func(), err error)
	MayUse(c mooring.Caller, model string) bool
	ReadBody(w http.ResponseWriter, r *http.Request, limit int64) (*serve.Body, error)
	ReadRaw(w http.ResponseWriter, r *http.Request, limit int64) (*serve.Body, error)
}

// Runner runs turns.
type Runner interface {
	Run(ctx context.Context, req turn.Request, sink turn.Sink) error
	Pass(ctx context.Context, req turn.Pass, sink turn.Sink) error
}

// Options are what the routes need.
type Options struct {
	Gate    Gate
	Runner  Runner
	Fleet   *upstream.Fleet
	Forward *forward.Engine
	Log     *slog.Logger

	Digester func(t mooring.Tenant) *wire.Digester // what was read of the tenant's requests before; nil for nothing
}

// Rules are what a reload may change.
type Rules struct {
	Wire    wire.Limits
	Minimal bool                // no X-Mooring-* response headers
	Keys    bool                // clients have keys: several tenants may share what an upstream keeps
	Aliases map[string][]string // names that stand for models
}

// API is the LLM routes.
type API struct {
	Options
	rules atomic.Pointer[Rules]
}

// New makes the routes.
func New(o Options) *API {
	a := &API{Options: o}
	a.Set(Rules{})
	return a
}

// Set takes over the rules of a new configuration.
func (a *API) Set(r Rules) { a.rules.Store(&r) }

// Mount adds the routes, plain and below the prefixes that some clients' base URLs need.
func (a *API) Mount(mux Mux) {
	mux.Handle("GET /api/models", a.models()) // for pages, whose cookie counts there alone
	for _, prefix := range []string{"", "/openai", "/anthropic"} {
		for _, r := range turnRoutes() {
			mux.Handle(prefix+r.path, a.turn(r))
		}
		mux.Handle("GET "+prefix+"/v1/models", a.models())
		mux.Handle(prefix+"/v1/", a.pass(prefix))
		for _, path := range []string{"/v1beta", "/v1beta/"} {
			mux.Handle(prefix+path, http.HandlerFunc(notGemini))
		}
	}
}

// notGemini answers for the protocol that is not served.
func notGemini(w http.ResponseWriter, r *http.Request) {
	problem.Write(w, problem.ProtocolOf(r.URL.Path), mooring.Errorf(mooring.CodeNotFound,
		"Gemini's protocol is not served here; use /v1/chat/completions or /v1/messages."))
}

// turnRoute is a path whose requests belong to conversations.
type turnRoute struct {
	path     string
	protocol mooring.Protocol
	kind     mooring.Kind // empty where the request decides
}

func turnRoutes() []turnRoute {
	return []turnRoute{
		{"/v1/chat/completions", mooring.Chat, ""},
		{"/v1/messages", mooring.Messages, ""},
		{"/v1/messages/count_tokens", mooring.Messages, mooring.KindSide},
		{"/v1/responses", mooring.Responses, ""},
		{"/v1/responses/compact", mooring.Responses, mooring.KindCompaction},
		{"/v1/completions", mooring.Completions, ""},
	}
}

// turn serves one route that makes turns.
func (a *API) turn(route turnRoute) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			serve.RefuseMethod(w, r, http.MethodPost)
			return
		}
		s := newSink(w, a.rules.Load().Minimal)
		if err := a.serve(s, r, route); err != nil {
			a.fail(s, r, route.protocol, err)
		}
	})
}

// owner is the caller of a request whose sessions, or things at an upstream, have to be somebody's.
func (a *API) owner(r *http.Request) (mooring.Caller, error) {
	caller, err := a.Gate.Caller(r)
	if err == nil && caller.Tenant == "" {
		err = mooring.Errorf(mooring.CodeInvalidRequest, "This key belongs to no tenant, which could have the session; use a tenant's key.")
	}
	return caller, err
}

func (a *API) serve(s *sink, r *http.Request, route turnRoute) error {
	p := route.protocol
	caller, err := a.owner(r)
	if err != nil {
		return err
	}
	body, err := a.Gate.ReadBody(s.w, r, 0)
	if err != nil {
		return err
	}
	defer body.Release()
	decoded, err := a.decode(p, caller.Tenant, body.Bytes())
	if err != nil {
		return err
	}
	release, err := a.Gate.Admit(r.Context(), caller, serve.Ask{Model: decoded.Model, Unread: decoded.OddModel, Turn: true})
	if err != nil {
		return err
	}
	defer release()
	return a.Runner.Run(r.Context(), turn.Request{
		Caller: caller, Protocol: p, Method: r.Method, Path: route.path, Query: r.URL.RawQuery, Header: r.Header, Body: body, Wire: decoded,
		Kind: route.kind,
	}, s)
}

func (a *API) decode(p mooring.Protocol, t mooring.Tenant, body []byte) (*wire.Request, error) {
	if a.Digester == nil {
		return wire.Decode(p, body, a.rules.Load().Wire)
	}
	return a.Digester(t).Decode(p, body, a.rules.Load().Wire)
}

// fail answers with an error, unless the client has gone or the answer has begun.
func (a *API) fail(s *sink, r *http.Request, p mooring.Protocol, err error) {
	if s.begun {
		panic(http.ErrAbortHandler) // the client must not take a stump for the whole answer, also where the server ends
	}
	if errors.Is(err, context.Canceled) || r.Context().Err() != nil {
		return
	}
	if kind := mooring.KindOf(err); kind == mooring.KindInternal || kind == mooring.KindStore {
		a.Log.LogAttrs(r.Context(), slog.LevelError, "turn failed", slog.String("request_id", serve.RequestID(r.Context())), slog.Any("err", err))
	}
	problem.Write(s.w, p, err)
}
