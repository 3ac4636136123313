package upstreamtest_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"mooring/internal/upstreamtest"
)

const (
	chatPath     = "/v1/chat/completions"
	messagesPath = "/v1/messages"
	buffered     = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`
	streamed     = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

type head struct {
	status int
	header http.Header
}

func post(t *testing.T, s *upstreamtest.Server, path, body string) (head, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client(t).Do(req)
	if err != nil {
		return head{}, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return head{res.StatusCode, res.Header}, string(b), err
}

func want(t *testing.T, got string, err error, parts ...string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("answer = %q, want %q in it", got, p)
		}
	}
}

func TestOrdinaryAnswers(t *testing.T) {
	t.Parallel()
	tool := upstreamtest.Reply{
		Thinking: "well then", Text: "I look.",
		Tool: &upstreamtest.ToolCall{ID: "call_1", Name: "look", Arguments: `{"at":"sea"}`},
	}
	tests := []struct {
		name, path, body string
		reply            upstreamtest.Reply
		parts            []string
	}{
		{"chat", chatPath, buffered, upstreamtest.Reply{}, []string{`"content":"This is answer 1."`, `"prompt_tokens":9`, `"model":"m"`}},
		{"chat streamed", chatPath, streamed, upstreamtest.Reply{Text: "two words"}, []string{`"content":"two "`, `"content":"words"`, `"finish_reason":"stop"`, "data: [DONE]\n\n"}},
		{"chat with a tool", chatPath, streamed, tool, []string{`"reasoning_content":"well "`, `"name":"look"`, `"finish_reason":"tool_calls"`}},
		{"messages", messagesPath, buffered, upstreamtest.Reply{}, []string{`"text":"This is answer 1."`, `"stop_reason":"end_turn"`}},
		{"messages streamed", messagesPath, streamed, tool, []string{"event: message_start\n", "thinking_delta", "text_delta", "input_json_delta", "event: message_stop\n"}},
		{"responses", "/v1/responses", buffered, upstreamtest.Reply{}, []string{`"text":"This is answer 1."`, `"status":"completed"`, `"object":"response"`}},
		{"responses streamed", "/v1/responses", streamed, tool, []string{
			"event: response.created\n", "reasoning_summary_text.delta", "output_text.delta", "function_call_arguments.delta", "event: response.completed\n",
		}},
		{"a compaction", "/v1/responses/compact", buffered, upstreamtest.Reply{}, []string{`"object":"response.compaction"`, `"type":"compaction"`}},
		{"completions", "/v1/completions", buffered, upstreamtest.Reply{}, []string{`"text":"This is answer 1."`, `"object":"text_completion"`}},
		{"completions streamed", "/v1/completions", streamed, upstreamtest.Reply{}, []string{`"text":"answer "`, `"finish_reason":"stop"`, "[DONE]"}},
		{"an empty answer ends well", chatPath, streamed, upstreamtest.Reply{Empty: true}, []string{`"finish_reason":"stop"`, "[DONE]"}},
		{"usage as told", messagesPath, buffered, upstreamtest.Reply{Usage: &upstreamtest.Usage{Input: 3, CacheRead: 5}}, []string{`"input_tokens":3`, `"cache_read_input_tokens":5`}},
		{"raw events", chatPath, streamed, upstreamtest.Reply{Events: []string{": hello\n\n", "data: 1\n\n"}}, []string{": hello\n\ndata: 1\n\n"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(tt.reply)
			_, got, err := post(t, s, tt.path, tt.body)
			want(t, got, err, tt.parts...)
		})
	}
}

func TestFailuresThatEndTheAnswer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		reply      upstreamtest.Reply
		arrives    string
		broken     bool
	}{
		{"lost", buffered, upstreamtest.Reply{Fault: upstreamtest.Lost}, "", true},
		{"cut body", buffered, upstreamtest.Reply{Fault: upstreamtest.Cut}, `{"choices"`, true},
		{"cut stream", streamed, upstreamtest.Reply{Fault: upstreamtest.Cut, At: 2}, `"content":"This "`, true},
		{"cut mid-event", streamed, upstreamtest.Reply{Fault: upstreamtest.CutMidEvent, At: 1}, "data: {", true},
		{"ended early in good order", streamed, upstreamtest.Reply{Fault: upstreamtest.End, At: 2}, `"content":"This "`, false},
		{"error event", streamed, upstreamtest.Reply{Fault: upstreamtest.ErrorEvent, At: 2}, `broke off`, false},
		{"error as the first event", streamed, upstreamtest.Reply{Fault: upstreamtest.ErrorEvent}, `data: {"error"`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(tt.reply)
			_, got, err := post(t, s, chatPath, tt.body)
			if (err != nil) != tt.broken || !strings.Contains(got, tt.arrives) || strings.Contains(got, "[DONE]") {
				t.Errorf("answer = %q, %v; want %q in it, no [DONE], broken %t", got, err, tt.arrives, tt.broken)
			}
		})
	}
}

func TestWhatWaitsEndsWithTheClient(t *testing.T) {
	t.Parallel()
	for _, fault := range []upstreamtest.Fault{upstreamtest.Hang, upstreamtest.Stall} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(upstreamtest.Reply{Fault: fault})
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+chatPath, strings.NewReader(streamed))
			if err != nil {
				t.Fatal(err)
			}
			context.AfterFunc(t.Context(), cancel)
			go func() {
				_, _ = s.WaitPosts(ctx, 1)
				cancel()
			}()
			res, err := client(t).Do(req)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("answer = %v, want %v", err, context.Canceled)
			}
			<-s.LastPost(t).Done()
			if s.LastPost(t).Gone().IsZero() {
				t.Error("Gone() is zero, want when the client went")
			}
		})
	}
}

func TestStatusesAndHeaders(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path   string
		reply        upstreamtest.Reply
		status       int
		header, says string
		body         string
	}{
		{"429 with Retry-After", chatPath, upstreamtest.TooManyRequests(7 * time.Second), 429, "Retry-After", "7", `"rate_limit_error"`},
		{"Anthropic's error", messagesPath, upstreamtest.Failure(401), 401, "Content-Type", "application/json", `"authentication_error"`},
		{"HTML", chatPath, upstreamtest.HTML(502), 502, "Content-Type", "text/html; charset=utf-8", "<h1>502"},
		{"redirect", chatPath, upstreamtest.Redirect("http://127.0.0.1:1/"), 307, "Location", "http://127.0.0.1:1/", ""},
		{"byte by byte", chatPath, upstreamtest.Reply{ByteByByte: true}, 200, "Content-Length", "", `"This is answer 1."`},
		{"slow headers", chatPath, upstreamtest.Reply{Fault: upstreamtest.SlowHeaders, Gap: time.Microsecond}, 200, "Content-Type", "application/json", `"This is answer 1."`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := upstreamtest.New(t)
			s.Queue(tt.reply)
			res, got, err := post(t, s, tt.path, buffered)
			want(t, got, err, tt.body)
			if res.status != tt.status || res.header.Get(tt.header) != tt.says {
				t.Errorf("answer = %d with %s %q, want %d with %q", res.status, tt.header, res.header.Get(tt.header), tt.status, tt.says)
			}
		})
	}
}

func TestContentCodings(t *testing.T) {
	t.Parallel()
	decoders := map[string]func(io.Reader) (io.Reader, error){
		"gzip": func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
		"br":   func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
		"zstd": func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r) },
	}
	for coding, decoder := range decoders {
		for name, body := range map[string]string{"buffered": buffered, "streamed": streamed} {
			t.Run(coding+" "+name, func(t *testing.T) {
				t.Parallel()
				s := upstreamtest.New(t)
				s.Queue(upstreamtest.Reply{Encoding: coding, Text: "ahoy"})
				res, got, err := post(t, s, chatPath, body)
				if err != nil {
					t.Fatal(err)
				}
				r, err := decoder(strings.NewReader(got))
				if err != nil {
					t.Fatal(err)
				}
				plain, err := io.ReadAll(r)
				want(t, string(plain), err, `"content":"ahoy"`)
				if e := res.header.Get("Content-Encoding"); e != coding {
					t.Errorf("Content-Encoding = %q, want %q", e, coding)
				}
			})
		}
	}
}

func TestEarlyAnswerComesBeforeTheBody(t *testing.T) {
	t.Parallel()
	s := upstreamtest.New(t)
	s.Queue(upstreamtest.Reply{Early: true})
	pr, pw := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+chatPath, pr)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client(t).Do(req)
	if err != nil {
		t.Fatalf("no answer while the body is held back: %v", err)
	}
	defer res.Body.Close()
	_, _ = io.WriteString(pw, "late")
	_ = pw.Close()
	got, err := io.ReadAll(res.Body)
	want(t, string(got), err, "[DONE]")
	<-s.LastPost(t).Done()
	if b := string(s.LastPost(t).Body()); b != "late" {
		t.Errorf("recorded body = %q, want late", b)
	}
}

func TestHintsAndTrailers(t *testing.T) {
	t.Parallel()
	s := upstreamtest.New(t)
	s.Queue(upstreamtest.Reply{Hints: true, Trailer: http.Header{"X-Checksum": {"42"}}})
	var hints []int
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { hints = append(hints, code); return nil },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+chatPath, strings.NewReader(streamed))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	if got := res.Trailer.Get("X-Checksum"); got != "42" || !cmp.Equal(hints, []int{103}) {
		t.Errorf("trailer = %q, hints = %v; want 42 and [103]", got, hints)
	}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	s := upstreamtest.NewWith(t, upstreamtest.Options{TLS: true})
	transport := &http.Transport{TLSClientConfig: s.ClientTLS(), ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+chatPath, strings.NewReader(streamed))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	want(t, string(got), err, "[DONE]")
	if p := s.LastPost(t).Proto; p != "HTTP/2.0" {
		t.Errorf("protocol = %q, want HTTP/2.0", p)
	}
}

func TestTheWholeRequestIsKept(t *testing.T) {
	t.Parallel()
	s := upstreamtest.New(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	heads := []string{
		"POST /v1/chat/completions?a=%20b HTTP/1.1\r\nhost: x\r\nX-lower_Case: 1\r\nx-lower_case:2\r\nContent-Length: 2\r\n\r\n",
		"POST /v1/messages HTTP/1.1\r\nHost: y\r\nb: 1\r\na: 2\r\nContent-Length: 2\r\n\r\n",
	}
	for i, sent := range heads {
		if _, err := io.WriteString(conn, sent+"{}"); err != nil {
			t.Fatal(err)
		}
		posts, err := s.WaitPosts(t.Context(), i+1)
		if err != nil {
			t.Fatal(err)
		}
		<-posts[i].Done()
		if diff := cmp.Diff(sent, string(posts[i].Head)); diff != "" {
			t.Errorf("head %d (-want +got):\n%s", i, diff)
		}
		if b := string(posts[i].Body()); b != "{}" {
			t.Errorf("body %d = %q, want {}", i, b)
		}
	}
	if got := s.Posts()[0].Target; got != "/v1/chat/completions?a=%20b" {
		t.Errorf("target = %q", got)
	}
}

func TestScripts(t *testing.T) {
	t.Parallel()
	s := upstreamtest.New(t)
	s.AlwaysFunc(upstreamtest.Rotate("X-Hermes-Session-Id", "rot"))
	s.On("/v1/embeddings", upstreamtest.Failure(500))
	s.Queue(upstreamtest.Reply{Text: "first"})
	s.QueueFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		return upstreamtest.Reply{Text: "saw " + r.Header.Get("Content-Type") + "."}
	})
	if res, _, err := post(t, s, "/v1/embeddings", "{}"); err != nil || res.status != 500 {
		t.Errorf("path's own reply = %v, %v; want 500", res, err)
	}
	for _, part := range []string{`"first"`, `"saw ."`} {
		_, got, err := post(t, s, chatPath, buffered)
		want(t, got, err, part)
	}
	for _, id := range []string{"rot-1", "rot-2"} {
		res, _, err := post(t, s, chatPath, buffered)
		if err != nil || res.header.Get("X-Hermes-Session-Id") != id {
			t.Errorf("session header = %v, %v; want %s", res, err, id)
		}
	}
}

func TestDownRefusesAndUpListensAgain(t *testing.T) {
	t.Parallel()
	s := upstreamtest.New(t)
	s.Down()
	if _, _, err := post(t, s, chatPath, buffered); err == nil {
		t.Error("a server that is down answered")
	}
	if err := s.Up(); err != nil {
		t.Fatal(err)
	}
	_, got, err := post(t, s, chatPath, buffered)
	want(t, got, err, "This is answer 1.")
}

func TestMock(t *testing.T) {
	t.Parallel()
	mock := upstreamtest.NewMock(upstreamtest.MockOptions{Chunks: 3})
	tests := []struct {
		name, body, part string
		chunks           int
	}{
		{"buffered about 1 KB", buffered, `"role":"assistant"`, 0},
		{"streamed", streamed, "[DONE]", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			mock.ServeHTTP(w, httptest.NewRequest("POST", chatPath, strings.NewReader(tt.body)))
			got := w.Body.String()
			if n := strings.Count(got, "data: "); n != tt.chunks || !strings.Contains(got, tt.part) || tt.chunks == 0 && (len(got) < 900 || len(got) > 1100) {
				t.Errorf("mock = %d bytes, %d chunks: %q; want %d chunks", len(got), n, got, tt.chunks)
			}
		})
	}
}
