package echo_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/echo"
)

func noon() time.Time { return time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) }

type answer struct {
	status int
	header http.Header
	body   string
}

func send(t *testing.T, method, path, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://echo"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := echo.New(noon).RoundTrip(req)
	if err != nil {
		t.Fatalf("RoundTrip(%s %s): %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(b)}
}

func decode(t *testing.T, res answer) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(res.body), &v); err != nil {
		t.Fatalf("decode answer: %v", err)
	}
	return v
}

// at walks objects by name and lists by their first entry.
func at(v any, path ...string) any {
	for _, name := range path {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

type sse struct{ name, data string }

func events(t *testing.T, res answer) (got []sse) {
	t.Helper()
	var e sse
	for line := range strings.SplitSeq(strings.TrimSuffix(res.body, "\n"), "\n") {
		switch {
		case line == "":
			got = append(got, e)
			e = sse{}
		case strings.HasPrefix(line, "event: "):
			e.name = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			e.data = line[len("data: "):]
		default:
			t.Errorf("line %q is none of a server-sent event", line)
		}
	}
	return got
}

const helloChat = `{"model":"any","messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hello old harbour"}]`

func TestBufferedChat(t *testing.T) {
	t.Parallel()
	res := send(t, "POST", "/v1/chat/completions", helloChat+"}")
	got := decode(t, res)
	text, _ := at(got, "choices", "message", "content").(string)
	if !strings.HasPrefix(text, "You said: hello old harbour\n") || !strings.Contains(text, "OPENAI_API_KEY") {
		t.Errorf("text = %q, want the user's words and how to go on", text)
	}
	want := map[string]any{
		"prompt_tokens": 5.0, "completion_tokens": float64(len(strings.Fields(text))),
		"total_tokens": 5.0 + float64(len(strings.Fields(text))),
	}
	if diff := cmp.Diff(want, got["usage"]); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	if got["model"] != "any" || at(got, "choices", "finish_reason") != "stop" || got["created"] != float64(noon().Unix()) {
		t.Errorf("answer = %v, want the model asked for, stop, and the time given", got)
	}
}

func TestSameRequestSameAnswer(t *testing.T) {
	t.Parallel()
	var answers []string
	for range 2 {
		answers = append(answers, send(t, "POST", "/v1/chat/completions", helloChat+"}").body)
	}
	if answers[0] != answers[1] {
		t.Errorf("answers differ: %s and %s", answers[0], answers[1])
	}
}

func TestStreamedChat(t *testing.T) {
	t.Parallel()
	buffered, _ := at(decode(t, send(t, "POST", "/v1/chat/completions", helloChat+"}")), "choices", "message", "content").(string)
	tests := []struct {
		name, options string
		usage         bool
	}{
		{"usage comes where it is asked for", `,"stream":true,"stream_options":{"include_usage":true}}`, true},
		{"no usage without asking", `,"stream":true}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := send(t, "POST", "/v1/chat/completions", helloChat+tt.options)
			if got := res.header.Get("Content-Type"); got != "text/event-stream" {
				t.Errorf("content type = %q", got)
			}
			var text, finish strings.Builder
			got, usage := events(t, res), false
			for _, e := range got[:len(got)-1] {
				var chunk map[string]any
				if err := json.Unmarshal([]byte(e.data), &chunk); err != nil {
					t.Fatalf("chunk %q: %v", e.data, err)
				}
				word, _ := at(chunk, "choices", "delta", "content").(string)
				end, _ := at(chunk, "choices", "finish_reason").(string)
				text.WriteString(word)
				finish.WriteString(end)
				usage = usage || chunk["usage"] != nil
			}
			if last := got[len(got)-1].data; last != "[DONE]" {
				t.Errorf("last event = %q, want [DONE]", last)
			}
			if text.String() != buffered || finish.String() != "stop" || usage != tt.usage {
				t.Errorf("stream = %q, finish %q, usage %t; want %q, stop, %t", text.String(), finish.String(), usage, buffered, tt.usage)
			}
		})
	}
}

const helloMessages = `{"model":"any","max_tokens":9,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":[{"type":"text","text":"hello"},{"type":"image"},{"type":"text","text":"harbour"}]}]`

func TestBufferedMessages(t *testing.T) {
	t.Parallel()
	got := decode(t, send(t, "POST", "/v1/messages", helloMessages+"}"))
	text, _ := at(got, "content", "text").(string)
	if !strings.HasPrefix(text, "You said: hello\nharbour\n") {
		t.Errorf("text = %q, want the user's text parts", text)
	}
	if at(got, "usage", "input_tokens") != 4.0 || got["stop_reason"] != "end_turn" || got["role"] != "assistant" {
		t.Errorf("answer = %v, want 4 input tokens, end_turn, assistant", got)
	}
}

func TestStreamedMessages(t *testing.T) {
	t.Parallel()
	var names []string
	for _, e := range events(t, send(t, "POST", "/v1/messages", helloMessages+`,"stream":true}`)) {
		var data map[string]any
		if err := json.Unmarshal([]byte(e.data), &data); err != nil || data["type"] != e.name {
			t.Errorf("event %q carries %q (%v), want the same type inside", e.name, e.data, err)
		}
		if len(names) == 0 || names[len(names)-1] != e.name {
			names = append(names, e.name)
		}
	}
	want := []string{
		"message_start", "content_block_start", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestOtherRoutes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path, body string
		status                   int
		field                    []string
		want                     any
	}{
		{"models lists echo", "GET", "/v1/models", "", 200, []string{"data", "id"}, "echo"},
		{"health says ok", "GET", "/health", "", 200, []string{"status"}, "ok"},
		{"tokens are words", "POST", "/v1/messages/count_tokens", helloMessages + "}", 200, []string{"input_tokens"}, 4.0},
		{"unknown path in OpenAI's shape", "POST", "/v1/batches", "{}", 404, []string{"error", "type"}, "invalid_request_error"},
		{"unknown path in Anthropic's shape", "POST", "/v1/messages/batches", "{}", 404, []string{"error", "type"}, "not_found_error"},
		{"wrong method", "GET", "/v1/chat/completions", "", 405, []string{"error", "message"}, "use POST for /v1/chat/completions"},
		{"no JSON", "POST", "/v1/messages", "{", 400, []string{"type"}, "error"},
		{"no JSON for responses", "POST", "/v1/responses", "[", 400, []string{"error", "type"}, "invalid_request_error"},
		{"a compaction is one sealed item", "POST", "/v1/responses/compact", helloResponses + "}", 200, []string{"output", "type"}, "compaction"},
		{"no messages", "POST", "/v1/chat/completions", "{}", 400, []string{"error", "type"}, "invalid_request_error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := send(t, tt.method, tt.path, tt.body)
			if got := at(decode(t, res), tt.field...); got != tt.want || res.status != tt.status {
				t.Errorf("%s %s = %d with %v %v, want %d with %v", tt.method, tt.path, res.status, tt.field, got, tt.status, tt.want)
			}
		})
	}
}

func TestWhatTheUserSaidLast(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ö", 5000)
	tests := []struct{ name, messages, want string }{
		{"the last user message", `{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":" three "}`, "You said: three\n"},
		{"tool results are passed over", `{"role":"user","content":"one"},{"role":"user","content":[{"type":"tool_result","content":"x"}]}`, "You said: one\n"},
		{"an image alone", `{"role":"user","content":[{"type":"image_url"}]}`, "You said nothing that I can repeat."},
		{"a book is cut", `{"role":"user","content":"` + long + `"}`, "You said: " + strings.Repeat("ö", 4000) + "…\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res := send(t, "POST", "/v1/chat/completions", `{"messages":[`+tt.messages+`]}`)
			if got, _ := at(decode(t, res), "choices", "message", "content").(string); !strings.HasPrefix(got, tt.want) {
				t.Errorf("text = %q, want it to start with %q", got, tt.want)
			}
		})
	}
}

func TestContextEndsTheStream(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://echo/v1/chat/completions", strings.NewReader(helloChat+`,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := echo.New(noon).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := res.Body.Read(make([]byte, 4096)); n == 0 || err != nil {
		t.Fatalf("first read = %d, %v", n, err)
	}
	cancel()
	if _, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("read after cancel = %v, want %v", err, context.Canceled)
	}
	if _, err := echo.New(noon).RoundTrip(req.Clone(ctx)); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
		t.Errorf("RoundTrip after cancel = %v, want %v", err, context.Canceled)
	}
}
