package wire_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/wire"
	"mooring/internal/wire/wiretest"
)

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="

// spoken are messages of each protocol that hold all that a rewriting can touch; no two of a protocol mean the same.
func spokenMessages() map[mooring.Protocol][]string {
	const code = "Look at this:\\n\\tif a  <  b {\\n\\t\\treturn \\\"café / naïve\\\"\\n\\t}\\nIs it right?"
	return map[mooring.Protocol][]string{
		mooring.Chat: {
			`{"role":"user","content":"` + code + `"}`,
			`{"role":"user","content":"hi"}`,
			`{"role":"user","content":[{"type":"text","text":"What is this? "},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + pixel + `"}},{"type":"text","text":"And\nthis?"}]}`,
			`{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAAA"}}]}`,
			`{"role":"assistant","content":"` + code + `"}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`,
			`{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a/b.go\",\"lines\":[1,20],\"é\":{\"deep\":true,\"n\":null},\"text\":\"  keep\\n me \"}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"not json"}}]}`,
			`{"role":"assistant","content":null,"function_call":{"name":"old","arguments":"{\"a\":1}"}}`,
			`{"role":"assistant","content":null,"refusal":"I cannot."}`,
			`{"role":"tool","tool_call_id":"c1","content":"1:\\tharbour\\n2:  lantern\\n"}`,
			`{"role":"tool","tool_call_id":"c2","content":"1:\\tharbour\\n2:  lantern\\n"}`,
			`{"role":"system","content":"Be brief."}`,
		},
		mooring.Messages: {
			`{"role":"user","content":"` + code + `"}`,
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"two\nlines"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + pixel + `"}}],"is_error":true},{"type":"text","text":"go on"}]}`,
			`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.example/a.png"}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"words"}}]}`,
			`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"` + code + `"},{"type":"tool_use","id":"t1","name":"f","input":{"b":[1,2.5,"x"],"a":{"é":"ñ"}}},{"type":"tool_use","id":"t2","name":"f","input":{}}]}`,
			`{"role":"assistant","content":"Done."}`,
			`{"role":"assistant","content":[{"type":"text","text":"Done, "},{"type":"text","text":"nearly."}]}`,
		},
		mooring.Responses: {
			`"hello there"`,
			`{"role":"user","content":[{"type":"input_text","text":"` + code + `"},{"type":"input_image","image_url":"data:image/png;base64,` + pixel + `"}]}`,
			`{"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[{"type":"output_text","text":"` + code + `","annotations":[]}]}`,
			`[{"type":"reasoning","id":"rs_1","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look. "},{"type":"output_text","text":"Now."}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1,\"b\":[true]}"},{"type":"function_call","call_id":"c2","name":"f","arguments":""}]`,
			`{"type":"function_call_output","call_id":"c1","output":"one\ntwo"}`,
			`{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"*** Begin\n+a"}`,
		},
		mooring.Completions: {`"Once upon a time\nthere was "`, `["a","b"]`, `[1,2,3]`, `{"role":"assistant","content":" and then"}`},
	}
}

func TestRewritingsKeepTheDigest(t *testing.T) {
	t.Parallel()
	const rounds = 400
	for p, messages := range spokenMessages() {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 5))
			d := wire.NewDigester([]byte("k"), nil)
			for _, first := range messages {
				want, message := message(t, d, p, first), []byte(first)
				for i := range rounds {
					before := message
					message = wiretest.Rewrite(r, p, message)
					if got := messageDigest(t, d, p, message); got != want {
						t.Fatalf("round %d: rewritten, the digest of\n%s\nchanged with\n%s\nforms\n%q\n%q", i, before, message, wire.Form(p, before), wire.Form(p, message))
					}
					if len(message) > 4000 {
						message = []byte(first)
					}
				}
			}
		})
	}
}

func message(t *testing.T, d *wire.Digester, p mooring.Protocol, raw string) wire.Digest {
	t.Helper()
	return messageDigest(t, d, p, []byte(raw))
}

func messageDigest(t *testing.T, d *wire.Digester, p mooring.Protocol, raw []byte) wire.Digest {
	t.Helper()
	out, err := d.Message(p, raw)
	if err != nil {
		t.Fatalf("Message(%s): %v", raw, err)
	}
	return out
}

func TestNoTwoMeaningsAreOne(t *testing.T) {
	t.Parallel()
	for p, messages := range spokenMessages() {
		r := rand.New(rand.NewPCG(3, 6))
		d := wire.NewDigester([]byte("k"), nil)
		seen := map[wire.Digest]string{}
		once := func(m string) wire.Digest {
			digest := message(t, d, p, m)
			if was, ok := seen[digest]; ok && was != m {
				t.Errorf("%s: these have one digest:\n%s\n%s", p, was, m)
			}
			seen[digest] = m
			return digest
		}
		for _, m := range messages {
			once(strings.Replace(m, "user", "assistant", 1)) // not rewritten: no model says what is a user's, such as results of tools
			for _, other := range []string{m, strings.Replace(m, "harbour", "harbours", 1), strings.Replace(m, "hi", "ho", 1), strings.Replace(m, "\\\"a\\\":1", "\\\"a\\\":2", 1), strings.Replace(m, "Kg", "Kh", 1)} {
				digest := once(other)
				if again := messageDigest(t, d, p, wiretest.Rewrite(r, p, []byte(other))); again != digest {
					t.Errorf("%s: rewritten, the digest of %s changed", p, other)
				}
			}
		}
	}
}
