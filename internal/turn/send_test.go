package turn_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/upstreamtest"
	"mooring/internal/wire"
)

// pair is a house of two upstreams, a and b, that take new sessions in turn: s1 and s3 are at home at a, s2 at b.
type pair struct {
	*house
	a, b *upstreamtest.Server
}

func newPair(t *testing.T, rules turn.Rules, change func(*upstream.Spec)) *pair {
	t.Helper()
	p := &pair{a: upstreamtest.New(t), b: upstreamtest.New(t)}
	first := spec("a", p.a)
	if change != nil {
		change(&first)
	}
	p.house = newHouse(t, rules, first, spec("b", p.b))
	for i, want := range []mooring.UpstreamName{"a", "b", "a"} {
		p.wants(fmt.Sprintf("s%d", i+1), want, mooring.PinNew)
	}
	p.a.Forget()
	p.b.Forget()
	return p
}

// wants runs a turn of a session and says where it goes, and with which mark.
func (p *pair) wants(id string, at mooring.UpstreamName, mark mooring.PinMark) *sink {
	p.t.Helper()
	s, err := p.run(p.chat(id, "hello "+string(mark), ""))
	if err != nil || s.head.Status != http.StatusOK || s.about.Upstream != at || s.about.Pin != mark {
		p.t.Errorf("%s: status %d at %s; pin=%s, %v; want %s; pin=%s", id, s.head.Status, s.about.Upstream, s.about.Pin, err, at, mark)
	}
	return s
}

// hold keeps a's places taken by a turn of s1 until free is called.
func (p *pair) hold() (free func()) {
	p.t.Helper()
	open, done := make(chan struct{}), make(chan error, 1)
	p.a.Queue(upstreamtest.Reply{Hold: open})
	go func() {
		_, err := p.run(p.chat("s1", "a long one", ""))
		done <- err
	}()
	if _, err := p.a.WaitPosts(p.t.Context(), 1); err != nil {
		p.t.Fatal(err)
	}
	return func() {
		p.t.Helper()
		close(open)
		if err := <-done; err != nil {
			p.t.Errorf("the turn that held the place: %v", err)
		}
	}
}

// waits runs a turn that has to wait until free is called, and gives how it went.
func (p *pair) waits(req turn.Request, free func()) *sink {
	p.t.Helper()
	u, done := p.Fleet.Get("a"), make(chan *sink, 1)
	go func() {
		s, err := p.run(req)
		if err != nil {
			p.t.Errorf("the turn that was to wait: %v", err)
		}
		done <- s
	}()
	for u.Waiting() == 0 {
		select {
		case s := <-done:
			free()
			p.t.Errorf("at %s; pin=%s without waiting", s.about.Upstream, s.about.Pin)
			return s
		case <-time.After(time.Millisecond): // nobody is told when it waits
		}
	}
	free()
	return <-done
}

func one(s *upstream.Spec) { s.MaxInFlight = 1 }

func TestDrainedUpstreamKeepsItsSessionsAndTakesNoOthers(t *testing.T) {
	t.Parallel()
	p := newPair(t, moving(), nil)
	p.Fleet.SetDrained(map[mooring.UpstreamName]time.Time{"a": time.Now()})
	p.wants("s1", "a", mooring.PinHit)
	for i := range 4 {
		p.wants(fmt.Sprint("new", i), "b", mooring.PinNew)
	}
	p.b.Queue(upstreamtest.Failure(500))
	if s, err := p.run(p.chat("s2", "b fails", "")); err != nil || s.head.Status != 500 || s.about.Upstream != "b" {
		t.Errorf("status %d at %s, %v; a session does not move to a drained upstream", s.head.Status, s.about.Upstream, err)
	}
	p.a.Down()
	p.wants("s1", "b", mooring.PinMoved) // drained, and then dead
	if n := len(p.a.Posts()); n != 1 {
		t.Errorf("%d requests at a, want that of its own session", n)
	}
}

func TestNoUpstreamTakesNewSessions(t *testing.T) {
	t.Parallel()
	p := newPair(t, moving(), nil)
	p.Fleet.SetDrained(map[mooring.UpstreamName]time.Time{"a": time.Now(), "b": time.Now()})
	s, err := p.run(p.chat("new", "hi", ""))
	var e *mooring.Error
	if !errors.As(err, &e) || e.Code != mooring.CodeUpstreamUnavailable || e.RetryAfter <= 0 || !strings.Contains(e.Safe, "(a, b)") || s.heads != 0 {
		t.Errorf("error = %v, want upstream_unavailable that names both", err)
	}
	if found, err := p.store.SessionsByKey(t.Context(), "acme", "new"); err != nil || len(found) != 0 {
		t.Errorf("%d sessions, %v: nothing was to be written", len(found), err)
	}
	p.wants("s2", "b", mooring.PinHit)
	p.Fleet.SetDrained(nil)
	if _, err := p.run(p.chat("new", "hi", "")); err != nil {
		t.Errorf("after both were resumed: %v", err)
	}
}

