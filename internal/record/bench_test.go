//nolint:ireturn // the benchmarked calls take changes of any kind
package record_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mooring"
	"mooring/internal/record"
	"mooring/internal/store/sqlite"
)

func BenchmarkWriter(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("c=%d", callers), func(b *testing.B) {
			for _, bench := range []struct {
				name string
				make func(n int64) mooring.Change
			}{
				{"begin new", beginNew}, {"begin known", beginKnown}, {"end", end},
			} {
				b.Run(bench.name, func(b *testing.B) { run(b, callers, bench.make) })
			}
		})
	}
}

func run(b *testing.B, callers int, change func(n int64) mooring.Change) {
	b.Helper()
	store, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "bench.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	w := start(record.Options{Store: store})
	defer w.Close()
	for n := range int64(1000) {
		if err := w.Commit(b.Context(), beginNew(n)); err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	next.Store(1000)
	b.ReportAllocs()
	b.SetParallelism(max(1, callers/2)) // times GOMAXPROCS
	if callers == 1 {
		for b.Loop() {
			if err := w.Commit(b.Context(), change(next.Add(1))); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := w.Commit(b.Context(), change(next.Add(1))); err != nil {
				b.Error(err)
			}
		}
	})
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const text = 1000

func messageOf(n int64, part string) mooring.Message {
	return mooring.Message{
		ID: mooring.MessageID(fmt.Sprintf("msg_%025d%s", n, part)), Role: "user", State: mooring.Completed, Protocol: mooring.Chat,
		Content: []byte(strings.Repeat("x", text)), Digest: digest(n, part), CreatedAt: began.Add(time.Duration(n)),
	}
}

// digest scatters as a real one does.
func digest(n int64, part string) []byte {
	return fmt.Appendf(nil, "%016x%s%015d", uint64(n)*0x9E3779B97F4A7C15, part, n)
}

func chainOf(m mooring.Message, n int64) []mooring.ChainEntry {
	return []mooring.ChainEntry{
		{Kind: mooring.ByChain, Digest: digest(n, "c"), Message: m.ID}, {Kind: mooring.BySelf, Digest: m.Digest, Message: m.ID},
	}
}

func beginNew(n int64) mooring.Change {
	id := mooring.SessionID(fmt.Sprintf("ses_%026d", n))
	return &mooring.Begin{
		New:     true,
		Session: mooring.Session{Tenant: "acme", ID: id, Key: string(id), Root: id, CreatedAt: began},
		Aliases: []mooring.Alias{{Class: mooring.ClassAny, Value: string(id)}},
		Turn:    turnOf(n, id),
	}
}

func beginKnown(n int64) mooring.Change {
	id := mooring.SessionID(fmt.Sprintf("ses_%026d", n%1000))
	m := messageOf(n, "q")
	return &mooring.Begin{
		Session: mooring.Session{Tenant: "acme", ID: id}, Turn: turnOf(n, id), Messages: []mooring.Message{m}, Chain: chainOf(m, n),
	}
}

// end ends the turns that the preparation began, over and over, each time with another answer.
func end(n int64) mooring.Change {
	id := mooring.SessionID(fmt.Sprintf("ses_%026d", n%1000))
	t := turnOf(n%1000, id)
	t.State, t.EndedAt, t.Usage.Input = mooring.Completed, began, mooring.Count(n)
	m := messageOf(n, "a")
	return &mooring.End{Turn: t, Answer: &m, Chain: chainOf(m, n)}
}

func turnOf(n int64, session mooring.SessionID) mooring.Turn {
	return mooring.Turn{
		Tenant: "acme", ID: mooring.TurnID(fmt.Sprintf("trn_%026d", n)), Session: session, Kind: mooring.KindMain,
		Protocol: mooring.Chat, State: mooring.Running, StartedAt: began.Add(time.Duration(n)), Replica: "a",
	}
}
