package app_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// eventStream is an open stream of live events.
type eventStream struct {
	t     *testing.T
	res   *http.Response
	lines *bufio.Scanner
	last  string // the number it saw last
	quit  context.CancelFunc
}

// listen opens the stream, behind an event where its number is given.
func (p *product) listen(last string) *eventStream {
	p.t.Helper()
	var hs []string
	if last != "" {
		hs = []string{"Last-Event-ID", last}
	}
	ctx, quit := context.WithTimeout(p.t.Context(), 30*time.Second)
	p.t.Cleanup(quit)
	res, err := http.DefaultTransport.RoundTrip(p.request(http.MethodGet, "/api/events", "", hs...).WithContext(ctx))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		p.t.Fatalf("status = %d", res.StatusCode)
	}
	return &eventStream{t: p.t, res: res, lines: bufio.NewScanner(res.Body), quit: quit}
}

// next gives the next event: its name, and the turn, else the session, that it is about.
func (e *eventStream) next() string {
	e.t.Helper()
	name := ""
	for e.lines.Scan() {
		field, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch field {
		case "id":
			e.last = value
		case "event":
			name = value
		case "data":
			parts := strings.Split(value, `"`)
			if len(parts) > 8 && parts[5] == "turn_id" {
				return name + " " + parts[7]
			}
			if len(parts) > 3 {
				return name + " " + parts[3]
			}
			return name
		}
	}
	e.t.Fatalf("the stream ended: %v", e.lines.Err())
	return ""
}

func (e *eventStream) want(list ...string) {
	e.t.Helper()
	for _, want := range list {
		if got := e.next(); got != want {
			e.t.Fatalf("event %q, want %q", got, want)
		}
	}
}

// turnEvents are those of a turn that an answer came from.
func turnEvents(r *reply) []string {
	turn := r.header.Get("X-Mooring-Turn")
	return []string{"turn.started " + turn, "turn.finished " + turn}
}

// C-4: what happens is told live, can be read when it is told, and is told again from a number on, also by the next process.
func TestLiveEvents(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) { //nolint:thelper // the test itself
		up := upstreamtest.New(t)
		p := start(t, one(up)+store)
		e := p.listen("")
		first := p.chat("e1", "hello").want(http.StatusOK)
		id := first.session()
		e.want("session.updated " + id)
		e.want(turnEvents(first)...)
		seen := e.last
		p.call(http.MethodPatch, "/api/sessions/"+id, `{"title":"x"}`).want(http.StatusOK)
		e.want("session.updated " + id)
		second := p.chat("e1", "again").want(http.StatusOK)
		e.want(turnEvents(second)[0])
		e.want(turnEvents(second)[1])
		if got := p.turnState(second); got != "completed" {
			t.Errorf("a turn that was told to have finished is %v", got)
		}
		p.restart()
		missed := append([]string{"session.updated " + id}, turnEvents(second)...)
		again := p.listen(seen)
		again.want(missed...)
		if again.last != e.last {
			t.Errorf("the newest number is %s, was %s", again.last, e.last)
		}
		p.call(http.MethodDelete, "/api/sessions/"+id, "").want(http.StatusNoContent)
		again.want("session.updated " + id)
		p.listen(seen).want("session.updated " + id) // its turns are forgotten
		p.listen("never-given").want("reset")
		p.listen("1000000").want("reset")
	})
}

// C-4: a stream ends with the server, which does not wait for it.
func TestDrainEndsLiveEvents(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	e := p.listen("")
	began := time.Now()
	p.stop()
	for e.lines.Scan() {
		continue
	}
	if err := e.lines.Err(); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("the stream ended with %v after %s; want it in order, soon", err, time.Since(began))
	}
}

// CONTRACT 3.6: a page of an allowed origin may listen.
func TestLiveEventsOfAnAllowedOrigin(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t))+"cors: {origins: [\"https://app.example\"]}\n")
	r := p.request(http.MethodGet, "/api/events", "", "Origin", "https://app.example")
	ctx, quit := context.WithCancel(t.Context())
	defer quit()
	res, err := http.DefaultTransport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got := []string{res.Header.Get("Access-Control-Allow-Origin"), res.Header.Get("Cache-Control"), res.Header.Get("X-Accel-Buffering")}
	if diff := cmp.Diff([]string{"https://app.example", "no-cache", "no"}, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// C-4: a listener that reads nothing holds nobody up, and misses nothing.
func TestSlowListener(t *testing.T) {
	t.Parallel()
	p := start(t, one(upstreamtest.New(t)))
	quick := p.listen("")
	first := p.chat("e1", "hello").want(http.StatusOK)
	id := first.session()
	quick.want("session.updated " + id)
	quick.want(turnEvents(first)...)
	slow := p.listen("")
	const changes = 3000
	for n := range changes {
		p.call(http.MethodPatch, "/api/sessions/"+url.PathEscape(id), fmt.Sprintf(`{"title":"%d"}`, n)).want(http.StatusOK)
		quick.want("session.updated " + id)
	}
	for range changes {
		slow.want("session.updated " + id)
	}
	if slow.last != quick.last {
		t.Errorf("the slow one is at %s, the quick one at %s", slow.last, quick.last)
	}
}

// C-4: two replicas of one database tell each other's changes, and a number of one goes on at the other.
func TestLiveEventsOfAnotherReplica(t *testing.T) {
	t.Parallel()
	store := newDatabase(t).yaml("")
	up := upstreamtest.New(t)
	yaml := one(up) + store
	a, b := start(t, yaml), start(t, yaml)
	atA, atB := a.listen(""), b.listen("")
	first := a.chat("t", "hello").want(http.StatusOK)
	answered := time.Now()
	want := append([]string{"session.updated " + first.session()}, turnEvents(first)...)
	atA.want(want...)
	atB.want(want...)
	if took := time.Since(answered); took > 5*time.Second { // one second, and what a busy machine takes
		t.Errorf("the other replica told it %s after the answer", took)
	}
	two := b.chat("t", "again").want(http.StatusOK)
	atA.want(turnEvents(two)...)
	atB.want(turnEvents(two)...)
	if atA.last != atB.last {
		t.Errorf("the replicas are at %s and %s", atA.last, atB.last)
	}
	three := a.chat("t", "once more").want(http.StatusOK)
	a.listen(atB.last).want(turnEvents(three)...)
	b.listen(atB.last).want(turnEvents(three)...)
}
