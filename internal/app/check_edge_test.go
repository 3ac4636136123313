package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/app"
	"mooring/internal/config"
	"mooring/internal/issuertest"
	"mooring/internal/store/sqlite"
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

// claimAs leaves a store in which a slot was claimed under some salt.
func claimAs(t *testing.T, path, keyID string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	c := &mooring.ClaimSlot{Key: "t1-somebody", KeyID: keyID, Order: []mooring.SlotName{"a"}, At: time.Now()}
	if err := errors.Join(store.Apply(t.Context(), []mooring.Change{c}), c.Err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

const edgeKey = "keys: [{name: op, role: operator, hash: 'sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'}]\n"

// An edge that runs and hardly can be meant so is said to be one, by a check and by the server when it starts.
func TestEdgeWarnings(t *testing.T) {
	t.Parallel()
	up := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(up.Close)
	const (
		noKeys    = "WARN keys: none, so whoever reaches 127.0.0.1:0 is an operator and can take the edge's slots from people"
		otherSalt = "WARN edge: slots claimed under another `salt`: 1;"
		noKeysLog = "whoever reaches the main listener is an operator"
		saltLog   = "slots were claimed under another salt"
	)
	for _, row := range []struct {
		rule, keys  string
		claimed     bool
		want, never []string
	}{
		{"with keys and no claims", edgeKey, false, []string{"ok   everything checked is fine"}, []string{"WARN", "level=WARN", "note keys"}},
		{"without keys", "", false, []string{noKeys, noKeysLog, "ok   everything checked works; see the lines that begin with WARN"}, []string{otherSalt, saltLog, "is fine"}},
		{"with claims under another salt", edgeKey, true, []string{otherSalt, saltLog, "slots=1"}, []string{noKeys, noKeysLog, "is fine"}},
		{"with both, as the API says too", "", true, []string{noKeys, otherSalt, `"note":"claimed under another salt: its tenant cannot come back"`}, []string{"is fine"}},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			p := prepare(t, "upstreams: [{name: demo, builtin: echo}]\n"+row.keys+"edge: {listen: '127.0.0.1:00', host: h, salt: "+strings.Repeat("s", 32)+
				", identity: {source: x-forwarded-user, trusted: [127.0.0.1]}, slots: [{name: a, url: '"+up.URL+"'}]}\n")
			if row.claimed {
				claimAs(t, filepath.Join(p.dir, "mooring.db"), "deadbeef")
			}
			p.run()
			var out bytes.Buffer
			if fine := app.Check(t.Context(), p.load(), app.CheckDeps{Client: &http.Client{}, Store: app.CheckStore}, &out); !fine {
				t.Errorf("Check gives no: warnings are none of its failures\n%s", out.String())
			}
			said := fmt.Sprint(out.String(), p.log.String(), string(p.call("GET", "/api/tenants", "").body))
			for _, want := range row.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is missing in\n%s", want, said)
				}
			}
			for _, never := range row.never {
				if strings.Contains(said, never) {
					t.Errorf("%q is in\n%s", never, said)
				}
			}
		})
	}
}
