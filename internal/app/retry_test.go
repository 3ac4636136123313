package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// states are the states of a session's turns, the oldest first.
func (p *product) states(session string) []string {
	p.t.Helper()
	r := p.call(http.MethodGet, "/api/sessions/"+session+"/turns", "").want(http.StatusOK)
	list, _ := r.get("turns").([]any)
	out := make([]string, len(list))
	for i := range list {
		out[i] = fmt.Sprint(r.get("turns", i, "state"))
	}
	return out
}

// A client without ids that sends a request again after its answer failed or broke off goes on in the same turn.
func TestRetryWithoutIDs(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		first upstreamtest.Reply
		more  string
	}{
		"L-13 a refusal": {upstreamtest.Failure(503), ""},
		"L-13 a broken stream of which a part is kept": {upstreamtest.Reply{Text: "half an answer", Fault: upstreamtest.Cut, At: 3}, `"stream":true,`},
		"L-13 a buffered answer that breaks off":       {upstreamtest.Reply{Fault: upstreamtest.Cut}, ""},
	} {
		for _, turn := range []string{"first", "second"} {
			t.Run(name+", "+turn+" turn", func(t *testing.T) {
				t.Parallel()
				u := upstreamtest.New(t)
				p := start(t, one(u)+"routing: {failover: fail}\n")
				c := p.client()
				c.more = of.more
				want := []string{"user: hello", "assistant: "}
				if turn == "second" {
					c.say("well")
					want = append([]string{"user: well", "assistant: This is answer 1."}, want...)
				}
				c.history = append(c.history, line{"user", "hello"})
				u.Queue(of.first)
				failed := c.send()
				p.restart()
				again := c.send().want(http.StatusOK)
				want[len(want)-1] += c.answer(again)
				if diff := cmp.Diff(want, p.texts(again.session())); diff != "" || p.sessions() != 1 {
					t.Errorf("%d sessions (-want +got):\n%s", p.sessions(), diff)
				}
				if again.header.Get("X-Mooring-Turn") != failed.header.Get("X-Mooring-Turn") && failed.header.Get("X-Mooring-Turn") != "" {
					t.Errorf("turn %s after %s", again.header.Get("X-Mooring-Turn"), failed.header.Get("X-Mooring-Turn"))
				}
				if got := p.states(again.session()); got[len(got)-1] != "completed" || len(got) != len(want)/2 {
					t.Errorf("turns = %v", got)
				}
				if turn == "first" && again.header.Get("X-Mooring-Identity") != "content:retry" {
					t.Errorf("X-Mooring-Identity = %s", again.header.Get("X-Mooring-Identity"))
				}
				if after := c.send().want(http.StatusOK); after.header.Get("X-Mooring-Turn") == again.header.Get("X-Mooring-Turn") {
					t.Error("an equal request after a whole answer is the same turn")
				}
			})
		}
	}
	t.Run("another request is no retry, nor one that names a session", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"routing: {failover: fail}\n")
		u.Queue(upstreamtest.Failure(500))
		failed := p.chat("", "hello").want(http.StatusInternalServerError)
		for _, r := range []*reply{p.chat("", "hello!"), p.chat("named", "hello")} {
			if r.want(http.StatusOK).session() == failed.session() {
				t.Error("it is taken for the request that failed")
			}
		}
	})
	t.Run("L-16 nor one of another tenant", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"routing: {failover: fail}\n"+twoKeys())
		u.Queue(upstreamtest.Failure(500))
		p.key = keyA
		failed := p.chat("", "hello").want(http.StatusInternalServerError)
		p.key = keyB
		if r := p.chat("", "hello").want(http.StatusOK); r.session() == failed.session() || r.header.Get("X-Mooring-Identity") != "minted" {
			t.Errorf("session %s by %s", r.session(), r.header.Get("X-Mooring-Identity"))
		}
	})
}

