package wire_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

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

// bare is the least that a body needs: that it is JSON without a name given twice.
func bare(b *testing.B, body []byte) {
	b.Helper()
	dec := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true))
	if _, err := dec.ReadValue(); err != nil {
		b.Fatal(err)
	}
}

func digested(b *testing.B, d *wire.Digester, body []byte) {
	b.Helper()
	r, err := d.Decode(mooring.Chat, body, wire.Limits{JSONDepth: 128})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := d.Messages(mooring.Chat, r.Messages); err != nil {
		b.Fatal(err)
	}
}

// The pass over a request with the digests of its messages: warm where 198 of 200 were in the request before, cold where none was.
// Those under ratio run beside the bare pass and give the median as a multiple of its median: compare these.
func BenchmarkDecodeDigests(b *testing.B) {
	const turns = 64
	bodies := make([][]byte, turns)
	for i := range bodies {
		bodies[i] = codingBody(200, i)
	}
	warm := func() *wire.Digester {
		d := wire.NewDigester([]byte("k"), newMapCache())
		digested(b, d, bodies[0])
		return d
	}
	b.Run("bare", func(b *testing.B) {
		b.SetBytes(int64(len(bodies[0])))
		for b.Loop() {
			bare(b, bodies[0])
		}
	})
	b.Run("warm", func(b *testing.B) {
		d, turn := warm(), 0
		b.ReportAllocs()
		for b.Loop() {
			if turn++; turn == turns {
				b.StopTimer()
				d, turn = warm(), 1
				b.StartTimer()
			}
			digested(b, d, bodies[turn])
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			digested(b, wire.NewDigester([]byte("k"), newMapCache()), bodies[0])
		}
	})
	b.Run("chains", func(b *testing.B) {
		d, digests := wire.NewDigester([]byte("k"), nil), make([]wire.Digest, 200)
		for i := range digests {
			digests[i] = d.Bytes([]byte{byte(i)})
		}
		for b.Loop() {
			d.Chains(digests)
		}
	})
	b.Run("ratio", func(b *testing.B) {
		d, turn := warm(), 0
		next := func() []byte {
			if turn++; turn == turns {
				d, turn = warm(), 1
			}
			return bodies[turn]
		}
		for name, f := range map[string]func(body []byte){
			"warm": func(body []byte) { digested(b, d, body) },
			"cold": func(body []byte) { digested(b, wire.NewDigester([]byte("k"), newMapCache()), body) },
		} {
			b.Run(name, func(b *testing.B) {
				var all, least []time.Duration
				for b.Loop() {
					body := next()
					start := time.Now()
					bare(b, body)
					middle := time.Now()
					f(body)
					least, all = append(least, middle.Sub(start)), append(all, time.Since(middle))
				}
				b.ReportMetric(median(all)/median(least), "x-bare")
			})
		}
	})
}

func median(took []time.Duration) float64 {
	slices.Sort(took)
	return float64(took[len(took)/2])
}
