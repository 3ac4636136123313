package app_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mooring/internal/app"
	"mooring/internal/config"
	"mooring/internal/issuertest"
)

func TestCheckEdge(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" || len(r.Cookies()) > 0 {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(up.Close)
	sick := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(sick.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	issuer := issuertest.New(t, time.Now)
	for _, row := range []struct {
		rule, identity, url string
		want                []string
		fine                bool
	}{
		{"a web UI that answers", "", up.URL, []string{"ok   slot a at " + up.URL}, true},
		{"one that is sick", "", sick.URL, []string{"FAIL slot a at " + sick.URL + ": GET /health was answered 503"}, false},
		{"one that is gone", "", gone.URL, []string{"FAIL slot a at " + gone.URL}, false},
		{"a provider that is there", "{source: bearer-id-token, audience: a, issuer: '" + issuer.URL + "'}", up.URL, []string{"ok   edge: the identity provider at " + issuer.URL}, true},
		{"a provider that is gone", "{source: oidc, client_id: a, issuer: '" + gone.URL + "'}", up.URL, []string{"FAIL edge: the identity provider at " + gone.URL}, false},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			if row.identity == "" {
				row.identity = "{source: x-forwarded-user, trusted: [127.0.0.1]}"
			}
			cfg, err := config.Parse("f", []byte("upstreams: [{name: demo, builtin: echo}]\nedge: {host: h, salt: "+strings.Repeat("s", 32)+", identity: "+row.identity+
				", slots: [{name: a, url: '"+row.url+"'}]}"), config.Source{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if fine := app.Check(t.Context(), cfg, app.CheckDeps{Client: &http.Client{}}, &out); fine != row.fine {
				t.Errorf("Check = %v\n%s", fine, out.String())
			}
			for _, want := range row.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s lacks %q", out.String(), want)
				}
			}
		})
	}
}
