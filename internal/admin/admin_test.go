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

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// drains notes what is asked of it.
type drains []string

func (d *drains) Drain(_ context.Context, name mooring.UpstreamName) error {
	return d.note("drain", name)
}

func (d *drains) Resume(_ context.Context, name mooring.UpstreamName) error {
	return d.note("resume", name)
}

func (d *drains) note(what string, name mooring.UpstreamName) error {
	*d = append(*d, what+" "+string(name))
	if name == "nobody" {
		return mooring.Errorf(mooring.CodeNotFound, "no such upstream")
	}
	return nil
}

func ask(t *testing.T, ready error, key, path string) (answer *httptest.ResponseRecorder, log string) {
	t.Helper()
	return send(t, &drains{}, ready, key, http.MethodGet+" "+path)
}

func send(t *testing.T, d *drains, ready error, key, what string) (answer *httptest.ResponseRecorder, log string) {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	var lines bytes.Buffer
	mux := http.NewServeMux()
	admin.New(admin.Options{
		Caller: people,
		Ready:  func(context.Context) error { return ready },
		Upstreams: func() []admin.UpstreamView {
			return []admin.UpstreamView{
				{
					Name: "harbour", Health: "healthy", Models: []string{"a&b"}, Protocol: "openai", URL: "http://127.0.0.1:8642",
					Circuit: "closed", InFlight: 2, MaxInFlight: 4, Waiting: 1, Requests: 10, Failures: 1, Spills: 5,
					Accounts: []admin.AccountView{{Name: "one", Requests: 6, Refused: 1, RestUntil: noon}, {Name: "two", Requests: 4}},
				},
				{Name: "demo", Health: "draining", Protocol: "both", Circuit: "open", DrainedSince: noon, Reason: "health check: status 503", RestUntil: noon},
			}
		},
		Load: func(context.Context) (map[mooring.UpstreamName]admin.Load, error) {
			if path == "/api/upstreams?lost" {
				return nil, errDraining
			}
			return map[mooring.UpstreamName]admin.Load{"harbour": {Pinned: 3, Turns: 7, Errors: 2, FirstP50: new(time.Second), WholeP95: new(time.Minute)}}, nil
		},
		Drains:  d,
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "some metrics") }),
		Log:     slog.New(slog.NewTextHandler(&lines, nil)),
	}).Mount(mux)
	r := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody)
	r.Header.Set("X-Mooring-Key", key)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w, lines.String()
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const (
		harbour = `{"name":"harbour","health":"healthy","models":["a&b"],"protocol":"openai",` +
			`"url":"http://127.0.0.1:8642","circuit":"closed","drained":false,"drained_since":null,"in_flight":2,"max_in_flight":4,"waiting":1,` +
			`"requests":10,"failures":1,"spills":5,"reason":null,"rest_until":null,` +
			`"accounts":[{"name":"one","requests":6,"refused":1,"rest_until":"2026-03-01T12:00:00Z"},{"name":"two","requests":4,"refused":0,"rest_until":null}],` +
			`"pinned":3,"turns_last_hour":7,"errors_last_hour":2,"first_byte_p50_ms":1000,"duration_p50_ms":null,"duration_p95_ms":60000}`
		demo = `{"name":"demo","health":"draining","models":[],"protocol":"both","url":"","circuit":"open","drained":true,` +
			`"drained_since":"2026-03-01T12:00:00Z","in_flight":0,"max_in_flight":0,"waiting":0,"requests":0,"failures":0,"spills":0,` +
			`"reason":"health check: status 503","rest_until":"2026-03-01T12:00:00Z","accounts":[],` +
			`"pinned":0,"turns_last_hour":0,"errors_last_hour":0,"first_byte_p50_ms":null,"duration_p50_ms":null,"duration_p95_ms":null}`
		forUser = `{"upstreams":[{"name":"harbour","health":"healthy","models":["a&b"]},` +
			`{"name":"demo","health":"draining","models":[]}]}`
		forOperator = `{"upstreams":[` + harbour + `,` + demo + `]}`
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

func TestDrain(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule   string
		key    string
		path   string
		status int
		want   string // in the body
		asked  string
	}{
		{"an operator drains, and sees how it stands then", "root", "/api/upstreams/demo/drain", 200, `"drained":true`, "drain demo"},
		{"an operator resumes", "root", "/api/upstreams/harbour/resume", 200, `"pinned":3`, "resume harbour"},
		{"an unknown upstream", "root", "/api/upstreams/nobody/drain", 404, "not_found", "drain nobody"},
		{"an upstream that a reload took out", "root", "/api/upstreams/gone/drain", 204, "", "drain gone"},
		{"a user drains nothing", "alice", "/api/upstreams/demo/drain", 403, "operator_required", ""},
		{"nor resumes, whether it is there or not", "alice", "/api/upstreams/nobody/resume", 403, "operator_required", ""},
		{"nobody does without a key", "", "/api/upstreams/demo/drain", 401, "invalid_api_key", ""},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			d := &drains{}
			w, _ := send(t, d, nil, row.key, "POST "+row.path)
			if w.Code != row.status || !strings.Contains(w.Body.String(), row.want) || strings.Join(*d, ",") != row.asked {
				t.Errorf("POST %s = %d %s, asked %v; want %d with %s, asked %q", row.path, w.Code, w.Body, *d, row.status, row.want, row.asked)
			}
		})
	}
}
