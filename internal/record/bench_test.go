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
	for _, journal := range []bool{true, false} {
		for _, callers := range []int{1, 32} {
			for _, bench := range []struct {
				name string
				make func(n int64) mooring.Change
			}{
				{"begin new", beginNew}, {"begin known", beginKnown}, {"end", end},
			} {
				b.Run(fmt.Sprintf("journal=%t/c=%d/%s", journal, callers, bench.name), func(b *testing.B) {
					run(b, journal, callers, bench.make)
				})
			}
		}
	}
}

// run measures until a change is safe, and in the end how long the store takes for one of them.
func run(b *testing.B, journal bool, callers int, change func(n int64) mooring.Change) {
	b.Helper()
	o := record.Options{}
	path := filepath.Join(b.TempDir(), "bench.db")
	if journal {
		o.Journal = path
	}
	store, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	o.Store = store
	w := start(b, o)
	defer w.Close()
	for n := range int64(1000) {
		if err := w.Commit(b.Context(), beginNew(n)); err != nil {
			b.Fatal(err)
		}
	}
	began := time.Now()
	defer func() {
		b.StopTimer()
		if err := w.Sync(b.Context()); err != nil {
			b.Error(err)
		}
		b.ReportMetric(float64(time.Since(began).Nanoseconds())/float64(b.N), "ns/stored")
	}()
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
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := w.Commit(b.Context(), change(next.Add(1))); err != nil {
				b.Error(err)
			}
		}
	})
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const text = 1000

func messageOf(n int64, part string) mooring.Message {
	return mooring.Message{
		ID: mooring.MessageID(fmt.Sprintf("msg_%025d%s", n, part)), Role: "user", State: mooring.Completed, Protocol: mooring.Chat,
		Content: []byte(strings.Repeat("x", text)), Digest: digest(n, part), CreatedAt: epoch.Add(time.Duration(n)),
	}
}

// digest scatters as a real one does.
func digest(n int64, part string) []byte {
	return fmt.Appendf(nil, "%016x%s%015d", uint64(n)*0x9E3779B97F4A7C15, part, n)
}

func beginNew(n int64) mooring.Change {
	id := mooring.SessionID(fmt.Sprintf("ses_%026d", n))
	return &mooring.Begin{
		New:     true,
		Session: mooring.Session{Tenant: "acme", ID: id, Key: string(id), Root: id, CreatedAt: epoch},
		Aliases: []mooring.Alias{{Class: mooring.ClassAny, Value: string(id)}},
		Turn:    turnOf(n, id),
	}
}

func beginKnown(n int64) mooring.Change {
	id := mooring.SessionID(fmt.Sprintf("ses_%026d", n%1000))
	m := messageOf(n, "q")
	return &mooring.Begin{
		Session: mooring.Session{Tenant: "acme", ID: id}, Turn: turnOf(n, id), Messages: []mooring.Message{m},
	}
}

// end ends the turns that the preparation began, over and over, each time with another answer.
func end(n int64) mooring.Change {
	id := mooring.SessionID(fmt.Sprintf("ses_%026d", n%1000))
	t := turnOf(n%1000, id)
	t.State, t.EndedAt, t.Usage.Input = mooring.Completed, epoch, mooring.Count(n)
	m := messageOf(n, "a")
	m.Seen = digest(n, "c")
	return &mooring.End{Turn: t, Answer: &m}
}

func turnOf(n int64, session mooring.SessionID) mooring.Turn {
	return mooring.Turn{
		Tenant: "acme", ID: mooring.TurnID(fmt.Sprintf("trn_%026d", n)), Session: session, Kind: mooring.KindMain,
		Protocol: mooring.Chat, State: mooring.Running, StartedAt: epoch.Add(time.Duration(n)), Replica: "a",
	}
}
