package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// attempts are upstream, state and input and output tokens of a turn's attempts.
func attempts(turn map[string]any) [][]any {
	var out [][]any
	list, _ := turn["attempts"].([]any)
	for _, a := range list {
		at, _ := a.(map[string]any)
		out = append(out, []any{at["state"], usageOf(at, "input_tokens"), usageOf(at, "output_tokens")})
	}
	return out
}

func TestSecondAttempt(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		more  string
		first upstreamtest.Reply
	}{
		"C067 lost before an answer, streamed":        {`"stream":true,`, upstreamtest.Reply{Fault: upstreamtest.Lost}},
		"C067 lost before an answer, buffered":        {``, upstreamtest.Reply{Fault: upstreamtest.Lost}},
		"C067 a stream cut before its first event":    {`"stream":true,`, upstreamtest.Reply{Fault: upstreamtest.Cut, At: 0}},
		"C067 a stream cut behind its empty opening":  {`"stream":true,`, upstreamtest.Reply{Fault: upstreamtest.Cut, At: 1}},
		"C067 a stream that ends without an event":    {`"stream":true,`, upstreamtest.Reply{Fault: upstreamtest.End, At: 0}},
		"C067 a stream whose first event is an error": {`"stream":true,`, upstreamtest.Reply{Fault: upstreamtest.ErrorEvent, At: 0}},
		"C067 a buffered body that breaks off":        {``, upstreamtest.Reply{Fault: upstreamtest.Cut}},
		"C067 a 200 that is an error object":          {``, upstreamtest.Reply{Body: []byte(`{"error":{"message":"no","type":"server_error"}}`)}},
		"C067 a 529":                                  {`"stream":true,`, upstreamtest.Failure(529)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := upstreamtest.New(t), upstreamtest.New(t)
			both(a, b, of.first)
			p := start(t, two(a, b))
			body := chatBody("hello", of.more)
			r := p.call(http.MethodPost, chatPath, body, "X-Session-Id", "s").want(http.StatusOK)
			if len(a.Posts()) != 1 || len(b.Posts()) != 1 {
				t.Fatalf("upstreams got %d and %d requests, want one each", len(a.Posts()), len(b.Posts()))
			}
			for _, u := range []*upstreamtest.Server{a, b} {
				if got := string(u.LastPost(t).Body()); got != body {
					t.Errorf("upstream got %s, want %s", got, body)
				}
			}
			if diff := cmp.Diff([]string{"user: hello", "assistant: This is answer 1."}, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			turn := p.turnOf("s")
			if got := attempts(turn); len(got) != 2 || got[0][0] != "failed" || got[1][0] != "completed" || turn["state"] != "completed" {
				t.Errorf("attempts = %v of a turn that is %v, want failed, completed", got, turn["state"])
			}
			name, mark, _ := strings.Cut(r.header.Get("X-Mooring-Upstream"), "; ")
			if mark != "pin=new" || name != turn["upstream"] {
				t.Errorf("X-Mooring-Upstream = %s; %s of a turn at %v", name, mark, turn["upstream"])
			}
			again := p.chat("s", "go on").want(http.StatusOK)
			if got := again.header.Get("X-Mooring-Upstream"); got != name+"; pin=hit" {
				t.Errorf("next turn: X-Mooring-Upstream = %q, want %s; pin=hit", got, name)
			}
		})
	}
}

