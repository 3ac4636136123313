package eval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/eval"
)

// logged makes a log of chat requests: time, headers, then what was said in turn, the user first.
func logged(t *testing.T, rows ...[]string) *eval.Trace {
	t.Helper()
	var text strings.Builder
	for i, row := range rows {
		var messages []string
		for j, said := range row[1:] {
			messages = append(messages, fmt.Sprintf(`{"role":%q,"content":%q}`, []string{"user", "assistant"}[j%2], said))
		}
		fmt.Fprintf(&text, `{"t":%d,"path":"/v1/chat/completions","headers":{%s},"body":{"messages":[%s]}}`+"\n", i, row[0], strings.Join(messages, ","))
	}
	trace, err := eval.Read(strings.NewReader(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestFillReplies(t *testing.T) {
	t.Parallel()
	trace := logged(t,
		[]string{"", "hi"},
		[]string{"", "hi"},
		[]string{"", "hi", "hello", "kites?"},
		[]string{"", "hi", "good day", "boats?"},
		[]string{"", "hi <system-reminder>later</system-reminder>", "hello", "kites?", "with wind", "which?"},
	)
	eval.FillReplies(trace)
	var got []string
	for _, l := range trace.Requests() {
		got = append(got, l.Reply.Text)
	}
	want := []string{"hello", "good day", "with wind", "The log does not hold the answer of line 4.", "The log does not hold the answer of line 5."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFillRepliesReadsToolCalls(t *testing.T) {
	t.Parallel()
	for path, bodies := range map[string][2]string{
		"/v1/chat/completions": {`{"messages":[{"role":"user","content":"go"}]}`, `{"messages":[{"role":"user","content":"go"},` +
			`{"role":"assistant","content":"so","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"1"}]}`},
		"/v1/messages": {`{"messages":[{"role":"user","content":"go"}]}`, `{"messages":[{"role":"user","content":"go"},` +
			`{"role":"assistant","content":[{"type":"text","text":"so"},{"type":"tool_use","id":"c1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"1"}]}]}`},
		"/v1/responses": {`{"input":"go"}`, `{"input":[{"role":"user","content":"go"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"so"}]},` +
			`{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"},{"type":"function_call_output","call_id":"c1","output":"1"}]}`},
	} {
		var text strings.Builder
		for _, b := range bodies {
			fmt.Fprintf(&text, `{"path":%q,"body":%s}`+"\n", path, b)
		}
		trace, err := eval.Read(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		eval.FillReplies(trace)
		want := &eval.Reply{Text: "so", Status: 200, ToolCalls: []eval.Call{{ID: "c1", Name: "f", Arguments: `{"a":1}`}}}
		if diff := cmp.Diff(want, trace.Requests()[0].Reply); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// found is what was made of lines: session and identity of each.
func found(pairs ...string) []eval.Prediction {
	var out []eval.Prediction
	for i, pair := range pairs {
		session, identity, _ := strings.Cut(pair, " ")
		kind := mooring.KindMain
		if strings.HasPrefix(identity, "side ") {
			kind, identity = mooring.KindSide, identity[5:]
		}
		out = append(out, eval.Prediction{Line: i + 1, Session: session, Identity: identity, Kind: &kind})
	}
	return out
}

func TestExamine(t *testing.T) {
	t.Parallel()
	const long = "how long does it take to build a kite of two metres, alone?"
	for _, tt := range []struct {
		rule           string
		log            [][]string
		found          []eval.Prediction
		splits, merges string
	}{
		{"what holds together is not suspected", [][]string{{"", "hi"}, {"", "hi", "hello, what is it about?", "kites"}}, found("a minted", "a content:prefix"), "[]", "[]"},
		{"one that goes on with an answer of somebody else", [][]string{{"", "hi"}, {"", "hi", "hello", "kites"}}, found("a minted", "b minted"), "[[1 2]]", "[]"},
		{"the same long question", [][]string{{"", long}, {"", long}}, found("a minted", "b minted"), "[[1 2]]", "[]"},
		{"a greeting is no such question", [][]string{{"", "hi"}, {"", "hi"}}, found("a minted", "b minted"), "[]", "[]"},
		{"nor is what an id names", [][]string{{"", long}, {"", long}}, found("a minted", "b header:x-chat-id"), "[]", "[]"},
		{"nor what is asked beside a talk", [][]string{{"", long}, {"", long}}, found("a minted", "b side minted"), "[]", "[]"},
		{"examples in front are nobody's answers", [][]string{{"", "1", "one", "2"}, {"", "1", "one", "3"}}, found("a minted", "b minted"), "[]", "[]"},
		{"two values of one id", [][]string{{`"x-chat-id":"first-value"`, "hi"}, {`"X-Chat-Id":"second-value"`, "hi"}}, found("a content:prefix", "a content:prefix"), "[]", "[[1 2]]"},
		{"a parent's id is not the session's", [][]string{{`"x-parent-session-id":"first-value"`, "hi"}, {`"x-parent-session-id":"second-value"`, "hi"}}, found("a minted", "a content:prefix"), "[]", "[]"},
		{"a history that shares nothing", [][]string{{"", long}, {"", "something else", "that", "and more"}}, found("a minted", "a header:x-chat-id"), "[]", "[[1 2]]"},
		{"a summary shares nothing and says so", [][]string{{"", long}, {"", "something else", "that", "and more"}}, found("a minted", "a content:summary"), "[]", "[]"},
		{"a lone message may be all that is sent", [][]string{{"", long}, {"", "something else"}}, found("a header:x-chat-id", "a header:x-chat-id"), "[]", "[]"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r := eval.Examine(logged(t, tt.log...), tt.found)
			if got := lines(r.Splits); got != tt.splits {
				t.Errorf("suspected splits = %s, want %s", got, tt.splits)
			}
			if got := lines(r.Merges); got != tt.merges {
				t.Errorf("suspected merges = %s, want %s", got, tt.merges)
			}
		})
	}
}

func lines(of []eval.Suspicion) string {
	out := [][]int{}
	for _, s := range of {
		out = append(out, s.Lines)
	}
	return fmt.Sprint(out)
}

func TestExamineCountsWhatDecided(t *testing.T) {
	t.Parallel()
	r := eval.Examine(logged(t, []string{"", "1"}, []string{"", "2"}, []string{"", "3"}), found("a minted", "a content:prefix", "b content:prefix"))
	want := []eval.Deciding{{Identity: "content:prefix", Requests: 2}, {Identity: "minted", Requests: 1}}
	if diff := cmp.Diff(want, r.Evidence); diff != "" || r.Sessions != 2 || r.Requests != 3 {
		t.Errorf("%d sessions of %d requests (-want +got):\n%s", r.Sessions, r.Requests, diff)
	}
}
