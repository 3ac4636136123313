package app_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"mooring/internal/upstreamtest"
)

// C102: sessions on upstreams that stay do not move, whoever joins or leaves.
func TestReloadMovesNobodyWhoseUpstreamStays(t *testing.T) {
	t.Parallel()
	us := []*upstreamtest.Server{upstreamtest.New(t), upstreamtest.New(t), upstreamtest.New(t), upstreamtest.New(t)}
	with := func(names string) string {
		yaml := "upstreams:\n"
		for _, name := range names {
			yaml += upstreamYAML(string(name), us[name-'a'].URL, "key: none")
		}
		return yaml
	}
	p := start(t, with("abc"))
	at := p.placed(300, "s")
	p.reload(with("abcd"))
	p.stay(at)
	p.reload(with("dcba"))
	p.reload(with("abc"))
	p.stay(at)
	p.reload(with("ac"))
	gone := 0
	for id, home := range at {
		if home != "b" {
			if got := p.goes(id, "hit"); got != home {
				t.Errorf("%s: at %s, was at %s", id, got, home)
			}
			continue
		}
		if gone++; gone > 20 {
			continue
		}
		moved := p.goes(id, "moved") // peers 22: no 4xx, and it says so
		if again := p.goes(id, "hit"); again != moved {
			t.Errorf("%s: moved to %s, then to %s", id, moved, again)
		}
	}
	if gone == 0 {
		t.Error("no session was at the upstream that was removed")
	}
	p.reload(strings.Replace(with("ac"), "{name: a,", "{name: renamed,", 1)) // a pin is by name
	for id, home := range at {
		if home == "a" {
			p.goes(id, "moved")
			p.goes(id, "hit")
			break
		}
	}
}

// Peers 10. It runs alone: goroutines of other tests would be counted.
func TestReloadsLeaveNothingBehind(t *testing.T) {
	us := []*upstreamtest.Server{upstreamtest.New(t), upstreamtest.New(t)}
	yaml := func(n int) string { return twoInTurn(us[0], us[1], "health: /health", fmt.Sprint("weight: ", n%3+1)) }
	p := start(t, yaml(0))
	p.placed(4, "s")
	p.reload(yaml(1))
	before := runtime.NumGoroutine()
	for n := range 100 {
		p.reload(yaml(n))
	}
	for _, u := range us { // closes connections: those that a check had begun to open when it was called off are kept for a while
		u.Down()
		if err := u.Up(); err != nil {
			t.Fatal(err)
		}
	}
	const slack = 10 // connections come and go
	eventually(t, "goroutines of before", func() bool { return runtime.NumGoroutine() <= before+slack })
	p.goes("s0", "hit")
}

// C175: whatever picks for new sessions, those that have a pin stay.
func TestEveryPolicySticks(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"rendezvous", "least_busy", "round_robin"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			a, b := upstreamtest.New(t), upstreamtest.New(t)
			p := start(t, strings.Replace(twoInTurn(a, b), "round_robin", policy, 1))
			home := p.goes("s", "new")
			for range 9 {
				p.stay(map[string]string{"s": home})
			}
			pins := p.call(http.MethodGet, "/api/stats", "").want(http.StatusOK).get("last_24h", "pins")
			if got := fmt.Sprint(pins); got != "map[hit:9 moved:0 new:1 spill:0]" {
				t.Errorf("counted as %s, want one new and nine hits", got)
			}
		})
	}
}

// C101: whatever Retry-After an upstream sends reaches the client as it came, and Mooring outlives it.
func TestRetryAfterIsRelayedAsItCame(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	p.goes("s", "new")
	for _, value := range []string{
		"5", time.Now().Add(5 * time.Second).UTC().Format(http.TimeFormat), "Sun, 06 Nov 1994 08:49:37 GMT", "-1", "abc", "99999999999", "99999999999999999999999",
	} {
		for _, status := range []int{429, 503, 529} {
			reply := upstreamtest.Failure(status)
			reply.Header = http.Header{"Retry-After": {value}}
			u.Queue(reply)
			if got := p.chat("s", "hello").want(status).header.Get("Retry-After"); got != value {
				t.Errorf("%d with Retry-After %q: relayed as %q", status, value, got)
			}
			p.goes("s", "hit") // at once: where nobody else is there it is asked all the same
		}
	}
}

// Peers 45: an upstream that hangs takes nothing from another one.
func TestHungUpstreamSlowsNobodyElse(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, twoInTurn(a, b))
	at := p.placed(2, "s")
	a.Always(upstreamtest.Reply{Fault: upstreamtest.Hang})
	for i := range 20 {
		go func() {
			req := p.request(http.MethodPost, "/v1/chat/completions", chatBody(fmt.Sprint("stuck ", i), ""), "X-Session-Id", "s0")
			if res, err := http.DefaultTransport.RoundTrip(req); err == nil { // it ends with the test
				res.Body.Close()
			}
		}()
	}
	if _, err := a.WaitPosts(t.Context(), 21); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		p.stay(map[string]string{"s1": at["s1"]})
	}
	p.has("/api/upstreams", `"in_flight":20`)
	p.has("/metrics", `mooring_upstream_in_flight{upstream="a"} 20`, `mooring_upstream_in_flight{upstream="b"} 0`)
	a.Down()
}

// Peers 52: a spill is counted as one, told as no move, and explained.
func TestSpill(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, twoInTurn(a, b, "max_in_flight: 1"))
	p.placed(3, "s")
	hold := make(chan struct{})
	a.Queue(upstreamtest.Reply{Hold: hold})
	done := make(chan *reply)
	go func() { done <- p.chat("s0", "a long one") }()
	if _, err := a.WaitPosts(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	r := p.chat("s2", "meanwhile").want(http.StatusOK)
	if got := r.header.Get("X-Mooring-Upstream"); got != "b" {
		t.Errorf("X-Mooring-Upstream: %s, want b alone", got)
	}
	turn := p.call(http.MethodGet, "/api/turns/"+r.header.Get("X-Mooring-Turn"), "").want(http.StatusOK)
	if turn.get("pin") != "spill" || turn.get("upstream") != "b" {
		t.Errorf("the turn has pin %v at %v, want spill at b", turn.get("pin"), turn.get("upstream"))
	}
	p.has("/metrics", `mooring_upstream_spills_total{upstream="a"} 1`, `mooring_upstream_max_in_flight{upstream="a"} 1`)
	close(hold)
	(<-done).want(http.StatusOK)
	if at := p.goes("s2", "hit"); at != "a" {
		t.Errorf("the session is at %s, was at a", at)
	}
	if strings.Contains(string(p.call(http.MethodGet, "/metrics", "").body), "mooring_upstream_moves_total{") {
		t.Error("a spill is counted as a move")
	}
}
