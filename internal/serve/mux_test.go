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

// Only paths that are no API's and lead nowhere are shown to people as a page.
func TestMuxSendsPeopleHome(t *testing.T) {
	t.Parallel()
	mux := serve.Mux{Lost: func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Accept") != "text/html" {
			return false
		}
		io.WriteString(w, "home")
		return true
	}}
	mux.HandleFunc("GET /usage", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "usage") })
	for _, tt := range []struct {
		rule, target, accept, want string
	}{
		{"nowhere", "/nowhere", "text/html", "home"},
		{"below a page", "/usage/x", "text/html", "home"},
		{"a name that only begins like an API's", "/apis", "text/html", "home"},
		{"a page", "/usage", "text/html", "usage"},
		{"a program", "/nowhere", "*/*", ""},
		{"the API", "/api/nowhere", "text/html", ""},
		{"the API's root", "/api", "text/html", ""},
		{"OpenAI's", "/v1/nowhere", "text/html", ""},
		{"OpenAI's under its name", "/openai/v1/nowhere", "text/html", ""},
		{"Anthropic's", "/anthropic/nowhere", "text/html", ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			rec := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.target, http.NoBody)
			r.Header.Set("Accept", tt.accept)
			mux.ServeHTTP(rec, r)
			if tt.want != "" {
				if got := rec.Body.String(); got != tt.want {
					t.Errorf("%s = %q, want %q", tt.target, got, tt.want)
				}
				return
			}
			if rec.Code != http.StatusNotFound || rec.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s = %d %s, want 404 in JSON", tt.target, rec.Code, rec.Header().Get("Content-Type"))
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

func TestNoPathTakesAWebSocket(t *testing.T) {
	t.Parallel()
	var mux serve.Mux
	mux.HandleFunc("GET /v1/responses", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "plain") })
	for _, tt := range []struct {
		rule, target, upgrade string
		status                int
		anthropic             bool
	}{
		{rule: "a route", target: "/v1/responses", upgrade: "websocket", status: http.StatusUpgradeRequired},
		{rule: "no route", target: "/nope", upgrade: "WebSocket", status: http.StatusUpgradeRequired},
		{rule: "Anthropic's", target: "/v1/messages", upgrade: "websocket", status: http.StatusUpgradeRequired, anthropic: true},
		{rule: "one of several", target: "/v1/responses", upgrade: "h2c, websocket", status: http.StatusUpgradeRequired},
		{rule: "another upgrade is ignored", target: "/v1/responses", upgrade: "h2c", status: http.StatusOK},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.target, http.NoBody)
			r.Header = headers("Connection", "Upgrade", "Upgrade", tt.upgrade)
			rec := httptest.NewRecorder()
			mux.ServeHTTP(rec, r)
			if rec.Code != tt.status {
				t.Fatalf("status = %d, want %d", rec.Code, tt.status)
			}
			if tt.status == http.StatusOK {
				return
			}
			var body struct {
				Type  string
				Error struct{ Code, Message string }
			}
			if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
				t.Fatal(err)
			}
			got := []any{body.Type == "error", body.Error.Code, body.Error.Message != "", rec.Header().Get("X-Mooring-Error")}
			want := []any{tt.anthropic, "upgrade_unsupported", true, "upgrade_unsupported"}
			if tt.anthropic {
				want[1] = ""
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("body %s (-want +got):\n%s", rec.Body, diff)
			}
		})
	}
}

// A stranger learns nothing of the paths below /api/: who may ask is said before what there is.
func TestMuxTellsStrangersNothing(t *testing.T) {
	t.Parallel()
	mux := serve.Mux{Known: func(r *http.Request) error {
		if r.Header.Get("X-Mooring-Key") == "" {
			return mooring.Errorf(mooring.CodeInvalidAPIKey, "This server needs a key.")
		}
		return nil
	}}
	for _, tt := range []struct {
		path, key string
		status    int
		code      mooring.Code
	}{
		{"/api/nope", "", 401, mooring.CodeInvalidAPIKey},
		{"/api/nope", "k", 404, mooring.CodeNotFound},
		{"/nope", "", 404, mooring.CodeNotFound},
	} {
		rec := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, http.NoBody)
		r.Header.Set("X-Mooring-Key", tt.key)
		mux.ServeHTTP(rec, r)
		res := rec.Result()
		wantProblem(t, res, tt.status, tt.code)
		_ = res.Body.Close()
	}
}
