package wire_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

func TestInstructions(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p    mooring.Protocol
		body string
		want []string
	}{
		"a system prompt of parts":       {mooring.Messages, `{"system":[{"type":"text","text":"a \"b\"","cache_control":{}},{"type":"text","text":"c"}],"messages":[{"role":"user","content":"x"}]}`, []string{`"a \"b\""`, `"c"`}},
		"a system prompt of one text":    {mooring.Messages, `{"messages":[{"role":"user","content":"x"}],"system":"a"}`, []string{`"a"`}},
		"a system message in the middle": {mooring.Messages, `{"system":"a","messages":[{"role":"user","content":"x"},{"role":"system","content":"b"},{"role":"user","content":"y"}]}`, []string{`"a"`}},
		"system and developer messages":  {mooring.Chat, `{"messages":[{"role":"system","content":"a"},{"role":"developer","content":[{"type":"text","text":"b"}]},{"role":"user","content":"x"}]}`, []string{`"a"`, `"b"`}},
		"instructions":                   {mooring.Responses, `{"instructions":"a","input":[{"role":"developer","content":[{"type":"input_text","text":"b"}]},{"role":"user","content":"x"}]}`, []string{`"a"`, `"b"`}},
		"system where it means nothing":  {mooring.Chat, `{"system":"a","messages":[{"role":"user","content":"x"}]}`, nil},
		"none":                           {mooring.Responses, `{"instructions":null,"input":"x"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := wire.NewDigester([]byte("k"), newMapCache())
			for range 2 { // read, then remembered
				r, err := d.Decode(tt.p, []byte(tt.body), limits)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, text := range r.Instructions() {
					if !bytes.Contains([]byte(tt.body), text) {
						t.Errorf("%s is no span of the body", text)
					}
					got = append(got, string(text))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("Instructions (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p         mooring.Protocol
		body      string
		ends, has bool
	}{
		"a tool's message at the end":    {mooring.Chat, `{"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"c","content":"x"}]}`, true, true},
		"a tool's message before":        {mooring.Chat, `{"messages":[{"role":"tool","tool_call_id":"c","content":"x"},{"role":"user","content":"a"}]}`, false, true},
		"a function's message":           {mooring.Chat, `{"messages":[{"role":"function","name":"f","content":"x"}]}`, true, true},
		"a result among parts":           {mooring.Messages, `{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}`, true, true},
		"the word in a text":             {mooring.Messages, `{"messages":[{"role":"user","content":[{"type":"text","text":"what is a tool_result?"}]}]}`, false, false},
		"a system message behind it":     {mooring.Messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]},{"role":"system","content":"s"}]}`, true, true},
		"an output item":                 {mooring.Responses, `{"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f","arguments":""},{"type":"function_call_output","call_id":"c","output":"x"}]}`, true, true},
		"an output item, then a message": {mooring.Responses, `{"input":[{"type":"function_call_output","call_id":"c","output":"x"},{"role":"user","content":"a"}]}`, false, true},
		"none":                           {mooring.Completions, `{"prompt":"tool_result"}`, false, false},
		"no messages":                    {mooring.Responses, `{"input":[]}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := wire.NewDigester([]byte("k"), newMapCache())
			for range 2 {
				r, err := d.Decode(tt.p, []byte(tt.body), limits)
				if err != nil {
					t.Fatal(err)
				}
				if r.EndsInResult() != tt.ends || r.HasResult() != tt.has {
					t.Errorf("EndsInResult %v, HasResult %v; want %v, %v", r.EndsInResult(), r.HasResult(), tt.ends, tt.has)
				}
			}
		})
	}
}

