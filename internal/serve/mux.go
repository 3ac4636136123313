package serve

import (
	"net/http"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/problem"
)

// Mux is an http.ServeMux whose own answers (no such path, another method) have the shape of the protocol that the path
// belongs to. The zero value is ready; its routes are fixed before it serves.
type Mux struct {
	Known  func(r *http.Request) error                       // why a stranger learns nothing, not even which paths below /api/ there are; nil lets everybody
	Lost   func(w http.ResponseWriter, r *http.Request) bool // answers people whose path leads nowhere, or says that none asks; nil leaves them JSON
	routes http.ServeMux
}

// Handle registers a handler under a pattern of http.ServeMux.
func (m *Mux) Handle(pattern string, h http.Handler) { m.routes.Handle(pattern, h) }

// HandleFunc registers a function under a pattern of http.ServeMux.
func (m *Mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.routes.HandleFunc(pattern, h)
}

// ServeHTTP hands the request to the handler whose pattern fits best. No path takes a WebSocket, also none that leads nowhere:
// clients that would try one fall back to HTTP when they are told so.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if asksForWebSocket(r.Header) {
		w.Header().Set("Upgrade", "HTTP/1.1") // RFC 9110 15.5.22 wants a name here
		w.Header().Set("Connection", "Upgrade")
		problem.Write(w, problem.ProtocolOf(r.URL.Path),
			mooring.Errorf(mooring.CodeUpgradeUnsupported, "This server has no WebSockets; send the request over plain HTTP, with \"stream\": true for a stream."))
		return
	}
	own, pattern := m.routes.Handler(r)
	if pattern != "" {
		m.routes.ServeHTTP(w, r)
		return
	}
	// ServeMux tells what is wrong only by the answer it would write.
	would := refusal{header: http.Header{}}
	own.ServeHTTP(&would, r)
	if would.status == http.StatusMethodNotAllowed {
		RefuseMethod(w, r, would.header.Get("Allow"))
		return
	}
	if m.Lost != nil && !forPrograms(r.URL.Path) && m.Lost(w, r) {
		return
	}
	problem.Write(w, problem.ProtocolOf(r.URL.Path), m.nothing(r))
}

// forPrograms says that the path is an API's, whoever asks for it.
func forPrograms(path string) bool {
	root, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"api", "v1", "openai", "anthropic"}, root)
}

func (m *Mux) nothing(r *http.Request) error {
	if m.Known != nil && strings.HasPrefix(r.URL.Path, "/api/") {
		if err := m.Known(r); err != nil {
			return err
		}
	}
	return mooring.Errorf(mooring.CodeNotFound, "There is nothing at this path; check the base URL.")
}

// asksForWebSocket takes the header for what it says: other upgrades, as to HTTP/2, may be ignored.
func asksForWebSocket(h http.Header) bool {
	for _, line := range h["Upgrade"] {
		if slices.ContainsFunc(strings.Split(line, ","), func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), "websocket") }) {
			return true
		}
	}
	return false
}

// RefuseMethod answers a request whose path takes other methods only.
func RefuseMethod(w http.ResponseWriter, r *http.Request, allow string) {
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
