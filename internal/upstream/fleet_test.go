package upstream_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"mooring/internal/upstream"
)

// eventually polls for what a check finds: nobody is told when it has.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 5 s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	spec := upstream.Spec{
		Name: "u1", URL: "http://127.0.0.1:1", Models: []string{"*"}, Accounts: []upstream.Account{{Name: "a", Key: "k", Weight: 1}}, Timeout: time.Minute,
		Headers: map[string]string{"X-A": "1"}, SessionHeaders: []string{"X-S"}, Weight: 1, Speaks: upstream.SpeaksBoth,
	}
	first := server(t, spec)
	f := upstream.NewFleet([]*upstream.Upstream{first, server(t, upstream.Spec{Name: "u2", URL: "http://127.0.0.1:2"})})
	t.Cleanup(f.Close)
	f.Replace([]*upstream.Upstream{server(t, upstream.Spec{Name: "u3"}), server(t, spec)})
	if f.Get("u1") != first || f.Get("u2") != nil || f.All()[0].Name != "u3" {
		t.Error("an equal upstream has lost its state, or the new order is not taken over")
	}
	for name, change := range map[string]func(*upstream.Spec){
		"url": func(s *upstream.Spec) { s.URL = "http://127.0.0.1:3" }, "models": func(s *upstream.Spec) { s.Models = []string{"x"} },
		"speaks": func(s *upstream.Spec) { s.Speaks = upstream.SpeaksOpenAI }, "key": func(s *upstream.Spec) { s.KeyMode = upstream.KeyNone },
		"accounts": func(s *upstream.Spec) { s.Accounts = []upstream.Account{{Name: "a", Key: "other", Weight: 1}} },
		"state":    func(s *upstream.Spec) { s.Remote = true }, "session_headers": func(s *upstream.Spec) { s.SessionHeaders = nil },
		"weight": func(s *upstream.Spec) { s.Weight = 2 }, "health": func(s *upstream.Spec) { s.Health = "/h" }, "timeout": func(s *upstream.Spec) { s.Timeout = 1 },
		"passthrough": func(s *upstream.Spec) { s.Passthrough = []string{"/v1/files"} }, "max_in_flight": func(s *upstream.Spec) { s.MaxInFlight = 1 },
		"headers": func(s *upstream.Spec) { s.Headers = map[string]string{"X-A": "2"} }, "failover": func(s *upstream.Spec) { s.Failover = "fail" },
		"builtin": func(s *upstream.Spec) { s.Builtin = builtin{} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := spec
			change(&changed)
			old, next := server(t, spec), server(t, changed)
			f := upstream.NewFleet([]*upstream.Upstream{old})
			defer f.Close()
			if f.Replace([]*upstream.Upstream{next}); f.Get("u1") != next {
				t.Error("what was changed is not taken over")
			}
		})
	}
}

func TestReplaceClosesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(closed)
		}
	}
	s.Start()
	defer s.Close()
	u := server(t, upstream.Spec{URL: s.URL})
	f := upstream.NewFleet([]*upstream.Upstream{u})
	defer f.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := u.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	f.Replace(nil)
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Error("the connection of an upstream that was left out is still open")
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	status.Store(http.StatusOK)
	asked := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(status.Load()))
		asked <- r.Method + " " + r.URL.Path
	}))
	defer s.Close()
	for _, tt := range []struct {
		rule   string
		status int
		up     bool
	}{
		{"an answer is well", http.StatusOK, true},
		{"so is a refusal", http.StatusUnauthorized, true},
		{"an error of the server is not", http.StatusServiceUnavailable, false},
	} {
		status.Store(int64(tt.status))
		u := server(t, upstream.Spec{URL: s.URL + "/base/", Health: "/health"})
		f := upstream.NewFleet([]*upstream.Upstream{u})
		f.Start()
		if got := <-asked; got != "GET /base/health" {
			t.Errorf("%s: asked %s", tt.rule, got)
		}
		eventually(t, tt.rule, func() bool { return u.Up(time.Now()) == tt.up })
		if got := u.Ailment(time.Now()); (got == "") != tt.up || !tt.up && got != "health check: status 503" {
			t.Errorf("%s: ailment %q", tt.rule, got)
		}
		f.Close()
	}
}

func TestCheckWhoseServerIsGone(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	u := server(t, upstream.Spec{URL: s.URL, Health: "/health"})
	f := upstream.NewFleet([]*upstream.Upstream{u})
	f.Start()
	defer f.Close()
	eventually(t, "a server where nobody listens is down", func() bool { return !u.Up(time.Now()) })
	if enter(t, u).Began(); u.Up(time.Now()) {
		t.Error("an old answer outweighs the check")
	}
}

func TestFleetThatDoesNotRunHasNoChecks(t *testing.T) {
	t.Parallel()
	var checks atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { checks.Add(1) }))
	next := func() []*upstream.Upstream {
		return []*upstream.Upstream{server(t, upstream.Spec{URL: s.URL, Health: "/health", Weight: int(checks.Load()) + 1})}
	}
	f := upstream.NewFleet(next())
	f.Replace(next()) // before the start
	f.Start()
	f.Close()
	before := checks.Load()
	f.Replace(next()) // after the end
	s.Close()         // waits for what was asked
	if n := checks.Load(); n > before {
		t.Errorf("%d checks of a fleet that is closed", n-before)
	}
}

func TestCloseEndsACheckThatHangs(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer s.Close()
	u := server(t, upstream.Spec{URL: s.URL, Health: "/health"})
	f := upstream.NewFleet([]*upstream.Upstream{u})
	f.Start()
	<-asked
	began := time.Now()
	f.Close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("Close took %v", took)
	}
	if !u.Up(time.Now()) {
		t.Error("the end of the program counts against the server")
	}
	f.Close() // a second one does no harm
}

func TestChecksOpenTheCircuitStepByStep(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	status.Store(http.StatusServiceUnavailable)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	defer s.Close()
	u := server(t, upstream.Spec{URL: s.URL, Health: "/health"})
	f := upstream.NewFleet([]*upstream.Upstream{u})
	defer f.Close()
	for _, step := range []struct {
		status int
		want   upstream.Standing
	}{
		{http.StatusServiceUnavailable, upstream.Shaky},
		{http.StatusServiceUnavailable, upstream.Silent},
		{http.StatusOK, upstream.Well},
		{http.StatusServiceUnavailable, upstream.Shaky},
	} {
		status.Store(int64(step.status))
		f.Start() // asks at once
		eventually(t, "the check is seen", func() bool { return u.Standing(time.Now()) == step.want })
	}
	if all, failed := u.Requests(); all != 0 || failed != 0 || u.InFlight() != 0 {
		t.Errorf("%d requests, %d failed: checks are none", all, failed)
	}
}
