package peer_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/peer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bus hands texts over at once to whoever listens, unless it is told to lose them.
type bus struct {
	mu      sync.Mutex // guards the fields below
	taking  map[string]func(string)
	lose    func(text string) bool
	sent    []string
	longest int
	down    bool
	cut     chan struct{} // closed: all who listen lose it
}

func newBus() *bus { return &bus{taking: map[string]func(string){}, cut: make(chan struct{})} }

func (b *bus) Send(_ context.Context, name, text string) error {
	b.mu.Lock()
	take, lost := b.taking[name], b.lose != nil && b.lose(text)
	b.sent, b.longest = append(b.sent, text), max(b.longest, len(text))
	down := b.down
	b.mu.Unlock()
	switch {
	case down:
		return errors.New("down")
	case take != nil && !lost:
		take(text)
	}
	return nil
}

func (b *bus) Listen(ctx context.Context, name string, ready func(), take func(string)) error {
	b.mu.Lock()
	cut, down := b.cut, b.down
	if !down {
		b.taking[name] = take
	}
	b.mu.Unlock()
	if down {
		return errors.New("down")
	}
	ready()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.taking, name)
	}()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-cut:
		return errors.New("cut")
	}
}

// losing has texts lost for which it says so.
func (b *bus) losing(lose func(text string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lose = lose
}

// broken has everybody lose the bus for a while.
func (b *bus) broken(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down = down; down {
		close(b.cut)
		b.cut = make(chan struct{})
	}
}

func (b *bus) count(part string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, s := range b.sent {
		if strings.Contains(s, part) {
			n++
		}
	}
	return n
}

// source is a turn whose bytes a test writes.
type source struct {
	mu     sync.Mutex // guards the fields below
	data   []byte
	ended  bool
	facts  string
	news   chan struct{}
	joined int
}

func newSource() *source { return &source{news: make(chan struct{}), facts: `{"n":1}`} }

func (s *source) write(text string) { s.change(func() { s.data = append(s.data, text...) }) }
func (s *source) end()              { s.change(func() { s.ended, s.facts = true, `{"n":2}` }) }

func (s *source) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.news)
	s.news = make(chan struct{})
}

func (s *source) Read(ctx context.Context, from int) ([]byte, bool, error) {
	for {
		s.mu.Lock()
		var fresh []byte
		if from < len(s.data) {
			fresh = s.data[from:]
		}
		ended, news := s.ended, s.news
		s.mu.Unlock()
		if len(fresh) > 0 || ended {
			return fresh, ended, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

func (s *source) Facts() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []byte(s.facts)
}

func (s *source) Join() func() {
	s.change(func() { s.joined++ })
	return func() { s.change(func() { s.joined-- }) }
}

func (s *source) listeners() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joined
}

// copied is what a follower has of a turn.
type copied struct {
	mu    sync.Mutex // guards the fields below
	data  []byte
	facts string
	ended bool
}

func (c *copied) take(p peer.Piece) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if skip := len(c.data) - p.At; skip >= 0 && skip < len(p.Data) {
		c.data = append(c.data, p.Data[skip:]...)
	}
	if p.Facts != nil {
		c.facts = string(p.Facts)
	}
	c.ended = c.ended || p.Ended && (p.At <= len(c.data) || p.At == peer.EndOnly)
	return len(c.data)
}

func (c *copied) has() (data, facts string, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.data), c.facts, c.ended
}

// replica is one of two, a and b, that share a bus.
type replica struct {
	*peer.Exchange
	mu    sync.Mutex // guards the fields below
	looks int
	turns map[mooring.TurnID]*source
}

func (r *replica) looked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.looks
}

func join(t *testing.T, b *bus, name string, turns map[mooring.TurnID]*source) *replica {
	t.Helper()
	r := &replica{turns: turns}
	r.Exchange = peer.New(peer.Options{
		Bus: b, Name: name, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Look: func(context.Context) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.looks++
			return nil
		},
		Open: func(tenant mooring.Tenant, id mooring.TurnID) (peer.Source, bool) {
			s := r.turns[id]
			return s, s != nil && tenant == "acme"
		},
	})
	r.Start()
	synctest.Wait()
	return r
}

func running(replica string) mooring.Turn {
	return mooring.Turn{Tenant: "acme", ID: "trn_1", Replica: replica}
}

func TestLooking(t *testing.T) {
	t.Parallel()
	t.Run("the store is looked at every second, and at once when another replica says so", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBus()
			north, south := join(t, b, "a", nil), join(t, b, "b", nil)
			defer north.Close()
			defer south.Close()
			before := south.looked()
			north.Wake(t.Context(), "b")
			synctest.Wait()
			if got := south.looked() - before; got != 1 {
				t.Errorf("looked %d times when it was told, want once", got)
			}
			before = south.looked()
			time.Sleep(10*time.Second + time.Millisecond)
			if got := south.looked() - before; got != 10 {
				t.Errorf("looked %d times within 10 s, want 10", got)
			}
		})
	})
	t.Run("a lost bus is listened to again, and what was said meanwhile is looked for", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := newBus()
			north, south := join(t, b, "a", nil), join(t, b, "b", nil)
			defer north.Close()
			defer south.Close()
			b.broken(true)
			time.Sleep(time.Minute)
			b.broken(false)
			time.Sleep(4*time.Second + time.Second/2) // between two looks of its own
			before := south.looked()
			north.Wake(t.Context(), "b")
			synctest.Wait()
			if got := south.looked() - before; got != 1 {
				t.Errorf("looked %d times once the bus was back, want once", got)
			}
		})
	})
}

