package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

func kept(p mooring.Protocol, role, content string) mooring.Message {
	return mooring.Message{Protocol: p, Role: role, Content: []byte(content)}
}

func TestTalk(t *testing.T) {
	t.Parallel()
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
	call := kept(mooring.Chat, "assistant", `{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"cd","arguments":"{}"}}]}`)
	result := kept(mooring.Chat, "tool", `{"role":"tool","tool_call_id":"c2","content":"ok"}`)
	asked := kept(mooring.Chat, "user", `{"role":"user","content":"hi","name":"ann"}`)
	for _, tt := range []struct {
		name string
		to   mooring.Protocol
		said []mooring.Message
		want []string
	}{
		{
			"words keep their form, thinking and what only its server reads do not", mooring.Chat,
			[]mooring.Message{asked, kept(mooring.Chat, "assistant", `{"role":"assistant","content":"ay","reasoning_content":"hm","annotations":[]}`)},
			[]string{`{"role":"user","content":"hi"}`, `{"role":"assistant","content":"ay"}`},
		},
		{
			"C080 a call without a result is given one", mooring.Chat,
			[]mooring.Message{asked, call, result, asked},
			[]string{
				`{"role":"user","content":"hi"}`,
				`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"cd","arguments":"{}"}}]}`,
				`{"role":"tool","tool_call_id":"c1","content":"The call was not answered; it broke off."}`,
				`{"role":"tool","tool_call_id":"c2","content":"ok"}`,
				`{"role":"user","content":"hi"}`,
			},
		},
		{
			"C080 a result without its call is left out", mooring.Chat,
			[]mooring.Message{asked, result},
			[]string{`{"role":"user","content":"hi"}`},
		},
		{
			"an answer that holds nothing is left out", mooring.Chat,
			[]mooring.Message{asked, kept(mooring.Chat, "assistant", `{"role":"assistant","content":""}`)},
			[]string{`{"role":"user","content":"hi"}`},
		},
		{
			"images stay in their own protocol, marks of caches do not", mooring.Chat,
			[]mooring.Message{kept(mooring.Chat, "user", `{"role":"user","content":[{"type":"text","text":"see","cache_control":{"type":"ephemeral"}},{"type":"text","text":""},`+image+`]}`)},
			[]string{`{"role":"user","content":[{"type":"text","text":"see"},` + image + `]}`},
		},
		{
			"in another protocol all is text", mooring.Messages,
			[]mooring.Message{kept(mooring.Chat, "user", `{"role":"user","content":[{"type":"text","text":"see"},`+image+`]}`), call, result},
			[]string{`{"role":"user","content":"see\n[screenshot]"}`, `{"role":"assistant","content":"[ls {}]\n[cd {}]"}`, `{"role":"user","content":"ok"}`},
		},
		{
			"messages begin with the user, and offer no tools", mooring.Messages,
			[]mooring.Message{
				kept(mooring.Messages, "assistant", `{"role":"assistant","content":[{"type":"text","text":"first"}]}`),
				kept(mooring.Messages, "user", `{"role":"user","content":"hi"}`),
				kept(mooring.Messages, "assistant", `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"ay"},{"type":"tool_use","id":"t","name":"ls","input":{}}]}`),
				kept(mooring.Messages, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a.txt"}]}`),
			},
			[]string{`{"role":"user","content":"hi"}`, `{"role":"assistant","content":"ay\n[ls {}]"}`, `{"role":"user","content":"a.txt"}`},
		},
		{
			"responses and completions are told as text", mooring.Chat,
			[]mooring.Message{
				kept(mooring.Responses, "user", `"hi"`),
				kept(mooring.Responses, "assistant", `[{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ay"}]}]`),
				kept(mooring.Completions, "user", `"go"`),
				kept(mooring.Completions, "assistant", `{"role":"assistant","content":" on"}`),
			},
			[]string{`{"role":"user","content":"hi"}`, `{"role":"assistant","content":"ay"}`, `{"role":"user","content":"go"}`, `{"role":"assistant","content":"on"}`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, m := range wire.Talk(tt.to, tt.said) {
				got = append(got, string(m))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("talk (-want +got):\n%s", diff)
			}
			body := `{"model":"m","max_tokens":1,"messages":[` + strings.Join(append(got, `{"role":"user","content":"x"}`), ",") + `]}`
			if _, err := wire.Decode(tt.to, []byte(body), wire.Limits{}); err != nil {
				t.Errorf("as a request: %v", err)
			}
		})
	}
}
