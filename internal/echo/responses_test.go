package echo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const helloResponses = `{"model":"any","instructions":"be brief","input":[{"role":"user","content":[{"type":"input_text","text":"hello"},{"type":"input_image"},{"type":"input_text","text":"harbour"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]`

func TestBufferedResponses(t *testing.T) {
	t.Parallel()
	got := decode(t, send(t, "POST", "/v1/responses", helloResponses+"}"))
	text, _ := at(got, "output", "content", "text").(string)
	if !strings.HasPrefix(text, "You said: hello\nharbour\n") {
		t.Errorf("text = %q, want the user's text parts", text)
	}
	if at(got, "usage", "input_tokens") != 4.0 || got["status"] != "completed" || got["object"] != "response" || got["model"] != "any" {
		t.Errorf("answer = %v, want 4 input tokens, completed, a response of the model asked for", got)
	}
}

func TestStreamedResponses(t *testing.T) {
	t.Parallel()
	var names []string
	var text strings.Builder
	all := events(t, send(t, "POST", "/v1/responses", helloResponses+`,"stream":true}`))
	for i, e := range all {
		var data map[string]any
		if err := json.Unmarshal([]byte(e.data), &data); err != nil || data["type"] != e.name || data["sequence_number"] != float64(i) {
			t.Errorf("event %d %q carries %q (%v), want the same type and its number inside", i, e.name, e.data, err)
		}
		word, _ := data["delta"].(string)
		text.WriteString(word)
		if len(names) == 0 || names[len(names)-1] != e.name {
			names = append(names, e.name)
		}
	}
	want := []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added", "response.output_text.delta",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	var last map[string]any
	if err := json.Unmarshal([]byte(all[len(all)-1].data), &last); err != nil {
		t.Fatal(err)
	}
	buffered := decode(t, send(t, "POST", "/v1/responses", helloResponses+"}"))
	if whole := at(last, "response", "output", "content", "text"); whole != text.String() || whole != at(buffered, "output", "content", "text") {
		t.Errorf("the last event holds %q, the deltas %q; want what is buffered", whole, text.String())
	}
}

func TestWhatIsRepeatedOfInputAndPrompt(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, path, body, want string }{
		{"an input that is a text", "/v1/responses", `{"input":"one"}`, "You said: one\n"},
		{"an empty input", "/v1/responses", `{"input":[]}`, "You said nothing that I can repeat."},
		{"no input", "/v1/responses", `{}`, "You said nothing that I can repeat."},
		{"an input of another kind", "/v1/responses", `{"input":7}`, "You said nothing that I can repeat."},
		{"answers are passed over", "/v1/responses", `{"input":[{"role":"user","content":"one"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"two"}]}]}`, "You said: one\n"},
		{"a prompt", "/v1/completions", `{"prompt":" one "}`, "You said: one\n"},
		{"the last of several prompts", "/v1/completions", `{"prompt":["one","two"]}`, "You said: two\n"},
		{"a prompt of tokens", "/v1/completions", `{"prompt":[1,2]}`, "You said nothing that I can repeat."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := []string{"output", "content", "text"}
			if tt.path == "/v1/completions" {
				path = []string{"choices", "text"}
			}
			res := send(t, "POST", tt.path, tt.body)
			if got, _ := at(decode(t, res), path...).(string); !strings.HasPrefix(got, tt.want) {
				t.Errorf("answer = %s, want it to start with %q", res.body, tt.want)
			}
		})
	}
}

func TestStreamedCompletions(t *testing.T) {
	t.Parallel()
	const hello = `{"model":"any","prompt":"hello harbour"`
	buffered, _ := at(decode(t, send(t, "POST", "/v1/completions", hello+"}")), "choices", "text").(string)
	var text, finish strings.Builder
	usage := false
	got := events(t, send(t, "POST", "/v1/completions", hello+`,"stream":true,"stream_options":{"include_usage":true}}`))
	for _, e := range got[:len(got)-1] {
		var chunk map[string]any
		if err := json.Unmarshal([]byte(e.data), &chunk); err != nil {
			t.Fatalf("chunk %q: %v", e.data, err)
		}
		word, _ := at(chunk, "choices", "text").(string)
		end, _ := at(chunk, "choices", "finish_reason").(string)
		text.WriteString(word)
		finish.WriteString(end)
		usage = usage || chunk["usage"] != nil
	}
	if last := got[len(got)-1].data; text.String() != buffered || finish.String() != "stop" || !usage || last != "[DONE]" {
		t.Errorf("stream = %q, finish %q, usage %t, last %q; want %q, stop, true, [DONE]", text.String(), finish.String(), usage, last, buffered)
	}
}
