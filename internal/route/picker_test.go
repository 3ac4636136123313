package route_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// berths is a store of pins in memory, which counts what is read and keeps what is written.
type berths struct {
	mu      sync.Mutex // guards the fields below
	pins    map[mooring.SessionID][]mooring.Pin
	remotes map[string]string
	answers map[mooring.MessageID]mooring.Turn // by the id of the answer
	reads   int
	written []mooring.Pin
	err     error

	reading    func() // runs while pins are read
	committing func() // runs while times of use are written
}

func (b *berths) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *berths) Pins(_ context.Context, _ mooring.Tenant, s mooring.SessionID) ([]mooring.Pin, error) {
	b.mu.Lock()
	b.reads++
	pins, err, reading := slices.Clone(b.pins[s]), b.err, b.reading
	b.mu.Unlock()
	if reading != nil {
		reading()
	}
	return pins, err
}

func (b *berths) Remote(_ context.Context, _ mooring.Tenant, s mooring.SessionID, server string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	return b.remotes[string(s)+" "+server], b.err
}

func (b *berths) MadeAt(_ context.Context, _ mooring.Tenant, message mooring.MessageID) (mooring.Turn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	return b.answers[message], b.err
}

func (b *berths) Commit(_ context.Context, c mooring.Change) error {
	if b.committing != nil {
		b.committing()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	for _, used := range c.(*mooring.PinsUsed).Pins {
		b.written = append(b.written, used)
		for i := range b.pins[used.Session] {
			if p := &b.pins[used.Session][i]; p.Set == used.Set {
				p.UsedAt = used.UsedAt
			}
		}
	}
	return nil
}

// noted gives how often a time of use was written, and the first pin of the session as the store holds it.
func (b *berths) noted() (n int, held mooring.Pin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.written), b.pins["ses_1"][0]
}

// keep is a commit of a turn.
func (b *berths) keep(pin mooring.Pin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(b.pins[pin.Session]), func(p mooring.Pin) bool { return p.Set == pin.Set })
	b.pins[pin.Session] = append(list, pin)
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func pin(set, upstream string, used time.Time) mooring.Pin {
	return mooring.Pin{Tenant: "acme", Session: "ses_1", Set: set, Upstream: mooring.UpstreamName(upstream), Bound: true, UsedAt: used}
}

func newPicker(b *berths) *route.Picker {
	if b.pins == nil {
		b.pins = map[mooring.SessionID][]mooring.Pin{}
	}
	return route.New(route.Options{
		Store: b, Log: b, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Policy: route.Rendezvous, PinIdle: time.Hour,
	})
}

func find(t *testing.T, p *route.Picker, names ...string) string {
	t.Helper()
	pin, err := p.Find(t.Context(), "acme", "ses_1", candidates(names...))
	if err != nil {
		t.Fatal(err)
	}
	if pin == nil {
		return ""
	}
	return string(pin.Upstream)
}

func TestFind(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		rule string
		pins []mooring.Pin
		set  []string
		want string
	}{
		{"a session without pins has none", nil, []string{"a", "b"}, ""},
		{"the pin of exactly this set", []mooring.Pin{pin("a,b", "b", now)}, []string{"b", "a"}, "b"},
		{"the pin of exactly this set beats a newer one", []mooring.Pin{pin("a,b", "b", now.Add(-time.Minute)), pin("a,b,c", "a", now)}, []string{"a", "b"}, "b"},
		{"a set that grows moves nobody", []mooring.Pin{pin("a,b", "b", now)}, []string{"a", "b", "c"}, "b"},
		{"a set that shrinks moves nobody", []mooring.Pin{pin("a,b,c", "b", now)}, []string{"a", "b"}, "b"},
		{"of several others the newest", []mooring.Pin{pin("a,b", "a", now.Add(-time.Minute)), pin("b,c", "b", now)}, []string{"a", "b", "c"}, "b"},
		{"an upstream that is no candidate any more is no home", []mooring.Pin{pin("a,b", "b", now)}, []string{"a", "c"}, ""},
		{"an idle pin has expired", []mooring.Pin{pin("a,b", "b", now.Add(-61*time.Minute))}, []string{"a", "b"}, ""},
		{"another pin serves where that of the set has expired", []mooring.Pin{pin("a,b", "b", now.Add(-61*time.Minute)), pin("a", "a", now)}, []string{"a", "b"}, "a"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			b := &berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": tt.pins}}
			p := newPicker(b)
			for range 3 {
				if got := find(t, p, tt.set...); got != tt.want {
					t.Errorf("Find = %q, want %q", got, tt.want)
				}
			}
			if b.reads != 1 {
				t.Errorf("%d reads of the store, want one", b.reads)
			}
		})
	}
}

