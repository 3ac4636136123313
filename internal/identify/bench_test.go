package identify_test

import (
	"fmt"
	"net/http"
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

// BenchmarkUnknownHeaders is what learning adds to a request with 30 headers: those of HTTP and of proxies alone, with names that are
// never learned, and with one that is believed.
func BenchmarkUnknownHeaders(b *testing.B) {
	common := http.Header{}
	for _, name := range []string{
		"Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Cf-Ray", "Cf-Ipcountry",
		"Cf-Connecting-Ip", "Dnt", "Forwarded", "Host", "Origin", "Pragma", "Priority", "Referer", "Sec-Ch-Ua", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Traceparent",
		"User-Agent", "Via", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-Ip", "X-Request-Id",
	} {
		common[name] = []string{"value-0123456789abcdef"}
	}
	for name, more := range map[string][2]string{"common": {"Te", "X-Stainless-Lang"}, "never": {"X-User-Id", "X-Acme-Deviceid"}, "believed": {"X-Lane", "Te"}} {
		for _, on := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/learning=%v", name, on), func(b *testing.B) {
				h := newHouse(b)
				h.chats("X-Lane", 5)
				header := common.Clone()
				for _, n := range more {
					header[n] = []string{chatID(1)}
				}
				req := ask{header: header, talk: h.with("chat 1", "X-Lane", chatID(1)).again(3), noMind: !on}.decode(b)
				b.ReportAllocs()
				for b.Loop() {
					f, err := h.engine.Resolve(b.Context(), req)
					if err != nil || f.New {
						b.Fatal(f, err)
					}
					if c := h.engine.Observe(b.Context(), req, f); c != nil && on {
						b.Fatal("it is written every time")
					}
				}
			})
		}
	}
}
