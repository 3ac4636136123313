package admin_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/admin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDraining = errors.New("draining since a minute ago")

func people(r *http.Request) (mooring.Caller, error) {
	switch r.Header.Get("X-Mooring-Key") {
	case "alice":
		return mooring.Caller{Tenant: "acme", Key: "alice", Role: mooring.RoleUser}, nil
	case "root":
		return mooring.Caller{Key: "root", Role: mooring.RoleOperator}, nil
	}
	return mooring.Caller{}, mooring.Errorf(mooring.CodeInvalidAPIKey, "send a key")
}

func ask(t *testing.T, ready error, key, path string) (answer *httptest.ResponseRecorder, log string) {
	t.Helper()
	var lines bytes.Buffer
	mux := http.NewServeMux()
	admin.New(admin.Options{
		Caller: people,
		Ready:  func(context.Context) error { return ready },
		Upstreams: func() []admin.UpstreamView {
			return []admin.UpstreamView{
				{
					Name: "harbour", Health: "healthy", Models: []string{"a&b"}, Protocol: "openai", URL: "http://127.0.0.1:8642",
					InFlight: 2, Requests: 10, Failures: 1,
				},
				{Name: "demo", Health: "draining", Protocol: "both", Reason: "health check: status 503"},
			}
		},
		Load: func(context.Context) (map[mooring.UpstreamName]admin.Load, error) {
			if path == "/api/upstreams?lost" {
				return nil, errDraining
			}
			return map[mooring.UpstreamName]admin.Load{"harbour": {Pinned: 3, Turns: 7, Errors: 2, FirstP50: new(time.Second), WholeP95: new(time.Minute)}}, nil
		},
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "some metrics") }),
		Log:     slog.New(slog.NewTextHandler(&lines, nil)),
	}).Mount(mux)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
	r.Header.Set("X-Mooring-Key", key)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w, lines.String()
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const (
		forUser = `{"upstreams":[{"name":"harbour","health":"healthy","models":["a&b"]},` +
			`{"name":"demo","health":"draining","models":[]}]}`
		forOperator = `{"upstreams":[{"name":"harbour","health":"healthy","models":["a&b"],"protocol":"openai",` +
			`"url":"http://127.0.0.1:8642","in_flight":2,"requests":10,"failures":1,"reason":null,"pinned":3,"turns_last_hour":7,` +
			`"errors_last_hour":2,"first_byte_p50_ms":1000,"duration_p50_ms":null,"duration_p95_ms":60000},` +
			`{"name":"demo","health":"draining","models":[],"protocol":"both","url":"","in_flight":0,"requests":0,"failures":0,` +
			`"reason":"health check: status 503","pinned":0,"turns_last_hour":0,"errors_last_hour":0,"first_byte_p50_ms":null,"duration_p50_ms":null,"duration_p95_ms":null}]}`
	)
	for _, row := range []struct {
		name      string
		ready     error
		key, path string
		status    int
		want      string // body, or the code of an error
	}{
		{"health needs no key and tells nothing", errDraining, "", "/health", 200, `{"status":"ok"}`},
		{"ready", nil, "", "/readyz", 200, `{"status":"ready"}`},
		{"not ready", errDraining, "", "/readyz", 503, `{"status":"not ready"}`},
		{"metrics are the operator's", nil, "root", "/metrics", 200, "some metrics"},
		{"metrics are not a user's", nil, "alice", "/metrics", 403, "operator_required"},
		{"metrics need a key", nil, "", "/metrics", 401, "invalid_api_key"},
		{"a user sees no address", nil, "alice", "/api/upstreams", 200, forUser},
		{"an operator sees addresses and counts", nil, "root", "/api/upstreams", 200, forOperator},
		{"upstreams need a key", nil, "", "/api/upstreams", 401, "invalid_api_key"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w, _ := ask(t, row.ready, row.key, row.path)
			got := w.Header().Get("X-Mooring-Error")
			if got == "" {
				got = strings.TrimSpace(w.Body.String())
			}
			if w.Code != row.status || got != row.want {
				t.Errorf("GET %s = %d %s, want %d %s", row.path, w.Code, got, row.status, row.want)
			}
		})
	}
}

func TestReasonIsForTheLog(t *testing.T) {
	t.Parallel()
	w, log := ask(t, errDraining, "", "/readyz")
	if strings.Contains(w.Body.String(), errDraining.Error()) {
		t.Errorf("the answer tells why: %s", w.Body)
	}
	if !strings.Contains(log, errDraining.Error()) {
		t.Errorf("the log does not tell why: %q", log)
	}
}

func TestUpstreamsAreShownThoughTheStoreIsAway(t *testing.T) {
	t.Parallel()
	w, log := ask(t, nil, "root", "/api/upstreams?lost")
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"in_flight":2`) || !strings.Contains(w.Body.String(), `"pinned":null,"turns_last_hour":null`) {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
	if !strings.Contains(log, errDraining.Error()) {
		t.Errorf("the log does not tell why: %q", log)
	}
}
