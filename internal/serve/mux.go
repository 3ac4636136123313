package serve

import (
	"net/http"
	"strings"

	"mooring"
	"mooring/internal/problem"
)

// Mux is an http.ServeMux whose own answers (no such path, another method) have the shape of the protocol that the path
// belongs to. The zero value is ready; its routes are fixed before it serves.
type Mux struct{ routes http.ServeMux }

// Handle registers a handler under a pattern of http.ServeMux.
func (m *Mux) Handle(pattern string, h http.Handler) { m.routes.Handle(pattern, h) }

// HandleFunc registers a function under a pattern of http.ServeMux.
func (m *Mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.routes.HandleFunc(pattern, h)
}

// ServeHTTP hands the request to the handler whose pattern fits best.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own, pattern := m.routes.Handler(r)
	if pattern != "" {
		m.routes.ServeHTTP(w, r)
		return
	}
	// ServeMux tells what is wrong only by the answer it would write.
	would := refusal{header: http.Header{}}
	own.ServeHTTP(&would, r)
	if would.status == http.StatusMethodNotAllowed {
		refuseMethod(w, r, would.header.Get("Allow"))
		return
	}
	problem.Write(w, problem.ProtocolOf(r.URL.Path), mooring.Errorf(mooring.CodeNotFound, "There is nothing at this path; check the base URL."))
}

// MethodNotAllowed answers 405 with those methods in Allow: for a path that a pattern with a wildcard would else take in.
func MethodNotAllowed(allow ...string) http.Handler {
	methods := strings.Join(allow, ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { refuseMethod(w, r, methods) })
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allow string) {
	w.Header().Set("Allow", allow)
	problem.Write(w, problem.ProtocolOf(r.URL.Path),
		mooring.Errorf(mooring.CodeMethodNotAllowed, "This path does not take %s; use %s.", r.Method, allow))
}

// refusal takes an answer's header and drops its body.
type refusal struct {
	header http.Header
	status int
}

func (f *refusal) Header() http.Header         { return f.header }
func (f *refusal) Write(p []byte) (int, error) { return len(p), nil }
func (f *refusal) WriteHeader(status int)      { f.status = status }
