package admin_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/admin"
)

// book is the log of changes as a store keeps it: numbered per tenant, old entries dropped.
type book struct {
	mu      sync.Mutex // guards the fields below
	events  map[mooring.Tenant][]mooring.Event
	dropped int64
	reads   int
	err     error
}

func (b *book) after(_ context.Context, t mooring.Tenant, number int64, limit int) ([]mooring.Event, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reads++
	var list []mooring.Event
	for _, e := range b.events[t] {
		if e.Number > number && e.Number > b.dropped && len(list) < limit {
			list = append(list, e)
		}
	}
	return list, b.err
}

func (b *book) numbers(_ context.Context, t mooring.Tenant) (dropped, newest int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.events[t]); n > 0 {
		newest = b.events[t][n-1].Number
	}
	return b.dropped, newest, b.err
}

// commit writes finished turns, as another process would: nobody is woken.
func (b *book) commit(t mooring.Tenant, turns int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	number := int64(0)
	if n := len(b.events[t]); n > 0 {
		number = b.events[t][n-1].Number
	}
	for i := range int64(turns) {
		b.events[t] = append(b.events[t], mooring.Event{Tenant: t, Number: number + i + 1, Kind: mooring.TurnFinished, Session: "ses_1", Turn: "trn_1"})
	}
}

// forget takes away an event of a deleted session.
func (b *book) forget(t mooring.Tenant, number int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, e := range b.events[t] {
		if e.Number == number {
			b.events[t] = append(b.events[t][:i:i], b.events[t][i+1:]...)
			return
		}
	}
}

func (b *book) drop(upTo int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropped = upTo
}

func (b *book) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *book) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads
}

// house is the route with its hub, on a clock of its own.
type house struct {
	*book
	t       *testing.T
	hub     *admin.Hub
	routes  *http.ServeMux
	drain   chan struct{}
	revoked sync.Map
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{book: &book{events: map[mooring.Tenant][]mooring.Event{}}, t: t, routes: http.NewServeMux(), drain: make(chan struct{})}
	log := slog.New(slog.DiscardHandler)
	h.hub = admin.NewHub(admin.HubOptions{After: h.after, Numbers: h.numbers, Poll: time.Second, Log: log})
	admin.New(admin.Options{
		Caller: func(r *http.Request) (mooring.Caller, error) {
			if _, gone := h.revoked.Load(r.Header.Get("X-Mooring-Key")); gone {
				return mooring.Caller{}, mooring.Errorf(mooring.CodeInvalidAPIKey, "revoked")
			}
			return people(r)
		},
		Hub: h.hub, Drains: &drains{}, Draining: h.drain, Log: log,
	}).Mount(h.routes)
	return h
}

// here writes finished turns as this process does: those who listen are told.
func (h *house) here(t mooring.Tenant, turns int) {
	h.commit(t, turns)
	h.hub.Changed([]mooring.Change{&mooring.End{Turn: mooring.Turn{Tenant: t}}})
}

// pipe is a client's end of a connection: what it has not read is not written.
type pipe struct {
	net.Conn
	header http.Header
	status int
}

func (p *pipe) Header() http.Header    { return p.header }
func (p *pipe) WriteHeader(status int) { p.status = status }
func (p *pipe) Flush()                 {}

// client reads a stream.
type client struct {
	t     *testing.T
	w     *pipe
	lines *bufio.Scanner
	quit  context.CancelFunc
	done  chan struct{} // closed when the handler has returned
}

func (h *house) open(key, last string) *client {
	h.t.Helper()
	theirs, ours := net.Pipe()
	ctx, quit := context.WithCancel(h.t.Context())
	c := &client{t: h.t, w: &pipe{Conn: ours, header: http.Header{}}, lines: bufio.NewScanner(theirs), quit: quit, done: make(chan struct{})}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/api/events", http.NoBody)
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("X-Mooring-Key", key)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	go func() {
		defer close(c.done)
		h.routes.ServeHTTP(c.w, r)
		_ = ours.Close()
	}()
	go func() {
		<-ctx.Done()
		_ = theirs.Close()
	}()
	return c
}

func (c *client) close() {
	c.quit()
	<-c.done
}

// line gives the next line; "" is the end of an event.
func (c *client) line() string {
	c.t.Helper()
	if !c.lines.Scan() {
		c.t.Fatal("the stream ended")
	}
	return c.lines.Text()
}

