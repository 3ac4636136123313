package wire_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
	"mooring/internal/wire"
)

// codingBody is what a coding agent sends late in its work: n messages of about 1 KB, source code with many escapes in most.
func codingBody(n, seed int) []byte {
	var b strings.Builder
	b.WriteString(`{"model":"lamp-1","stream":true,"max_tokens":4096,"session_id":"s-1","messages":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		id := i
		if i >= n-2 {
			id += seed * 1000
		}
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, `{"role":"user","content":[{"type":"text","text":"%s"}]}`, strings.Repeat(fmt.Sprintf(`\n\tlet x%d = \"y\";  // forest orchard`, id), 22))
		case 1:
			fmt.Fprintf(&b, `{"role":"assistant","content":"I look at it.","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"edit","arguments":"{\"path\":\"a/b.go\",\"text\":\"%s\"}"}}]}`,
				id, strings.Repeat(fmt.Sprintf(`window %d river `, id), 55))
		default:
			fmt.Fprintf(&b, `{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, id, strings.Repeat(fmt.Sprintf(`%d:\tharbour \"lantern\"\n`, id), 40))
		}
	}
	b.WriteString(`],"temperature":0.2}`)
	return []byte(b.String())
}

func bare(b *testing.B, body []byte) {
	b.Helper()
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadValue(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkDecodeDigests(b *testing.B) {
	body := codingBody(200, 0)
	b.Run("bare", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			bare(b, body)
		}
	})
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if _, err := wire.Decode(mooring.Chat, body, wire.Limits{JSONDepth: 128}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("warm", func(b *testing.B) {
		d := wire.NewDigester([]byte("k"), &mapCache{m: map[[16]byte]wire.Known{}})
		turn := 0
		bodies := make([][]byte, 1000)
		for i := range bodies {
			bodies[i] = codingBody(200, i)
		}
		for b.Loop() {
			if turn++; turn%1000 == 0 {
				b.StopTimer()
				d = wire.NewDigester([]byte("k"), &mapCache{m: map[[16]byte]wire.Known{}})
				b.StartTimer()
			}
			r, err := d.Decode(mooring.Chat, bodies[turn%1000], wire.Limits{JSONDepth: 128})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := d.Messages(mooring.Chat, r.Messages); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cold", func(b *testing.B) {
		d := wire.NewDigester([]byte("k"), nil)
		for b.Loop() {
			r, err := wire.Decode(mooring.Chat, body, wire.Limits{JSONDepth: 128})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := d.Messages(mooring.Chat, r.Messages); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("chain", func(b *testing.B) {
		d := wire.NewDigester([]byte("k"), nil)
		var digests [200]wire.Digest
		for i := range digests {
			digests[i][0] = 1
		}
		for b.Loop() {
			d.Chains(digests[:])
		}
	})
}
