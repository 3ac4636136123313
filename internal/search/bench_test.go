package search_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mooring"
)

// vocabulary makes texts of about a kilobyte, every fifth one Chinese.
type vocabulary struct{ random *rand.Rand }

func (v vocabulary) text() string {
	var b strings.Builder
	chinese := v.random.IntN(5) == 0
	for b.Len() < 1000 {
		if chinese {
			b.WriteRune(rune(0x4E00 + int(v.random.ExpFloat64()*400)))
			continue
		}
		fmt.Fprintf(&b, "word%d ", int(v.random.ExpFloat64()*3000))
	}
	return b.String()
}

func filled(b *testing.B, messages int) *house {
	b.Helper()
	h := &house{t: b, path: filepath.Join(b.TempDir(), "bench.db")}
	h.start()
	b.Cleanup(h.close)
	v := vocabulary{rand.New(rand.NewPCG(3, 4))}
	for range messages / 1000 {
		texts := make([]string, 1000)
		for i := range texts {
			texts[i] = v.text()
		}
		h.say(acme, "a title of some words", texts...)
	}
	return h
}

// BenchmarkIndexing says what a message of a kilobyte costs behind its turn.
func BenchmarkIndexing(b *testing.B) {
	h := filled(b, max(1000, b.N/1000*1000))
	b.ReportAllocs()
	b.ResetTimer()
	h.index.Start()
	for {
		if page, err := h.index.Search(b.Context(), acme, mooring.SearchQuery{Text: "zeppelin", Limit: 1}); err == nil && !page.Degraded {
			return
		}
		if backlog, err := h.store.Backlog(b.Context()); err != nil || backlog.Last == 0 {
			return
		}
	}
}

// BenchmarkSearch says what a search in 20,000 messages takes.
func BenchmarkSearch(b *testing.B) {
	h := filled(b, 20_000)
	h.index.Start()
	for backlog, _ := h.store.Backlog(b.Context()); backlog.Last > 0; backlog, _ = h.store.Backlog(b.Context()) {
		time.Sleep(10 * time.Millisecond)
	}
	for name, q := range map[string]string{
		"common word": "word1", "rare word": "word20001", "three words": "word7 word90 word300", "beginning": "wor", "chinese": "一丁", "one rune": "一", "nowhere": "zeppelin", "signs": "((",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := h.index.Search(b.Context(), acme, mooring.SearchQuery{Text: q, Limit: 20}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
