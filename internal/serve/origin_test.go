package serve_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"mooring"
	"mooring/internal/serve"
)

// C143: a page of another origin changes nothing.
func TestOriginRule(t *testing.T) {
	t.Parallel()
	listed := serve.Rules{Origins: []string{app, "http://other.example:8080"}}
	wild := serve.Rules{Origins: []string{"*", app}, Keys: twoKeys()}
	for _, tt := range []struct {
		rule           string
		rules          serve.Rules
		method, target string
		header         []string
		reached        bool
	}{
		{rule: "no origin passes", reached: true},
		{rule: "its own origin passes", header: []string{"Origin", "http://" + here}, reached: true},
		{rule: "its own origin passes in capitals", header: []string{"Origin", "HTTP://" + here}, reached: true},
		{rule: "a listed origin passes", rules: listed, header: []string{"Origin", app}, reached: true},
		{rule: "a listed origin passes with its port written out", rules: listed, header: []string{"Origin", "https://APP.example:443"}, reached: true},
		{rule: "another port of this machine is foreign", header: []string{"Origin", "http://127.0.0.1:3000"}},
		{rule: "localhost is not 127.0.0.1", header: []string{"Origin", "http://localhost:4747"}},
		{rule: "https is not http", header: []string{"Origin", "https://" + here}},
		{rule: "null is foreign", header: []string{"Origin", "null"}},
		{rule: "a file is foreign", header: []string{"Origin", "file://"}},
		{rule: "an extension is foreign", header: []string{"Origin", "chrome-extension://abcdef"}},
		{rule: "an empty origin is foreign", header: []string{"Origin", ""}},
		{rule: "a path is no origin", header: []string{"Origin", "http://" + here + "/"}},
		{rule: "user information is no origin", header: []string{"Origin", "http://x@" + here}},
		{rule: "a name that opens alike is foreign", rules: listed, header: []string{"Origin", app + ".evil.example"}},
		{rule: "a name that ends alike is foreign", rules: listed, header: []string{"Origin", "https://xapp.example"}},
		{rule: "a dot at the end is foreign", rules: listed, header: []string{"Origin", app + "."}},
		{rule: "another scheme of a listed one is foreign", rules: listed, header: []string{"Origin", "http://app.example"}},
		{rule: "another port of a listed one is foreign", rules: listed, header: []string{"Origin", app + ":8443"}},
		{rule: "every origin counts, not the first", header: []string{"Origin", "http://" + here, "Origin", "https://evil.example"}},
		{rule: "same-origin of the browser does not excuse it", header: []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "same-origin"}},
		{rule: "cross-site without origin is foreign", header: []string{"Sec-Fetch-Site", "cross-site"}},
		{rule: "deleting counts", method: http.MethodDelete, target: "/api/sessions/x", header: []string{"Origin", "https://evil.example"}},
		{rule: "renaming counts", method: http.MethodPatch, target: "/api/sessions/x", header: []string{"Origin", "https://evil.example"}},
		{rule: "an unheard-of method counts", method: "PURGE", target: "/api/sessions/x", header: []string{"Origin", "https://evil.example"}},
		{rule: "reading passes", method: http.MethodGet, target: "/api/sessions", header: []string{"Origin", "https://evil.example"}, reached: true},
		{rule: "a star covers models", rules: wild, header: []string{"Origin", "https://evil.example", "X-Api-Key", alice}, reached: true},
		{rule: "a star does not cover the session API", rules: wild, target: "/api/sessions", header: []string{"Origin", "https://evil.example", "X-Api-Key", alice}},
		{rule: "a listed origin beside a star does", rules: wild, target: "/api/sessions", header: []string{"Origin", app, "X-Api-Key", alice}, reached: true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r, reached := ask(t, newServer(t, tt.rules), request{method: tt.method, target: tt.target, header: headers(tt.header...)})
			defer r.Body.Close()
			if reached != tt.reached {
				t.Fatalf("reached = %v, want %v", reached, tt.reached)
			}
			if tt.reached {
				return
			}
			wantProblem(t, r, http.StatusForbidden, mooring.CodeOriginForbidden)
			if got := r.Header.Values("Access-Control-Allow-Origin"); len(got) > 0 {
				t.Errorf("Access-Control-Allow-Origin of a refusal = %q", got)
			}
			if got := r.Header.Get("Vary"); got != "Origin" {
				t.Errorf("Vary of a refusal = %q, want Origin", got)
			}
		})
	}
}

func TestOwnOriginUnderTLS(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{})
	for origin, want := range map[string]int{"https://localhost": http.StatusOK, "https://localhost:443": http.StatusOK, "http://localhost": http.StatusForbidden} {
		rec := httptest.NewRecorder()
		r := request{host: "localhost", header: headers("Origin", origin)}.build(t)
		r.TLS = &tls.ConnectionState{}
		s.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(rec, r)
		if rec.Code != want {
			t.Errorf("status for %s = %d, want %d", origin, rec.Code, want)
		}
	}
}