func TestFollowing(t *testing.T) {
	t.Parallel()
	for rule, lose := range map[string]func() func(string) bool{
		"what a turn says comes to a follower elsewhere, in order and whole": func() func(string) bool { return nil },
		"what is lost on the way comes again": func() func(string) bool {
			n := 0
			return func(text string) bool {
				n++
				return strings.Contains(text, `"piece"`) && n%9 == 0
			}
		},
		"an end that is lost comes again": func() func(string) bool {
			n := 0
			return func(text string) bool {
				if !strings.Contains(text, `"e":true`) {
					return false
				}
				n++
				return n < 3
			}
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, turn := newBus(), newSource()
				b.losing(lose())
				north, south := join(t, b, "a", map[mooring.TurnID]*source{"trn_1": turn}), join(t, b, "b", nil)
				defer north.Close()
				defer south.Close()
				turn.write("before ")
				c := &copied{}
				leave := south.Follow(t.Context(), running("a"), 0, c.take)
				defer leave()
				want := "before "
				for i := range 40 {
					text := strings.Repeat(string(rune('a'+i%26)), i*i*20)
					want += text
					turn.write(text)
					time.Sleep(20 * time.Millisecond)
				}
				turn.end()
				time.Sleep(time.Minute)
				data, facts, ended := c.has()
				if data != want || !ended || facts != `{"n":2}` {
					t.Errorf("got %d of %d bytes, ended %v, facts %s", len(data), len(want), ended, facts)
				}
				if b.longest >= 8000 {
					t.Errorf("a text has %d bytes, PostgreSQL takes less than 8,000", b.longest)
				}
			})
		})
	}
	t.Run("a follower goes on from where it is", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, turn := newBus(), newSource()
			north, south := join(t, b, "a", map[mooring.TurnID]*source{"trn_1": turn}), join(t, b, "b", nil)
			defer north.Close()
			defer south.Close()
			turn.write("one two")
			c := &copied{data: []byte("one ")}
			defer south.Follow(t.Context(), running("a"), 4, c.take)()
			synctest.Wait()
			if data, _, _ := c.has(); data != "one two" || b.count(`"a":4`) == 0 {
				t.Errorf("got %q", data)
			}
		})
	})
	t.Run("who waits for the end alone gets no byte, and is no listener", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, turn := newBus(), newSource()
			north, south := join(t, b, "a", map[mooring.TurnID]*source{"trn_1": turn}), join(t, b, "b", nil)
			defer north.Close()
			defer south.Close()
			c := &copied{}
			defer south.Follow(t.Context(), running("a"), peer.EndOnly, c.take)()
			turn.write("secret words")
			time.Sleep(time.Minute)
			if turn.listeners() != 0 || b.count(`"d":`) != 0 {
				t.Errorf("%d listeners, %d pieces with bytes", turn.listeners(), b.count(`"d":`))
			}
			turn.end()
			synctest.Wait()
			if data, _, ended := c.has(); data != "" || !ended {
				t.Errorf("got %q, ended %v", data, ended)
			}
		})
	})
	t.Run("a turn is sent no more once its follower has left, or is not heard of", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, turn := newBus(), newSource()
			north, south, east := join(t, b, "a", map[mooring.TurnID]*source{"trn_1": turn}), join(t, b, "b", nil), join(t, b, "c", nil)
			defer north.Close()
			defer south.Close()
			leave := south.Follow(t.Context(), running("a"), 0, new(copied).take)
			_ = east.Follow(t.Context(), running("a"), 0, new(copied).take)
			time.Sleep(time.Minute)
			if got := turn.listeners(); got != 2 {
				t.Errorf("%d listeners, want both", got)
			}
			leave()
			synctest.Wait()
			if got := turn.listeners(); got != 1 {
				t.Errorf("%d listeners after one has left, want 1", got)
			}
			east.Close()
			time.Sleep(12 * time.Second)
			if got := turn.listeners(); got != 0 {
				t.Errorf("%d listeners after the other is gone, want none", got)
			}
		})
	})
	t.Run("another tenant's turn is not sent, nor one that is not here", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, turn := newBus(), newSource()
			turn.write("secret words")
			north, south := join(t, b, "a", map[mooring.TurnID]*source{"trn_1": turn}), join(t, b, "b", nil)
			defer north.Close()
			defer south.Close()
			for _, foreign := range []mooring.Turn{{Tenant: "globex", ID: "trn_1", Replica: "a"}, {Tenant: "acme", ID: "trn_2", Replica: "a"}} {
				defer south.Follow(t.Context(), foreign, 0, new(copied).take)()
			}
			time.Sleep(5 * time.Second)
			if n := b.count(`"piece"`); n != 0 {
				t.Errorf("%d pieces were sent", n)
			}
		})
	})
}