// next gives the next event, with the number that it has.
func (c *client) next() string {
	c.t.Helper()
	id, event := "", ""
	for {
		name, value, _ := strings.Cut(c.line(), ": ")
		switch {
		case name == "id":
			id = value
		case name == "event":
			event = value
		case name == "" && event != "":
			return id + " " + event
		}
	}
}

// rest reads to the end and says how many events there were.
func (c *client) rest() int {
	n := 0
	for c.lines.Scan() {
		if strings.HasPrefix(c.lines.Text(), "event: ") {
			n++
		}
	}
	return n
}

// C-4: a new stream begins with a comment and nothing old; what happens then is told at once, with ids and numbers only.
func TestStreamTellsWhatHappens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		h.commit("acme", 3)
		c := h.open("alice", "")
		defer c.close()
		got := []string{c.line(), c.line(), c.line()}
		start := time.Now()
		h.here("globex", 1)
		h.mu.Lock()
		h.events["acme"] = append(h.events["acme"],
			mooring.Event{Tenant: "acme", Number: 4, Kind: mooring.TurnStarted, Session: "ses_1", Turn: "trn_9"},
			mooring.Event{Tenant: "acme", Number: 5, Kind: mooring.SessionUpdated, Session: "ses_2"},
			mooring.Event{Tenant: "acme", Number: 6, Kind: mooring.SessionDeleted, Session: "ses_3"})
		h.mu.Unlock()
		h.hub.Changed([]mooring.Change{&mooring.Delete{Tenant: "acme"}})
		for range 12 {
			got = append(got, c.line())
		}
		want := []string{
			": events", "id: 3", "",
			"id: 4", "event: turn.started", `data: {"session_id":"ses_1","turn_id":"trn_9"}`, "",
			"id: 5", "event: session.updated", `data: {"session_id":"ses_2"}`, "",
			"id: 6", "event: session.updated", `data: {"session_id":"ses_3","deleted":true}`, "",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("they came %s after the commit, want at once", took)
		}
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
			if got := c.w.header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	})
}

// C-4: who comes back with the number it saw last misses nothing; with one that is too old, or was never given, it is told so once.
func TestStreamGoesOnFromANumber(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		last string
		want []string
	}{
		{"9", []string{"10 turn.finished", "11 turn.finished"}},
		{"7", []string{"9 turn.finished", "10 turn.finished"}}, // 8 was a deleted session's
		{"4", []string{"5 turn.finished", "6 turn.finished"}},
		{"3", []string{"10 reset", "11 turn.finished"}},
		{"0", []string{"10 reset", "11 turn.finished"}},
		{"11", []string{"10 reset", "11 turn.finished"}},
		{"-1", []string{"10 reset", "11 turn.finished"}},
		{"never-given", []string{"10 reset", "11 turn.finished"}},
		{"10", []string{"11 turn.finished", "12 turn.finished"}},
	} {
		t.Run(row.last, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				h.commit("acme", 10)
				h.forget("acme", 8)
				h.drop(4)
				c := h.open("alice", row.last)
				defer c.close()
				c.line()
				h.here("acme", 2)
				if diff := cmp.Diff(row.want, []string{c.next(), c.next()}); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// What other processes change is seen at the next poll, of which there is one per tenant, and none without listeners.
func TestStreamSeesOtherProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		time.Sleep(time.Minute)
		if n := h.count(); n != 0 {
			t.Errorf("%d reads while nobody listens", n)
		}
		var all []*client
		for range 5 {
			all = append(all, h.open("alice", ""))
			all[len(all)-1].line()
		}
		synctest.Wait()
		before := h.count()
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if n := h.count() - before; n != 10 {
			t.Errorf("%d reads in 10 s for five listeners of one tenant, want 10", n)
		}
		h.commit("acme", 1)
		start := time.Now()
		for _, c := range all {
			if got := c.next(); got != "1 turn.finished" {
				t.Errorf("event %q", got)
			}
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("they came after %s, want a second at most", took)
		}
		for _, c := range all {
			c.close()
		}
		before = h.count()
		time.Sleep(time.Minute)
		if n := h.count(); n != before {
			t.Errorf("%d reads after the last listener left", n-before)
		}
	})
}

