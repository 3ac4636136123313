package wire_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

func FuzzDecodeChat(f *testing.F)        { fuzzDecode(f, mooring.Chat) }
func FuzzDecodeMessages(f *testing.F)    { fuzzDecode(f, mooring.Messages) }
func FuzzDecodeResponses(f *testing.F)   { fuzzDecode(f, mooring.Responses) }
func FuzzDecodeCompletions(f *testing.F) { fuzzDecode(f, mooring.Completions) }

func fuzzDecode(f *testing.F, p mooring.Protocol) {
	f.Helper()
	for _, c := range cases(f) {
		f.Add(c.request)
	}
	f.Add([]byte(`{"messages":[{"role":"user","content":[[{"a":"\""}]]}],"metadata":{"user_id":-1e3}}`))
	f.Add([]byte(`{"input":["a",7,null,{},[[]],{"type":"item_reference","id":"m"},{"type":"reasoning"},{"type":"x_output"}],"prompt":[[1],"a"]}`))
	d := wire.NewDigester([]byte("k"), nil)
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		r, err := wire.Decode(p, body, wire.Limits{JSONDepth: 32})
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("took %q, which is no JSON", body)
		}
		for _, m := range r.Messages {
			if !standsAt(body, m) || !json.Valid(m.Raw) {
				t.Fatalf("message %q is no value at %d of the body", m.Raw, m.At)
			}
			wire.Render(p, m.Raw)
		}
		if _, err := d.Messages(p, r.Messages); err != nil {
			t.Fatalf("digest of a message that was taken: %v", err)
		}
		wire.UserText(r.Messages)
	})
}

func protocols() []mooring.Protocol {
	return []mooring.Protocol{mooring.Chat, mooring.Messages, mooring.Responses, mooring.Completions}
}

// A stream that is cut anywhere gives the same bytes and the same answer.
func FuzzSSE(f *testing.F) {
	for _, c := range cases(f) {
		f.Add(c.stream, slices.Index(protocols(), c.protocol), 3)
	}
	f.Fuzz(func(t *testing.T, stream []byte, protocol, size int) {
		p := protocols()[(protocol&0x7fffffff)%len(protocols())]
		whole, cut := wire.NewMeter(p, wire.MeterLimits{}), wire.NewMeter(p, wire.MeterLimits{})
		feed(t, whole, stream, max(1, len(stream)))
		feed(t, cut, stream, 1+(size&0x7fffffff)%64)
		if diff := cmp.Diff(outcomeOf(p, whole), outcomeOf(p, cut)); diff != "" {
			t.Errorf("cut in pieces (-whole +cut):\n%s", diff)
		}
		if !bytes.Equal(whole.Tail(), cut.Tail()) || !bytes.Equal(whole.Remainder(), cut.Remainder()) {
			t.Errorf("tail %q and %q, remainder %q and %q", whole.Tail(), cut.Tail(), whole.Remainder(), cut.Remainder())
		}
		if whole.Complete() != cut.Complete() || whole.Terminal() != whole.Answer().Ended {
			t.Errorf("complete %v and %v, ended %v", whole.Terminal(), cut.Terminal(), whole.Answer().Ended)
		}
		if m := whole.Answer().Message; m != nil && !json.Valid(m) {
			t.Errorf("the message %q is no JSON", m)
		}
		if body, err := whole.Assemble(); err == nil && !json.Valid(body) {
			t.Errorf("the assembled answer %q is no JSON", body)
		}
	})
}

// Marks, lists and spacing keep a digest; nothing makes it panic.
func FuzzNormalise(f *testing.F) {
	for _, text := range []string{"hi", " <system-reminder>x</system-reminder>y", "e\u0301", "x-anthropic-billing-header: a\nb", "", "<think>a</think>b", "\x00", "<system-reminder>", "<<system-reminder></system-reminder>system-reminder>"} {
		f.Add(text, `{"a":[1,{"b":null}],"c":"d"}`)
	}
	d := wire.NewDigester([]byte("k"), nil)
	f.Fuzz(func(t *testing.T, text, input string) {
		_, _ = d.Message(mooring.Chat, []byte(text))
		_, _ = d.Message(mooring.Messages, []byte(input))
		_, _ = d.Message(mooring.Responses, []byte(input))
		_, _ = d.Message(mooring.Completions, []byte(input))
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, role := range []string{"user", "assistant"} {
			same(t, d, `{"role":"`+role+`","content":`+string(quoted)+`}`,
				`{"content":[{"type":"text","text":`+string(quoted)+`,"cache_control":{"type":"ephemeral"}}], "role":"`+role+`"}`)
		}
		if !json.Valid([]byte(input)) || !strings.HasPrefix(input, "{") {
			return
		}
		var spaced bytes.Buffer
		if err := json.Indent(&spaced, []byte(input), " ", "\t"); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{`{"type":"tool_use","id":"t","name":"f","input":`, `{"type":"odd","x":`} {
			same(t, d, `{"role":"assistant","content":[`+p+input+`}]}`, `{"role":"assistant","content":[`+p+spaced.String()+`,"cache_control":null}]}`)
		}
	})
}

func same(t *testing.T, d *wire.Digester, a, b string) {
	t.Helper()
	for _, p := range protocols() {
		x, errX := d.Message(p, []byte(a))
		y, errY := d.Message(p, []byte(b))
		if errX != nil || errY != nil || x != y {
			t.Errorf("%s: digests differ (%v, %v):\n%q\n%q", p, errX, errY, a, b)
		}
	}
}
