package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

const (
	responsesPath   = "/v1/responses"
	completionsPath = "/v1/completions"
)

// respond asks with these items and gives the items of the answer, streamed or buffered.
func (p *product) respond(id, more string, items []json.RawMessage) (*reply, []json.RawMessage) {
	p.t.Helper()
	input, err := json.Marshal(items)
	if err != nil {
		p.t.Fatal(err)
	}
	r := p.call(http.MethodPost, responsesPath, fmt.Sprintf(`{"model":"fake-1",%s"instructions":"be brief","input":%s}`, more, input), "X-Session-Id", id).want(http.StatusOK)
	body := r.body
	if strings.Contains(more, "stream") {
		_, last, _ := strings.Cut(string(r.body), "event: response.completed\ndata: ")
		var end struct{ Response json.RawMessage }
		if err := json.Unmarshal([]byte(last), &end); err != nil {
			p.t.Fatalf("last event %.300q: %v", last, err)
		}
		body = end.Response
	}
	var answer struct{ Output []json.RawMessage }
	if err := json.Unmarshal(body, &answer); err != nil {
		p.t.Fatalf("answer %.300s: %v", body, err)
	}
	return r, answer.Output
}

// without takes members out of each item, and items of a kind out of the list.
func without(items []json.RawMessage, kind string, names ...string) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, raw := range items {
		var item map[string]any
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, fmt.Errorf("item %s: %w", raw, err)
		}
		if item["type"] == kind {
			continue
		}
		for _, name := range names {
			delete(item, name)
		}
		b, err := json.Marshal(item)
		if err != nil {
			return nil, fmt.Errorf("item %s: %w", raw, err)
		}
		out = append(out, b)
	}
	return out, nil
}