func TestFullUpstreamSpills(t *testing.T) {
	t.Parallel()
	p := newPair(t, moving(), one)
	free := p.hold()
	s := p.wants("s3", "b", mooring.PinSpill)
	if got := p.stored(s.about.Turn); got.Pin != mooring.PinSpill || got.Upstream != "b" || len(got.Attempts) != 1 {
		t.Errorf("stored pin %q at %s in %d attempts, want a spill in one", got.Pin, got.Upstream, len(got.Attempts))
	}
	if got, err := p.store.Session(t.Context(), "acme", s.about.Session); err != nil || got.Upstream != "a" {
		t.Errorf("the session is with %s, %v; it stays with a", got.Upstream, err)
	}
	p.wants("new", "b", mooring.PinNew) // a new session has its home there
	free()
	p.wants("s3", "a", mooring.PinHit)
	if a, b := p.Fleet.Get("a").Spills(), p.Fleet.Get("b").Spills(); a != 1 || b != 0 {
		t.Errorf("%d and %d spills, want the one of a", a, b)
	}
}

func TestFullUpstreamIsWaitedForWhereNobodyElseCan(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule   string
		change func(*upstream.Spec)
		with   func(p *pair)
	}{
		{"sessions may not leave", func(s *upstream.Spec) { s.Failover = "fail" }, nil},
		{"the server keeps the conversation", func(s *upstream.Spec) { s.Remote = true }, nil},
		{"the other is drained", nil, func(p *pair) { p.Fleet.SetDrained(map[mooring.UpstreamName]time.Time{"b": time.Now()}) }},
		{"the other is not well", nil, func(p *pair) { fails(p, "b", 1) }},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, moving(), func(s *upstream.Spec) {
				one(s)
				if row.change != nil {
					row.change(s)
				}
			})
			if row.with != nil {
				row.with(p)
			}
			if s := p.waits(p.chat("s3", "hi", ""), p.hold()); s.about.Upstream != "a" || s.about.Pin != mooring.PinHit {
				t.Errorf("at %s; pin=%s, want a; pin=hit", s.about.Upstream, s.about.Pin)
			}
			if n := len(p.b.Posts()); n != 0 {
				t.Errorf("%d requests at b", n)
			}
		})
	}
}

func TestRequestThatSpeaksOfWhatItsUpstreamKeepsDoesNotSpill(t *testing.T) {
	t.Parallel()
	p := newPair(t, moving(), one)
	req := p.chat("s3", "hi", "")
	body := `{"model":"fake-1","previous_response_id":"resp_1","input":"go on"}`
	w, err := wire.Decode(mooring.Responses, []byte(body), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	req.Protocol, req.Path, req.Body, req.Wire = mooring.Responses, "/v1/responses", bytes(body), w
	if s := p.waits(req, p.hold()); s.about.Upstream != "a" || s.about.Pin != mooring.PinHit {
		t.Errorf("at %s; pin=%s, want a; pin=hit", s.about.Upstream, s.about.Pin)
	}
}

func TestSpillThatFailsComesBackAndWaits(t *testing.T) {
	t.Parallel()
	p := newPair(t, moving(), one)
	p.b.Always(upstreamtest.Failure(500))
	s := p.waits(p.chat("s3", "hi", ""), p.hold())
	if s.head.Status != http.StatusOK || s.about.Upstream != "a" || s.about.Pin != mooring.PinHit {
		t.Errorf("status %d at %s; pin=%s, want 200 of a; pin=hit", s.head.Status, s.about.Upstream, s.about.Pin)
	}
}

func TestWaitForAPlaceEnds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule   string
		change func(*turn.Rules)
	}{
		{"with the time of the queue", func(r *turn.Rules) { r.QueueWait = time.Millisecond }},
		{"at once where nobody may wait", func(r *turn.Rules) { r.QueueDepth = 0 }},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			rules := moving()
			row.change(&rules)
			p := newPair(t, rules, func(s *upstream.Spec) { s.MaxInFlight, s.Failover = 1, "fail" })
			free := p.hold()
			s, err := p.run(p.chat("s3", "hi", ""))
			var e *mooring.Error
			if !errors.As(err, &e) || e.Code != mooring.CodeUpstreamUnavailable || e.RetryAfter <= 0 {
				t.Errorf("error = %v, want upstream_unavailable with a time", err)
			}
			if got := p.stored(s.about.Turn); got.State != mooring.Failed || got.ErrorCode != mooring.CodeUpstreamUnavailable {
				t.Errorf("stored as %s, %s", got.State, got.ErrorCode)
			}
			free()
			if _, failed := p.Fleet.Get("a").Requests(); failed != 0 || !p.Fleet.Get("a").Up(time.Now()) {
				t.Errorf("%d failures: a server that is full is well", failed)
			}
			p.wants("s3", "a", mooring.PinHit)
		})
	}
}

