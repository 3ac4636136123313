package serve_test

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/serve"
)

func corsOf(h http.Header) map[string]string {
	got := map[string]string{}
	for name, values := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			got[name] = strings.Join(values, " | ")
		}
	}
	return got
}

// C028: a preflight is answered without a key, and allows what of the asked-for headers Mooring reads.
func TestPreflight(t *testing.T) {
	t.Parallel()
	const asked = "content-type,Authorization, x-session-id,SESSION_ID,x-hermes-session-id,idempotency-key,anthropic-beta,x-stainless-lang,openai-project,x-evil"
	allowed := map[string]string{
		"Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, OPTIONS",
		"Access-Control-Allow-Headers": "content-type, authorization, x-session-id, session_id, x-hermes-session-id, idempotency-key, " +
			"anthropic-beta, x-stainless-lang, openai-project",
		"Access-Control-Max-Age":        "600",
		"Access-Control-Expose-Headers": exposedHeaders,
	}
	with := func(origin string) map[string]string {
		m := map[string]string{"Access-Control-Allow-Origin": origin}
		maps.Copy(m, allowed)
		return m
	}
	for _, tt := range []struct {
		rule, origin, target string
		origins              []string
		want                 map[string]string
	}{
		{rule: "a listed origin", origin: app, origins: []string{app}, want: with(app)},
		{rule: "a listed origin on the session API", origin: app, target: "/api/sessions/x", origins: []string{app}, want: with(app)},
		{rule: "a star", origin: app, origins: []string{"*"}, want: with("*")},
		{rule: "a star does not cover the session API", origin: app, target: "/api/sessions/x", origins: []string{"*"}, want: map[string]string{}},
		{rule: "a star does not cover the root of the session API", origin: app, target: "/api", origins: []string{"*"}, want: map[string]string{}},
		{rule: "a listed origin beside a star covers it", origin: app, target: "/api/sessions", origins: []string{"*", app}, want: with(app)},
		{rule: "another origin is told nothing", origin: "https://evil.example", origins: []string{app}, want: map[string]string{}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, serve.Rules{Origins: tt.origins, Keys: twoKeys()})
			r, reached := ask(t, s, request{method: http.MethodOptions, target: tt.target, header: headers("Origin", tt.origin,
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", asked)})
			defer r.Body.Close()
			body, _ := io.ReadAll(r.Body)
			if reached || r.StatusCode != http.StatusNoContent || len(body) > 0 {
				t.Errorf("reached %v, status %d, body %q, want the empty 204 of the server", reached, r.StatusCode, body)
			}
			if diff := cmp.Diff(tt.want, corsOf(r.Header)); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if got := r.Header.Get("Vary"); got != "Origin" {
				t.Errorf("Vary = %q, want Origin", got)
			}
		})
	}
}

const exposedHeaders = "X-Session-Id, X-Hermes-Session-Id, X-Mooring-Session, X-Mooring-Turn, X-Mooring-Kind, X-Mooring-Parent, " +
	"X-Mooring-Identity, X-Mooring-Upstream, X-Mooring-Error, X-Hermes-Session-Key, X-Hermes-Friendly-Id, Retry-After, X-Request-Id"

// C026: the answer itself, not only the preflight, names every header that a page may read.
func TestAnswersCarryCORS(t *testing.T) {
	t.Parallel()
	granted := map[string]string{"Access-Control-Allow-Origin": app, "Access-Control-Expose-Headers": exposedHeaders}
	for _, tt := range []struct {
		rule, origin string
		handler      http.HandlerFunc
		want         map[string]string
	}{
		{rule: "a buffered answer", origin: app, want: granted, handler: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") }},
		{rule: "an answer without body", origin: app, want: granted, handler: func(http.ResponseWriter, *http.Request) {}},
		{rule: "a stream that opens with a flush", origin: app, want: granted, handler: func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
		}},
		{rule: "an error", origin: app, want: granted, handler: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }},
		{rule: "a panic", origin: app, want: granted, handler: func(http.ResponseWriter, *http.Request) { panic("x") }},
		{rule: "an upstream's own headers do not count", origin: app, want: granted, handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Access-Control-Allow-Origin", "https://evil.example")
			w.Header().Add("Access-Control-Allow-Credentials", "true")
			w.WriteHeader(http.StatusOK)
		}},
		{rule: "nor do they without a grant", origin: "https://evil.example", want: map[string]string{}, handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}},
		{rule: "without an origin there are none", want: map[string]string{}, handler: func(http.ResponseWriter, *http.Request) {}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			q := request{method: http.MethodGet, header: headers()}
			if tt.origin != "" {
				q.header.Set("Origin", tt.origin)
			}
			rec := httptest.NewRecorder()
			newServer(t, serve.Rules{Origins: []string{app}}).Wrap(tt.handler).ServeHTTP(rec, q.build(t))
			if diff := cmp.Diff(tt.want, corsOf(rec.Result().Header)); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if got := rec.Result().Header.Get("Vary"); got != "Origin" {
				t.Errorf("Vary = %q, want Origin", got)
			}
		})
	}
}

func TestVaryIsAddedTo(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	newServer(t, serve.Rules{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Vary", "Accept-Encoding")
	})).ServeHTTP(rec, request{}.build(t))
	if diff := cmp.Diff([]string{"Accept-Encoding", "Origin"}, rec.Result().Header.Values("Vary")); diff != "" {
		t.Errorf("Vary (-want +got):\n%s", diff)
	}
}
