package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/wire"
)

// body is a request of a coding agent: n messages of about 1 KB, a third of them full of escapes.
func body(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"lamp-1","stream":true,"session_id":"s-1","messages":[{"role":"user","content":"begin"}`)
	for i := range n {
		role := []string{"user", "assistant"}[i%2]
		text := strings.Repeat(fmt.Sprintf("forest orchard %d window ", i), 40)
		if i%3 == 0 {
			text = strings.Repeat(fmt.Sprintf(`\n\tlet x%d = \"y\";`, i), 40)
		}
		fmt.Fprintf(&b, `,{"role":%q,"content":[{"type":"text","text":"%s"}]}`, role, text)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{10, 200} {
		b.Run(fmt.Sprintf("%dKB", n), func(b *testing.B) {
			body := body(n)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := wire.Decode(mooring.Chat, body, wire.Limits{JSONDepth: 128}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDigester(b *testing.B) {
	r, err := wire.Decode(mooring.Chat, body(200), wire.Limits{JSONDepth: 128})
	if err != nil {
		b.Fatal(err)
	}
	for name, cache := range map[string]wire.DigestCache{"cold": nil, "warm": &mapCache{m: map[[16]byte]wire.Known{}}} {
		b.Run(name, func(b *testing.B) {
			d := wire.NewDigester([]byte("k"), cache)
			b.ReportAllocs()
			for b.Loop() {
				digests, err := d.Messages(mooring.Chat, r.Messages)
				if err != nil {
					b.Fatal(err)
				}
				var chain wire.Digest
				for _, one := range digests {
					chain = d.Chain(chain, one)
				}
			}
		})
	}
}

func BenchmarkMeter(b *testing.B) {
	for p, event := range map[mooring.Protocol]string{
		mooring.Chat:      `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"lamp-1","choices":[{"index":0,"delta":{"content":" orchard"},"finish_reason":null}]}` + "\n\n",
		mooring.Responses: "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":9,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" orchard","logprobs":[]}` + "\n\n",
		mooring.Messages:  "event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" orchard"}}` + "\n\n",
	} {
		b.Run(string(p), func(b *testing.B) {
			m := wire.NewMeter(p, wire.MeterLimits{MaxEvent: 16 << 20})
			chunk := []byte(event)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.Feed(chunk); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