func TestFindGivesACopy(t *testing.T) {
	t.Parallel()
	p := newPicker(&berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": {pin("a", "a", time.Now())}}})
	got, err := p.Find(t.Context(), "acme", "ses_1", candidates("a"))
	if err != nil {
		t.Fatal(err)
	}
	got.Upstream = "changed"
	if again := find(t, p, "a"); again != "a" {
		t.Errorf("Find = %q after its answer was changed, want a", again)
	}
}

func TestStoreErrorIsNoPin(t *testing.T) {
	t.Parallel()
	b := &berths{err: errors.New("down")}
	p := newPicker(b)
	if got, err := p.Find(t.Context(), "acme", "ses_1", candidates("a")); err == nil {
		t.Errorf("Find = %v, want the store's error", got)
	}
	if got, err := p.Remote(t.Context(), "acme", "ses_1", "s"); err == nil {
		t.Errorf("Remote = %q, want the store's error", got)
	}
	b.err = nil
	b.keep(pin("a", "a", time.Now()))
	if got := find(t, p, "a"); got != "a" {
		t.Errorf("Find = %q after the store is back, want a", got)
	}
}

func TestKeepAndForget(t *testing.T) {
	t.Parallel()
	t.Run("a kept pin takes the place of its set's", func(t *testing.T) {
		t.Parallel()
		b := &berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": {pin("a,b", "a", time.Now()), pin("c", "c", time.Now())}}}
		p := newPicker(b)
		find(t, p, "a", "b")
		p.Keep(pin("a,b", "b", time.Now()))
		if got, other := find(t, p, "a", "b"), find(t, p, "c"); got != "b" || other != "c" || b.reads != 1 {
			t.Errorf("Find = %q, and %q for the other set, with %d reads", got, other, b.reads)
		}
	})
	t.Run("a part of a session's pins is not taken for all", func(t *testing.T) {
		t.Parallel()
		b := &berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": {pin("c", "c", time.Now())}}}
		p := newPicker(b)
		kept := pin("a,b", "b", time.Now())
		b.keep(kept)
		p.Keep(kept)
		if got, other := find(t, p, "a", "b"), find(t, p, "c"); got != "b" || other != "c" {
			t.Errorf("Find = %q, and %q for the other set", got, other)
		}
	})
	t.Run("a forgotten session is read again", func(t *testing.T) {
		t.Parallel()
		b := &berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": {pin("a,b", "a", time.Now())}}}
		p := newPicker(b)
		find(t, p, "a", "b")
		b.keep(pin("a,b", "b", time.Now()))
		p.Forget("acme", "ses_1")
		if got := find(t, p, "a", "b"); got != "b" || b.reads != 2 {
			t.Errorf("Find = %q with %d reads, want b with two", got, b.reads)
		}
	})
	t.Run("a new session is not looked up", func(t *testing.T) {
		t.Parallel()
		b := &berths{}
		p := newPicker(b)
		p.ForgetNew("acme", "ses_1")
		if got := find(t, p, "a", "b"); got != "" || b.reads != 0 {
			t.Errorf("Find = %q with %d reads, want none", got, b.reads)
		}
		p.Keep(pin("a,b", "b", time.Now()))
		if got := find(t, p, "a", "b"); got != "b" || b.reads != 0 {
			t.Errorf("Find = %q with %d reads, want b without one", got, b.reads)
		}
		p.ForgetNew("acme", "ses_1") // late: a turn of it was faster
		if got := find(t, p, "a", "b"); got != "b" {
			t.Errorf("Find = %q, want b", got)
		}
	})
	t.Run("equal ids of two tenants are two sessions", func(t *testing.T) {
		t.Parallel()
		p := newPicker(&berths{})
		p.ForgetNew("acme", "ses_1")
		p.ForgetNew("globex", "ses_1")
		foreign := pin("a", "a", time.Now())
		foreign.Tenant = "globex"
		p.Keep(foreign)
		p.KeepRemote(mooring.RemoteSession{Tenant: "globex", Session: "ses_1", Server: "s", ID: "theirs"})
		remote, err := p.Remote(t.Context(), "acme", "ses_1", "s")
		if got := find(t, p, "a"); got != "" || remote != "" || err != nil {
			t.Errorf("Find = %q, Remote = %q, %v, want nothing of the other tenant's", got, remote, err)
		}
	})
}

// What a turn keeps while another one reads the store is newer than what that one has read.
func TestKeepWhileTheStoreIsRead(t *testing.T) {
	t.Parallel()
	b := &berths{}
	p := newPicker(b)
	kept := pin("a,b", "b", time.Now())
	b.reading = func() { // both turns have read by now, the other one goes on faster
		b.reading = nil
		find(t, p, "a", "b")
		b.keep(kept)
		p.Keep(kept)
	}
	find(t, p, "a", "b")
	if got := find(t, p, "a", "b"); got != "b" {
		t.Errorf("Find = %q, want b", got)
	}
}

func TestKeepAtOnce(t *testing.T) {
	t.Parallel()
	p := newPicker(&berths{})
	p.ForgetNew("acme", "ses_1")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { p.Keep(pin(fmt.Sprint("u", i), fmt.Sprint("u", i), time.Now())) })
	}
	wg.Wait()
	for i := range 20 {
		if name := fmt.Sprint("u", i); find(t, p, name) != name {
			t.Errorf("the pin of %s is lost", name)
		}
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	t.Run("a pin expires an hour after its last use, which is written behind the turns", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := &berths{}
			p := newPicker(b)
			first := pin("a,b", "b", time.Now())
			b.keep(first)
			p.Start()
			defer p.Close()
			find(t, p, "a", "b")
			for range 5 {
				time.Sleep(50 * time.Minute)
				got, err := p.Find(t.Context(), "acme", "ses_1", candidates("a", "b"))
				if err != nil || got == nil {
					t.Fatalf("Find = %v, %v, want the pin that was used 50 minutes ago", got, err)
				}
				p.Used(*got)
			}
			time.Sleep(time.Minute)
			if n, held := b.noted(); n != 5 || !held.UsedAt.Equal(time.Now().Add(-time.Minute)) {
				t.Errorf("%d times of use are written, the last %v", n, held.UsedAt)
			}
			time.Sleep(59 * time.Minute)
			if got := find(t, p, "a", "b"); got != "b" {
				t.Errorf("Find = %q an hour after the last use, want b", got)
			}
			time.Sleep(time.Second)
			if got := find(t, p, "a", "b"); got != "" {
				t.Errorf("Find = %q after more than an hour, want none", got)
			}
			if stale := p.Stale(); !stale.Equal(time.Now().Add(-time.Hour)) {
				t.Errorf("Stale = %v", stale)
			}
		})
	})
	t.Run("a use that is a minute old needs no note", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for _, of := range []struct {
				pinIdle, after time.Duration
				notes          int
			}{
				{time.Hour, 59 * time.Second, 0},
				{time.Hour, time.Minute, 1},
				{time.Minute, 5 * time.Second, 0},
				{time.Minute, 6 * time.Second, 1}, // a tenth of pin_idle
				{0, 59 * time.Second, 0},
				{0, time.Minute, 1},
			} {
				b := &berths{}
				p := newPicker(b)
				p.Set(route.Rendezvous, of.pinIdle)
				p.Start()
				used := pin("a", "a", time.Now())
				time.Sleep(of.after)
				p.Used(used)
				p.Close()
				if len(b.written) != of.notes {
					t.Errorf("pin_idle %v, %v after the last use: %d notes, want %d", of.pinIdle, of.after, len(b.written), of.notes)
				}
			}
		})
	})
	t.Run("without pin_idle a pin stays", func(t *testing.T) {
		t.Parallel()
		b := &berths{pins: map[mooring.SessionID][]mooring.Pin{"ses_1": {pin("a", "a", start.Add(-1000*time.Hour))}}}
		p := newPicker(b)
		p.Set(route.Rendezvous, 0)
		if got := find(t, p, "a"); got != "a" || !p.Stale().IsZero() {
			t.Errorf("Find = %q, Stale = %v, want a and none", got, p.Stale())
		}
	})
	t.Run("a pin is not idle while its use is being written, nor after that has failed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b := &berths{}
			p := newPicker(b)
			b.keep(pin("a", "a", time.Now().Add(-15*time.Second)))
			var during []string
			b.committing = func() { during = append(during, find(t, p, "a")) }
			p.Start()
			find(t, p, "a")
			time.Sleep(59*time.Minute + 44*time.Second)
			b.fail(errors.New("down"))
			_, held := b.noted()
			p.Used(held)
			time.Sleep(time.Minute)
			p.Close()
			during = append(during, find(t, p, "a"))
			if diff := cmp.Diff([]string{"a", "a"}, during); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
		})
	})
}