// Items of one answer are one message, stored once, whatever of them a client sends back.
func TestResponsesHistoryIsStoredOnce(t *testing.T) {
	t.Parallel()
	up := upstreamtest.New(t)
	up.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		if strings.Contains(string(r.Body()), "function_call_output") {
			return upstreamtest.Reply{Text: fmt.Sprintf("Found %d.", strings.Count(string(r.Body()), `"user"`))}
		}
		return upstreamtest.Reply{Thinking: "look first", Text: "Looking.", Tool: &upstreamtest.ToolCall{ID: "call_1", Name: "look", Arguments: `{"at":"river"}`}}
	})
	p := start(t, "upstreams:\n"+upstreamYAML("up", up.URL))
	for name, alter := range map[string]func([]json.RawMessage) ([]json.RawMessage, error){
		"as they came":      func(items []json.RawMessage) ([]json.RawMessage, error) { return items, nil },
		"without ids":       func(items []json.RawMessage) ([]json.RawMessage, error) { return without(items, "", "id", "status") },
		"without reasoning": func(items []json.RawMessage) ([]json.RawMessage, error) { return without(items, "reasoning", "id") },
	} {
		for how, more := range map[string]string{"buffered": "", "streamed": `"stream":true,`} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				id := "items " + name + how
				say := func(text string) json.RawMessage {
					return json.RawMessage(fmt.Sprintf(`{"role":"user","content":[{"type":"input_text","text":%q}]}`, text))
				}
				items := []json.RawMessage{say("one")}
				for i := range 4 {
					r, answer := p.respond(id, more, items)
					if got := p.turnState(r); got != "completed" {
						t.Fatalf("turn %d is %v, want completed", i, got)
					}
					resent, err := alter(answer)
					if err != nil {
						t.Fatal(err)
					}
					items = append(items, resent...)
					if i == 0 {
						items = append(items, json.RawMessage(`{"type":"function_call_output","call_id":"call_1","output":"a river"}`))
						continue
					}
					items = append(items, say(fmt.Sprint("more ", i)))
				}
				want := []string{
					"user: one", "assistant: Looking.", "tool: a river", "assistant: Found 1.", "user: more 1", "assistant: Found 2.", "user: more 2", "assistant: Found 3.",
				}
				if diff := cmp.Diff(want, p.texts(id)); diff != "" {
					t.Errorf("messages (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestResponsesStreamsThatFail(t *testing.T) {
	t.Parallel()
	const text = "one two three four five"
	for name, of := range map[string]struct {
		reply upstreamtest.Reply
		kept  []string
		code  any
	}{
		"a reset after three deltas":      {upstreamtest.Reply{Text: text, Fault: upstreamtest.Cut, At: 7}, []string{"user: hi", "assistant: one two three "}, "upstream_error"},
		"a cut in the middle of an event": {upstreamtest.Reply{Text: text, Fault: upstreamtest.CutMidEvent, At: 7}, []string{"user: hi", "assistant: one two three "}, "upstream_error"},
		"a body that ends short":          {upstreamtest.Reply{Text: text, Fault: upstreamtest.End, At: 7}, []string{"user: hi", "assistant: one two three "}, "upstream_error"},
		"an error after three deltas":     {upstreamtest.Reply{Text: text, Fault: upstreamtest.ErrorEvent, At: 7}, []string{"user: hi", "assistant: one two three "}, nil},
		"an error behind what opens":      {upstreamtest.Reply{Text: text, Fault: upstreamtest.ErrorEvent, At: 2}, []string{"user: hi"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			u.Queue(of.reply)
			r := p.call(http.MethodPost, responsesPath, `{"model":"fake-1","stream":true,"input":"hi"}`, "X-Session-Id", "s").want(http.StatusOK)
			last := strings.LastIndex(strings.TrimSuffix(string(r.body), "\n\n"), "\n\n")
			if got := string(r.body[last+2:]); !strings.HasPrefix(got, "event: error\ndata: {") || !strings.HasSuffix(got, "}\n\n") || r.err != nil {
				t.Errorf("stream ends in %q (%v), want an error event", got, r.err)
			}
			if strings.Contains(string(r.body), "response.completed") || strings.Contains(string(r.body), "[DONE]") {
				t.Errorf("a stream that failed says that it completed, or ends in another protocol's way:\n%s", r.body)
			}
			if got := p.turnOf("s"); got["state"] != "failed" || of.code != nil && got["error_code"] != of.code {
				t.Errorf("turn is %v with %v, want failed with %v", got["state"], got["error_code"], of.code)
			}
			if diff := cmp.Diff(of.kept, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

// Streams go through byte for byte, their usage is kept, and a client that asked for none gets an object.
func TestResponsesAndCompletionsGoThrough(t *testing.T) {
	t.Parallel()
	usage := &upstreamtest.Usage{Input: 11, Output: 3, CacheRead: 5}
	for name, of := range map[string]struct {
		path, body string
		reply      upstreamtest.Reply
		part       string
		texts      []string
	}{
		"responses":                    {responsesPath, `{"model":"fake-1","input":"hi"}`, upstreamtest.Reply{Text: "a b", Usage: usage}, `"text":"a b"`, []string{"user: hi", "assistant: a b"}},
		"responses, streamed":          {responsesPath, `{"model":"fake-1","input":"hi","stream":true}`, upstreamtest.Reply{Text: "a b", Usage: usage, ByteByByte: true}, "event: response.completed\n", []string{"user: hi", "assistant: a b"}},
		"responses, a stream unasked":  {responsesPath, `{"model":"fake-1","input":"hi"}`, upstreamtest.Reply{Text: "a b", Usage: usage, Early: true}, `"object":"response"`, []string{"user: hi", "assistant: a b"}},
		"completions":                  {completionsPath, `{"model":"fake-1","prompt":"hi"}`, upstreamtest.Reply{Text: "a b", Usage: usage}, `"text":"a b"`, []string{"user: hi", "assistant: a b"}},
		"completions, streamed":        {completionsPath, `{"model":"fake-1","prompt":"hi","stream":true,"stream_options":{"include_usage":true}}`, upstreamtest.Reply{Text: "a b", Usage: usage}, done, []string{"user: hi", "assistant: a b"}},
		"an empty input":               {responsesPath, `{"model":"fake-1","input":[]}`, upstreamtest.Reply{Text: "a b", Usage: usage}, `"text":"a b"`, []string{"assistant: a b"}},
		"a compaction":                 {responsesPath + "/compact", `{"model":"fake-1","input":"hi"}`, upstreamtest.Reply{Usage: usage}, `"object":"response.compaction"`, []string{"user: hi", "assistant: "}},
		"below a prefix of a client":   {"/openai" + responsesPath, `{"model":"fake-1","input":"hi"}`, upstreamtest.Reply{Text: "a b", Usage: usage}, `"text":"a b"`, []string{"user: hi", "assistant: a b"}},
		"a prompt that is a list":      {completionsPath, `{"model":"fake-1","prompt":["hi","you"]}`, upstreamtest.Reply{Text: "a b", Usage: usage}, `"text":"a b"`, []string{"user: hi\nyou", "assistant: a b"}},
		"an answer that holds nothing": {responsesPath, `{"model":"fake-1","input":"hi","stream":true}`, upstreamtest.Reply{Empty: true, Usage: usage}, "event: response.completed\n", []string{"user: hi", "assistant: "}},
		"a completion of nothing":      {completionsPath, `{"model":"fake-1","prompt":"hi"}`, upstreamtest.Reply{Empty: true, Usage: usage}, `"text":""`, []string{"user: hi", "assistant: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			u.Queue(of.reply)
			r := p.call(http.MethodPost, of.path, of.body, "X-Session-Id", "s").want(http.StatusOK)
			if !strings.Contains(string(r.body), of.part) {
				t.Errorf("answer = %s, want %q in it", r.body, of.part)
			}
			post := u.LastPost(t)
			if got := string(post.Body()); got != of.body || !strings.HasSuffix(of.path, post.Path) {
				t.Errorf("%s goes upstream with %s, want the body as it came", post.Path, got)
			}
			turn := p.turnOf("s")
			got := []any{turn["state"], usageOf(turn, "input_tokens"), usageOf(turn, "output_tokens")}
			if diff := cmp.Diff([]any{"completed", 11.0, 3.0}, got); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(of.texts, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompletionsStreamThatBreaks(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	u.Queue(upstreamtest.Reply{Text: "one two three", Fault: upstreamtest.Cut, At: 2})
	r := p.call(http.MethodPost, completionsPath, `{"model":"fake-1","prompt":"hi","stream":true}`, "X-Session-Id", "s").want(http.StatusOK)
	failed(t, string(r.body))
	if diff := cmp.Diff([]string{"user: hi", "assistant: one two "}, p.texts("s")); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if got := p.turnState(r); got != "failed" {
		t.Errorf("turn is %v, want failed", got)
	}
}

func TestEchoAnswersResponsesAndCompletions(t *testing.T) {
	t.Parallel()
	p := start(t, "upstreams: [{name: demo, builtin: echo}]\n")
	for path, body := range map[string]string{
		responsesPath:   `{"model":"echo","input":"ahoy"`,
		completionsPath: `{"model":"echo","prompt":"ahoy"`,
	} {
		for _, more := range []string{`}`, `,"stream":true}`} {
			r := p.call(http.MethodPost, path, body+more).want(http.StatusOK)
			if !strings.Contains(string(r.body), "ahoy") || p.turnState(r) != "completed" {
				t.Errorf("%s %s: turn %v with %s, want the user's words", path, more, p.turnState(r), r.body)
			}
		}
	}
}
