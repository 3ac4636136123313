package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mooring"
	"mooring/internal/wire"
)

var limits = wire.Limits{JSONDepth: 20}

func nested(depth int) string {
	n := depth - 1
	return `{"messages":[{"role":"user","content":"hi"}],"deep":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}`
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		want mooring.Code
	}{
		"an empty body":                        {``, mooring.CodeInvalidJSON},
		"white space alone":                    {` `, mooring.CodeInvalidJSON},
		"a list":                               {`[1,2]`, mooring.CodeInvalidJSON},
		"a text":                               {`"hi"`, mooring.CodeInvalidJSON},
		"a body that is cut":                   {`{"model":"fake-1","messages":[`, mooring.CodeInvalidJSON},
		"a name given twice":                   {`{"model":"a","model":"b","messages":[{"role":"user","content":"hi"}]}`, mooring.CodeInvalidJSON},
		"a name given twice, once escaped":     {`{"model":"a","mod\u0065l":"b","messages":[{"role":"user","content":"hi"}]}`, mooring.CodeInvalidJSON},
		"a name given twice deep inside":       {`{"messages":[{"role":"user","content":"hi"}],"tools":[{"a":{"x":1,"x":2}}]}`, mooring.CodeInvalidJSON},
		"messages given twice":                 {`{"messages":[{"role":"user","content":"hi"}],"messages":[]}`, mooring.CodeInvalidJSON},
		"bad UTF-8":                            {"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", mooring.CodeInvalidJSON},
		"something behind the object":          {`{"messages":[{"role":"user","content":"hi"}]} x`, mooring.CodeInvalidJSON},
		"a second object behind it":            {`{"messages":[{"role":"user","content":"hi"}]}{}`, mooring.CodeInvalidJSON},
		"deeper than the limit":                {nested(21), mooring.CodeInvalidJSON},
		"far deeper than the limit":            {nested(200_000), mooring.CodeInvalidJSON},
		"deep inside a message":                {`{"messages":[{"role":"user","content":` + strings.Repeat("[", 18) + strings.Repeat("]", 18) + `}]}`, mooring.CodeInvalidJSON},
		"bad JSON before bad content":          {`{"messages":[{"role":"user","content":7}], x`, mooring.CodeInvalidJSON},
		"no messages":                          {`{"model":"fake-1"}`, mooring.CodeMessagesRequired},
		"no message":                           {`{"messages":[]}`, mooring.CodeMessagesRequired},
		"messages that are no list":            {`{"messages":"hi"}`, mooring.CodeMessagesRequired},
		"messages that are an object":          {`{"messages":{"0":{}}}`, mooring.CodeMessagesRequired},
		"content that is an object":            {`{"messages":[{"role":"user","content":{"text":"secret-echo"}}]}`, mooring.CodeInvalidContent},
		"content that is a number":             {`{"messages":[{"role":"user","content":7}]}`, mooring.CodeInvalidContent},
		"content that is a boolean":            {`{"messages":[{"role":"user","content":true}]}`, mooring.CodeInvalidContent},
		"bad content in an earlier message":    {`{"messages":[{"role":"user","content":7},{"role":"user","content":"hi"}]}`, mooring.CodeInvalidContent},
		"a message that is no object":          {`{"messages":["hi"]}`, mooring.CodeInvalidContent},
		"a last user message without text":     {`{"messages":[{"role":"user","content":""}]}`, mooring.CodeEmptyMessage},
		"a last user message of white space":   {`{"messages":[{"role":"user","content":" \n\t"}]}`, mooring.CodeEmptyMessage},
		"a last user message of no parts":      {`{"messages":[{"role":"user","content":[]}]}`, mooring.CodeEmptyMessage},
		"a last user message of blank parts":   {`{"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]}`, mooring.CodeEmptyMessage},
		"a last user message of null":          {`{"messages":[{"role":"user","content":null}]}`, mooring.CodeEmptyMessage},
		"a last user message without content":  {`{"messages":[{"role":"user"}]}`, mooring.CodeEmptyMessage},
		"an empty last message, role put last": {`{"messages":[{"content":"","role":"user"}]}`, mooring.CodeEmptyMessage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, p := range []mooring.Protocol{mooring.Chat, mooring.Messages} {
				_, err := wire.Decode(p, []byte(tt.body), limits)
				if got := mooring.CodeOf(err); err == nil || got != tt.want {
					t.Errorf("Decode(%s) error = %v, want %s", p, err, tt.want)
				}
				if err != nil && strings.Contains(err.Error(), "secret-echo") {
					t.Errorf("Decode(%s) error %q echoes content", p, err)
				}
			}
		})
	}
}

