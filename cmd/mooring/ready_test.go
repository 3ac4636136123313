package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestServerThatIsNotReady(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"ready":           {func(http.ResponseWriter, *http.Request) {}, "ok   server ADDRESS: ready\n"},
		"store away":      {status(http.StatusServiceUnavailable), "FAIL server ADDRESS: not ready (503 Service Unavailable)\n"},
		"another program": {status(http.StatusNotFound), "FAIL server ADDRESS: not ready (404 Not Found)\n"},
		"sent elsewhere":  {http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound).ServeHTTP, "FAIL server ADDRESS: not ready (302 Found)\n"},
		"broken off":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "FAIL server ADDRESS: it does not speak HTTP\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Method + " " + r.URL.Path
				tt.answer(w, r)
			}))
			defer server.Close()
			var out, problems bytes.Buffer
			env := func(name string) (string, bool) { return server.URL, name == "MOORING_LISTEN" }
			code := program{env: env, stdout: &out, stderr: &problems}.run([]string{"check", "--ready"})
			fine := strings.HasPrefix(tt.want, "ok")
			if want := strings.ReplaceAll(tt.want, "ADDRESS", server.URL); out.String() != want || (code == exitFine) != fine || problems.Len() > 0 {
				t.Errorf("check --ready: %d, %q, %q; want %q", code, out.String(), problems.String(), want)
			}
			if asked != "GET /readyz" {
				t.Errorf("asked %q, want GET /readyz", asked)
			}
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}
