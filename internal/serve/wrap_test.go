package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/serve"
)

func logTo(w io.Writer) func(*serve.Options) {
	return func(o *serve.Options) { o.Log = slog.New(slog.NewJSONHandler(w, nil)) }
}

// C149: the access line holds neither query nor header values.
func TestAccessLine(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var counted []int
	s := newServer(t, serve.Rules{Keys: twoKeys()}, logTo(&log), func(o *serve.Options) {
		o.Answered = func(status int) { counted = append(counted, status) }
	})
	var inside string
	h := s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inside = serve.RequestID(r.Context())
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "seven b")
	}))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, request{target: "/v1/messages?key=hidden-1&key=%68idden-2", header: headers("X-Api-Key", alice, "Cookie", "c=hidden-3",
		"X-Request-Id", "hidden-4", "X-Session-Id", "hidden-5")}.build(t))

	var got map[string]any
	if err := json.Unmarshal(log.Bytes(), &got); err != nil {
		t.Fatalf("log %q: %v", log.String(), err)
	}
	want := map[string]any{
		"level": "INFO", "msg": "request", "method": "POST", "path": "/v1/messages", "status": 202.0, "duration_ms": 0.0, "bytes": 7.0,
		"request_id": inside, "key_name": "alice", "tenant": "acme",
	}
	delete(got, "time")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("access line (-want +got):\n%s", diff)
	}
	if id := rec.Header().Get("X-Request-Id"); id == "" || id != inside {
		t.Errorf("X-Request-Id = %q, want the handler's %q", id, inside)
	}
	if strings.Contains(log.String(), "hidden") || strings.Contains(log.String(), alice) {
		t.Errorf("the log shows what it must not: %s", log.String())
	}
	if diff := cmp.Diff([]int{http.StatusAccepted}, counted); diff != "" {
		t.Errorf("statuses counted (-want +got):\n%s", diff)
	}
}

func TestProbesAreNotLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, serve.Rules{}, logTo(&log))
	for _, path := range []string{"/health", "/readyz"} {
		r, _ := ask(t, s, request{method: http.MethodGet, target: path})
		r.Body.Close()
	}
	if log.Len() > 0 {
		t.Errorf("log = %s, want nothing", log.String())
	}
}

func TestRelayedRequestIDStays(t *testing.T) {
	t.Parallel()
	rec := httptest.NewRecorder()
	newServer(t, serve.Rules{}).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Request-Id", "req_upstream")
	})).ServeHTTP(rec, request{}.build(t))
	if diff := cmp.Diff([]string{"req_upstream"}, rec.Result().Header.Values("X-Request-Id")); diff != "" {
		t.Errorf("X-Request-Id (-want +got):\n%s", diff)
	}
}

func TestClientThatWentAwayIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	handler := newServer(t, serve.Rules{}, logTo(&log)).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { cancel() }))
	func() {
		defer func() {
			if cause := recover(); cause != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
				t.Errorf("panic = %v, want the connection to break: an empty 200 is no answer", cause)
			}
		}()
		handler.ServeHTTP(httptest.NewRecorder(), request{}.build(t).WithContext(ctx))
	}()
	if !strings.Contains(log.String(), `"status":499`) {
		t.Errorf("log = %s, want status 499", log.String())
	}
}

func TestPanicBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, serve.Rules{}, logTo(&log))
	rec := httptest.NewRecorder()
	s.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the cause") })).ServeHTTP(rec, request{}.build(t))
	r := rec.Result()
	defer r.Body.Close()
	wantProblem(t, r, http.StatusInternalServerError, mooring.CodeInternal)
	if strings.Contains(rec.Body.String(), "the cause") {
		t.Error("the client sees the cause")
	}
	for _, want := range []string{`"msg":"handler panicked"`, "the cause", "wrap_test.go", `"status":500`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, log.String())
		}
	}
}

func TestPanicWithinTheAnswerBreaksIt(t *testing.T) {
	t.Parallel()
	for rule, cause := range map[string]any{"any panic": "boom", "a deliberate abort": http.ErrAbortHandler} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, serve.Rules{}, realTime)
			url := started(t, s, s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				_ = http.NewResponseController(w).Flush()
				panic(cause)
			})))
			r, err := client(t).Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			body, err := io.ReadAll(r.Body)
			if string(body) != "half" || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("body = %q, %v, want half and an unexpected end", body, err)
			}
		})
	}
}

func TestMinimalHeaders(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{Minimal: true})
	h := s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Mooring-Turn", "trn_1")
		w.Header().Set("X-Session-Id", "s1")
		w.WriteHeader(http.StatusOK)
	}))
	names := func() (turn, session string) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, request{}.build(t))
		return rec.Result().Header.Get("X-Mooring-Turn"), rec.Result().Header.Get("X-Session-Id")
	}
	if turn, session := names(); turn != "" || session != "s1" {
		t.Errorf("headers = %q, %q, want the session's alone", turn, session)
	}
	refused, _ := ask(t, s, request{host: "evil.example"})
	defer refused.Body.Close()
	if got := refused.Header.Get("X-Mooring-Error"); refused.StatusCode != http.StatusForbidden || got != "" {
		t.Errorf("a refusal = %d with X-Mooring-Error %q, want a bare 403", refused.StatusCode, got)
	}
	s.SetRules(serve.Rules{})
	if turn, _ := names(); turn != "trn_1" {
		t.Errorf("X-Mooring-Turn after a reload = %q, want trn_1", turn)
	}
}

func TestObserveAppliesNoRules(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{})
	rec := httptest.NewRecorder()
	s.Observe(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "https://own.example")
		io.WriteString(w, "ok")
	})).ServeHTTP(rec, request{host: "chat.example", header: headers("Origin", "https://evil.example")}.build(t))
	r := rec.Result()
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK || r.Header.Get("Access-Control-Allow-Origin") != "https://own.example" || r.Header.Get("X-Request-Id") == "" {
		t.Errorf("answer = %d %v, want the handler's with an id", r.StatusCode, r.Header)
	}
}

// C036, and the flush that carries a stream's first byte.
func TestStreamIsFlushedEventByEvent(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime)
	next := make(chan struct{})
	url := started(t, s, s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 2 {
			io.WriteString(w, "data: x\n\n")
			w.(http.Flusher).Flush()
			<-next
		}
	})))
	r, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.ContentLength != -1 || !cmp.Equal(r.TransferEncoding, []string{"chunked"}) {
		t.Errorf("length %d, coding %v, want a chunked answer without length", r.ContentLength, r.TransferEncoding)
	}
	for range 2 {
		event := make([]byte, len("data: x\n\n"))
		if _, err := io.ReadFull(r.Body, event); err != nil {
			t.Fatal(err)
		}
		next <- struct{}{}
	}
}