// fails has requests of an upstream get no answer, n in a row.
func fails(p *pair, name mooring.UpstreamName, n int) {
	p.t.Helper()
	for range n {
		v, err := p.Fleet.Get(name).Enter(p.t.Context(), upstream.Visitor{}, time.Now)
		if err != nil {
			p.t.Fatal(err)
		}
		v.Unanswered(time.Now().Add(time.Hour)) // the pause lasts beyond the test
		v.Leave()
	}
}

func TestSessionsLeaveAnUpstreamThatIsKnownToBeGone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule   string
		change func(*upstream.Spec)
		rules  func(*turn.Rules)
		a, b   int // failures in a row
		at     mooring.UpstreamName
		mark   mooring.PinMark
	}{
		{"silence in a row moves them without asking", nil, nil, 3, 0, "b", mooring.PinMoved},
		{"an accident does not", nil, nil, 1, 0, "a", mooring.PinHit},
		{"nor where silence is no reason to move", nil, func(r *turn.Rules) { r.FailoverOn.Unreachable = false }, 3, 0, "a", mooring.PinHit},
		{"nor where they may not leave", func(s *upstream.Spec) { s.Failover = "fail" }, nil, 3, 0, "a", mooring.PinHit},
		{"nor where the other one is not well either", nil, nil, 3, 1, "a", mooring.PinHit},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			rules := moving()
			if row.rules != nil {
				row.rules(&rules)
			}
			p := newPair(t, rules, row.change)
			fails(p, "a", row.a)
			fails(p, "b", row.b)
			p.wants("s1", row.at, row.mark)
			if row.mark == mooring.PinMoved && len(p.a.Posts()) != 0 {
				t.Error("it was asked")
			}
			p.wants("s1", row.at, mooring.PinHit) // and stays
		})
	}
}

func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	limit := upstreamtest.TooManyRequests(2 * time.Hour)
	t.Run("sessions leave an upstream that has asked for it, where its status is listed", func(t *testing.T) {
		t.Parallel()
		rules := moving()
		rules.FailoverOn.Statuses = []int{429}
		p := newPair(t, rules, nil)
		p.a.Always(limit)
		p.wants("s1", "b", mooring.PinMoved)
		p.wants("s3", "b", mooring.PinMoved)
		for i := range 3 {
			p.wants(fmt.Sprint("new", i), "b", mooring.PinNew)
		}
		if n := len(p.a.Posts()); n != 1 {
			t.Errorf("%d requests at a, want the one that was told to wait", n)
		}
	})
	t.Run("else they stay and hear it themselves, and new ones go elsewhere", func(t *testing.T) {
		t.Parallel()
		p := newPair(t, moving(), nil)
		p.a.Always(limit)
		for range 2 {
			if s, err := p.run(p.chat("s1", "hi", "")); err != nil || s.head.Status != 429 || s.head.Header.Get("Retry-After") != "7200" {
				t.Errorf("status %d, %v; want the upstream's own 429", s.head.Status, err)
			}
		}
		p.wants("new", "b", mooring.PinNew)
		p.a.Always(upstreamtest.Reply{})
		p.wants("s1", "a", mooring.PinHit)
	})
	t.Run("C099 of two that ask for it the one that was asked last is heard", func(t *testing.T) {
		t.Parallel()
		rules := moving()
		rules.FailoverOn.Statuses = []int{429}
		p := newPair(t, rules, nil)
		p.a.Always(limit)
		p.b.Always(upstreamtest.TooManyRequests(90 * time.Second))
		for range 2 {
			s, err := p.run(p.chat("s1", "hi", ""))
			if err != nil || s.head.Status != 429 {
				t.Errorf("status %d, %v; want 429", s.head.Status, err)
			}
			p.a.Always(upstreamtest.TooManyRequests(time.Hour))
		}
		if a, b := len(p.a.Posts()), len(p.b.Posts()); a != 2 || b != 1 {
			t.Errorf("%d requests at a and %d at b: who rests is not asked by those at home elsewhere", a, b)
		}
	})
}

func TestLostUpstream(t *testing.T) {
	t.Parallel()
	p := newPair(t, moving(), nil)
	all := p.Fleet.All()
	p.Fleet.Replace(all[1:])
	p.wants("s1", "b", mooring.PinMoved)
	p.wants("s1", "b", mooring.PinHit)
	p.wants("s2", "b", mooring.PinHit)
	p.wants("new", "b", mooring.PinNew)
}
