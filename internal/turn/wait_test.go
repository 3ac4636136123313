package turn_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/upstream"
)

// server is an upstream without a network, which has a clock of its own in a bubble.
type server struct {
	answer func() (status int, header http.Header, err error)
	body   func(*http.Request) string // of a good answer; nil for a chat's
	asked  atomic.Int64
	last   atomic.Pointer[string] // body of the last request
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	got, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.last.Store(new(string(got)))
	status, header, err := s.answer()
	if err != nil {
		return nil, err
	}
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	body := `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"here"},"finish_reason":"stop"}]}`
	switch {
	case status == http.StatusOK && s.body != nil:
		body = s.body(r)
	case status != http.StatusOK:
		body = `{"error":{"message":"the lamp is out"}}`
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

func refused() error { return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED} }

func well() (int, http.Header, error) { return http.StatusOK, nil, nil }

func (s *server) spec(name, failover string) upstream.Spec {
	return upstream.Spec{Name: mooring.UpstreamName(name), Failover: failover, Builtin: s}
}

// waiting is a house in a bubble whose first upstream, which is waited for, answers as it is told once its session is pinned.
func waiting(t *testing.T, then func(since time.Duration) (int, http.Header, error)) (h *house, a, b *server) {
	t.Helper()
	a, b = &server{answer: well}, &server{answer: well}
	h = newHouse(t, moving(), a.spec("a", "wait"), b.spec("b", "wait"))
	if s, err := h.run(h.chat("s", "first", "")); err != nil || s.about.Upstream != "a" {
		t.Fatalf("first turn at %q: %v", s.about.Upstream, err)
	}
	began := time.Now()
	a.answer = func() (int, http.Header, error) { return then(time.Since(began)) }
	return h, a, b
}

func TestWait(t *testing.T) {
	t.Parallel()
	for rule, tt := range map[string]struct {
		then func(since time.Duration) (int, http.Header, error)

		code     mooring.Code // of the error; empty for none
		status   int          // of the answer
		from, to time.Duration
		tries    []int // of the attempts
	}{
		"an upstream that is back answers": {
			then: func(since time.Duration) (int, http.Header, error) {
				if since < 3*time.Second {
					return 0, nil, refused()
				}
				return well()
			},
			status: http.StatusOK, from: 3 * time.Second, to: 4 * time.Second, tries: []int{6, 0},
		},
		"one that stays away is given up after ten seconds": {
			then: func(time.Duration) (int, http.Header, error) { return 0, nil, refused() },
			code: mooring.CodeUpstreamUnavailable, from: 10 * time.Second, to: 10 * time.Second, tries: []int{14},
		},
		"one that fails is waited for too": {
			then: func(since time.Duration) (int, http.Header, error) {
				if since < time.Second {
					return http.StatusServiceUnavailable, nil, nil
				}
				return well()
			},
			status: http.StatusOK, from: time.Second, to: 2 * time.Second, tries: []int{4, 0},
		},
		"what it says in the end is relayed": {
			then:   func(time.Duration) (int, http.Header, error) { return http.StatusBadGateway, nil, nil },
			status: http.StatusBadGateway, from: 10 * time.Second, to: 10 * time.Second, tries: []int{14},
		},
		"it is not asked before it says": {
			then: func(since time.Duration) (int, http.Header, error) {
				if since < 7*time.Second {
					return http.StatusServiceUnavailable, http.Header{"Retry-After": {"7"}}, nil
				}
				return well()
			},
			status: http.StatusOK, from: 7 * time.Second, to: 7 * time.Second, tries: []int{0, 0},
		},
		"nor waited for that says to come much later": {
			then: func(time.Duration) (int, http.Header, error) {
				return http.StatusServiceUnavailable, http.Header{"Retry-After": {"7200"}}, nil
			},
			status: http.StatusServiceUnavailable, tries: []int{0},
		},
		"however much that is": {
			then: func(time.Duration) (int, http.Header, error) {
				return http.StatusServiceUnavailable, http.Header{"Retry-After": {"99999999999999999999999"}}, nil
			},
			status: http.StatusServiceUnavailable, tries: []int{0},
		},
		"a date says when, too": {
			then: func(since time.Duration) (int, http.Header, error) {
				if since < 6*time.Second {
					return http.StatusServiceUnavailable, http.Header{"Retry-After": {time.Now().Add(7 * time.Second).UTC().Format(http.TimeFormat)}}, nil
				}
				return well()
			},
			status: http.StatusOK, from: 6 * time.Second, to: 7 * time.Second, tries: []int{0, 0},
		},
		"what says nothing is not kept": {
			then: func(since time.Duration) (int, http.Header, error) {
				if since < time.Second {
					return http.StatusServiceUnavailable, http.Header{"Retry-After": {"-5"}}, nil
				}
				return well()
			},
			status: http.StatusOK, from: time.Second, to: 2 * time.Second, tries: []int{4, 0},
		},
		"one that is there and gives no answer in time is late, not away": {
			then: func(since time.Duration) (int, http.Header, error) {
				if since < time.Second {
					return 0, nil, refused()
				}
				time.Sleep(time.Minute)
				return 0, nil, context.Canceled
			},
			code: mooring.CodeUpstreamTimeout, from: time.Minute, to: 2 * time.Minute, tries: []int{4, 0},
		},
		"a refusal is relayed at once": {
			then:   func(time.Duration) (int, http.Header, error) { return http.StatusTooManyRequests, nil, nil },
			status: http.StatusTooManyRequests, tries: []int{0},
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, _, b := waiting(t, tt.then)
				began := time.Now()
				s, err := h.run(h.chat("s", "second", ""))
				took := time.Since(began)
				if err == nil != (tt.code == "") || err != nil && mooring.CodeOf(err) != tt.code || took < tt.from || took > tt.to || s.head.Status != tt.status {
					t.Errorf("error %v, status %d after %v; want %q, %d between %v and %v", err, s.head.Status, took, tt.code, tt.status, tt.from, tt.to)
				}
				if e, ok := errors.AsType[*mooring.Error](err); ok && (e.Code == mooring.CodeUpstreamUnavailable && e.RetryAfter < time.Second || !strings.Contains(e.Safe, "upstream a ")) {
					t.Errorf("%q with Retry-After %v, want the upstream's name and a time", e.Safe, e.RetryAfter)
				}
				if n := b.asked.Load(); n != 0 {
					t.Errorf("the other upstream was asked %d times", n)
				}
				got := h.stored(s.about.Turn)
				var tries []int
				for _, a := range got.Attempts {
					tries = append(tries, a.Tries)
					if a.Why != mooring.WhyPin || a.Upstream != "a" {
						t.Errorf("an attempt at %s, why %q; want a, pin", a.Upstream, a.Why)
					}
				}
				if len(tries) != len(tt.tries) || tries[0] != tt.tries[0] {
					t.Errorf("attempts with %v tries, want %v", tries, tt.tries)
				}
				if s.about.Pin != mooring.PinHit {
					t.Errorf("pin %q, want hit: it went nowhere else", s.about.Pin)
				}
			})
		})
	}
}

func TestClientThatLeavesEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, a, _ := waiting(t, func(time.Duration) (int, http.Header, error) { return 0, nil, refused() })
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(4*time.Second+50*time.Millisecond, leave)
		s, began := &sink{}, time.Now()
		err := h.Run(ctx, h.chat("s", "second", ""), s)
		if took := time.Since(began); took != 4*time.Second+50*time.Millisecond {
			t.Errorf("the wait ended after %v with %v, want with the client", took, err)
		}
		asked := a.asked.Load()
		time.Sleep(20 * time.Second)
		if got := h.stored(s.about.Turn); got.State != mooring.Cancelled || a.asked.Load() != asked {
			t.Errorf("the turn is %s, and its upstream was asked %d times more; want cancelled, and no more", got.State, a.asked.Load()-asked)
		}
	})
}

func TestNobodyIsWaitedForWhereNothingCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _, _ := waiting(t, func(time.Duration) (int, http.Header, error) { return 0, nil, refused() })
		h.rules.FailoverOn = turn.FailoverOn{}
		began := time.Now()
		_, err := h.run(h.chat("s", "second", ""))
		if took := time.Since(began); took != 0 || mooring.CodeOf(err) != mooring.CodeUpstreamUnavailable {
			t.Errorf("%v after %v, want upstream_unavailable at once", err, took)
		}
	})
}
