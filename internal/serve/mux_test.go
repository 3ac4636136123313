package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/serve"
)

func TestMux(t *testing.T) {
	t.Parallel()
	var mux serve.Mux
	mux.HandleFunc("POST /anthropic/v1/messages", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "messages") })
	mux.HandleFunc("GET /api/sessions/{id}", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.PathValue("id")) })
	mux.HandleFunc("DELETE /api/sessions/{id}", func(http.ResponseWriter, *http.Request) {})
	mux.Handle("/v1/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "through") }))
	mux.Handle("/v1/chat/completions", serve.MethodNotAllowed("POST"))
	for _, tt := range []struct {
		rule, method, target string
		status               int
		code                 mooring.Code
		allow, body          string
		anthropic            bool
	}{
		{rule: "a route", method: "POST", target: "/anthropic/v1/messages", status: 200, body: "messages"},
		{rule: "a part of the path", method: "GET", target: "/api/sessions/a%2Fb", status: 200, body: "a/b"},
		{rule: "a subtree", method: "GET", target: "/v1/models", status: 200, body: "through"},
		{rule: "no such path", method: "GET", target: "/nope", status: 404, code: mooring.CodeNotFound},
		{rule: "no such path of Anthropic's", method: "GET", target: "/anthropic/v1/nope", status: 404, code: mooring.CodeNotFound, anthropic: true},
		{rule: "another method", method: "PATCH", target: "/api/sessions/x", status: 405, code: mooring.CodeMethodNotAllowed, allow: "DELETE, GET, HEAD"},
		{rule: "another method of Anthropic's", method: "PUT", target: "/anthropic/v1/messages", status: 405, code: mooring.CodeMethodNotAllowed, allow: "POST", anthropic: true},
		{rule: "another method within a subtree", method: "GET", target: "/v1/chat/completions", status: 405, code: mooring.CodeMethodNotAllowed, allow: "POST"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), tt.method, tt.target, http.NoBody))
			r := rec.Result()
			defer r.Body.Close()
			if tt.code == "" {
				if r.StatusCode != tt.status || rec.Body.String() != tt.body {
					t.Errorf("answer = %d %q, want %d %q", r.StatusCode, rec.Body, tt.status, tt.body)
				}
				return
			}
			if got := r.Header.Get("Allow"); got != tt.allow {
				t.Errorf("Allow = %q, want %q", got, tt.allow)
			}
			if !tt.anthropic {
				wantProblem(t, r, tt.status, tt.code)
				return
			}
			var body map[string]any
			if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil || body["type"] != "error" || r.StatusCode != tt.status {
				t.Errorf("answer = %d %s (%v), want %d in Anthropic's shape", r.StatusCode, rec.Body, err, tt.status)
			}
		})
	}
}

func TestMuxRedirectsToTheCleanPath(t *testing.T) {
	t.Parallel()
	var mux serve.Mux
	mux.HandleFunc("GET /api/x", func(http.ResponseWriter, *http.Request) {})
	rec := httptest.NewRecorder()
	mux.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/../api/x", http.NoBody))
	if diff := cmp.Diff("/api/x", rec.Result().Header.Get("Location")); diff != "" {
		t.Errorf("Location (-want +got):\n%s", diff)
	}
}
