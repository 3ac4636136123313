package serve_test

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	app   = "https://app.example"
	here  = "127.0.0.1:4747"
	alice = "mk-alice-1"
	root  = "mk-root-1"
)

func noon() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

func key(name mooring.KeyName, tenant mooring.Tenant, secret string) serve.Key {
	return serve.Key{Name: name, Tenant: tenant, Hash: sha256.Sum256([]byte(secret))}
}

func twoKeys() []serve.Key {
	operator := key("root", "", root)
	operator.Role = mooring.RoleOperator
	return []serve.Key{key("alice", "acme", alice), operator}
}

// newServer has a fixed clock; tests with sockets, whose deadlines are real, set Now themselves.
func newServer(t *testing.T, rules serve.Rules, change ...func(*serve.Options)) *serve.Server {
	t.Helper()
	o := serve.Options{Log: slog.New(slog.DiscardHandler), Now: noon, SessionHeaders: func() []string { return []string{"X-Session-Id", "X-Hermes-Session-Id", "session_id"} }}
	for _, f := range change {
		f(&o)
	}
	s := serve.New(o)
	s.SetRules(rules)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func realTime(o *serve.Options) { o.Now = time.Now }

// started serves the handler on a socket and gives its base URL.
func started(t *testing.T, s *serve.Server, h http.Handler) string {
	t.Helper()
	addr, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Start(h)
	return "http://" + addr.String()
}

type request struct {
	method, target, host string
	header               http.Header
	body                 string
}

func (q request) build(t *testing.T) *http.Request {
	t.Helper()
	if q.method == "" {
		q.method = http.MethodPost
	}
	if q.target == "" {
		q.target = "/v1/chat/completions"
	}
	if q.host == "" {
		q.host = here
	}
	r := httptest.NewRequestWithContext(t.Context(), q.method, q.target, strings.NewReader(q.body))
	r.Host = q.host
	if q.header != nil {
		r.Header = q.header
	}
	return r
}

// ask sends a request through Wrap and says whether it reached the handler.
func ask(t *testing.T, s *serve.Server, q request) (*http.Response, bool) {
	t.Helper()
	reached := false
	h := s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached = true
		io.WriteString(w, "ok")
	}))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, q.build(t))
	return rec.Result(), reached
}

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// wantProblem checks status, header and code of an error in the OpenAI shape.
func wantProblem(t *testing.T, r *http.Response, status int, code mooring.Code) {
	t.Helper()
	if got := r.Header.Get("X-Mooring-Error"); r.StatusCode != status || got != string(code) {
		t.Fatalf("answer = %d %q, want %d %q", r.StatusCode, got, status, code)
	}
	var body struct {
		Error struct {
			Code    mooring.Code
			Message string
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Error.Code != code || body.Error.Message == "" {
		t.Errorf("body = %+v (%v), want code %q and a message", body, err, code)
	}
}
