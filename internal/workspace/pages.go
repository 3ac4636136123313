package workspace

import (
	"net/http"

	"mooring"
	"mooring/internal/problem"
	"mooring/internal/web"
)

// Pages serves the front end. It shows the same to everybody, whoever asks: what there is to see comes from the API.
type Pages struct {
	app *web.App
}

// NewPages builds the pages' handler.
func NewPages(app *web.App) *Pages { return &Pages{app: app} }

// Mount adds the routes. The name of a chat or session may hold slashes, escaped or not, so these take all that follows.
func (p *Pages) Mount(mux Mux) {
	for path, page := range map[string]string{
		"/{$}": "chat", "/chat": "chat", "/chat/{friendly_id...}": "thread", "/sessions": "sessions", "/sessions/{id...}": "session",
		"/search": "search", "/upstreams": "upstreams", "/usage": "usage", "/tenants": "tenants", "/sign-in": "sign-in",
	} {
		mux.Handle("GET "+path, p.app.Page(page))
	}
	mux.Handle("GET /assets/", http.HandlerFunc(p.file))
	for _, name := range p.app.Files() {
		mux.Handle("GET /"+name, http.HandlerFunc(p.file))
	}
}

// file never answers a missing script with a page: the browser would try to run it.
func (p *Pages) file(w http.ResponseWriter, r *http.Request) {
	if !p.app.ServeFile(w, r) {
		problem.Write(w, mooring.API, mooring.Errorf(mooring.CodeNotFound, "This version of the pages has no such file; reload the page."))
	}
}