// A client that began the answer itself has one message in the end, in whichever of these ways it joins the two.
func TestContinued(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p               mooring.Protocol
		prefill, answer string
		sent            []string
	}{
		"messages": {
			mooring.Messages, `{"role":"assistant","content":"{\"a\":"}`, `{"role":"assistant","content":[{"type":"text","text":" 1}"}]}`,
			[]string{`{"role":"assistant","content":"{\"a\": 1}"}`, `{"role":"assistant","content":[{"type":"text","text":"{\"a\":"},{"type":"text","text":" 1}"}]}`},
		},
		"messages, of parts, with a call": {
			mooring.Messages, `{"role":"assistant","content":[{"type":"text","text":"Let me "}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"look."},{"type":"tool_use","id":"t","name":"f","input":{}}]}`,
			[]string{`{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t","name":"f","input":{}}]}`},
		},
		"chat": {
			mooring.Chat, `{"role":"assistant","content":"Once"}`, `{"role":"assistant","content":" upon","refusal":null}`,
			[]string{`{"role":"assistant","content":"Once upon"}`},
		},
		"chat, a call alone": {
			mooring.Chat, `{"role":"assistant","content":"I look."}`, `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
			[]string{`{"role":"assistant","content":"I look.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}`},
		},
		"chat, an answer without content": {
			mooring.Chat, `{"role":"assistant","content":"I look."}`, `{"role":"assistant","tool_calls":[]}`, []string{`{"role":"assistant","content":"I look."}`},
		},
		"responses": {
			mooring.Responses, `{"role":"assistant","content":"Once"}`, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":" upon"}]}`,
			[]string{`{"role":"assistant","content":"Once upon"}`, `[{"role":"assistant","content":"Once"},{"role":"assistant","content":" upon"}]`},
		},
		"responses, several items": {
			mooring.Responses, `[{"type":"reasoning"},{"role":"assistant","content":"Once"}]`, `[{"role":"assistant","content":" upon"},{"type":"function_call","call_id":"c","name":"f","arguments":""}]`,
			[]string{`[{"role":"assistant","content":"Once upon"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]`},
		},
		"no prefill":             {mooring.Chat, ``, `{"role":"assistant","content":"a"}`, []string{`{"role":"assistant","content":"a"}`}},
		"a question is none":     {mooring.Chat, `{"role":"user","content":"b"}`, `{"role":"assistant","content":"a"}`, []string{`{"role":"assistant","content":"a"}`}},
		"responses, a question":  {mooring.Responses, `"b"`, `{"role":"assistant","content":"a"}`, []string{`{"role":"assistant","content":"a"}`}},
		"completions":            {mooring.Completions, `"b"`, `{"role":"assistant","content":"a"}`, []string{`{"role":"assistant","content":"a"}`}},
		"a prefill of no JSON":   {mooring.Chat, `{"role":"assistant"`, `{"role":"assistant","content":"a"}`, []string{`{"role":"assistant","content":"a"}`}},
		"a prefill that is null": {mooring.Messages, `{"role":"assistant","content":null}`, `{"role":"assistant","content":[{"type":"text","text":"a"}]}`, []string{`{"role":"assistant","content":"a"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := wire.NewDigester([]byte("k"), nil)
			got := wire.Continued(tt.p, []byte(tt.prefill), []byte(tt.answer))
			for _, sent := range tt.sent {
				if message(t, d, tt.p, string(got)) != message(t, d, tt.p, sent) {
					t.Errorf("Continued = %s, which has another digest than %s", got, sent)
				}
			}
		})
	}
}

func TestChains(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), nil)
	a, b, none := wire.Digest{1}, wire.Digest{2}, wire.Digest{}
	first := d.Chain(none, a)
	second := d.Chain(first, b)
	for name, tt := range map[string]struct{ digests, want []wire.Digest }{
		"each follows the one before":   {[]wire.Digest{a, b}, []wire.Digest{first, second}},
		"instructions are passed over":  {[]wire.Digest{none, a, none, b, none}, []wire.Digest{none, first, first, second, second}},
		"nothing":                       {nil, []wire.Digest{}},
		"the order counts":              {[]wire.Digest{b, a}, []wire.Digest{d.Chain(none, b), d.Chain(d.Chain(none, b), a)}},
		"a message twice is not itself": {[]wire.Digest{a, a}, []wire.Digest{first, d.Chain(first, a)}},
	} {
		if diff := cmp.Diff(tt.want, d.Chains(tt.digests)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if other := wire.NewDigester([]byte("other"), nil); other.Chain(none, a) == first {
		t.Error("two tenants have one chain digest")
	}
}

// How much a message says is what is left of it when all that clients drop is dropped.
func TestSays(t *testing.T) {
	t.Parallel()
	body := []byte(`{"messages":[{"role":"user","content":"` + "<system-reminder>long long words</system-reminder>" + `"},{"role":"assistant","content":[{"type":"thinking","thinking":"a long thought","signature":"s"}]},
		{"role":"assistant","content":"OK."},{"role":"user","content":"a longer question"}]}`)
	d := wire.NewDigester([]byte("k"), newMapCache())
	for range 3 {
		r, err := d.Decode(mooring.Messages, body, limits)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Messages(mooring.Messages, r.Messages); err != nil {
			t.Fatal(err)
		}
		m := r.Messages
		if m[0].Says != 0 || m[1].Says != 0 || m[2].Says == 0 || m[3].Says <= m[2].Says {
			t.Errorf("Says = %d, %d, %d, %d; want nothing, nothing, little, more", m[0].Says, m[1].Says, m[2].Says, m[3].Says)
		}
	}
}
