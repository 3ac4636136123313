package identify_test

import (
	"fmt"
	"testing"

	"mooring/internal/identify"
)

// BenchmarkIDs is what it takes to read the ids of a request as real programs send them, its session being in memory.
func BenchmarkIDs(b *testing.B) {
	all := samples(b)
	for _, name := range []string{"codex/second-turn", "claude-code/second-turn", "opencode/second-turn"} {
		b.Run(name, func(b *testing.B) {
			h := newHouse(b)
			var q identify.Request
			for file, list := range all {
				for i := range list {
					if list[i].full() == name && file == list[i].file {
						h.stand(&list[i], "acme", "")
						q = list[i].request(b, "acme")
					}
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.engine.Resolve(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWarm is what identification adds to a turn of a session in memory: all ids read, every message digested, the place found.
func BenchmarkWarm(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("turns=%d", n), func(b *testing.B) {
			h := newHouse(b)
			for i := range n {
				h.say(fmt.Sprint("answer ", i+1), talk(i+1)...)
			}
			next := talk(n + 1)
			req := ask{header: header("X-Session-Id", "s1", "User-Agent", "curl/8", "Content-Type", "application/json", "Accept", "*/*"), talk: next}.decode(b)
			before := h.store.reads.Load()
			b.ReportAllocs()
			for b.Loop() {
				f, err := h.engine.Resolve(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				p, err := h.engine.Locate(b.Context(), f, req)
				if err != nil || len(p.New) != 1 {
					b.Fatal(p, err)
				}
			}
			if reads := h.store.reads.Load() - before; reads > 0 {
				b.Errorf("%d reads of the store, want none", reads)
			}
		})
	}
}