// A client that does not read for a while gets all of it, from the store where the hub has let go of it; where the store has too, it is
// told to read everything anew.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		dropped int64
		want    []string
	}{
		{"kept", 0, []string{"1 turn.finished", "2 turn.finished", "3 turn.finished"}},
		{"dropped", 1500, []string{"1 turn.finished", "2000 reset", "2001 turn.finished"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t)
				c := h.open("alice", "")
				defer c.close()
				c.line()
				quick := h.open("alice", "")
				defer quick.close()
				quick.line()
				h.here("acme", 1)
				quick.next()
				synctest.Wait()
				for range 1999 {
					h.here("acme", 1)
					if want, got := fmt.Sprint(len(h.events["acme"])), quick.next(); got != want+" turn.finished" {
						t.Fatalf("the quick one got %q, want number %s", got, want)
					}
				}
				h.drop(row.dropped)
				var got []string
				for len(got) < 3 {
					if got = append(got, c.next()); strings.HasSuffix(got[len(got)-1], "reset") {
						h.here("acme", 1)
					}
				}
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
				for n := 4; row.dropped == 0 && n <= 2000; n++ {
					if got := c.next(); got != fmt.Sprint(n, " turn.finished") {
						t.Fatalf("event %q, want number %d", got, n)
					}
				}
			})
		})
	}
}

// CONTRACT 3.4: a stream of a key that was revoked ends at its next heartbeat; one of a valid key goes on.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		c := h.open("alice", "")
		defer c.close()
		start := time.Now()
		for _, want := range []string{": events", "id: 0", "", ":", "", ":"} {
			if got := c.line(); got != want {
				t.Errorf("line %q, want %q", got, want)
			}
		}
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("two heartbeats within %s, want 30s", took)
		}
		h.revoked.Store("alice", true)
		h.here("acme", 1)
		c.rest()
		if took := time.Since(start); took != 45*time.Second {
			t.Errorf("the stream ended after %s, want it at the third heartbeat", took)
		}
	})
}

// A drain ends a stream at once, also one that has something to tell all the time.
func TestDrainEndsStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		idle, busy := h.open("alice", ""), h.open("alice", "")
		idle.line()
		busy.line()
		start := time.Now()
		h.here("acme", 100)
		busy.next()
		close(h.drain)
		idle.rest()
		busy.rest()
		<-idle.done
		<-busy.done
		if took := time.Since(start); took != 0 {
			t.Errorf("they ended after %s, want at once", took)
		}
		idle.quit()
		busy.quit()
	})
}

// A store that fails for a while costs a listener nothing but time; one that fails at the start is an error that says so.
func TestStreamOutlivesAStoreThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		c := h.open("alice", "")
		defer c.close()
		c.line()
		h.fail(mooring.Errorf(mooring.CodeStoreUnavailable, "down"))
		h.here("acme", 2)
		synctest.Wait()
		refused := h.open("alice", "")
		if refused.rest(); refused.w.status != http.StatusServiceUnavailable {
			t.Errorf("status %d while the store is down, want 503", refused.w.status)
		}
		refused.close()
		h.fail(nil)
		if diff := cmp.Diff([]string{"1 turn.finished", "2 turn.finished"}, []string{c.next(), c.next()}); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

// A change of several tenants wakes all of them.
func TestChangesOfManyTenants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		c := h.open("alice", "")
		defer c.close()
		c.line()
		start := time.Now()
		for n, change := range []mooring.Change{&mooring.Prune{}, &mooring.Retire{}, &mooring.Begin{Session: mooring.Session{Tenant: "acme"}}, &mooring.Patch{Tenant: "acme"}} {
			h.commit("acme", 1)
			h.hub.Changed([]mooring.Change{&mooring.PinsUsed{}, change})
			if got := c.next(); got != fmt.Sprint(n+1, " turn.finished") || time.Since(start) != 0 {
				t.Errorf("after %T: %q, %s later", change, got, time.Since(start))
			}
		}
	})
}

func TestStreamNeedsAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		c := h.open("", "")
		if c.rest(); c.w.status != http.StatusUnauthorized {
			t.Errorf("status %d without a key, want 401", c.w.status)
		}
		c.close()
	})
}

// Where another process changes more between two polls than is kept, whoever listens is told to read everything anew; where it only
// deleted a session, nobody is.
func TestStreamThatWasOvertaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t)
		c := h.open("alice", "")
		defer c.close()
		c.line()
		h.commit("acme", 3)
		h.forget("acme", 1)
		if got := c.next(); got != "2 turn.finished" {
			t.Errorf("event %q, want the second, without a reset", got)
		}
		c.next()
		h.commit("acme", 10)
		h.drop(8)
		if got := c.next(); got != "13 reset" {
			t.Errorf("event %q, want a reset", got)
		}
	})
}
