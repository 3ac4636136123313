package forward_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/upstream"
	"mooring/internal/upstreamtest"
)

// body is a request's body in memory.
type body string

func (b body) Bytes() []byte       { return []byte(b) }
func (b body) Open() io.ReadCloser { return io.NopCloser(strings.NewReader(string(b))) }

const (
	buffered = `{"model":"fake-1","messages":[{"role":"user","content":"hi"}]}`
	streamed = `{"model":"fake-1","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

func engine() *forward.Engine {
	return &forward.Engine{
		Limits: func() forward.Limits {
			return forward.Limits{Peek: 5 * time.Second, StreamIdle: 10 * time.Second, Answer: 1 << 20, Linger: 50 * time.Millisecond}
		},
		Now: time.Now,
	}
}

func target(t *testing.T, s upstream.Spec) *upstream.Upstream {
	t.Helper()
	s.Name, s.Speaks = "u1", upstream.SpeaksBoth
	if s.Timeout == 0 {
		s.Timeout = 5 * time.Second
	}
	u, err := upstream.New(s)
	if err != nil {
		t.Fatal(err)
	}
	f := upstream.NewFleet([]*upstream.Upstream{u})
	t.Cleanup(f.Close)
	return u
}

func call(u *upstream.Upstream, text string, header http.Header) forward.Call {
	return forward.Call{
		Upstream: u, Account: u.Account(""), Protocol: mooring.Chat, Method: http.MethodPost, Path: "/v1/chat/completions", Header: header, Body: body(text),
		Stream: strings.Contains(text, `"stream":true`),
	}
}

func open(t *testing.T, c forward.Call) *forward.Response {
	t.Helper()
	res, err := engine().Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(res.Close)
	return res
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	own := mooring.Credential{Authorization: "Bearer client", APIKey: "client"}
	account := []upstream.Account{{Key: "sk-mooring"}}
	for name, of := range map[string]struct {
		spec   upstream.Spec
		call   func(*forward.Call)
		header http.Header
		want   map[string]string // "" for a header that must not be there
	}{
		"the client's own go up": {header: http.Header{"X-Any": {"1"}, "Idempotency-Key": {"k"}}, want: map[string]string{"X-Any": "1", "Idempotency-Key": "k"}},
		"credentials and cookies do not, in no spelling": {
			header: http.Header{
				"Authorization": {"x"}, "Authorization_x": {"x"}, "X_api_key": {"x"}, "X.api.key": {"x"}, "Api-Key": {"x"}, "X-Goog-Api-Key": {"x"}, "X_goog_api_key": {"x"},
				"Cookie": {"a=b"}, "Proxy_authorization": {"x"}, "Proxy-Anything": {"x"}, "Proxy": {"http://x"}, "Transfer_encoding": {"x"}, "Content_length": {"1"},
			},
			want: map[string]string{
				"Authorization": "", "Authorization_x": "", "X_api_key": "", "X.api.key": "", "Api-Key": "", "X-Goog-Api-Key": "", "X_goog_api_key": "",
				"Cookie": "", "Proxy_authorization": "", "Proxy-Anything": "", "Proxy": "", "Transfer_encoding": "", "Content_length": "",
			},
		},
		"configured headers win in every spelling": {spec: upstream.Spec{Headers: map[string]string{"X-Team": "a"}}, header: http.Header{"X_team": {"b"}}, want: map[string]string{"X-Team": "a", "X_team": ""}},
		"hop-by-hop and listed ones do not": {
			header: http.Header{"Connection": {"X-One, x-two"}, "X-One": {"1"}, "X-Two": {"1"}, "Te": {"trailers"}, "Proxy-Authorization": {"x"}, "Upgrade": {"h2c"}},
			want:   map[string]string{"X-One": "", "X-Two": "", "Te": "", "Proxy-Authorization": "", "Upgrade": "", "Connection": ""},
		},
		"Mooring's own do not, in no spelling": {
			header: http.Header{"X-Mooring-Session": {"s"}, "X_mooring_key": {"k"}}, want: map[string]string{"X-Mooring-Session": "", "X_mooring_key": ""},
		},
		"Accept-Encoding is narrowed":  {header: http.Header{"Accept-Encoding": {"gzip;q=0.5, lzma", "br, *"}}, want: map[string]string{"Accept-Encoding": "gzip;q=0.5, br"}},
		"without any it says identity": {want: map[string]string{"Accept-Encoding": "identity", "User-Agent": ""}},
		"an own key goes as a bearer": {
			spec: upstream.Spec{Accounts: account}, header: http.Header{"Authorization": {"Bearer client"}}, want: map[string]string{"Authorization": "Bearer sk-mooring", "X-Api-Key": ""},
		},
		"towards Anthropic's protocol as X-Api-Key": {
			spec: upstream.Spec{Accounts: account}, call: func(c *forward.Call) { c.Protocol = mooring.Messages }, want: map[string]string{"Authorization": "", "X-Api-Key": "sk-mooring"},
		},
		"a client's credential goes where it is wanted": {
			spec: upstream.Spec{KeyMode: upstream.KeyClient}, call: func(c *forward.Call) { c.Own = own }, want: map[string]string{"Authorization": "Bearer client", "X-Api-Key": "client"},
		},
		"and nowhere else": {
			spec: upstream.Spec{KeyMode: upstream.KeyNone}, call: func(c *forward.Call) { c.Own = own }, header: http.Header{"Authorization": {"Bearer client"}},
			want: map[string]string{"Authorization": "", "X-Api-Key": ""},
		},
		"configured headers win": {spec: upstream.Spec{Headers: map[string]string{"X-Team": "a"}}, header: http.Header{"X-Team": {"b"}}, want: map[string]string{"X-Team": "a"}},
		"session headers are Mooring's, in every spelling": {
			spec: upstream.Spec{SessionHeaders: []string{"X-Up-Id"}}, call: func(c *forward.Call) { c.Remote = "s1" },
			header: http.Header{"X-Up-Id": {"forged"}, "X_up_id": {"forged"}, "X-Chat-Id": {"c"}}, want: map[string]string{"X-Up-Id": "s1", "X_up_id": "", "X-Chat-Id": "c"},
		},
		"a server with state gets no other generic one": {
			spec: upstream.Spec{Remote: true, SessionHeaders: []string{"X-Up-Id"}}, header: http.Header{"X-Chat-Id": {"c"}, "X_session_id": {"c"}}, want: map[string]string{"X-Chat-Id": "", "X_session_id": ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			of.spec.URL = s.URL
			c := call(target(t, of.spec), buffered, of.header)
			if of.call != nil {
				of.call(&c)
			}
			open(t, c).Whole()
			got := map[string]string{}
			for name := range of.want {
				got[name] = strings.Join(s.LastPost(t).Header[name], "; ")
			}
			if diff := cmp.Diff(of.want, got); diff != "" {
				t.Errorf("headers at the upstream (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResponseHeaders(t *testing.T) {
	t.Parallel()
	s := upstreamtest.New(t)
	s.Always(upstreamtest.Reply{Encoding: "gzip", Header: http.Header{
		"Request-Id": {"r"}, "Set-Cookie": {"a=b"}, "X-Session-Id": {"x"}, "X-Mooring-Turn": {"x"}, "Access-Control-Allow-Origin": {"*"}, "Connection": {"X-Hop"}, "X-Hop": {"1"},
		"Set-Cookie2": {"x"}, "Set_cookie": {"x"}, "Clear-Site-Data": {"*"}, "Content-Security-Policy": {"x"}, "Content-Security-Policy-Report-Only": {"x"},
		"Public-Key-Pins": {"x"}, "Service-Worker-Allowed": {"/"}, "Nel": {"x"}, "Report-To": {"x"}, "Reporting-Endpoints": {"x"}, "Refresh": {"0"}, "Location": {"/"},
		"Strict-Transport-Security": {"x"}, "Alt-Svc": {"x"}, "X_mooring_turn": {"x"}, "Proxy-Authenticate": {"x"}, "Www-Authenticate": {"Basic"},
	}})
	got := open(t, call(target(t, upstream.Spec{URL: s.URL}), buffered, http.Header{"Accept-Encoding": {"gzip"}})).Header
	got.Del("Date")
	if diff := cmp.Diff(http.Header{"Request-Id": {"r"}, "Content-Type": {"application/json"}, "Www-Authenticate": {"Basic"}}, got); diff != "" {
		t.Errorf("headers for the client (-want +got):\n%s", diff)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		reply    upstreamtest.Reply
		code     mooring.Code
		failures int64 // that count against the upstream
		unusable bool
	}{
		"lost":     {upstreamtest.Reply{Fault: upstreamtest.Lost}, mooring.CodeUpstreamError, 1, false},
		"hang":     {upstreamtest.Reply{Fault: upstreamtest.Hang}, mooring.CodeUpstreamTimeout, 1, false},
		"slow":     {upstreamtest.Reply{Fault: upstreamtest.SlowHeaders, Gap: 20 * time.Millisecond}, mooring.CodeUpstreamTimeout, 1, false},
		"redirect": {upstreamtest.Redirect("http://127.0.0.1:1"), mooring.CodeUpstreamError, 0, true},
		"encoding": {upstreamtest.Reply{Body: []byte("x"), Header: http.Header{"Content-Encoding": {"lzma"}}}, mooring.CodeUpstreamError, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(of.reply)
			u := target(t, upstream.Spec{URL: s.URL, Timeout: 200 * time.Millisecond})
			res, err := engine().Open(t.Context(), call(u, buffered, nil))
			if err == nil {
				res.Close()
			}
			if mooring.CodeOf(err) != of.code || errors.Is(err, forward.ErrUnusable) != of.unusable {
				t.Errorf("error = %v, want %s", err, of.code)
			}
			if _, failures := u.Requests(); failures != of.failures || u.InFlight() != 0 {
				t.Errorf("%d failures, %d in flight, want %d and 0", failures, u.InFlight(), of.failures)
			}
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		s := upstreamtest.New(t)
		u := target(t, upstream.Spec{URL: s.URL})
		s.Down()
		if _, err := engine().Open(t.Context(), call(u, buffered, nil)); mooring.CodeOf(err) != mooring.CodeUpstreamUnavailable {
			t.Errorf("error = %v, want upstream_unavailable", err)
		}
	})
	t.Run("a client that went away is no failure", func(t *testing.T) {
		t.Parallel()
		s := upstreamtest.New(t)
		s.Queue(upstreamtest.Reply{Fault: upstreamtest.Hang})
		u := target(t, upstream.Spec{URL: s.URL})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = s.WaitPosts(t.Context(), 1)
			cancel()
		}()
		_, err := engine().Open(ctx, call(u, buffered, nil))
		if _, failures := u.Requests(); !errors.Is(err, context.Canceled) || failures != 0 {
			t.Errorf("error = %v with %d failures, want context.Canceled and none", err, failures)
		}
	})
}

// sink keeps what a client would get.
type sink struct{ bytes.Buffer }

func (s *sink) Write(held, fresh []byte) error {
	s.Buffer.Write(held)
	s.Buffer.Write(fresh)
	return nil
}

func TestStreams(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		reply upstreamtest.Reply
		state mooring.TurnState
		early bool
		tail  string // prefix
	}{
		"whole":                        {upstreamtest.Reply{Text: "a b"}, mooring.Completed, false, "data: [DONE]"},
		"no terminator, open":          {upstreamtest.Reply{Text: "a b", Fault: upstreamtest.Stall, At: 4}, mooring.Completed, false, "data: [DONE]"},
		"no terminator, ended":         {upstreamtest.Reply{Text: "a b", Fault: upstreamtest.End, At: 4}, mooring.Completed, false, "data: [DONE]"},
		"cut":                          {upstreamtest.Reply{Text: "a b", Fault: upstreamtest.Cut, At: 2}, mooring.Failed, false, `data: {"error":`},
		"an error in the middle":       {upstreamtest.Reply{Text: "a b", Fault: upstreamtest.ErrorEvent, At: 2}, mooring.Failed, false, `data: {"error":`},
		"an error first":               {upstreamtest.Reply{Text: "a b", Fault: upstreamtest.ErrorEvent}, mooring.Failed, true, `data: {"error":`},
		"cut behind the empty opening": {upstreamtest.Reply{Text: "a b", Fault: upstreamtest.Cut, At: 1}, mooring.Failed, true, `data: {"error":`},
		"empty, with its normal end":   {upstreamtest.Reply{Empty: true}, mooring.Completed, false, "data: [DONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(of.reply)
			res := open(t, call(target(t, upstream.Spec{URL: s.URL}), streamed, nil))
			if got := res.Peek(); got.Early != of.early {
				t.Errorf("early = %v, want %v", got.Early, of.early)
			}
			var client sink
			out := res.Copy(&client)
			if out.State != of.state || !strings.HasPrefix(string(out.Tail), of.tail) || !strings.HasSuffix(string(out.Tail), "data: [DONE]\n\n") || strings.Contains(client.String(), "[DONE]") {
				t.Errorf("%s with tail %q, want %s with %s; client has\n%s", out.State, out.Tail, of.state, of.tail, client.String())
			}
		})
	}
}

func TestHTTP2(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	s := upstreamtest.NewWith(t, upstreamtest.Options{TLS: true})
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.Roots(), MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	u := target(t, upstream.Spec{URL: s.URL, Builtin: transport})

	t.Run("streams and buffered answers", func(t *testing.T) {
		res := open(t, call(u, streamed, http.Header{"Connection": {"X-Hop"}, "X-Hop": {"1"}, "Te": {"gzip"}}))
		res.Peek()
		var client sink
		if out := res.Copy(&client); out.State != mooring.Completed || s.LastPost(t).Proto != "HTTP/2.0" {
			t.Errorf("%s over %s, want completed over HTTP/2.0", out.State, s.LastPost(t).Proto)
		}
		if out := open(t, call(u, buffered, nil)).Whole(); out.State != mooring.Completed || len(out.Body) == 0 {
			t.Errorf("%s with %d bytes", out.State, len(out.Body))
		}
	})
	t.Run("a stream that is reset fails", func(t *testing.T) {
		s.Queue(upstreamtest.Reply{Text: "a b", Fault: upstreamtest.Cut, At: 2})
		res := open(t, call(u, streamed, nil))
		res.Peek()
		if out := res.Copy(&sink{}); out.State != mooring.Failed || out.Code != mooring.CodeUpstreamError {
			t.Errorf("%s %s, want failed upstream_error", out.State, out.Code)
		}
	})
	t.Run("a request that is reset before its answer is an upstream error", func(t *testing.T) {
		s.Queue(upstreamtest.Reply{Fault: upstreamtest.Lost})
		res, err := engine().Open(t.Context(), call(u, buffered, nil))
		if err == nil {
			res.Close()
		}
		if mooring.CodeOf(err) != mooring.CodeUpstreamError {
			t.Errorf("error = %v, want upstream_error", err)
		}
	})
	t.Run("a client that goes away cancels its stream and no other", func(t *testing.T) {
		s.Queue(upstreamtest.Reply{Text: "a b", Fault: upstreamtest.Stall, At: 2})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		res, err := engine().Open(ctx, call(u, streamed, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Close()
		res.Peek()
		cancel()
		if out := res.Copy(&sink{}); out.State != mooring.Cancelled {
			t.Errorf("%s, want cancelled", out.State)
		}
		stalled := s.LastPost(t)
		<-stalled.Done()
		if stalled.Gone().IsZero() {
			t.Error("the upstream did not see its client go")
		}
		if out := open(t, call(u, buffered, nil)).Whole(); out.State != mooring.Completed {
			t.Errorf("next call: %s", out.State)
		}
	})
}
