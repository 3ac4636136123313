package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

func TestNewCommand(t *testing.T) {
	t.Parallel()
	const image = `{"type":"image_url","image_url":{"url":"https://x.example/boat.png"}}`
	for _, tt := range []struct{ rule, content, remains string }{
		{"H-17 the word alone", `"/new"`, ""},
		{"H-17 it is trimmed", `"  /new \n"`, ""},
		{"H-21 the text behind it is trimmed too", `"/new   hi  "`, `"hi"`},
		{"an escaped slash is a slash", `"\/new hi"`, `"hi"`},
		{"what remains may begin with the word again", `"/new /new"`, `"/new"`},
		{"H-18 a list of one text", `[{"type":"text","text":" /new  "}]`, ""},
		{"a text in a list keeps its other members", `[{"type":"text","text":"/new hi","cache_control":{"type":"ephemeral"}}]`, `[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]`},
		{"H-18 an image stands behind the word", `[{"type":"text","text":"/new"},` + image + `]`, `[` + image + `]`},
		{"H-18 also where it comes first", `[` + image + `,{"type":"text","text":"/new what is it"}]`, `[` + image + `,{"type":"text","text":"what is it"}]`},
		{"a second text goes on", `[{"type":"text","text":"/new a"},{"type":"text","text":"b"}]`, `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		{"an empty text before it does not matter", `["","/new hi"]`, `["hi"]`},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			got, ok := wire.NewCommand([]byte(`{"name":"n","content":` + tt.content + `,"role":"user"}`))
			want := ""
			if tt.remains != "" {
				want = `{"name":"n","content":` + tt.remains + `,"role":"user"}`
			}
			if !ok || string(got) != want {
				t.Errorf("NewCommand = %s, %v, want %s", got, ok, want)
			}
		})
	}
	for _, text := range []string{
		"/newer", "/NEW", "/New", "/new\ttext", "/new\ntext", "x /new", "/ new", "/new\u00a0x", "/new/", "/new.", "//new", "\uff0fnew", "", "new",
	} {
		t.Run("H-17 text: "+text, func(t *testing.T) {
			t.Parallel()
			content, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []string{string(content), `[{"type":"text","text":` + string(content) + `}]`} {
				if got, ok := wire.NewCommand([]byte(`{"role":"user","content":` + c + `}`)); ok {
					t.Errorf("NewCommand(%s) = %s, want none", c, got)
				}
			}
		})
	}
	for rule, message := range map[string]string{
		"H-18 two texts are two lines": `{"role":"user","content":[{"type":"text","text":"/new"},{"type":"text","text":"hello"}]}`,
		"no content":                   `{"role":"user","new":1}`,
		"null":                         `{"role":"user","content":null,"x":"new"}`,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			if got, ok := wire.NewCommand([]byte(message)); ok {
				t.Errorf("NewCommand = %s, want none", got)
			}
		})
	}
}

func TestChatReply(t *testing.T) {
	t.Parallel()
	c := wire.ChatReply{ID: "chatcmpl-1", Model: `a "model"`, Text: "A new\nchat", Created: 1700000000}
	whole, err := wire.DecodeAnswer(mooring.Chat, c.Whole())
	if err != nil {
		t.Fatal(err)
	}
	m := wire.NewMeter(mooring.Chat, wire.MeterLimits{})
	stream := append(c.Stream(), m.Terminator()...)
	if _, err := m.Feed(stream); err != nil {
		t.Fatal(err)
	}
	type facts struct{ ID, Model, Message, Finish string }
	want := facts{"chatcmpl-1", `a "model"`, `{"role":"assistant","content":"A new\nchat"}`, "stop"}
	for name, a := range map[string]wire.Answer{"whole": whole, "stream": m.Answer()} {
		if diff := cmp.Diff(want, facts{a.ID, a.Model, string(a.Message), a.Finish}); diff != "" || !a.Ended {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if string(c.Message()) != want.Message || strings.Count(string(stream), "data: ") != 4 {
		t.Errorf("message %s, stream %s", c.Message(), stream)
	}
}