func TestRetryWhileTheFirstRuns(t *testing.T) {
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
			t.Run(fmt.Sprintf("L-13 %s, id %q", name, id), func(t *testing.T) {
				t.Parallel()
				u := upstreamtest.New(t)
				hold := make(chan struct{})
				u.Queue(upstreamtest.Reply{Text: "slow answer", HoldAt: hold, At: 3})
				p := start(t, one(u))
				hs := of.headers[0]
				if id != "" {
					hs = append([]string{"X-Session-Id", id}, hs...)
				}
				l := p.open(chatPath, chatBody("hello", `"stream":true,`), hs...)
				l.until("slow ")
				second := p.stream(id, "hello", of.headers[1]...).want(http.StatusOK)
				close(hold)
				first := l.end()
				if same := second.header.Get("X-Mooring-Turn") == first.header.Get("X-Mooring-Turn"); same != of.same && first.header.Get("X-Mooring-Turn") != "" {
					t.Errorf("the same turn: %v, want %v", same, of.same)
				}
				if got := said(t, string(second.body)); got != "This is answer 2." {
					t.Errorf("the second answer is %q", got)
				}
				want := []string{"completed"}
				if !of.same && id != "" {
					want = append(want, "completed")
				}
				if diff := cmp.Diff(want, p.states(second.session())); diff != "" {
					t.Errorf("turns (-want +got):\n%s", diff)
				}
				if of.same && !strings.Contains(string(first.body), "turn_cancelled") {
					t.Errorf("the first request got %s", first.body)
				}
			})
		}
	}
}

func TestIdempotencyKeyReplaysNothing(t *testing.T) {
	t.Parallel()
	t.Run("C069 C073 repeats of a completed turn are turns of its session, across a restart too, and the key goes upstream", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		turns := map[string]bool{}
		var session string
		for i := range 4 {
			if i == 2 {
				p.restart()
			}
			r := p.chat("s1", "hello", "Idempotency-Key", "k-1").want(http.StatusOK)
			turns[r.header.Get("X-Mooring-Turn")] = true
			session = r.session()
			if got := u.LastPost(t).Header.Values("Idempotency-Key"); len(got) != 1 || got[0] != "k-1" {
				t.Errorf("upstream got the keys %q", got)
			}
		}
		if len(turns) != 4 || len(u.Posts()) != 4 || p.sessions() != 1 || len(p.states(session)) != 4 {
			t.Errorf("%d turns, %d upstream requests, %d sessions", len(turns), len(u.Posts()), p.sessions())
		}
	})
	t.Run("C069 ten at once are attempts of one turn", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Delay: 300 * time.Millisecond})
		p := start(t, one(u))
		var group sync.WaitGroup
		answers := make([]*reply, 10)
		for i := range answers {
			group.Go(func() { answers[i] = p.chat("s1", "hello", "Idempotency-Key", "k-1") })
		}
		group.Wait()
		ok := 0
		for _, r := range answers {
			if r.status == http.StatusOK {
				ok++
			}
		}
		if got := p.states("s1"); ok == 0 || len(got) != ok || p.sessions() != 1 {
			t.Errorf("%d answers, turns %v, %d sessions; want as many turns as answers, in one session", ok, got, p.sessions())
		}
	})
	t.Run("C070 the same key with another text is an ordinary turn", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		p.chat("s1", "hello", "Idempotency-Key", "k-1").want(http.StatusOK)
		r := p.chat("s1", "goodbye", "Idempotency-Key", "k-1").want(http.StatusOK)
		if got := p.texts("s1"); got[len(got)-1] != "assistant: This is answer 2." || len(got) != 4 {
			t.Errorf("answer %s, stored %v", r.body, got)
		}
	})
	t.Run("C008 a run id that is new for each call names no session", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		for i := range 4 {
			body := fmt.Sprintf(`{"model":"fake-1","metadata":{"run_id":"run-%d"},"messages":[{"role":"user","content":"hi %d"}]}`, i, i)
			p.call(http.MethodPost, chatPath, body, "X-Session-Id", "s1", "X-Run-Id", fmt.Sprint("run-", i)).want(http.StatusOK)
		}
		if got := p.sessions(); got != 1 || len(p.states("s1")) != 4 {
			t.Errorf("%d sessions, turns %v", got, p.states("s1"))
		}
	})
}
