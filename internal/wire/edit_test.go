package wire_test

import (
	"strings"
	"testing"

	"mooring"
	"mooring/internal/wire"
)

func TestEdited(t *testing.T) {
	t.Parallel()
	for rule, tt := range map[string]struct {
		body string
		edit func(r *wire.Request) wire.Edit
		want string
	}{
		"messages alone": {
			`{"x": [1, 2] , "messages" :  [ {"role":"user","content":"a"} , {"role":"assistant","content":"]"},{"role":"user","content":"b"}] ,"model":"m"}`,
			func(r *wire.Request) wire.Edit {
				return wire.Edit{Messages: []wire.Message{r.Messages[0], {Raw: []byte(`{"role":"user","content":"c"}`)}}}
			},
			`{"x": [1, 2] , "messages" :  [{"role":"user","content":"a"},{"role":"user","content":"c"}] ,"model":"m"}`,
		},
		"the model alone, everything else byte for byte": {
			`{ "n":1.50,"model" : "f\u0061st" , "messages":[{"role":"user","content":"caf\u00e9 \"model\":\"fast\""}], "zz":1e2 }` + "\n",
			func(*wire.Request) wire.Edit { return wire.Edit{Model: `the "real" one`} },
			`{ "n":1.50,"model" : "the \"real\" one" , "messages":[{"role":"user","content":"caf\u00e9 \"model\":\"fast\""}], "zz":1e2 }` + "\n",
		},
		"both, the model first": {
			`{"model":"fast","messages":[{"role":"user","content":"a"}],"x":1}`,
			func(r *wire.Request) wire.Edit { return wire.Edit{Model: "m", Messages: r.Messages[:0]} },
			`{"model":"m","messages":[],"x":1}`,
		},
		"both, the model last": {
			`{"messages":[{"role":"user","content":"a"}],"x":1,"model":"fast"}`,
			func(r *wire.Request) wire.Edit { return wire.Edit{Model: "longer", Messages: r.Messages} },
			`{"messages":[{"role":"user","content":"a"}],"x":1,"model":"longer"}`,
		},
		"no model, so none is put there": {
			`{"messages":[{"role":"user","content":"a"}]}`,
			func(*wire.Request) wire.Edit { return wire.Edit{Model: "m"} },
			`{"messages":[{"role":"user","content":"a"}]}`,
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			r, err := wire.Decode(mooring.Chat, []byte(tt.body), wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(r.Edited([]byte(tt.body), tt.edit(r))); got != tt.want {
				t.Errorf("Edited = %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A body that was seen before is read with holes in the place of its messages; positions are those of the body all the same.
func TestEditedBodyThatWasSeenBefore(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), newMapCache())
	body := `{"messages":[{"role":"user","content":"` + strings.Repeat("long ", 100) + `"}],"tools":["` + strings.Repeat("x", 5000) + `"],"model":"fast","z":1}`
	for range 2 {
		r, err := d.Decode(mooring.Chat, []byte(body), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(r.Edited([]byte(body), wire.Edit{Model: "m-1"})), strings.Replace(body, `"fast"`, `"m-1"`, 1); got != want {
			t.Errorf("Edited = %s", got)
		}
	}
}

func TestSealed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule string
		p    mooring.Protocol
		body string
		want bool
	}{
		{"nothing", mooring.Chat, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, false},
		{"words about it are none", mooring.Chat, `{"messages":[{"role":"user","content":"{\"signature\":\"x\",\"encrypted_content\":\"y\"}"}]}`, false},
		{"a tool that has such a member is none", mooring.Messages, `{"tools":[{"input_schema":{"properties":{"signature":{}}}}],"messages":[{"role":"user","content":"hi"}]}`, false},
		{"that it is asked for is none", mooring.Responses, `{"include":["reasoning.encrypted_content"],"input":"hi"}`, false},
		{"encrypted reasoning", mooring.Responses, `{"input":[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA"},{"type":"message","role":"user","content":"hi"}]}`, true},
		{"a container of the code interpreter", mooring.Responses, `{"input":[{"type":"code_interpreter_call","container_id":"cntr_1"}]}`, true},
		{"signed thinking", mooring.Messages, `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln"}]}]}`, true},
		{"redacted thinking", mooring.Messages, `{"messages":[{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}]}`, true},
		{"OpenRouter's", mooring.Chat, `{"messages":[{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}]}`, true},
		{"Gemini's", mooring.Chat, `{"messages":[{"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"x"}}}]}]}`, true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r, err := wire.Decode(tt.p, []byte(tt.body), wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Sealed([]byte(tt.body)); got != tt.want {
				t.Errorf("Sealed = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestContainerOfAnAnswer(t *testing.T) {
	t.Parallel()
	const whole = `{"type":"message","role":"assistant","content":[{"type":"text","text":"4"}],"stop_reason":"end_turn","container":{"id":"container_1","expires_at":"x"}}`
	a, err := wire.DecodeAnswer(mooring.Messages, []byte(whole))
	if err != nil || a.Container != "container_1" {
		t.Errorf("Container = %q, %v; want container_1", a.Container, err)
	}
	m := wire.NewMeter(mooring.Messages, wire.MeterLimits{})
	const stream = `data: {"type":"message_start","message":{"id":"msg_1","container":null}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"4"}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn","container":{"id":"container_2","expires_at":"x"}}}

data: {"type":"message_stop"}

`
	if _, err := m.Feed([]byte(stream)); err != nil || m.Answer().Container != "container_2" {
		t.Errorf("Container = %q, %v; want container_2", m.Answer().Container, err)
	}
}
