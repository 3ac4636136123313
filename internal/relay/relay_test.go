package relay_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/relay"
	"mooring/internal/serve"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/upstreamtest"
	"mooring/internal/wire"
)

// runner is a turn that does what the test says.
type runner func(req turn.Request, sink turn.Sink) error

func (f runner) Run(_ context.Context, req turn.Request, sink turn.Sink) error { return f(req, sink) }

func (f runner) Pass(context.Context, turn.Pass, turn.Sink) error { return nil }

// product is the routes behind a listener, with a runner in the turns' place.
func product(t *testing.T, rules relay.Rules, run runner, more ...*upstream.Upstream) string {
	t.Helper()
	server := serve.New(serve.Options{Log: slog.New(slog.DiscardHandler), Now: time.Now})
	server.SetRules(serve.Rules{Minimal: rules.Minimal})
	fleet := upstream.NewFleet(more)
	t.Cleanup(fleet.Close)
	api := relay.New(relay.Options{
		Gate: server, Runner: run, Log: slog.New(slog.DiscardHandler), Fleet: fleet, Forward: &forward.Engine{Limits: limits, Now: time.Now},
	})
	api.Set(rules)
	mux := &serve.Mux{}
	api.Mount(mux)
	s := httptest.NewServer(server.Wrap(mux))
	t.Cleanup(s.Close)
	return s.URL
}

func limits() forward.Limits {
	return forward.Limits{Peek: time.Second, StreamIdle: time.Minute, Answer: 1 << 20, Linger: time.Second}
}

const question = `{"model":"fake-1","messages":[{"role":"user","content":"hi"}]}`

// reply is an answer read to its end.
type reply struct {
	*http.Response
	body string
}

func send(t *testing.T, method, url, body string, header ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res, string(data)}
}

func answer(_ turn.Request, sink turn.Sink) error {
	sink.About(turn.About{
		ClientID: "c1", Session: "ses_1", Turn: "trn_1", Kind: mooring.KindSubagent, Parent: "ses_0", Identity: "header:x-session-id", Upstream: "u1", Pin: mooring.PinNew,
	})
	if err := sink.Head(turn.Head{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}, "X-Own": {"1"}}, Length: 4}); err != nil {
		return err
	}
	return sink.Write([]byte("an"), []byte("sw"))
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	type seen struct {
		Protocol mooring.Protocol
		Path     string
		Query    string
		Model    string
		Body     string
	}
	got := make(chan seen, 1)
	url := product(t, relay.Rules{}, func(req turn.Request, sink turn.Sink) error {
		got <- seen{req.Protocol, req.Path, req.Query, req.Wire.Model, string(req.Body.Bytes())}
		return answer(req, sink)
	})
	for _, prefix := range []string{"", "/openai", "/anthropic"} {
		for path, p := range map[string]mooring.Protocol{"/v1/chat/completions": mooring.Chat, "/v1/messages": mooring.Messages} {
			r := send(t, http.MethodPost, url+prefix+path+"?beta=true", question)
			if r.StatusCode != http.StatusOK || r.body != "answ" {
				t.Errorf("%s%s: %d %s", prefix, path, r.StatusCode, r.body)
				continue
			}
			if diff := cmp.Diff(seen{p, path, "beta=true", "fake-1", question}, <-got); diff != "" {
				t.Errorf("%s%s: the turn (-want +got):\n%s", prefix, path, diff)
			}
		}
	}
}

func TestErrorsHaveTheShapeOfTheirProtocol(t *testing.T) {
	t.Parallel()
	url := product(t, relay.Rules{}, func(turn.Request, turn.Sink) error {
		return &mooring.Error{Code: mooring.CodeSessionBusy, Safe: "A turn of this session is running; wait for its end.", RetryAfter: 2 * time.Second}
	})
	for _, tt := range []struct {
		rule, path, body string
		status           int
		code, kind       string
	}{
		{"of the turn, to OpenAI's clients", "/v1/chat/completions", question, http.StatusTooManyRequests, "session_busy", ""},
		{"of the turn, to Anthropic's clients", "/v1/messages", question, http.StatusTooManyRequests, "session_busy", "rate_limit_error"},
		{"under a prefix the route decides", "/anthropic/v1/chat/completions", question, http.StatusTooManyRequests, "session_busy", ""},
		{"of the body", "/v1/chat/completions", `{"model":`, http.StatusBadRequest, "invalid_json", ""},
		{"of the body, to Anthropic's clients", "/anthropic/v1/messages", `[]`, http.StatusBadRequest, "invalid_json", "invalid_request_error"},
		{"no messages", "/openai/v1/chat/completions", `{"model":"m","messages":[]}`, http.StatusBadRequest, "messages_required", ""},
		{"Gemini's protocol is not served", "/v1beta/models/gemini:generateContent", `{}`, http.StatusNotFound, "not_found", ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r := send(t, http.MethodPost, url+tt.path, tt.body)
			if r.StatusCode != tt.status || r.Header.Get("X-Mooring-Error") != tt.code {
				t.Fatalf("%d %s, want %d %s", r.StatusCode, r.Header.Get("X-Mooring-Error"), tt.status, tt.code)
			}
			var got struct {
				Type  string
				Error struct {
					Type, Code, Message string
				}
			}
			if err := json.Unmarshal([]byte(r.body), &got); err != nil || got.Error.Message == "" {
				t.Fatalf("body = %s (%v)", r.body, err)
			}
			if tt.kind == "" && (got.Type != "" || got.Error.Code != tt.code) || tt.kind != "" && (got.Type != "error" || got.Error.Type != tt.kind) {
				t.Errorf("body = %s", r.body)
			}
			if tt.code == "session_busy" && r.Header.Get("Retry-After") != "2" {
				t.Errorf("Retry-After = %q, want 2", r.Header.Get("Retry-After"))
			}
		})
	}
	r := send(t, http.MethodPost, url+"/v1/chat/completions", question, "Content-Type", "text/plain")
	if r.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("text: %d, want 415", r.StatusCode)
	}
}

