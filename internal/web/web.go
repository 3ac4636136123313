// Package web owns the embedded pages: their templates, style sheet, script and pictures, and the headers they go out with.
//
// It renders what it is handed and knows neither sessions nor stores; the handlers that fill the pages stand in workspace.
// It has no goroutines.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed start.html static
var files embed.FS

// csp lets a page load its own files and nothing else; no markup of a page may hold a style or a script.
const csp = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

// Pages renders the embedded pages.
type Pages struct {
	start *template.Template
	tags  map[string]string // file name to entity tag
}

// New parses the embedded templates. It panics where one of them is broken, which no running binary can have.
func New() *Pages {
	p := &Pages{tags: map[string]string{}}
	p.start = template.Must(template.ParseFS(files, "start.html"))
	names, err := fs.Glob(files, "static/*")
	if err != nil {
		panic("web.New: " + err.Error())
	}
	for _, name := range names {
		content, err := files.ReadFile(name)
		if err != nil {
			panic("web.New: " + err.Error())
		}
		sum := sha256.Sum256(content)
		p.tags["/"+name] = `"` + hex.EncodeToString(sum[:8]) + `"`
	}
	return p
}

// Start writes the start page.
func (p *Pages) Start(w io.Writer, s Start) error {
	if err := p.start.Execute(w, s); err != nil {
		return fmt.Errorf("render start page: %w", err)
	}
	return nil
}

// Static serves the files of the pages below /static/. They may be kept by the browser and are asked for again by tag, so
// that a new binary is never seen with an old style sheet.
func (p *Pages) Static() http.Handler {
	plain := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tag, ok := p.tags[r.URL.Path]
		if !ok || !strings.HasPrefix(r.URL.Path, "/static/") {
			http.NotFound(w, r)
			return
		}
		SetHeaders(w.Header())
		w.Header().Set("Content-Type", mediaType(r.URL.Path))
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("ETag", tag)
		plain.ServeHTTP(w, r)
	})
}

// mediaType names the type of an embedded file, so that no table of the machine it runs on decides.
func mediaType(name string) string {
	switch {
	case strings.HasSuffix(name, ".css"):
		return "text/css; charset=utf-8"
	case strings.HasSuffix(name, ".js"):
		return "text/javascript; charset=utf-8"
	case strings.HasSuffix(name, ".svg"):
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// SetHeaders puts on what every page goes out with.
func SetHeaders(h http.Header) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
