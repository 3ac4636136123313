package web_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/web"
)

const (
	script = "/assets/app-B1x9.js"
	page   = "<!doctype html><title>Mooring</title>"
	shell  = "<!doctype html><link rel=modulepreload href=/assets/usage.js>"
)

func built(t *testing.T) *web.App {
	t.Helper()
	files := fstest.MapFS{}
	for name, content := range map[string]string{
		".gitkeep": "", "index.html": page, "usage.html": shell, "usage.html.gz": "shell by gzip", "favicon.svg": "<svg/>", "robots.txt": "User-agent: *", "robots.txt.gz": "robots by gzip",
		"assets/app-B1x9.js": "let a = 1", "assets/app-B1x9.js.br": "by brotli", "assets/app-B1x9.js.gz": "by gzip",
		"assets/app-C2.css": "a{}", "assets/app-C2.css.gz": "css by gzip", "assets/mark-D3.woff2": "font", "assets/odd-E4.xyz": "odd",
	} {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	a, err := web.New(files)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// get asks for a file; status 0 says that there is none.
func get(t *testing.T, a *web.App, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, a, http.MethodGet, path, header...)
}

func ask(t *testing.T, a *web.App, method, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	if !a.ServeFile(w, r) {
		if w.Body.Len() > 0 || len(w.Header()) > 0 {
			t.Errorf("%s is not there, and yet something was written: %v %s", path, w.Header(), w.Body)
		}
		w.Code = 0
	}
	return w
}

func shown(t *testing.T, a *web.App, method string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	a.Page("sessions")(w, httptest.NewRequestWithContext(t.Context(), method, "/sessions/ses_1", http.NoBody))
	return w
}

// CONTRACT 6: strict CSP, on what is loaded as well as on pages, and on the page that says that there are none.
func TestHeadersOfAllThatIsServed(t *testing.T) {
	t.Parallel()
	none, err := web.New(fstest.MapFS{".gitkeep": {}})
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]*httptest.ResponseRecorder{
		"page": shown(t, built(t), http.MethodGet), "no page": shown(t, none, http.MethodGet), "script": get(t, built(t), script),
		"favicon": get(t, built(t), "/favicon.svg"),
	} {
		h := w.Header()
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
				"font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
		} {
			if got := h.Get(header); got != want {
				t.Errorf("%s: %s = %q, want %q", name, header, got, want)
			}
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	w := shown(t, built(t), http.MethodGet)
	if w.Code != http.StatusOK || w.Body.String() != page {
		t.Errorf("page = %d %s", w.Code, w.Body)
	}
	// A page that was kept would ask the next binary for files it has not.
	want := http.Header{"Cache-Control": {"no-store"}, "Content-Type": {"text/html; charset=utf-8"}, "Content-Length": {"37"}}
	for name := range want {
		if diff := cmp.Diff(want[name], w.Header()[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if w := shown(t, built(t), http.MethodHead); w.Code != http.StatusOK || w.Body.Len() > 0 || w.Header().Get("Content-Length") != "37" {
		t.Errorf("HEAD = %d, %d bytes, Content-Length %s", w.Code, w.Body.Len(), w.Header().Get("Content-Length"))
	}
}

// A page's own shell names that page's files; one that has none works in the common one.
func TestShells(t *testing.T) {
	t.Parallel()
	a := built(t)
	for _, row := range []struct{ page, accept, want string }{
		{"usage", "", shell}, {"usage", "gzip", "shell by gzip"}, {"none", "gzip", page}, {"", "gzip", page},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/usage", http.NoBody)
		r.Header.Set("Accept-Encoding", row.accept)
		w := httptest.NewRecorder()
		a.Page(row.page)(w, r)
		if got := w.Header().Get("Cache-Control"); w.Code != http.StatusOK || w.Body.String() != row.want || got != "no-store" {
			t.Errorf("page %q with %q = %d %s, Cache-Control %q; want %s", row.page, row.accept, w.Code, w.Body, got, row.want)
		}
	}
}

// A browser that is lost gets the shell, which says so; a program gets what the caller writes.
func TestMissing(t *testing.T) {
	t.Parallel()
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, row := range []struct {
		rule, method, accept string
		page                 bool
		body                 string
	}{
		{"a browser", http.MethodGet, browser, true, page},
		{"a browser that looks only", http.MethodHead, browser, true, ""},
		{"in any case", http.MethodGet, "Text/HTML", true, page},
		{"a program that takes anything", http.MethodGet, "*/*", false, ""},
		{"a program that says nothing", http.MethodGet, "", false, ""},
		{"a program that wants JSON", http.MethodGet, "application/json", false, ""},
		{"HTML refused", http.MethodGet, "text/html;q=0, */*", false, ""},
		{"a form", http.MethodPost, browser, false, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), row.method, "/nowhere", http.NoBody)
		r.Header.Set("Accept", row.accept)
		w := httptest.NewRecorder()
		if got := built(t).Missing(w, r); got != row.page || w.Body.String() != row.body {
			t.Errorf("%s: Missing = %t %q, want %t %q", row.rule, got, w.Body, row.page, row.body)
		}
		if !row.page {
			continue
		}
		want := http.Header{"Cache-Control": {"no-store"}, "Content-Type": {"text/html; charset=utf-8"}, "Vary": {"Accept"}}
		for name := range want {
			if diff := cmp.Diff(want[name], w.Header()[name]); diff != "" || w.Code != http.StatusNotFound {
				t.Errorf("%s: %d, %s (-want +got):\n%s", row.rule, w.Code, name, diff)
			}
		}
	}
}

// A binary of `go build` alone says how to get the pages, and holds nothing that the policy would block.
func TestPageOfABinaryWithoutPages(t *testing.T) {
	t.Parallel()
	a, err := web.New(fstest.MapFS{".gitkeep": {}})
	if err != nil {
		t.Fatal(err)
	}
	w := shown(t, a, http.MethodGet)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "make build") || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("page = %d %v %s", w.Code, w.Header(), w.Body)
	}
	for _, blocked := range []string{"<style", " style=", "<script", "<link"} {
		if strings.Contains(w.Body.String(), blocked) {
			t.Errorf("the page holds %s", blocked)
		}
	}
	if got := get(t, a, script).Code; got != 0 {
		t.Errorf("a script is there: %d", got)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	a := built(t)
	for _, row := range []struct{ path, kind, keep string }{
		{script, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/assets/app-C2.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable"},
		{"/assets/mark-D3.woff2", "font/woff2", "public, max-age=31536000, immutable"},
		{"/assets/odd-E4.xyz", "application/octet-stream", "public, max-age=31536000, immutable"},
		{"/favicon.svg", "image/svg+xml", "no-cache"},
		{"/robots.txt", "text/plain; charset=utf-8", "no-cache"},
	} {
		w := get(t, a, row.path)
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != row.kind {
			t.Errorf("%s = %d, Content-Type %q, want %q", row.path, w.Code, got, row.kind)
		}
		if got := w.Header().Get("Cache-Control"); got != row.keep {
			t.Errorf("%s: Cache-Control = %q, want %q", row.path, got, row.keep)
		}
		head := ask(t, a, http.MethodHead, row.path)
		if diff := cmp.Diff(w.Header(), head.Header()); head.Code != http.StatusOK || head.Body.Len() > 0 || diff != "" {
			t.Errorf("HEAD %s = %d, %d bytes; header (-GET +HEAD):\n%s", row.path, head.Code, head.Body.Len(), diff)
		}
	}
	if diff := cmp.Diff([]string{"favicon.svg", "robots.txt"}, slices.Sorted(slices.Values(a.Files()))); diff != "" {
		t.Errorf("files with a path of their own (-want +got):\n%s", diff)
	}
	for _, path := range []string{
		"/assets/", "/assets", "/assets/none.js", "/assets/app-B1x9.js.gz", "/assets/app-B1x9.js.br", "/index.html", "/usage.html", "/.gitkeep", "/",
		"/assets/../index.html", "/assets/%2e%2e/index.html", "/assets/..%2findex.html", "/assets//app-B1x9.js", "/assets/app-B1x9.js/", "//index.html",
	} {
		if got := get(t, a, path).Code; got != 0 {
			t.Errorf("GET %s = %d, want nothing", path, got)
		}
	}
}

func TestVariants(t *testing.T) {
	t.Parallel()
	a := built(t)
	for _, row := range []struct{ rule, path, accept, coding, body string }{
		{"what a browser sends", script, "gzip, deflate, br, zstd", "br", "by brotli"},
		{"gzip alone", script, "gzip", "gzip", "by gzip"},
		{"names in any case", script, "GZip", "gzip", "by gzip"},
		{"no brotli there", "/assets/app-C2.css", "br, gzip", "gzip", "css by gzip"},
		{"none there", "/assets/mark-D3.woff2", "br, gzip", "", "font"},
		{"a weight of 0 is a refusal", script, "br;q=0, gzip;q=0.5", "gzip", "by gzip"},
		{"so is 0.000", script, "br ; q=0.000 , gzip ; q=0.1", "gzip", "by gzip"},
		{"any", script, "*", "br", "by brotli"},
		{"any but", script, "br;q=0, *;q=0.1", "gzip", "by gzip"},
		{"none", script, "identity", "", "let a = 1"},
		{"all refused", script, "*;q=0", "", "let a = 1"},
		{"nonsense", script, ",;q=,gzip;q=x", "", "let a = 1"},
		{"not said", script, "", "", "let a = 1"},
	} {
		w := get(t, a, row.path, "Accept-Encoding", row.accept)
		if got := w.Header().Get("Content-Encoding"); got != row.coding || w.Body.String() != row.body {
			t.Errorf("%s: %s with %q is %q, %q; want %q, %q", row.rule, row.path, row.accept, got, w.Body, row.coding, row.body)
		}
		vary := ""
		if row.path != "/assets/mark-D3.woff2" {
			vary = "Accept-Encoding"
		}
		if got := w.Header().Get("Vary"); got != vary {
			t.Errorf("%s: Vary = %q, want %q", row.rule, got, vary)
		}
	}
	if got := get(t, a, script, "Accept-Encoding", "deflate", "Accept-Encoding", "gzip").Body.String(); got != "by gzip" {
		t.Errorf("two lines of Accept-Encoding: %q", got)
	}
}

func TestTagOfAFixedName(t *testing.T) {
	t.Parallel()
	a := built(t)
	tags := map[string]bool{}
	for _, accept := range []string{"gzip", "identity"} {
		tag := get(t, a, "/robots.txt", "Accept-Encoding", accept).Header().Get("ETag")
		tags[tag] = true
		again := get(t, a, "/robots.txt", "Accept-Encoding", accept, "If-None-Match", tag)
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get("ETag") != tag {
			t.Errorf("%s, asked for again by its tag: %d %q", accept, again.Code, again.Body)
		}
		if got := get(t, a, "/robots.txt", "Accept-Encoding", accept, "If-None-Match", `"other"`).Code; got != http.StatusOK {
			t.Errorf("%s, by another tag: %d", accept, got)
		}
	}
	if len(tags) != 2 {
		t.Errorf("tags = %v, want one for each variant", slices.Collect(maps.Keys(tags)))
	}
}

// What is embedded, built or not, can be served.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	if w := shown(t, web.Embedded(), http.MethodGet); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Mooring") {
		t.Errorf("page = %d %s", w.Code, w.Body)
	}
}
