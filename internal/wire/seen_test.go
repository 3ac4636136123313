package wire_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mooring"
	"mooring/internal/wire"
)

func newMapCache() *mapCache { return &mapCache{m: map[[16]byte]wire.Known{}} }

// sameDecode says that a digester reads a body as one does that has seen nothing.
func sameDecode(t *testing.T, d *wire.Digester, p mooring.Protocol, body []byte, lim wire.Limits) {
	t.Helper()
	got, gotErr := d.Decode(p, body, lim)
	want, wantErr := wire.Decode(p, body, lim)
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("Decode(%s, %q) with what was seen: %v; without: %v", p, body, gotErr, wantErr)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(wire.Message{})); diff != "" {
		t.Fatalf("Decode(%s, %q) (-nothing seen +seen):\n%s", p, body, diff)
	}
	if got == nil {
		return
	}
	digests, err := d.Messages(p, got.Messages)
	plain, plainErr := wire.NewDigester([]byte("k"), nil).Messages(p, want.Messages)
	if (err == nil) != (plainErr == nil) {
		t.Fatalf("Messages of %q: %v; without what was seen: %v", body, err, plainErr)
	}
	if diff := cmp.Diff(plain, digests); err == nil && diff != "" {
		t.Fatalf("digests of %q (-nothing seen +seen):\n%s", body, diff)
	}
	if diff := cmp.Diff(want.Messages, got.Messages, cmpopts.IgnoreUnexported(wire.Message{})); err == nil && diff != "" {
		t.Fatalf("messages of %q (-nothing seen +seen):\n%s", body, diff)
	}
}

// seeds are bodies that have what a reading with holes could get wrong.
func seeds(tb testing.TB) map[mooring.Protocol][][]byte {
	tb.Helper()
	large := strings.Repeat(`{"type":"function","function":{"name":"f\"]}","parameters":{"a":{"b":[1,2]}}}},`, 70)
	out := map[mooring.Protocol][][]byte{
		mooring.Chat: {
			[]byte(`{"model":"m","tools":[` + large[:len(large)-1] + `],"messages":[{"role":"system","content":"é"},{"role":"user","content":"a\"}],{"} , {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},` + "\n" + `{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"}]},{"content":"\ud83d","role":"odd"}],"stream":true}`),
			[]byte(`{"messages":[{"role":"user","content":{"deep":[[[]]]}},{"role":"user","content":"b"}]}`),
		},
		mooring.Messages: {
			[]byte(`{"system":[{"type":"text","text":"` + strings.Repeat("rules ", 900) + `"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},{"role":"assistant","content":"y"},{"role":"user","content":"z"}]}`),
		},
		mooring.Responses: {
			[]byte(`{"instructions":"be brief","input":["hi",{"role":"user","content":"q"},{"type":"reasoning","id":"r"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"o"},{"type":"reasoning"},{"role":"user","content":"w"}]}`),
		},
		mooring.Completions: {[]byte(`{"prompt":["` + strings.Repeat("go on ", 800) + `","b"]}`), []byte(`{"prompt":"a"}`)},
	}
	for _, c := range cases(tb) {
		out[c.protocol] = append(out[c.protocol], c.request)
	}
	return out
}

func TestDigesterDecodesAsDecodeDoes(t *testing.T) {
	t.Parallel()
	for p, bodies := range seeds(t) {
		d := wire.NewDigester([]byte("k"), newMapCache())
		for range 3 { // nothing seen, seen, digested
			for _, body := range bodies {
				sameDecode(t, d, p, body, wire.Limits{JSONDepth: 20})
				sameDecode(t, d, p, body, wire.Limits{JSONDepth: 5})
				sameDecode(t, d, p, body, wire.Limits{})
			}
		}
	}
}

// What a client could send to have something taken for read that was not.
func TestHolesFoolNobody(t *testing.T) {
	t.Parallel()
	const m = `{"role":"user","content":"known \"]}"}`
	d := wire.NewDigester([]byte("k"), newMapCache())
	sameDecode(t, d, mooring.Chat, []byte(`{"messages":[`+m+`]}`), wire.Limits{})
	for name, body := range map[string]string{
		"no comma before it":               `{"messages":[1` + m + `]}`,
		"no comma between two":             `{"messages":[` + m + m + `]}`,
		"two commas":                       `{"messages":[` + m + `,,` + m + `]}`,
		"a colon for a comma":              `{"messages":[` + m + `:` + m + `]}`,
		"a comma at the end":               `{"messages":[` + m + `,]}`,
		"inside a text":                    `{"messages":["` + m + `"]}`,
		"the list twice":                   `{"messages":[` + m + `],"messages":[` + m + `]}`,
		"as another member":                `{"messages":[` + m + `],"x":` + m + `}`,
		"below another message":            `{"messages":[{"role":"user","content":[` + m + `]}]}`,
		"a key in a text":                  `{"a":"\"messages\":[","messages":[` + m + `],"b":"` + m + `"}`,
		"cut":                              `{"messages":[` + m,
		"bad UTF-8 beside it":              `{"messages":[` + m + `],"x":"` + "\xff" + `"}`,
		"bad UTF-8 outside of texts":       `{"messages":[` + m + "\xff" + `]}`,
		"too deep":                         `{"x":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `,"messages":[` + m + `]}`,
		"something behind it":              `{"messages":[` + m + `]}` + m,
		"an empty object beside it":        `{"messages":[{},` + m + `]}`,
		"a name given twice at the top":    `{"model":"a","messages":[` + m + `],"model":"b"}`,
		"a name given twice in a new one":  `{"messages":[` + m + `,{"role":"user","role":"user","content":"x"}]}`,
		"a list within the list":           `{"messages":[[` + m + `]]}`,
		"the list is an object":            `{"messages":{"a":` + m + `}}`,
		"a bracket that closes the wrong":  `{"messages":[` + m + `}]`,
		"white space of other kinds":       `{"messages":[` + m + "\u00a0," + m + `]}`,
		"a message where a name should be": `{` + m + `:1,"messages":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameDecode(t, d, mooring.Chat, []byte(body), wire.Limits{JSONDepth: 20})
		})
	}
}