func TestJSONDepth(t *testing.T) {
	t.Parallel()
	url := product(t, relay.Rules{Wire: wire.Limits{JSONDepth: 3}}, answer)
	if r := send(t, http.MethodPost, url+"/v1/chat/completions", question); r.StatusCode != http.StatusOK {
		t.Errorf("as deep as allowed: %d %s", r.StatusCode, r.body)
	}
	deep := `{"model":"m","messages":[{"role":"user","content":[]}]}`
	if r := send(t, http.MethodPost, url+"/v1/chat/completions", deep); r.StatusCode != http.StatusBadRequest {
		t.Errorf("deeper: %d, want 400", r.StatusCode)
	}
}

// own are the names of Mooring's headers in an answer.
func own(h http.Header) []string {
	var out []string
	for name := range h {
		if low := strings.ToLower(name); strings.HasPrefix(low, "x-mooring-") || strings.Contains(low, "session") {
			out = append(out, low+": "+h.Get(name))
		}
	}
	slices.Sort(out)
	return out
}

func TestResponseHeaders(t *testing.T) {
	t.Parallel()
	ids := []string{"x-hermes-session-id: c1", "x-session-id: c1"}
	for _, tt := range []struct {
		rule    string
		minimal bool
		change  func(*turn.About)
		want    []string
	}{
		{"all that is known", false, func(*turn.About) {}, []string{
			"x-hermes-session-id: c1", "x-mooring-identity: minted", "x-mooring-kind: main", "x-mooring-parent: ses_0", "x-mooring-session: ses_1",
			"x-mooring-turn: trn_1", "x-mooring-upstream: u1; pin=hit", "x-session-id: c1",
		}},
		{"the upstream alone where no pin is kept, no parent where there is none", false, func(a *turn.About) { a.Pin, a.Parent = "", "" }, []string{
			"x-hermes-session-id: c1", "x-mooring-identity: minted", "x-mooring-kind: main", "x-mooring-session: ses_1", "x-mooring-turn: trn_1",
			"x-mooring-upstream: u1", "x-session-id: c1",
		}},
		{"none where no upstream was asked", false, func(a *turn.About) { a.Upstream, a.Parent = "", "" }, []string{
			"x-hermes-session-id: c1", "x-mooring-identity: minted", "x-mooring-kind: main", "x-mooring-session: ses_1", "x-mooring-turn: trn_1",
			"x-mooring-upstream: none", "x-session-id: c1",
		}},
		{"minimal are the client's ids", true, func(*turn.About) {}, ids},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			about := turn.About{
				ClientID: "c1", Session: "ses_1", Turn: "trn_1", Kind: mooring.KindMain, Parent: "ses_0", Identity: "minted", Upstream: "u1", Pin: mooring.PinHit,
			}
			tt.change(&about)
			for _, length := range []int{2, -1} {
				url := product(t, relay.Rules{Minimal: tt.minimal}, func(_ turn.Request, sink turn.Sink) error {
					sink.About(about)
					_ = sink.Head(turn.Head{Status: http.StatusOK, Header: http.Header{}, Length: length})
					return sink.Write([]byte("ok"), nil)
				})
				r := send(t, http.MethodPost, url+"/v1/chat/completions", question)
				if diff := cmp.Diff(tt.want, own(r.Header)); diff != "" || r.body != "ok" {
					t.Errorf("length %d: body %q, headers (-want +got):\n%s", length, r.body, diff)
				}
			}
		})
	}
}

