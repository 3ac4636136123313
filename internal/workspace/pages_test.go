package workspace_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"mooring/internal/serve"
	"mooring/internal/web"
	"mooring/internal/workspace"
)

func pages(t *testing.T) http.Handler {
	t.Helper()
	app, err := web.New(fstest.MapFS{
		"index.html": {Data: []byte("the shell")}, "favicon.svg": {Data: []byte("<svg/>")}, "assets/app-B1.js": {Data: []byte("let a")},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := &serve.Mux{}
	workspace.NewPages(app).Mount(mux)
	return mux
}

// CONTRACT 6: the paths, each with the same shell for everybody; names of chats and sessions may hold anything.
func TestPages(t *testing.T) {
	t.Parallel()
	mux := pages(t)
	for _, row := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodGet, "/", 200, "the shell"},
		{http.MethodHead, "/", 200, ""},
		{http.MethodGet, "/chat", 200, "the shell"},
		{http.MethodGet, "/chat/deck", 200, "the shell"},
		{http.MethodHead, "/chat/deck", 200, ""},
		{http.MethodGet, "/chat/a%2Fb", 200, "the shell"},
		{http.MethodGet, "/chat/a/b", 200, "the shell"},
		{http.MethodGet, "/chat/%2F%2F..%2F..%2Fassets%2Fapp-B1.js", 200, "the shell"},
		{http.MethodGet, "/chat/agent:main?x=%", 200, "the shell"},
		{http.MethodGet, "/chat/%E6%B8%AF%22%3E%3Cscript%3E", 200, "the shell"},
		{http.MethodGet, "/sessions", 200, "the shell"},
		{http.MethodGet, "/sessions/ses_01J", 200, "the shell"},
		{http.MethodGet, "/sessions/a%2Fb%25", 200, "the shell"},
		{http.MethodGet, "/search?q=don%27t", 200, "the shell"},
		{http.MethodGet, "/sessions/a/b", 200, "the shell"},
		{http.MethodGet, "/upstreams", 200, "the shell"},
		{http.MethodGet, "/usage?by=day", 200, "the shell"},
		{http.MethodGet, "/tenants", 200, "the shell"},
		{http.MethodGet, "/sign-in?from=%2Fusage", 200, "the shell"},
		{http.MethodGet, "/assets/app-B1.js", 200, "let a"},
		{http.MethodHead, "/assets/app-B1.js", 200, ""},
		{http.MethodGet, "/favicon.svg", 200, "<svg/>"},
		{http.MethodGet, "/assets/app-A0.js", 404, `"code":"not_found"`},
		{http.MethodGet, "/assets/..%2Findex.html", 404, `"code":"not_found"`},
		{http.MethodGet, "/assets/", 404, `"code":"not_found"`},
		{http.MethodGet, "/index.html", 404, `"code":"not_found"`},
		{http.MethodGet, "/pages", 404, `"code":"not_found"`},
		{http.MethodGet, "/search/x", 404, `"code":"not_found"`},
		{http.MethodGet, "/v1", 404, `"code":"not_found"`},
		{http.MethodPost, "/", 405, `"code":"method_not_allowed"`},
		{http.MethodPost, "/chat/deck", 405, `"code":"method_not_allowed"`},
		{http.MethodDelete, "/sessions/ses_01J", 405, `"code":"method_not_allowed"`},
	} {
		r := httptest.NewRequestWithContext(t.Context(), row.method, row.path, http.NoBody)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		got := w.Body.String()
		if w.Code != row.status || !strings.Contains(got, row.body) || (row.method == http.MethodHead && got != "") {
			t.Errorf("%s %s = %d %s, want %d %s", row.method, row.path, w.Code, got, row.status, row.body)
		}
		if row.status == http.StatusNotFound && strings.Contains(w.Header().Get("Content-Type"), "html") {
			t.Errorf("%s %s is missing, as HTML", row.method, row.path)
		}
	}
}