func TestOrderOfAPicker(t *testing.T) {
	t.Parallel()
	p := newPicker(&berths{})
	p.Set(route.RoundRobin, time.Hour)
	var got []string
	for range 4 {
		got = append(got, string(p.Order("ses_1", candidates("a", "b"))[0].Name))
		p.Order("ses_1", candidates("c")) // there is nothing to choose, so it is nobody's turn
	}
	if diff := cmp.Diff([]string{"a", "b", "a", "b"}, got); diff != "" {
		t.Errorf("round robin (-want +got):\n%s", diff)
	}
	p.Set(route.Rendezvous, time.Hour)
	if first, again := p.Order("ses_1", candidates("a", "b"))[0], p.Order("ses_1", candidates("b", "a"))[0]; first.Name != again.Name {
		t.Errorf("rendezvous gives %s, then %s", first.Name, again.Name)
	}
}

func TestRemote(t *testing.T) {
	t.Parallel()
	b := &berths{remotes: map[string]string{"ses_1 north": "n-1"}}
	p := newPicker(b)
	remote := func(server string) string {
		t.Helper()
		id, err := p.Remote(t.Context(), "acme", "ses_1", server)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	if one, again, other := remote("north"), remote("north"), remote("south"); one != "n-1" || again != "n-1" || other != "" || b.reads != 2 {
		t.Errorf("Remote = %q, %q, and %q elsewhere, with %d reads", one, again, other, b.reads)
	}
	p.KeepRemote(mooring.RemoteSession{Tenant: "acme", Session: "ses_1", Server: "south", ID: "s-1"})
	p.KeepRemote(mooring.RemoteSession{Tenant: "acme", Session: "ses_1", Server: "north", ID: "n-2"})
	if south, north := remote("south"), remote("north"); south != "s-1" || north != "n-2" {
		t.Errorf("Remote = %q and %q, want what was kept", south, north)
	}
}

func TestCloseWithoutStart(t *testing.T) {
	t.Parallel()
	newPicker(&berths{}).Close()
}
