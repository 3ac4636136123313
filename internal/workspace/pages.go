package workspace

import (
	"bytes"
	"log/slog"
	"net/http"

	"mooring"
	"mooring/internal/problem"
	"mooring/internal/web"
)

// PagesOptions is what the start page shows. All fields must be set.
type PagesOptions struct {
	Caller    func(*http.Request) (mooring.Caller, error)
	Version   string
	Store     string                // kind of store: "SQLite", "PostgreSQL"
	Keys      func() bool           // whether clients need a key; a reload may change it
	Upstreams func() []web.Upstream // as they stand now, in the order of the configuration
	Log       *slog.Logger
}

// Pages serves the start page and the files it needs.
type Pages struct {
	o     PagesOptions
	pages *web.Pages
}

// NewPages builds the start page's handler.
func NewPages(o PagesOptions) *Pages {
	return &Pages{o: o, pages: web.New()}
}

// Mount adds the routes.
func (p *Pages) Mount(mux Mux) {
	mux.Handle("GET /{$}", http.HandlerFunc(p.start))
	mux.Handle("GET /static/", p.pages.Static())
}

// start shows how to point a client here; what runs it shows only to those who may use it.
func (p *Pages) start(w http.ResponseWriter, r *http.Request) {
	_, err := p.o.Caller(r)
	start := web.Start{Address: address(r), Keys: p.o.Keys()}
	if err == nil {
		start.Running = &web.Running{Version: p.o.Version, Store: p.o.Store, Upstreams: p.o.Upstreams()}
	}
	var page bytes.Buffer
	if err := p.pages.Start(&page, start); err != nil {
		p.o.Log.LogAttrs(r.Context(), slog.LevelError, "start page not rendered", slog.Any("err", err))
		problem.Write(w, mooring.API, err)
		return
	}
	web.SetHeaders(w.Header())
	_, _ = w.Write(page.Bytes())
}

// address is how the client reached this server. The Host has passed the server's own check before.
func address(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host
}
