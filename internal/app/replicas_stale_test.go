package app_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// What memory holds of a session may be behind what another replica has made of it. The store is asked in the commit that a turn begins
// with, so that this costs a look and never gives a wrong answer. In each of these tests both replicas know the session by heart.

// berth is where an answer says that its session lives.
func berth(r *reply) string { return r.header.Get("X-Mooring-Upstream") }

func TestPinThatAnotherReplicaMoved(t *testing.T) {
	t.Parallel()
	u1, u2 := upstreamtest.New(t), upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), two(u1, u2)+"routing: {failover: next}\n")
	first := a.chat("t", "one").want(http.StatusOK)
	home, away := u1, u2
	if strings.HasPrefix(berth(first), "u2") {
		home, away = u2, u1
	}
	b.chat("t", "two").want(http.StatusOK)
	home.Queue(upstreamtest.Failure(http.StatusServiceUnavailable))
	moved := a.chat("t", "three").want(http.StatusOK)
	if !strings.HasSuffix(berth(moved), "pin=moved") {
		t.Fatalf("the session is at %q, want it moved", berth(moved))
	}
	asked := len(home.Posts())
	for _, p := range []*product{b, a, b} {
		if r := p.chat("t", "on").want(http.StatusOK); berth(r) != strings.Replace(berth(moved), "moved", "hit", 1) {
			t.Errorf("the session is at %q after the move to %q", berth(r), berth(moved))
		}
	}
	if len(home.Posts()) != asked || len(away.Posts()) == 0 {
		t.Errorf("the old upstream was asked again")
	}
}

func TestRemoteIDThatAnotherReplicaRotated(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), "upstreams:\n"+upstreamYAML("u1", u.URL, "key: k", "state: remote"))
	sent := func(p *product) string {
		t.Helper()
		r := p.chat("t", "on").want(http.StatusOK)
		if got := r.header.Get("X-Hermes-Session-Id"); got != "t" {
			t.Errorf("the client is told %q, want its own id", got)
		}
		return u.LastPost(t).Header.Get("X-Hermes-Session-Id")
	}
	sent(a)
	sent(b)
	for i, p := range []*product{a, b, a} {
		next := fmt.Sprint("up-", i)
		u.Queue(upstreamtest.Reply{Header: http.Header{"X-Hermes-Session-Id": {next}}})
		sent(p)
		for _, other := range []*product{b, a, b} {
			if got := sent(other); got != next {
				t.Errorf("the upstream gets %q after it answered with %q", got, next)
			}
		}
	}
}

// A client that leaves the history to the server goes on at the last answer, whichever replica relayed it.
func TestTipThatAnotherReplicaMoved(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), one(u))
	var want []string
	ask := func(p *product, n int) {
		t.Helper()
		p.chat("t", fmt.Sprint("question ", n)).want(http.StatusOK)
		want = append(want, fmt.Sprint("user: question ", n), fmt.Sprintf("assistant: This is answer %d.", n))
	}
	for n, p := range []*product{a, b, b, a, b, a, a, b} {
		ask(p, n+1)
	}
	if diff := cmp.Diff(want, a.texts("t")); diff != "" {
		t.Errorf("the branch (-want +got):\n%s", diff)
	}
	list := a.call(http.MethodGet, "/api/sessions/t/messages", "").want(http.StatusOK)
	a.call(http.MethodPatch, "/api/sessions/t", fmt.Sprintf(`{"tip":%q}`, list.get("messages", 3, "id"))).want(http.StatusOK)
	want = want[:4]
	ask(b, 9)
	if diff := cmp.Diff(want, b.texts("t")); diff != "" {
		t.Errorf("the branch after the tip was moved by hand at the other replica (-want +got):\n%s", diff)
	}
}

// A question that is asked once more gets another answer, not another copy of itself.
func TestAnswerThatAnotherReplicaRelayed(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), one(u))
	c := a.client("X-Session-Id", "t")
	c.say("one")
	c.p = b
	c.say("two")
	c.p = a
	history := slices.Clone(c.history)
	c.say("three")
	c.p, c.history = b, history
	c.say("three")
	list := a.call(http.MethodGet, "/api/sessions/t/messages", "").want(http.StatusOK)
	if got := [2]any{list.get("messages", 4, "branch_count"), list.get("messages", 5, "branch_count")}; got != [2]any{1.0, 2.0} {
		t.Errorf("branches of question and answer %v, want 1 and 2: %s", got, list.body)
	}
}

