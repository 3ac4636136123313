package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// twins are two replicas of one database.
func twins(t *testing.T, d *database, yaml string) (a, b *product) {
	t.Helper()
	yaml += "\n" + d.yaml("")
	return start(t, yaml), start(t, yaml)
}

// deafen lets no replica of the database hear of another one: what they send is lost.
func (d *database) deafen() {
	d.t.Helper()
	mustExec(d.t, d.db, `CREATE FUNCTION public.pg_notify(text, text) RETURNS void LANGUAGE sql AS ''`)
	mustExec(d.t, d.db, `ALTER DATABASE `+d.name+` SET search_path = public, pg_catalog`)
}

// heard runs a test where replicas hear each other, and where all that they say is lost: the store alone tells them then.
func heard(t *testing.T, test func(t *testing.T, d *database)) {
	t.Helper()
	t.Run("heard", func(t *testing.T) {
		t.Parallel()
		test(t, newDatabase(t))
	})
	t.Run("not heard", func(t *testing.T) {
		t.Parallel()
		d := newDatabase(t)
		d.deafen()
		test(t, d)
	})
}

// state is a turn's, as a replica tells it.
func (p *product) state(turn string) any {
	p.t.Helper()
	return p.call(http.MethodGet, "/api/turns/"+turn, "").want(http.StatusOK).get("state")
}

// left waits until the client of a request to an upstream has gone.
func left(t *testing.T, r *upstreamtest.Request) {
	t.Helper()
	eventually(t, "the upstream call is cancelled", func() bool { return !r.Gone().IsZero() })
}