// A client's own retry of a request that failed is the next attempt of the same turn; another request is another turn.
func TestRetries(t *testing.T) {
	t.Parallel()
	const history = `{"role":"user","content":"one"},{"role":"assistant","content":"This is answer 1."},`
	body := func(before, text string) string {
		return fmt.Sprintf(`{"model":"fake-1","messages":[%s{"role":"user","content":%q}]}`, before, text)
	}
	for name, before := range map[string]string{"a client that keeps no history": "", "a client that sends its history": history} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			say := func(body string) *reply { return p.call(http.MethodPost, chatPath, body, "X-Session-Id", "s") }
			say(body("", "one")).want(http.StatusOK)
			u.Queue(upstreamtest.Failure(http.StatusInternalServerError), upstreamtest.Failure(http.StatusServiceUnavailable))
			first := say(body(before, "two")).want(http.StatusInternalServerError)
			p.restart() // what decides is stored
			say(body(before, "two")).want(http.StatusServiceUnavailable)
			last := say(body(before, "two")).want(http.StatusOK)
			if got, want := last.header.Get("X-Mooring-Turn"), first.header.Get("X-Mooring-Turn"); got != want || want == "" {
				t.Errorf("X-Mooring-Turn = %s, want the first attempt's %s", got, want)
			}
			turns := p.turns("s")
			if len(turns) != 2 || turns[1]["state"] != "completed" {
				t.Fatalf("%d turns, the last one %v, want 2, completed", len(turns), turns[len(turns)-1]["state"])
			}
			want := [][]any{{"failed", nil, nil}, {"failed", nil, nil}, {"completed", 9.0, 4.0}}
			if diff := cmp.Diff(want, attempts(turns[1])); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			texts := []string{"user: one", "assistant: This is answer 1.", "user: two", "assistant: This is answer 4."}
			if diff := cmp.Diff(texts, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			say(body(before, "two")).want(http.StatusOK)
			if got := p.turns("s"); len(got) != 3 {
				t.Errorf("%d turns after the same request behind an answer, want 3", len(got))
			}
		})
	}
	t.Run("another body is another turn", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
		p.chat("s", "hi").want(http.StatusInternalServerError)
		p.stream("s", "hi").want(http.StatusOK)
		if got := p.turns("s"); len(got) != 2 {
			t.Errorf("%d turns, want 2", len(got))
		}
	})
	t.Run("C069 ten at once with one key are attempts of one turn, the last of them whole", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Delay: 300 * time.Millisecond})
		p := start(t, one(u))
		var group sync.WaitGroup
		answered := atomic.Int64{}
		for range 10 {
			group.Go(func() {
				if p.chat("s", "hi", "Idempotency-Key", "k").status == http.StatusOK {
					answered.Add(1)
				}
			})
		}
		group.Wait()
		turns := p.turns("s")
		if len(turns) != 1 || len(attempts(turns[0])) != 10 || turns[0]["state"] != "completed" || answered.Load() != 1 {
			t.Errorf("%d answered; turns = %v, want one of ten attempts", answered.Load(), turns)
		}
	})
	t.Run("of two retries at once one is another turn", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
		p.chat("s", "hi").want(http.StatusInternalServerError)
		u.Always(upstreamtest.Reply{Delay: 200 * time.Millisecond})
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { p.chat("s", "hi").want(http.StatusOK) })
		}
		group.Wait()
		if got := p.turns("s"); len(got) != 2 || got[0]["state"] != "completed" || got[1]["state"] != "completed" {
			t.Errorf("turns = %v, want two that are completed", got)
		}
		const once = `mooring_upstream_requests_total{outcome="failed",upstream="u1"} 1`
		if metrics := string(p.call(http.MethodGet, "/metrics", "").want(http.StatusOK).body); !strings.Contains(metrics, once) {
			t.Errorf("the failed attempt is not counted once:\n%s", metrics)
		}
	})
}

// Of several first requests of a session whose upstream fails all move to the same other one.
func TestFirstRequestsMoveTogether(t *testing.T) {
	t.Parallel()
	const callers = 5
	yaml := "routing: {policy: round_robin}\nupstreams:\n"
	var bad atomic.Pointer[upstreamtest.Server]
	for i := range 4 {
		u := upstreamtest.New(t)
		yaml += upstreamYAML(fmt.Sprint("u", i), u.URL, "key: none")
		u.AlwaysFunc(func(*upstreamtest.Request) upstreamtest.Reply {
			bad.CompareAndSwap(nil, u) // the first one that is asked
			if bad.Load() != u {
				return upstreamtest.Reply{}
			}
			r := upstreamtest.Failure(http.StatusServiceUnavailable)
			r.Delay = 200 * time.Millisecond // so that the others come while it is under way
			return r
		})
	}
	p := start(t, yaml)
	var group sync.WaitGroup
	got := make([]string, callers)
	for i := range callers {
		group.Go(func() {
			r := p.chat("s", fmt.Sprint("hello ", i))
			if got[i] = r.header.Get("X-Mooring-Upstream"); r.status != http.StatusOK {
				t.Errorf("status = %d, want 200; body %s", r.status, r.body)
			}
		})
	}
	group.Wait()
	home, mark, _ := strings.Cut(p.chat("s", "go on").want(http.StatusOK).header.Get("X-Mooring-Upstream"), "; ")
	if mark != "pin=hit" {
		t.Errorf("the next turn: %s; %s, want a hit", home, mark)
	}
	for _, at := range got {
		if name, mark, _ := strings.Cut(at, "; "); name != home || mark == "pin=moved" {
			t.Errorf("answered by %q, want all at %s, where no pin was moved", got, home)
			break
		}
	}
}