// mutated gives a body with a few changes: bytes put in, taken out, replaced, moved and doubled.
func mutated(r *rand.Rand, body []byte) []byte {
	out := bytes.Clone(body)
	scraps := []string{"{", "}", "[", "]", ",", ":", `"`, `\`, " ", "{}", "1", "null", `"messages":`, `{"role":"user","content":"a"}`, "\xff", `\ud83d`, "\u00e9", `"role":"user",`}
	for range 1 + r.IntN(4) {
		if len(out) < 2 {
			return out
		}
		i := r.IntN(len(out))
		j := min(len(out), i+1+r.IntN(12))
		switch r.IntN(5) {
		case 0:
			out = append(out[:i:i], out[j:]...)
		case 1:
			out = append(out[:i:i], append([]byte(scraps[r.IntN(len(scraps))]), out[i:]...)...)
		case 2:
			out = append(out[:i:i], append([]byte(scraps[r.IntN(len(scraps))]), out[j:]...)...)
		case 3:
			k := r.IntN(len(out))
			out = append(out[:k:k], append(bytes.Clone(out[i:j]), out[k:]...)...)
		default:
			out[i] = byte(r.IntN(256))
		}
	}
	return out
}

func TestMutatedBodiesAreReadAlike(t *testing.T) {
	t.Parallel()
	const rounds = 60
	r := rand.New(rand.NewPCG(7, 11))
	for p, bodies := range seeds(t) {
		d := wire.NewDigester([]byte("k"), newMapCache())
		for _, body := range bodies {
			sameDecode(t, d, p, body, wire.Limits{JSONDepth: 20})
			for range rounds {
				sameDecode(t, d, p, mutated(r, body), wire.Limits{JSONDepth: 20})
			}
		}
	}
}

func FuzzSeenBodies(f *testing.F) {
	for p, bodies := range seeds(f) {
		for _, body := range bodies {
			f.Add(body, string(p), uint64(1))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, protocol string, seed uint64) {
		p := mooring.Protocol(protocol)
		d := wire.NewDigester([]byte("k"), newMapCache())
		sameDecode(t, d, p, body, wire.Limits{JSONDepth: 20})
		sameDecode(t, d, p, body, wire.Limits{JSONDepth: 20})
		r := rand.New(rand.NewPCG(seed, 0))
		for range 8 {
			sameDecode(t, d, p, mutated(r, body), wire.Limits{JSONDepth: 20})
		}
	})
}

func TestMessagesChangedSinceTheyWereDecoded(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), newMapCache())
	body := []byte(`{"messages":[{"role":"user","content":"one"},{"role":"user","content":"two"}]}`)
	for range 2 {
		r, err := d.Decode(mooring.Chat, body, wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		r.Messages[0].Raw = []byte(`{"role":"user","content":"six"}`)
		got, err := d.Messages(mooring.Chat, r.Messages)
		if err != nil {
			t.Fatal(err)
		}
		if want := digestWith(t, d, `{"role":"user","content":"six"}`); got[0] != want {
			t.Errorf("digest of a message whose bytes were replaced = %x, want that of the new ones, %x", got[0], want)
		}
		other := wire.NewDigester([]byte("other"), nil)
		strange, err := other.Messages(mooring.Chat, r.Messages)
		if err != nil || strange[1] == got[1] {
			t.Errorf("another digester gives %x (%v), want a digest of its own", strange[1], err)
		}
	}
}

func digestWith(t *testing.T, d *wire.Digester, raw string) wire.Digest {
	t.Helper()
	out, err := d.Message(mooring.Chat, []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAnswersAreNoValidMessages(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), newMapCache())
	const twice = `{"role":"assistant","content":"a","content":"b"}`
	digestWith(t, d, twice) // an answer is read leniently
	sameDecode(t, d, mooring.Chat, fmt.Appendf(nil, `{"messages":[%s,{"role":"user","content":"x"}]}`, twice), wire.Limits{})
}

func TestManyMessagesAreRead(t *testing.T) {
	t.Parallel()
	d := wire.NewDigester([]byte("k"), newMapCache())
	var b bytes.Buffer
	b.WriteString(`{"messages":[`)
	for i := range 6000 {
		fmt.Fprintf(&b, `{"role":"user","content":"%d"},`, i)
	}
	b.WriteString(`{"role":"user","content":"last"}],"model":"m"}`)
	for range 2 {
		sameDecode(t, d, mooring.Chat, b.Bytes(), wire.Limits{})
	}
}