// H-23, C-3.3: a chat that begins anew at one replica ends the turn that another one runs in it.
func TestNewChatWhileATurnRunsElsewhere(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"/new", "/new fresh words"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			heard(t, func(t *testing.T, d *database) {
				t.Helper()
				u := upstreamtest.New(t)
				a, b := twins(t, d, one(u))
				first := a.chat("t", "hello").want(http.StatusOK)
				never := make(chan struct{})
				u.Queue(upstreamtest.Reply{Text: "half never", HoldAt: never, At: 2})
				l := a.open(chatPath, chatBody("old words", `"stream":true,`), "X-Session-Id", "t")
				l.until("half")
				call := u.LastPost(t)
				ack := b.chat("t", command).want(http.StatusOK)
				run := l.Header.Get("X-Mooring-Turn")
				if got := b.state(run); got != "cancelled" {
					t.Errorf("state when the command is answered: %v, want cancelled", got)
				}
				left(t, call)
				close(never)
				if rest := l.rest(); strings.Contains(rest, "never") || !strings.Contains(rest, "turn_cancelled") || !strings.Contains(rest, "begun anew") {
					t.Errorf("the old stream goes on with\n%s", rest)
				}
				for _, p := range []*product{a, b, a} {
					if got := p.chat("t", "and now").want(http.StatusOK).session(); got != ack.session() || got == first.session() {
						t.Errorf("the chat is on %s, want %s", got, ack.session())
					}
				}
				want := []string{"user: hello", "assistant: This is answer 1.", "user: old words", "assistant: half "}
				if diff := cmp.Diff(want, a.texts(first.session())); diff != "" {
					t.Errorf("the old session (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// C-4: a turn is stopped from any replica.
func TestTurnIsStoppedFromElsewhere(t *testing.T) {
	t.Parallel()
	heard(t, func(t *testing.T, d *database) {
		t.Helper()
		u := upstreamtest.New(t)
		never := make(chan struct{})
		defer close(never)
		u.Always(upstreamtest.Reply{Text: "one two", HoldAt: never, At: 2})
		a, b := twins(t, d, one(u))
		l := a.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
		run := l.runOf()
		l.until("one")
		r := b.call(http.MethodPost, "/api/turns/"+run+"/cancel", "").want(http.StatusOK)
		if r.get("state") != "cancelled" {
			t.Errorf("state = %v, want cancelled", r.get("state"))
		}
		if got := toldBy(t, l.rest()); !slices.Contains(got, "error turn_cancelled") || got[len(got)-1] != "done cancelled" {
			t.Errorf("its page hears %v", got)
		}
		left(t, u.LastPost(t))
		if diff := cmp.Diff([]string{"user: tell me", "assistant: one "}, b.texts("deck")); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		b.call(http.MethodPost, "/api/turns/"+run+"/cancel", "").want(http.StatusOK) // it stays as it is
		b.call(http.MethodPost, "/api/turns/trn_none/cancel", "").want(http.StatusNotFound)
	})
}

// C-4: a turn that one replica runs is followed at another one, from the first byte on and while it comes; the events and their numbers
// are the same.
func TestTurnIsFollowedElsewhere(t *testing.T) { //nolint:tparallel // its steps share two replicas and one upstream
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), one(u))
	for name, body := range map[string]string{
		"a page's": "", "a stream": chatBody("hi", `"stream":true,`), "one body": chatBody("hi", ""),
	} {
		t.Run(name, func(t *testing.T) {
			gate := make(chan struct{})
			text := "one " + strings.Repeat("word ", 4000) + "end"
			answer := upstreamtest.Reply{Text: text, HoldAt: gate, At: 2000}
			if name == "one body" {
				answer.HoldAt, answer.Hold = nil, gate
			}
			u.Queue(answer)
			var l *live
			var run string
			if body == "" {
				l = a.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
				run = l.runOf()
			} else {
				done := make(chan *live)
				n := len(u.Posts())
				go func() { done <- a.open(chatPath, body, "X-Session-Id", name) }()
				if _, err := u.WaitPosts(t.Context(), n+1); err != nil {
					t.Fatal(err)
				}
				run = fmt.Sprint(b.call(http.MethodGet, "/api/sessions/"+strings.ReplaceAll(name, " ", "%20")+"/turns", "").want(http.StatusOK).get("turns", -1, "id"))
				if name != "one body" {
					l = <-done
				} else {
					defer func() { (<-done).rest() }()
				}
			}
			elsewhere := b.follow(run)
			elsewhere.until("event: started")
			var late *live
			if name != "one body" {
				elsewhere.until("word ")
				late = b.follow(run, "Last-Event-ID", "3")
				late.until("word ") // who comes once the turn has ended is told it as a whole
			}
			close(gate)
			there := pageEvents(t, elsewhere.rest())
			if l != nil {
				l.rest()
			}
			here := pageEvents(t, string(a.watch(run, "").body))
			shown := func(list []event) (out []string) {
				for _, e := range list {
					if e.name != "heartbeat" {
						data, _ := json.Marshal(e.data)
						out = append(out, e.id+" "+e.name+" "+string(data))
					}
				}
				return out
			}
			if diff := cmp.Diff(shown(here), shown(there)); diff != "" {
				t.Errorf("events (-here +elsewhere):\n%.2000s", diff)
			}
			if late == nil {
				return
			}
			if diff := cmp.Diff(shown(here)[3:], shown(pageEvents(t, late.rest()))); diff != "" {
				t.Errorf("behind event 3 (-want +got):\n%.2000s", diff)
			}
		})
	}
}

// Where replicas do not hear each other a follower gets the text once the turn has ended, under numbers behind those it had.
func TestTurnIsFollowedElsewhereUnheard(t *testing.T) {
	t.Parallel()
	u, d := upstreamtest.New(t), newDatabase(t)
	d.deafen()
	a, b := twins(t, d, one(u))
	gate := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: "one two", HoldAt: gate, At: 3})
	l := a.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
	run := l.runOf()
	follower := b.follow(run)
	follower.until("event: started")
	again := make(chan *reply, 1)
	go func() { again <- b.watch(run, "7") }()
	close(gate)
	l.rest()
	if diff := cmp.Diff([]string{"started deck", "chunk one two", "done complete"}, toldBy(t, follower.rest())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list := pageEvents(t, string((<-again).body))
	if len(list) < 2 || list[len(list)-1].name != "done" || list[0].id != "8" && list[1].id != "8" {
		t.Errorf("behind event 7 comes %v, want the text and the end from 8 on", list)
	}
}

// C074: turns of one session wait for each other, or are refused, whichever replicas they come to.
func TestConcurrencyOverReplicas(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, u *upstreamtest.Server, a *product) (l *live, end func()) {
		t.Helper()
		gate := make(chan struct{})
		u.Queue(upstreamtest.Reply{Text: "one two", HoldAt: gate, At: 3})
		l = a.open(chatPath, chatBody("long", `"stream":true,`), "X-Session-Id", "t")
		l.until("one")
		return l, sync.OnceFunc(func() { close(gate) })
	}
	t.Run("reject", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		a, b := twins(t, newDatabase(t), one(u)+"sessions: {concurrency: reject}\n")
		a.chat("t", "hello").want(http.StatusOK)
		l, end := begin(t, u, a)
		r := b.chat("t", "meanwhile").want(http.StatusTooManyRequests)
		if r.header.Get("X-Mooring-Error") != "session_busy" || r.header.Get("Retry-After") == "" {
			t.Errorf("error %q, Retry-After %q", r.header.Get("X-Mooring-Error"), r.header.Get("Retry-After"))
		}
		b.chat("another", "hi").want(http.StatusOK)
		end()
		l.rest()
		b.chat("t", "now").want(http.StatusOK)
		want := []string{"user: hello", "assistant: This is answer 1.", "user: long", "assistant: one two", "user: now", "assistant: This is answer 4."}
		if diff := cmp.Diff(want, b.texts("t")); diff != "" {
			t.Errorf("the branch, without what was refused (-want +got):\n%s", diff)
		}
	})
	t.Run("queue, which is the rule where the upstream keeps the conversation", func(t *testing.T) {
		t.Parallel()
		heard(t, func(t *testing.T, d *database) {
			t.Helper()
			u := upstreamtest.New(t)
			a, b := twins(t, d, "upstreams:\n"+upstreamYAML("u1", u.URL, "key: k", "state: remote"))
			a.chat("t", "hello").want(http.StatusOK)
			l, end := begin(t, u, a)
			var group sync.WaitGroup
			for i, p := range []*product{b, a, b} {
				group.Go(func() { p.chat("t", fmt.Sprint("meanwhile ", i)).want(http.StatusOK) })
			}
			eventually(t, "they wait", func() bool { return len(u.Posts()) == 2 })
			time.AfterFunc(300*time.Millisecond, end) // time for one that does not wait to show itself
			l.rest()
			group.Wait()
			if n := len(u.Posts()); n != 5 {
				t.Errorf("%d upstream calls, want 5", n)
			}
			texts := a.texts("t")
			for i, row := range texts {
				if role := []string{"user", "assistant"}[i%2]; !strings.HasPrefix(row, role) {
					t.Errorf("row %d is %q, want questions and answers by turns", i, row)
				}
			}
			if len(texts) != 10 {
				t.Errorf("%d rows, want 10: %v", len(texts), texts)
			}
			ids := map[string]bool{}
			for _, r := range u.Posts() {
				ids[r.Header.Get("X-Hermes-Session-Id")] = true
			}
			if len(ids) != 1 {
				t.Errorf("sessions upstream: %v, want one", ids)
			}
		})
	})
	t.Run("a wait has its end", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		a, b := twins(t, newDatabase(t), one(u)+"sessions: {concurrency: queue, queue: {depth: 1, wait: 1s}}\n")
		a.chat("t", "hello").want(http.StatusOK)
		l, end := begin(t, u, a)
		r := b.chat("t", "meanwhile").want(http.StatusTooManyRequests)
		if r.header.Get("X-Mooring-Error") != "session_busy" {
			t.Errorf("error %q", r.header.Get("X-Mooring-Error"))
		}
		end()
		l.rest()
		b.chat("t", "now").want(http.StatusOK)
	})
}