// L-13: what failed at one replica is gone on with at another one that knows nothing of it yet.
func TestRetryOfWhatFailedAtAnotherReplica(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"t", ""} {
		t.Run("id "+id, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			a, b := twins(t, newDatabase(t), one(u))
			a.chat(id, "one").want(http.StatusOK)
			b.chat(id, "two").want(http.StatusOK)
			u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
			failed := a.chat(id, "three").want(http.StatusInternalServerError)
			again := b.chat(id, "three").want(http.StatusOK)
			if again.header.Get("X-Mooring-Turn") != failed.header.Get("X-Mooring-Turn") || again.session() != failed.session() {
				t.Errorf("turn %s in %s, want the next attempt of %s in %s", again.header.Get("X-Mooring-Turn"), again.session(),
					failed.header.Get("X-Mooring-Turn"), failed.session())
			}
			if id == "" {
				return
			}
			u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
			b.chat(id, "four").want(http.StatusInternalServerError)
			a.chat(id, "five").want(http.StatusOK)
			b.chat(id, "four").want(http.StatusOK)
			want := []string{"completed", "completed", "completed", "failed", "completed", "completed"}
			if diff := cmp.Diff(want, b.states(id)); diff != "" {
				t.Errorf("turns, of which the failed one was not the last any more (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSessionThatAnotherReplicaDeleted(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), one(u))
	for n := range 3 {
		first := a.chat("t", "one").want(http.StatusOK)
		b.chat("t", "two").want(http.StatusOK)
		a.call(http.MethodDelete, "/api/sessions/"+first.session(), "").want(http.StatusNoContent)
		for _, path := range []string{"/api/sessions/t", "/api/sessions/" + first.session(), "/api/turns/" + first.header.Get("X-Mooring-Turn")} {
			b.call(http.MethodGet, path, "").want(http.StatusNotFound)
		}
		b.chat("", "three", "X-Mooring-Session", first.session()).want(http.StatusNotFound)
		if next := b.chat("t", "three").want(http.StatusOK); next.session() == first.session() || berth(next) != "u1; pin=new" {
			t.Errorf("round %d: the id means %s (%s), want a new session", n, next.session(), berth(next))
		}
		a.call(http.MethodDelete, "/api/sessions/"+url.PathEscape("t"), "").want(http.StatusNoContent)
	}
}

// C-3.3: a chat that begins anew at one replica has begun anew at all of them, whatever they remember.
func TestChatThatAnotherReplicaBeganAnew(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), one(u))
	for n, p := range []*product{a, b, b, a} {
		other := map[*product]*product{a: b, b: a}[p]
		a.chat("t", "one").want(http.StatusOK)
		b.chat("t", "two").want(http.StatusOK)
		ack := p.chat("t", "/new").want(http.StatusOK)
		if got := other.chat("t", "three").want(http.StatusOK).session(); got != ack.session() {
			t.Errorf("round %d: the other replica goes on in %s, want %s", n, got, ack.session())
		}
	}
}

// A clock that is wrong by hours changes nothing: the database's counts.
func TestReplicaWhoseClockIsWrong(t *testing.T) {
	t.Parallel()
	for _, off := range []string{"-5h", "5h"} {
		t.Run(off, func(t *testing.T) {
			t.Parallel()
			d, u1, u2 := newDatabase(t), upstreamtest.New(t), upstreamtest.New(t)
			yaml := two(u1, u2) + d.yaml("")
			a, b := start(t, yaml), startAt(t, yaml, off)
			homes := map[string]string{}
			for _, id := range []string{"r", "s", "t", "u"} {
				homes[id], _, _ = strings.Cut(berth(a.chat(id, "one").want(http.StatusOK)), ";")
			}
			for id, home := range homes {
				if got := berth(b.chat(id, "two").want(http.StatusOK)); got != home+"; pin=hit" {
					t.Errorf("%s is at %q, want its home %s: pins do not idle out by a wrong clock", id, got, home)
				}
			}
			never := make(chan struct{})
			hold := upstreamtest.Reply{Text: "one two", HoldAt: never, At: 3}
			u1.Queue(hold)
			u2.Queue(hold)
			l := a.open(chatPath, chatBody("long", `"stream":true,`), "X-Session-Id", "t")
			l.until("one")
			run := l.Header.Get("X-Mooring-Turn")
			d.judges()
			eventually(t, "a beat of each", func() bool { return d.beats() == 2 })
			if got := b.state(run); got != "running" {
				t.Errorf("the turn of a living replica is %v", got)
			}
			close(never)
			l.rest()
			for _, u := range []*upstreamtest.Server{u1, u2} {
				u.Forget()
				u.Always(upstreamtest.Failure(http.StatusInternalServerError))
			}
			failed := b.chat("v", "three").want(http.StatusInternalServerError)
			for _, u := range []*upstreamtest.Server{u1, u2} {
				u.Always(upstreamtest.Reply{})
			}
			if again := a.chat("v", "three").want(http.StatusOK); again.header.Get("X-Mooring-Turn") != failed.header.Get("X-Mooring-Turn") {
				t.Error("a retry at another replica is another turn")
			}
			list := a.call(http.MethodGet, "/api/sessions/t/turns", "").want(http.StatusOK)
			for n := 1; n < 3; n++ {
				before, _ := time.Parse(time.RFC3339, fmt.Sprint(list.get("turns", n-1, "started_at")))
				now, _ := time.Parse(time.RFC3339, fmt.Sprint(list.get("turns", n, "started_at")))
				if now.Sub(before).Abs() > time.Minute {
					t.Errorf("turn %d began at %s, the one before at %s", n, now, before)
				}
			}
		})
	}
}
