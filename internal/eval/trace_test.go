package eval_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/eval"
	"mooring/internal/wire"
)

const line = `{"t":1.5,"path":"/v1/messages?beta=true","headers":{"A":"1","b":["2","3"]},"body":{"model":"m"},"reply":{"text":"x"},"truth":{"session":"S","parent":null,"kind":"main"},"family":"f"}`

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := eval.Read(strings.NewReader("\n" + line + "\n{\"restart\":true}"))
	if err != nil {
		t.Fatal(err)
	}
	l := got.Requests()[0]
	if !got.Labelled || len(got.Lines) != 2 || len(got.Requests()) != 1 || l.N != 2 || got.Lines[1].N != 3 || !got.Lines[1].Restart {
		t.Errorf("trace = %+v", got)
	}
	if l.Method != "POST" || l.Tenant != "local" || l.Reply.Status != 200 || l.Headers.Get("B") != "2" || l.Headers.Get("a") != "1" {
		t.Errorf("what is left out has no default: %+v", l)
	}
	again, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	back, err := eval.Read(strings.NewReader(string(again)))
	if err != nil {
		t.Fatal(err)
	}
	back.Lines[0].N = l.N
	if diff := cmp.Diff(*l, back.Lines[0]); diff != "" {
		t.Errorf("written and read again (-before +after):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rule, text, want string }{
		{"no JSON", "{", "1: not a line of a trace"},
		{"no path", `{"body":{}}`, "1: path"},
		{"a body that is no object", strings.Replace(line, `{"model":"m"}`, "[]", 1), "1: body"},
		{"a status that ends nothing", strings.Replace(line, `{"text":"x"}`, `{"status":100}`, 1), "1: reply.status 100"},
		{"a label without its reply", strings.Replace(line, `"reply":{"text":"x"},`, "", 1), "1: a labelled line needs its reply"},
		{"a truth without a session", strings.Replace(line, `"S"`, `""`, 1), "1: truth.session"},
		{"an unknown kind", strings.Replace(line, `"main"`, `"root"`, 1), "1: truth.kind"},
		{"half a labelled trace", line + "\n" + `{"path":"/v1/messages","body":{}}`, "2: some lines have a truth"},
		{"a header of numbers", strings.Replace(line, `"1"`, "1", 1), "1: not a line of a trace: header A"},
		{"nothing", "\n", "1: there is no request"},
	} {
		_, err := eval.Read(strings.NewReader(tt.text))
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: error = %v, want %s…", tt.rule, err, tt.want)
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "b.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	_, _ = z.Write([]byte(line))
	z.Close()
	f.Close()
	if err = os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := eval.Files([]string{dir})
	if err != nil || len(files) != 2 {
		t.Fatalf("files = %v, %v", files, err)
	}
	if trace, err := eval.ReadFile(files[1]); err != nil || trace.Name != "b" || len(trace.Lines) != 1 {
		t.Errorf("compressed trace = %+v, %v", trace, err)
	}
	if _, err := eval.ReadFile(files[0]); err == nil || !strings.HasPrefix(err.Error(), files[0]+":1: ") {
		t.Errorf("error = %v, want one that names file and line", err)
	}
	if _, err := eval.Files([]string{t.TempDir()}); err == nil {
		t.Error("a folder without traces is taken")
	}
}

// TestAnswersAreOfTheirProtocol reads answers as the product does.
func TestAnswersAreOfTheirProtocol(t *testing.T) {
	t.Parallel()
	reply := &eval.Reply{
		Text: "Grüße, 世界: this is longer than one piece of a stream", Thinking: "a thought", Status: 200, ID: "id-1",
		ToolCalls: []eval.Call{{ID: "call_1", Name: "find", Arguments: `{"pattern":"a \"b\"","limit":3}`}},
	}
	for path, p := range map[string]mooring.Protocol{"/v1/chat/completions": mooring.Chat, "/v1/messages?beta=true": mooring.Messages, "/v1/responses": mooring.Responses} {
		var seen []string
		var digests []wire.Digest
		digester := wire.NewDigester([]byte("key"), nil)
		for _, stream := range []bool{false, true} {
			l := eval.Line{N: 1, Path: path, Body: []byte(`{"model":"m"}`), Reply: reply, Stream: stream}
			a := l.Answer()
			if a.Status != 200 || a.Broken || stream != (a.Length < 0) {
				t.Errorf("%s: answer = %+v", path, a)
			}
			seen = append(seen, answered(t, p, a))
			d, err := digester.Message(p, []byte(seen[len(seen)-1]))
			if err != nil {
				t.Fatal(err)
			}
			digests = append(digests, d)
		}
		if digests[0] != digests[1] {
			t.Errorf("%s: buffered and streamed differ:\n%s\n%s", path, seen[0], seen[1])
		}
		for _, want := range []string{reply.Text, "call_1", "find"} {
			if !strings.Contains(seen[0], want) {
				t.Errorf("%s: %s has no %q", path, seen[0], want)
			}
		}
	}
}

// answered is the message of an answer, as it is kept.
func answered(t *testing.T, p mooring.Protocol, a eval.Answer) string {
	t.Helper()
	if a.Length >= 0 {
		whole, err := wire.DecodeAnswer(p, a.Body)
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		return string(whole.Message)
	}
	m := wire.NewMeter(p, wire.MeterLimits{})
	if _, err := m.Feed(a.Body); err != nil {
		t.Fatalf("%s: %v", p, err)
	}
	if !m.Complete() {
		t.Errorf("%s: the stream has no end", p)
	}
	return string(m.Answer().Message)
}

func TestAnswersThatFail(t *testing.T) {
	t.Parallel()
	l := eval.Line{Path: "/v1/messages", Body: []byte(`{}`), Reply: &eval.Reply{Status: 529}}
	if a := l.Answer(); a.Status != 529 || !strings.Contains(string(a.Body), `"type":"error"`) {
		t.Errorf("refused answer = %+v", a)
	}
	for _, stream := range []bool{false, true} {
		l := eval.Line{Path: "/v1/chat/completions", Body: []byte(`{}`), Reply: &eval.Reply{}, Stream: stream}
		if a := l.Answer(); a.Status != 200 || !a.Broken || strings.Contains(string(a.Body), "[DONE]") || !stream && a.Length <= len(a.Body) {
			t.Errorf("broken answer = %+v", a)
		}
	}
}