// L-13: a retry that says so takes the place of the first attempt, wherever that runs.
func TestRetryWhileTheFirstRunsElsewhere(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		headers [2][]string
		same    bool
	}{
		"an equal request is another one":             {[2][]string{}, false},
		"a count of retries says that it is the same": {[2][]string{{"X-Stainless-Retry-Count", "0"}, {"X-Stainless-Retry-Count", "1"}}, true},
		"so does the same key":                        {[2][]string{{"Idempotency-Key", "k"}, {"Idempotency-Key", "k"}}, true},
		"another key does not":                        {[2][]string{{"Idempotency-Key", "k"}, {"Idempotency-Key", "l"}}, false},
	} {
		for _, id := range []string{"", "t"} {
			t.Run(fmt.Sprintf("%s, id %q", name, id), func(t *testing.T) {
				t.Parallel()
				u := upstreamtest.New(t)
				hold := make(chan struct{})
				u.Queue(upstreamtest.Reply{Text: "slow answer", HoldAt: hold, At: 3})
				a, b := twins(t, newDatabase(t), one(u))
				hs := of.headers[0]
				if id != "" {
					hs = append([]string{"X-Session-Id", id}, hs...)
				}
				l := a.open(chatPath, chatBody("hello", `"stream":true,`), hs...)
				l.until("slow ")
				second := b.stream(id, "hello", of.headers[1]...).want(http.StatusOK)
				close(hold)
				first := l.end()
				if same := second.header.Get("X-Mooring-Turn") == first.header.Get("X-Mooring-Turn"); same != of.same {
					t.Errorf("the same turn: %v, want %v", same, of.same)
				}
				if got := said(t, string(second.body)); got != "This is answer 2." {
					t.Errorf("the second answer is %q", got)
				}
				want := []string{"completed"}
				if !of.same && id != "" {
					want = append(want, "completed")
				}
				if diff := cmp.Diff(want, b.states(second.session())); diff != "" {
					t.Errorf("turns (-want +got):\n%s", diff)
				}
				if of.same != strings.Contains(string(first.body), "turn_cancelled") {
					t.Errorf("the first request got %s", first.body)
				}
			})
		}
	}
}