func TestNoCandidateLeft(t *testing.T) {
	t.Parallel()
	t.Run("C068 a question that failed is kept once", func(t *testing.T) {
		t.Parallel()
		a, b := upstreamtest.New(t), upstreamtest.New(t)
		p := start(t, two(a, b))
		a.Queue(upstreamtest.Failure(http.StatusInternalServerError))
		b.Queue(upstreamtest.Failure(http.StatusInternalServerError))
		r := p.chat("s", "q1").want(http.StatusInternalServerError)
		if r.header.Get("X-Mooring-Error") != "" || r.get("error", "message") != "the fake model says 500" {
			t.Errorf("answer = %s, X-Mooring-Error %q, want the upstream's own", r.body, r.header.Get("X-Mooring-Error"))
		}
		if got := r.header.Get("X-Mooring-Upstream"); got != "u1" && got != "u2" {
			t.Errorf("X-Mooring-Upstream = %q, want the name alone: no pin is kept", got)
		}
		turn := p.turnOf("s")
		if got := attempts(turn); len(got) != 2 || turn["state"] != "failed" {
			t.Errorf("attempts = %v of a turn that is %v", got, turn["state"])
		}
		p.chat("s", "q2").want(http.StatusOK)
		posts := append(a.Posts()[1:], b.Posts()[1:]...)
		if len(posts) != 1 || string(posts[0].Body()) != chatBody("q2", "") {
			t.Errorf("%d requests for q2, want one with what the client sent", len(posts))
		}
		texts := p.texts("s")
		if strings.Count(strings.Join(texts, "\n"), "user: q1") != 1 || texts[len(texts)-2] != "user: q2" {
			t.Errorf("stored = %q, want q1 once, then q2 and its answer", texts)
		}
	})
	t.Run("a stream that failed early and cannot move is relayed as it came", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Reply{Fault: upstreamtest.ErrorEvent, At: 0})
		r := p.stream("s", "hi").want(http.StatusOK)
		if !strings.Contains(string(r.body), "the fake model broke off") || p.turnState(r) != "failed" {
			t.Errorf("turn is %v, stream:\n%s", p.turnState(r), r.body)
		}
	})
	for name, of := range map[string]struct {
		reply  upstreamtest.Reply
		status int
		code   string
	}{
		"lost before an answer is 502": {upstreamtest.Reply{Fault: upstreamtest.Lost}, http.StatusBadGateway, "upstream_error"},
		"no answer in time is 504":     {upstreamtest.Reply{Fault: upstreamtest.Hang}, http.StatusGatewayTimeout, "upstream_timeout"},
		"a redirect is 502":            {upstreamtest.Redirect("http://127.0.0.1:1/"), http.StatusBadGateway, "upstream_error"},
		"an unknown encoding is 502":   {upstreamtest.Reply{Body: []byte("?"), Header: http.Header{"Content-Encoding": {"compress"}}}, http.StatusBadGateway, "upstream_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u, "timeout: 300ms"))
			u.Queue(of.reply)
			r := p.chat("s", "hi").want(of.status)
			if r.get("error", "code") != of.code || r.header.Get("X-Mooring-Error") != of.code {
				t.Errorf("code = %v, X-Mooring-Error = %q, want %s", r.get("error", "code"), r.header.Get("X-Mooring-Error"), of.code)
			}
			if got := r.header.Get("X-Mooring-Upstream"); got != "u1" {
				t.Errorf("X-Mooring-Upstream = %q, want u1: no pin is kept", got)
			}
			turn := p.turnOf("s")
			if turn["state"] != "failed" || turn["error_code"] != of.code || turn["status"] != float64(of.status) {
				t.Errorf("turn = %v %v %v, want failed %s %d", turn["state"], turn["error_code"], turn["status"], of.code, of.status)
			}
		})
	}
	t.Run("a redirect moves nothing to another upstream", func(t *testing.T) {
		t.Parallel()
		a, b := upstreamtest.New(t), upstreamtest.New(t)
		both(a, b, upstreamtest.Redirect("http://127.0.0.1:1/"))
		p := start(t, two(a, b))
		p.chat("s", "hi").want(http.StatusBadGateway)
	})
}

