// Package web owns the pages' front end: the files that are built from ui into dist and embedded here, and the headers they
// go out with.
//
// It knows neither sessions nor callers: what it serves is the same for everybody, and the front end asks the API for the
// rest. It has no goroutines.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// A checkout holds no more than dist/.gitkeep; `make build` puts the rest there.
//
//go:embed all:dist
var embedded embed.FS

//go:embed unbuilt.html
var unbuilt string

// csp lets a page load its own files and nothing else; no markup of a page may hold a style or a script. Pictures may also
// be what the reader has just picked (blob:) and what stands in a message (data:).
const csp = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

const (
	// index is the shell that every page works in. A page may have one of its own, which names its files too.
	index = "index.html"
	shell = ".html"
	// hashed is where the build puts files whose names change with their content.
	hashed = "assets/"
)

// How long a browser keeps what.
const (
	keepNothing = "no-store"                            // a page: the next binary's files have other names
	keepAsking  = "no-cache"                            // a file with a fixed name: asked for again by its tag
	keepForGood = "public, max-age=31536000, immutable" // a year, the most that caches take seriously
)

// App is a front end, ready to be served.
type App struct {
	dist  fs.FS
	files map[string]file // by path in dist, without the compressed variants
}

// file is what is known of a built file before it is asked for.
type file struct {
	keep  string
	tag   string            // empty where the name says enough
	sizes map[coding]string // of each variant that is there, as in Content-Length
}

// Embedded gives the front end that is part of this binary. It panics where that cannot be read, which no running binary
// can have.
func Embedded() *App {
	dist, err := fs.Sub(embedded, "dist")
	if err != nil {
		panic("web.Embedded: " + err.Error())
	}
	a, err := New(dist)
	if err != nil {
		panic("web.Embedded: " + err.Error())
	}
	return a
}

// New takes stock of a built front end. One without index.html counts as not built.
func New(dist fs.FS) (*App, error) {
	a := &App{dist: dist, files: map[string]file{}}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path.Base(name), ".") || codingOf(name) != identity {
			return err
		}
		f, err := a.look(name)
		a.files[name] = f
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the built pages: %w", err)
	}
	return a, nil
}

// look finds out what there is under a name.
func (a *App) look(name string) (file, error) {
	f := file{keep: keepNothing, sizes: map[coding]string{}}
	for _, c := range codings {
		info, err := fs.Stat(a.dist, name+string(c))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return file{}, err
		}
		f.sizes[c] = strconv.FormatInt(info.Size(), 10)
	}
	switch {
	case isShell(name):
	case strings.HasPrefix(name, hashed):
		f.keep = keepForGood
	default:
		content, err := fs.ReadFile(a.dist, name)
		if err != nil {
			return file{}, err
		}
		sum := sha256.Sum256(content)
		f.keep, f.tag = keepAsking, hex.EncodeToString(sum[:8])
	}
	return f, nil
}

// Page answers with a shell of the front end, which finds out by itself what to show at the request's path. The name is that of the
// page, whose files the shell names then for the browser to fetch at once; without such a shell, or a name, the common one does. A
// binary without any says so.
func (a *App) Page(name string) http.HandlerFunc {
	if _, ok := a.files[name+shell]; !ok {
		name = "index"
	}
	return func(w http.ResponseWriter, r *http.Request) { a.show(w, r, name, http.StatusOK) }
}

// Missing answers a browser that asks for a page where there is none, with the shell and 404: the front end says so there and knows
// the way home. To any other request it says false and writes no more than that its answer depends on Accept.
func (a *App) Missing(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	w.Header().Add("Vary", "Accept")
	if !takes(r.Header.Values("Accept"), "text/html") {
		return false
	}
	a.show(w, r, "index", http.StatusNotFound)
	return true
}

func (a *App) show(w http.ResponseWriter, r *http.Request, name string, status int) {
	if a.serve(w, r, name+shell, status) {
		return
	}
	setHeaders(w.Header(), index)
	w.Header().Set("Cache-Control", keepNothing)
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.WriteString(w, unbuilt)
	}
}

// Files names the files beside the pages that have a path of their own at the root, as in "favicon.svg".
func (a *App) Files() []string {
	var out []string
	for name := range a.files {
		if !isShell(name) && !strings.Contains(name, "/") {
			out = append(out, name)
		}
	}
	return out
}

// ServeFile answers with the file at the request's path, or says that there is none and writes nothing.
func (a *App) ServeFile(w http.ResponseWriter, r *http.Request) bool {
	name := strings.TrimPrefix(r.URL.Path, "/")
	return !isShell(name) && a.serve(w, r, name, http.StatusOK)
}

func isShell(name string) bool { return strings.HasSuffix(name, shell) }

func (a *App) serve(w http.ResponseWriter, r *http.Request, name string, status int) bool {
	f, ok := a.files[name]
	if !ok {
		return false
	}
	c := choose(r.Header.Values("Accept-Encoding"), f.sizes)
	content, err := a.dist.Open(name + string(c))
	if err != nil {
		return false
	}
	defer content.Close() //nolint:errcheck // it was only read
	h := w.Header()
	setHeaders(h, name)
	h.Set("Cache-Control", f.keep)
	if len(f.sizes) > 1 {
		h.Add("Vary", "Accept-Encoding")
	}
	if f.tag != "" {
		tag := `"` + f.tag + string(c) + `"` // each variant is its own to a cache
		h.Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	if c != identity {
		h.Set("Content-Encoding", c.name())
	}
	h.Set("Content-Length", f.sizes[c])
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, content) // a browser that is gone cannot be told
	}
	return true
}

// setHeaders puts on what every file of the front end goes out with.
func setHeaders(h http.Header, name string) {
	h.Set("Content-Type", mediaType(name))
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}
