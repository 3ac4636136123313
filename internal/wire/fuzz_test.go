package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

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

// The normal form is its own: written down as a message again it has the same one, so nothing that was taken out lets something
// else come to light.
func FuzzNormalForm(f *testing.F) {
	for _, m := range spokenMessages()[mooring.Messages] {
		f.Add([]byte(m))
	}
	for _, text := range []string{
		`<<system-reminder></system-reminder>system-reminder>x</system-reminder>`, `<think>a</think><think>b</think>c`, "x-anthropic-billing-header: a\nx-anthropic-billing-header: b\n c",
		`e<system-reminder>a</system-reminder>\u0301`, `x-anthropic-\nbilling-header: a`, `<system-\nreminder>a</system-reminder>`, `<think\r>a</think>b`, "a \\r \\n\\r\\n b", "\u2028a\u00a0",
	} {
		for _, role := range []string{"user", "assistant"} {
			f.Add([]byte(`{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"},{"type":"tool_result","tool_use_id":"t","content":"` + text + `"}]}`))
		}
	}
	f.Add([]byte(`{"role":"user","content":[5,null,[{"a":null}],"x",{"type":"image","source":{"type":"base64","data":"data:;base64,AA"}},{"type":"image","source":{"type":"url","url":"data:;base64,?"}},{"type":"odd","cache_control":{},"a":{"cache_control":[1,{}]}}]}`))
	f.Add([]byte(`{"role":"assistant","content":[{"type":"tool_use","input":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, p := range protocols() {
			_ = wire.Form(p, message)
			wire.Continued(p, message, message)
		}
		form := wire.Form(mooring.Messages, message)
		if form == nil || !utf8.Valid(message) {
			return
		}
		again := wire.Form(mooring.Messages, written(form))
		if !bytes.Equal(form, again) {
			t.Errorf("the form of\n%s\nis\n%q\nand of that, written as\n%s\n%q", message, form, written(form), again)
		}
	})
}

// written is a message of the messages protocol that has the form.
func written(form []byte) []byte {
	var head, call, result string
	var parts, inside []string // of the message, and of the result that is open
	end := func() {
		if result != "" {
			parts = append(parts, result+`"content":[`+strings.Join(inside, ",")+`]}`)
		}
		result, inside = "", nil
	}
	for len(form) > 0 {
		size, n := binary.Uvarint(form[1:])
		letter, item := form[0], form[1+n:1+n+int(size)]
		form = form[1+n+int(size):]
		quoted, err := json.Marshal(string(item))
		if err != nil {
			return nil
		}
		part := ""
		switch letter {
		case 'm':
			head = fmt.Sprintf(`{"role":%s,"content":[`, quoted)
		case 't':
			part = fmt.Sprintf(`{"type":"text","text":%s}`, quoted)
		case 'c':
			call = fmt.Sprintf(`{"type":"tool_use","id":%s,`, quoted)
		case 'n':
			call += fmt.Sprintf(`"name":%s,`, quoted)
		case 'a':
			part = call + fmt.Sprintf(`"input":%s}`, quoted)
		case 'i':
			part = fmt.Sprintf(`{"type":"image","source":{"type":"url","url":%s}}`, quoted)
		case 'I':
			part = fmt.Sprintf(`{"type":"image","source":{"type":"base64","data":%s}}`, quoted)
		case 'b':
			part = fmt.Sprintf(`{"type":"image","source":{"type":"base64","data":%q}}`, base64.StdEncoding.EncodeToString(item))
		case 'x':
			part = string(item)
		case 'r':
			end()
			result = fmt.Sprintf(`{"type":"tool_result","tool_use_id":%s,`, quoted)
		case 'e':
			result += `"is_error":true,`
		}
		switch {
		case part == "":
		case result != "":
			inside = append(inside, part)
		default:
			parts = append(parts, part)
		}
	}
	end()
	return []byte(head + strings.Join(parts, ",") + "]}")
}
