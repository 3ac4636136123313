package turn_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/turn"
)

// read follows a turn to its end.
func read(t *testing.T, l *turn.Live) string {
	t.Helper()
	var got strings.Builder
	for {
		fresh, ended, err := l.Read(t.Context(), got.Len())
		if err != nil {
			t.Fatal(err)
		}
		got.Write(fresh)
		if ended {
			return got.String()
		}
	}
}

// H-30, C176: a turn of the server's goes on for a while without a listener, counted anew from each time the last one leaves.
func TestDetach(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule  string
		steps func(r *turn.Recording, wait func(time.Duration))
		want  bool // it was ended
	}{
		{"who never comes is waited for no longer than that", func(_ *turn.Recording, wait func(time.Duration)) { wait(5 * time.Minute) }, true},
		{"nor shorter", func(_ *turn.Recording, wait func(time.Duration)) { wait(5*time.Minute - time.Second) }, false},
		{"a listener keeps it", func(r *turn.Recording, wait func(time.Duration)) {
			r.Live.Join()
			wait(time.Hour)
		}, false},
		{"as long as one of several is there", func(r *turn.Recording, wait func(time.Duration)) {
			leave := r.Live.Join()
			r.Live.Join()
			leave()
			leave()
			wait(time.Hour)
		}, false},
		{"the time begins when the last one leaves", func(r *turn.Recording, wait func(time.Duration)) {
			leave := r.Live.Join()
			wait(4 * time.Minute)
			leave()
			wait(4 * time.Minute)
		}, false},
		{"and ends it then", func(r *turn.Recording, wait func(time.Duration)) {
			leave := r.Live.Join()
			wait(4 * time.Minute)
			leave()
			wait(5 * time.Minute)
		}, true},
		{"a turn that has ended is not ended again", func(r *turn.Recording, wait func(time.Duration)) {
			leave := r.Live.Join()
			r.End()
			leave()
			wait(time.Hour)
		}, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ended := false
				r := turn.NewRecording(1<<20, func() time.Duration { return 5 * time.Minute }, func(err error) {
					ended = mooring.CodeOf(err) == mooring.CodeTurnCancelled
				})
				r.Begin()
				tt.steps(r, func(d time.Duration) {
					time.Sleep(d)
					synctest.Wait()
				})
				if ended != tt.want {
					t.Errorf("ended = %v, want %v", ended, tt.want)
				}
				r.End()
			})
		})
	}
}

// Whoever comes late reads from the first byte, whatever the others have read.
func TestReadersOfATape(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := turn.NewRecording(1<<20, nil, nil)
		_ = r.Head(turn.Head{Length: -1})
		var want strings.Builder
		write := func(held, fresh string) {
			buf := []byte(held + fresh)
			_ = r.Write(buf[:len(held)], buf[len(held):])
			clear(buf) // who writes uses it again
			want.WriteString(held + fresh)
		}
		write("", strings.Repeat("early ", 10_000)) // more than a block
		r.Follow()
		got := make(chan string, 3)
		follow := func() { got <- read(t, r.Live) }
		go follow()
		go follow()
		synctest.Wait()
		for range 100 {
			write("held ", strings.Repeat("fresh ", 100))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := r.Live.Read(ctx, want.Len()); err == nil {
			t.Error("a reader that has gone reads on")
		}
		go follow()
		synctest.Wait()
		r.End()
		for range cap(got) {
			if got := <-got; got != want.String() {
				t.Errorf("%d bytes, want the %d that were written", len(got), want.Len())
			}
		}
		if r.Live.Short() {
			t.Error("it is said to lack bytes")
		}
	})
}

// What nobody follows is kept up to a bound, and what is missing is said to be.
func TestBoundOfATape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule   string
		follow int // before that write
		want   int
		short  bool
	}{
		{"of an answer that its client alone reads the first megabyte is kept", 99, 1 << 20, true},
		{"one that is followed in time is kept whole", 3, 8 << 18, false},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r := turn.NewRecording(8<<18, nil, nil)
			_ = r.Head(turn.Head{Length: -1})
			for i := range 8 {
				if i == tt.follow {
					r.Follow()
				}
				_ = r.Write(nil, make([]byte, 1<<18))
			}
			r.Follow()
			r.End()
			if got := len(read(t, r.Live)); got != tt.want || r.Live.Short() != tt.short {
				t.Errorf("%d bytes, short %v; want %d, %v", got, r.Live.Short(), tt.want, tt.short)
			}
		})
	}
}

// What following costs a client's turn that nobody follows: a copy of each chunk, and no memory of its own.
func BenchmarkTape(b *testing.B) {
	chunk := make([]byte, 200)
	b.ReportAllocs()
	var all turn.Runner
	for b.Loop() {
		r := all.NewRecording(1<<20, nil, nil)
		_ = r.Head(turn.Head{Length: -1})
		for range 1000 {
			_ = r.Write(nil, chunk)
		}
		r.End()
	}
}

// A chunk costs its client's goroutine no allocation, whether or not somebody follows; a tape grows by blocks now and then.
func TestChunkOnATapeAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	chunk := make([]byte, 100)
	for _, tt := range []struct {
		name   string
		follow bool
	}{{"alone", false}, {"followed", true}} {
		t.Run(tt.name, func(t *testing.T) { //nolint:paralleltest // as above
			r := turn.NewRecording(1<<20, nil, nil)
			_ = r.Head(turn.Head{Length: -1})
			if tt.follow {
				r.Follow()
			}
			at := 0
			n := testing.AllocsPerRun(1000, func() {
				_ = r.Write(nil, chunk)
				if tt.follow {
					fresh, _, _ := r.Live.Read(t.Context(), at)
					at += len(fresh)
				}
			})
			if n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