func TestDecodeTakes(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"nesting up to the limit":              nested(20),
		"brackets in a text":                   `{"messages":[{"role":"user","content":"` + strings.Repeat("[{", 90) + `"}]}`,
		"half a surrogate pair, escaped":       `{"messages":[{"role":"user","content":"cut emoji \ud83d"}],"\udc00":"\uDC00\ud83d"}`,
		"many flat objects":                    `{"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"a"},`, 90) + `{}]}]}`,
		"null content of an assistant":         `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[]}]}`,
		"an empty tool result":                 `{"messages":[{"role":"tool","tool_call_id":"c1","content":""}]}`,
		"an image alone":                       `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x.example/a.png"}}]}]}`,
		"a tool result alone":                  `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":""}]}]}`,
		"an empty user message in the history": `{"messages":[{"role":"user","content":""},{"role":"user","content":"hi"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := wire.Decode(mooring.Chat, []byte(body), limits); err != nil {
				t.Errorf("Decode error = %v, want none", err)
			}
		})
	}
}

func TestDecodeErrorSaysWhere(t *testing.T) {
	t.Parallel()
	_, err := wire.Decode(mooring.Chat, []byte(`{"messages": nope}`), limits)
	if err == nil || !strings.Contains(err.Error(), "near byte 14") {
		t.Errorf("Decode error = %v, want one near byte 14", err)
	}
}

func TestDecodeFacts(t *testing.T) {
	t.Parallel()
	body := []byte(`{"mod\u0065l":"fake-1","stream":true,"max_tokens":77,"tools":[{"a":1},{"b":2}],"system":[{"type":"text","text":"be brief"}],
		"session_id":"s 1","user":7,"chat_id":null,"thread_id":["x"],"metadata":{"user_id":"u","other":"no","session_id":{"a":1}},
		"conversation":{"id":"conv_1"},"request":{"session_id":"r"},"client_metadata":{"x-codex-turn-metadata":"{}"},
		"messages":[{"role":"system","content":"x"},{"content":"hi","role":"user"}]}`)
	got, err := wire.Decode(mooring.Messages, body, limits)
	if err != nil {
		t.Fatal(err)
	}
	want := &wire.Request{
		Protocol: mooring.Messages, Model: "fake-1", Stream: true, MaxTokens: 77, Tools: 2,
		System: []byte(`[{"type":"text","text":"be brief"}]`),
		Messages: []wire.Message{
			{Role: "system", Raw: []byte(`{"role":"system","content":"x"}`), At: bytes.Index(body, []byte(`{"role":"system"`))},
			{Role: "user", Raw: []byte(`{"content":"hi","role":"user"}`), At: bytes.Index(body, []byte(`{"content":"hi"`))},
		},
		TalkAt:  [2]int{bytes.Index(body, []byte(`[{"role":"system"`)), len(body) - 1},
		ModelAt: [2]int{bytes.Index(body, []byte(`"fake-1"`)), bytes.Index(body, []byte(`"fake-1"`)) + len(`"fake-1"`)},
		Fields: []wire.Field{
			{Path: "session_id", Value: "s 1"},
			{Path: "user", Value: "7"},
			{Path: "metadata.user_id", Value: "u"},
			{Path: "conversation", Value: "conv_1"},
			{Path: "request.session_id", Value: "r"},
			{Path: "client_metadata.x-codex-turn-metadata", Value: "{}"},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(wire.Message{})); diff != "" {
		t.Errorf("Decode (-want +got):\n%s", diff)
	}
	if got.Messages[0].Conversational() || !got.Messages[1].Conversational() {
		t.Error("Conversational: want false for system, true for user")
	}
}

func TestDecodeWrongTypesAreUnknown(t *testing.T) {
	t.Parallel()
	got, err := wire.Decode(mooring.Chat, []byte(`{"model":{"a":1},"stream":"true","max_tokens":"9","messages":[{"role":"user","content":"hi"}]}`), limits)
	if err != nil {
		t.Fatal(err)
	}
	if got.Model != "" || got.Stream || got.MaxTokens != 0 {
		t.Errorf("model %q, stream %v, max_tokens %d; want none", got.Model, got.Stream, got.MaxTokens)
	}
}

func TestDecodeStream(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct{ stream, odd bool }{
		"true": {true, false}, "false": {}, "null": {}, `"true"`: {false, true}, "1": {false, true}, "{}": {false, true},
	} {
		got, err := wire.Decode(mooring.Chat, []byte(`{"stream":`+value+`,"messages":[{"role":"user","content":"hi"}]}`), limits)
		if err != nil {
			t.Fatal(err)
		}
		if got.Stream != want.stream || got.OddStream != want.odd || got.MayStream() != (want.stream || want.odd) {
			t.Errorf("stream %s: Stream %v, OddStream %v, MayStream %v; want %v, %v", value, got.Stream, got.OddStream, got.MayStream(), want.stream, want.odd)
		}
	}
}

func TestHalfSurrogatesAreReplaced(t *testing.T) {
	t.Parallel()
	const half = `{"role":"user","content":[{"type":"text","text":"cut \ud83d"}]}`
	parts, text := wire.Render(mooring.Chat, []byte(half))
	if want := `[{"type":"text","text":"cut ` + "\ufffd" + `"}]`; text != "cut \ufffd" || string(parts) != want {
		t.Errorf("Render = %s, %q; want %s", parts, text, want)
	}
	same(t, wire.NewDigester([]byte("k"), nil), half, `{"role":"user","content":"cut `+"\ufffd"+`"}`)
}

func TestUserText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ messages, want string }{
		"the last user message counts":   {`{"role":"user","content":"one"},{"role":"user","content":"two"},{"role":"assistant","content":"x"}`, "two"},
		"reminders are left out":         {`{"role":"user","content":[{"type":"text","text":"<system-reminder>a</system-reminder>"},{"type":"text","text":"say hello"}]}`, "say hello"},
		"200 runes are enough":           {`{"role":"user","content":"` + strings.Repeat("é", 300) + `"}`, strings.Repeat("é", 200)},
		"NUL becomes its sign (C088)":    {`{"role":"user","content":"a\u0000b"}`, "a\u2400b"},
		"no user message, no text":       {`{"role":"assistant","content":"x"}`, ""},
		"an image gives no text":         {`{"role":"user","content":[{"type":"image_url"}]}`, ""},
		"parts are lines of their own":   {`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb"},
		"escapes are read":               {`{"role":"user","content":"caf\u00e9 \"x\""}`, `café "x"`},
		"a reminder left open stays":     {`{"role":"user","content":"a <system-reminder> b"}`, "a <system-reminder> b"},
		"text around a reminder is kept": {`{"role":"user","content":"a <system-reminder>x</system-reminder> b"}`, "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := wire.Decode(mooring.Chat, []byte(`{"messages":[`+tt.messages+`]}`), limits)
			if err != nil {
				t.Fatal(err)
			}
			if got := wire.UserText(r.Messages); got != tt.want {
				t.Errorf("UserText = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestGlance(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, want string
		code       mooring.Code
	}{
		"the model":                    {`{"input":["a"],"model":"lamp","messages":7}`, "lamp", ""},
		"none":                         {`{"input":["a"]}`, "", ""},
		"a member whose name is empty": {`{"":[],"model":"lamp"}`, "lamp", ""},
		"a name given twice":           {`{"model":"a","model":"b"}`, "", mooring.CodeInvalidJSON},
		"a body that is no JSON":       {`{"model":"a",}`, "", mooring.CodeInvalidJSON},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.Glance([]byte(tt.body), limits)
			if err != nil {
				got = &wire.Request{}
			}
			if got.Model != tt.want || (err == nil) != (tt.code == "") || err != nil && mooring.CodeOf(err) != tt.code {
				t.Errorf("Glance = %+v, %v; want %q, %q", got, err, tt.want, tt.code)
			}
		})
	}
}
