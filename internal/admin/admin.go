// Package admin serves what those need who run the program: health, readiness, metrics and the upstreams as they stand.
//
// It knows no tenant's text: live events are numbers and ids. All that it changes is which upstreams are drained and whose slots are. Its goroutines are the hub's, one for each tenant that
// somebody listens to; they end with the last listener's request.
package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"mooring"
	"mooring/internal/problem"
)

// Mux is where handlers are mounted; http.ServeMux is one.
type Mux interface {
	Handle(pattern string, h http.Handler)
}

// Options is what the routes need. All fields must be set.
type Options struct {
	Caller    func(*http.Request) (mooring.Caller, error) // finds who asks; its error is shown to the client
	Ready     func(context.Context) error                 // nil where the store can be written and no drain has begun
	Upstreams func() []UpstreamView                       // as they stand now, in the order of the configuration
	Load      func(context.Context) (map[mooring.UpstreamName]Load, error)
	Drains    Drainer
	Tenants   func() Tenants // nil where no edge is configured
	Metrics   http.Handler
	Hub       *Hub            // of live events
	Draining  <-chan struct{} // closed once the server drains: live events end then
	Log       *slog.Logger
}

// API is the operators' routes, and those that anybody may ask.
type API struct {
	o Options
}

// New builds the routes' handler.
func New(o Options) *API { return &API{o: o} }

// Mount adds the routes.
func (a *API) Mount(mux Mux) {
	mux.Handle("GET /health", http.HandlerFunc(a.health))
	mux.Handle("GET /readyz", http.HandlerFunc(a.ready))
	mux.Handle("GET /metrics", a.operator(a.o.Metrics))
	mux.Handle("GET /api/upstreams", http.HandlerFunc(a.upstreams))
	mux.Handle("POST /api/upstreams/{name}/drain", a.drained(a.o.Drains.Drain))
	mux.Handle("POST /api/upstreams/{name}/resume", a.drained(a.o.Drains.Resume))
	mux.Handle("GET /api/events", http.HandlerFunc(a.events))
	a.mountTenants(mux)
}

// operator lets operators through and nobody else.
func (a *API) operator(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, err := a.o.Caller(r)
		if err == nil && !caller.Operator() {
			err = mooring.Errorf(mooring.CodeOperatorRequired, "This route needs a key with the role operator.")
		}
		if err != nil {
			problem.Write(w, mooring.API, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // it is JSON for programs: "&" stays readable
	if err := enc.Encode(v); err != nil && r.Context().Err() == nil {
		a.o.Log.LogAttrs(r.Context(), slog.LevelDebug, "answer not written", slog.Any("err", err))
	}
}