// An error after the turn is known carries its headers too; a later About takes the place of the one before.
func TestErrorOfAKnownTurn(t *testing.T) {
	t.Parallel()
	url := product(t, relay.Rules{}, func(_ turn.Request, sink turn.Sink) error {
		sink.About(turn.About{ClientID: "c1", Session: "ses_1", Upstream: "u1", Pin: mooring.PinNew})
		sink.About(turn.About{ClientID: "c1", Session: "ses_1", Upstream: "u2"})
		return mooring.Errorf(mooring.CodeUpstreamUnavailable, "The upstream u2 cannot be reached; try again.")
	})
	r := send(t, http.MethodPost, url+"/v1/chat/completions", question)
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("X-Mooring-Upstream") != "u2" || r.Header.Get("X-Session-Id") != "c1" {
		t.Errorf("%d %v", r.StatusCode, own(r.Header))
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	read := make(chan struct{})
	url := product(t, relay.Rules{}, func(_ turn.Request, sink turn.Sink) error {
		sink.About(turn.About{ClientID: "c1"})
		_ = sink.Head(turn.Head{Status: http.StatusOK, Header: http.Header{"Content-Length": {"999"}, "Content-Type": {"text/event-stream"}}, Length: -1})
		_ = sink.Write(nil, []byte("one "))
		<-read // the first part has been read before the second is written
		_ = sink.Write([]byte("two "), []byte("three"))
		sink.Trailer(http.Header{"X-Late": {"1"}})
		return nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 4)
	if _, err = io.ReadFull(res.Body, first); err != nil || string(first) != "one " {
		t.Errorf("first = %q, %v", first, err)
	}
	close(read)
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(rest) != "two three" {
		t.Errorf("rest = %q, %v", rest, err)
	}
	if res.Header.Get("Content-Length") != "" || res.Header.Get("X-Accel-Buffering") != "no" || res.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("headers = %v", res.Header)
	}
	if res.Trailer.Get("X-Late") != "1" {
		t.Errorf("trailer = %v", res.Trailer)
	}
}

// An error behind the header breaks the connection: the client must not take a stump for the whole.
func TestErrorBehindTheHeader(t *testing.T) {
	t.Parallel()
	for _, length := range []int{100, -1} {
		url := product(t, relay.Rules{}, func(_ turn.Request, sink turn.Sink) error {
			_ = sink.Head(turn.Head{Status: http.StatusOK, Header: http.Header{}, Length: length})
			_ = sink.Write([]byte("stump"), nil)
			return errors.New("the rest is lost")
		})
		res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(question))
		if err != nil {
			continue // not even the header is out
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil {
			t.Errorf("length %d: %d %q, want a body that breaks off", length, res.StatusCode, body)
		}
	}
}

func TestInternalErrorsShowNothing(t *testing.T) {
	t.Parallel()
	url := product(t, relay.Rules{}, func(turn.Request, turn.Sink) error { return errors.New("QUOKKA is in the cause") })
	r := send(t, http.MethodPost, url+"/v1/chat/completions", question)
	if r.StatusCode != http.StatusInternalServerError || strings.Contains(r.body, "QUOKKA") {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	serverOf := func(name string, models []string, globs ...string) *upstream.Upstream {
		s := upstreamtest.NewWith(t, upstreamtest.Options{Models: models})
		u, err := upstream.New(upstream.Spec{Name: mooring.UpstreamName(name), URL: s.URL, Speaks: upstream.SpeaksBoth, Models: globs, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	gone, err := upstream.New(upstream.Spec{Name: "gone", URL: "http://127.0.0.1:1", Speaks: upstream.SpeaksBoth, Models: []string{"*"}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	listed := func(url string) []string {
		t.Helper()
		r := send(t, http.MethodGet, url+"/v1/models", "")
		var got struct {
			Object string
			Data   []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.StatusCode != http.StatusOK || got.Object != "list" {
			t.Fatalf("%d %s (%v)", r.StatusCode, r.body, err)
		}
		out := []string{}
		for _, m := range got.Data {
			out = append(out, m.ID)
		}
		return out
	}
	t.Run("the models that an upstream would be asked for, each once", func(t *testing.T) {
		t.Parallel()
		url := product(t, relay.Rules{}, answer, gone, serverOf("a", []string{"m1", "m2", "other"}, "m*"), serverOf("b", []string{"m2", "m3", "x"}, "m*", "x"))
		if diff := cmp.Diff([]string{"m1", "m2", "m3", "x"}, listed(url)); diff != "" {
			t.Errorf("models (-want +got):\n%s", diff)
		}
	})
	t.Run("an error where no upstream answers", func(t *testing.T) {
		t.Parallel()
		url := product(t, relay.Rules{}, answer, gone)
		r := send(t, http.MethodGet, url+"/v1/models", "")
		if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("X-Mooring-Error") != "upstream_unavailable" {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
		if r := send(t, http.MethodGet, url+"/anthropic/v1/models", ""); !strings.HasPrefix(r.body, `{"type":"error"`) {
			t.Errorf("to Anthropic's clients: %s", r.body)
		}
	})
}