func TestDeadUpstream(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, two(a, b))
	first := p.chat("s", "hi").want(http.StatusOK)
	bound, other, name := a, b, "u2"
	if strings.HasPrefix(first.header.Get("X-Mooring-Upstream"), "u2") {
		bound, other, name = b, a, "u1"
	}
	bound.Down()
	t.Run("C094 the turn moves within one request", func(t *testing.T) {
		body := chatBody("second", `"x":"`+strings.Repeat("y", 5000)+`",`)
		r := p.call(http.MethodPost, chatPath, body, "X-Session-Id", "s").want(http.StatusOK)
		if got := r.header.Get("X-Mooring-Upstream"); got != name+"; pin=moved" {
			t.Errorf("X-Mooring-Upstream = %q, want %s; pin=moved", got, name)
		}
		if got := string(other.LastPost(t).Body()); got != body {
			t.Errorf("upstream got %d bytes, want the client's %d", len(got), len(body))
		}
	})
	t.Run("C094 it stays there", func(t *testing.T) {
		if err := bound.Up(); err != nil {
			t.Fatal(err)
		}
		if got := p.chat("s", "third").want(http.StatusOK).header.Get("X-Mooring-Upstream"); got != name+"; pin=hit" {
			t.Errorf("X-Mooring-Upstream = %q, want %s; pin=hit", got, name)
		}
	})
	t.Run("refused with no other candidate is 503", func(t *testing.T) {
		a.Down()
		b.Down()
		r := p.chat("s", "fourth").want(http.StatusServiceUnavailable)
		if r.get("error", "code") != "upstream_unavailable" || r.header.Get("Retry-After") == "" {
			t.Errorf("code = %v, Retry-After = %q", r.get("error", "code"), r.header.Get("Retry-After"))
		}
	})
}

func TestUsageOfAllAttempts(t *testing.T) {
	t.Parallel()
	usage := func(out string) string {
		return `"usage":{"prompt_tokens":100,"completion_tokens":` + out + `,"total_tokens":100}`
	}
	for name, first := range map[string]upstreamtest.Reply{
		"C107 a stream that breaks off": {
			Events: []string{`data: {"id":"c","choices":[],` + usage("5") + "}\n\n", words("half")[0], done}, Fault: upstreamtest.Cut, At: 2,
		},
		"C107 an object that breaks off": {
			Body:  []byte(`{"id":"c","object":"chat.completion",` + usage("5") + `,"choices":[{"index":0,"message":{"role":"assistant","content":"half`),
			Fault: upstreamtest.Cut, At: 150,
		},
		"C107 an error with its usage": {Body: []byte(`{"error":{"message":"no"},` + usage("5") + `}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := upstreamtest.New(t), upstreamtest.New(t)
			once := make(chan struct{}, 1)
			once <- struct{}{}
			reply := func(*upstreamtest.Request) upstreamtest.Reply {
				select {
				case <-once:
					return first
				default:
					return upstreamtest.Reply{Usage: &upstreamtest.Usage{Input: 100, Output: 50}}
				}
			}
			a.AlwaysFunc(reply)
			b.AlwaysFunc(reply)
			p := start(t, two(a, b))
			p.chat("s", "hi").want(http.StatusOK)
			turn := p.turnOf("s")
			if diff := cmp.Diff([][]any{{"failed", 100.0, 5.0}, {"completed", 100.0, 50.0}}, attempts(turn)); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			s := p.call(http.MethodGet, "/api/sessions/s", "").want(http.StatusOK)
			if s.get("usage", "input_tokens") != 200.0 || s.get("usage", "output_tokens") != 55.0 {
				t.Errorf("session's usage = %v, want 200 and 55", s.get("usage"))
			}
		})
	}
}