// L-13: of retries at several replicas at once one goes on with the failed turn.
func TestRetriesAtReplicasAtOnce(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), one(u))
	for round := range 5 {
		id := fmt.Sprint("t", round)
		u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
		failed := a.chat(id, "hello").want(http.StatusInternalServerError)
		u.Always(upstreamtest.Reply{Delay: 50 * time.Millisecond})
		answers := make([]*reply, 2)
		var group sync.WaitGroup
		for i, p := range []*product{a, b} {
			group.Go(func() { answers[i] = p.chat(id, "hello").want(http.StatusOK) })
		}
		group.Wait()
		taken := 0
		for _, r := range answers {
			if r.header.Get("X-Mooring-Turn") == failed.header.Get("X-Mooring-Turn") {
				taken++
			}
		}
		if got := a.states(id); taken != 1 || len(got) != 2 {
			t.Errorf("round %d: %d requests took the failed turn up, turns %v; want one, and one of its own", round, taken, got)
		}
	}
}

// C-5: what a page sends to two replicas is one turn.
func TestSendToTwoReplicasIsOneTurn(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	a, b := twins(t, newDatabase(t), one(u))
	u.Always(upstreamtest.Reply{Text: "one two three", Gap: 20 * time.Millisecond})
	for round := range 3 {
		key := fmt.Sprint("deck", round)
		if round > 0 {
			a.page(key, "before").want(http.StatusOK)
		}
		before := len(u.Posts())
		answers := make([]*reply, 2)
		var group sync.WaitGroup
		for i, p := range []*product{a, b} {
			group.Go(func() { answers[i] = p.page(key, "hello", "clientMessageId", "m1").want(http.StatusOK) })
		}
		group.Wait()
		runs := map[string]bool{}
		for _, r := range answers {
			list := toldBy(t, string(r.body))
			if text := strings.Join(list[1:len(list)-1], ""); list[len(list)-1] != "done complete" || text != "chunk one chunk two chunk three" && text != "chunk one two three" {
				t.Errorf("round %d: told %v", round, list)
			}
			runs[fmt.Sprint(pageEvents(t, string(r.body))[0].data["runId"])] = true
		}
		if n := len(u.Posts()) - before; n != 1 || len(runs) != 1 {
			t.Errorf("round %d: %d upstream calls, turns %v; want one", round, n, runs)
		}
	}
}
