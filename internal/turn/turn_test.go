package turn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/identify"
	"mooring/internal/record"
	"mooring/internal/route"
	sqlstore "mooring/internal/store/sql"
	"mooring/internal/store/sqlite"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/upstreamtest"
	"mooring/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a Runner over real rooms and a store.
type house struct {
	*turn.Runner
	t     *testing.T
	store *sqlstore.Store
	n     atomic.Int64
	rules turn.Rules
	ended chan *mooring.Turn // every turn that was observed
}

func newHouse(t *testing.T, rules turn.Rules, specs ...upstream.Spec) *house {
	t.Helper()
	h := &house{t: t, rules: rules, ended: make(chan *mooring.Turn, 100)}
	secret := []byte("0123456789abcdef0123456789abcdef")
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "mooring.db"), BlobKey: secret})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	writer := record.New(record.Options{Store: store, Replica: "rep_1", Log: log, Now: time.Now})
	if err := writer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		writer.Close()
		store.Close()
	})
	fleet := upstream.NewFleet(upstreams(t, specs))
	t.Cleanup(fleet.Close)
	h.store = store
	engine := identify.New(identify.Options{
		Store: store, Secret: secret, NewSession: func() mooring.SessionID { return mooring.SessionID("ses_" + h.next()) }, NewKey: h.key,
	})
	h.Runner = &turn.Runner{
		Identify: engine, Memory: engine, Fleet: fleet, Failed: store.FailedTurns, Owners: store.Owners,
		Route: route.New(route.Options{Store: store, Log: writer, Logger: log, Now: time.Now, Policy: route.RoundRobin, PinIdle: time.Hour}),
		Forward: &forward.Engine{Now: time.Now, Limits: func() forward.Limits {
			return forward.Limits{Peek: time.Second, StreamIdle: 10 * time.Second, Answer: 1 << 20, Linger: time.Second}
		}},
		Turn: func(ctx context.Context, t mooring.Tenant, id mooring.TurnID) (mooring.Turn, error) {
			if err := writer.Sync(ctx); err != nil {
				return mooring.Turn{}, err
			}
			return store.Turn(ctx, t, id)
		},
		Sent: func(ctx context.Context, t mooring.Tenant, s mooring.SessionID, clientMessage string) (mooring.Turn, error) {
			if err := writer.Sync(ctx); err != nil {
				return mooring.Turn{}, err
			}
			return store.SentTurn(ctx, t, s, clientMessage)
		},
		Below: func(ctx context.Context, t mooring.Tenant, s mooring.SessionID, parent mooring.MessageID) ([]mooring.Message, error) {
			if err := writer.Sync(ctx); err != nil {
				return nil, err
			}
			if at, err := store.Trail(ctx, t, s, parent, 1); parent != "" && len(at) == 0 {
				return nil, errors.Join(err, mooring.Errorf(mooring.CodeNotFound, "There is no such message."))
			}
			return store.Children(ctx, t, s, parent)
		},
		Record: writer, Rules: func() turn.Rules { return h.rules }, Price: func(*mooring.Turn) *float64 { return nil },
		Observe: func(t *mooring.Turn, _ http.Header) { h.ended <- t }, Replica: "rep_1", Now: time.Now,
		NewTurn: func() mooring.TurnID { return mooring.TurnID("trn_" + h.next()) },
		NewID:   func() mooring.MessageID { return mooring.MessageID("msg_" + h.next()) }, NewKey: h.key, Log: log,
	}
	return h
}

func upstreams(t *testing.T, specs []upstream.Spec) []*upstream.Upstream {
	t.Helper()
	out := make([]*upstream.Upstream, len(specs))
	for i, s := range specs {
		if s.Models == nil {
			s.Models = []string{"*"}
		}
		s.Speaks, s.Timeout = upstream.SpeaksBoth, max(s.Timeout, time.Second)
		u, err := upstream.New(s)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = u
	}
	return out
}

func (h *house) next() string { return fmt.Sprintf("%026d", h.n.Add(1)) }
func (h *house) key() string  { return "api-" + h.next() }

// bytes is a request's body in memory.
type bytes string

func (b bytes) Bytes() []byte       { return []byte(b) }
func (b bytes) Open() io.ReadCloser { return io.NopCloser(strings.NewReader(string(b))) }

// sink keeps what a client would get.
type sink struct {
	mu     sync.Mutex // guards the fields below
	about  turn.About
	head   turn.Head
	body   string
	heads  int
	before func(part string) // runs before each write
}

func (s *sink) About(a turn.About) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.about = a
}

func (s *sink) Head(h turn.Head) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head, s.heads = h, s.heads+1
	return nil
}

func (s *sink) Write(held, fresh []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before != nil {
		s.before(string(held) + string(fresh))
	}
	s.body += string(held) + string(fresh)
	return nil
}

func (s *sink) Trailer(http.Header) {}

// chat is a request of one user message under a session id.
func (h *house) chat(id, text, more string) turn.Request {
	h.t.Helper()
	body := fmt.Sprintf(`{"model":"fake-1",%s"messages":[{"role":"user","content":%q}]}`, more, text)
	w, err := wire.Decode(mooring.Chat, []byte(body), wire.Limits{})
	if err != nil {
		h.t.Fatal(err)
	}
	return turn.Request{
		Caller: mooring.Caller{Tenant: "acme"}, Protocol: mooring.Chat, Method: http.MethodPost, Path: "/v1/chat/completions",
		Header: http.Header{"X-Session-Id": {id}}, Body: bytes(body), Wire: w,
	}
}

// run runs a turn to its end.
func (h *house) run(req turn.Request) (*sink, error) {
	h.t.Helper()
	s := &sink{}
	return s, h.Run(h.t.Context(), req, s)
}

// stored is a turn as the store has it.
func (h *house) stored(id mooring.TurnID) mooring.Turn {
	h.t.Helper()
	got, err := h.store.Turn(h.t.Context(), "acme", id)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

func spec(name string, s *upstreamtest.Server) upstream.Spec {
	return upstream.Spec{Name: mooring.UpstreamName(name), URL: s.URL, Failover: "next"}
}

func moving() turn.Rules {
	return turn.Rules{QueueDepth: 2, QueueWait: time.Minute, FailoverOn: turn.FailoverOn{Unreachable: true, Any5xx: true}}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", a), spec("b", b))
	for i, mark := range []mooring.PinMark{mooring.PinNew, mooring.PinHit, mooring.PinHit} {
		for _, more := range []string{"", `"stream":true,`} {
			s, err := h.run(h.chat("s"+more, fmt.Sprint("question ", i), more))
			if err != nil {
				t.Fatal(err)
			}
			if s.head.Status != http.StatusOK || s.about.Pin != mark || s.about.ClientID != "s"+more || s.about.Identity != "header:x-session-id" {
				t.Errorf("turn %d%s: %+v, %+v", i, more, s.head, s.about)
			}
			if (s.head.Length < 0) != (more != "") || !strings.Contains(s.body, "This is answer") && !strings.Contains(s.body, "answer") {
				t.Errorf("turn %d%s: length %d, body %q", i, more, s.head.Length, s.body)
			}
			got := h.stored(s.about.Turn)
			if got.State != mooring.Completed || got.Pin != mark || got.Upstream != s.about.Upstream || got.Status != http.StatusOK || got.Answer == "" || len(got.Attempts) != 1 {
				t.Errorf("stored: %+v", got)
			}
		}
	}
	if len(a.Posts()) != 3 || len(b.Posts()) != 3 {
		t.Errorf("%d and %d requests, want three each", len(a.Posts()), len(b.Posts()))
	}
	if n := len(h.ended); n != 6 {
		t.Errorf("%d turns observed, want 6", n)
	}
}

// The event at which a client stops reading goes out when the turn is in the store, not before.
func TestTerminalEventWaitsForTheCommit(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u))
	states := map[bool]mooring.TurnState{}
	s := &sink{}
	s.before = func(part string) { states[strings.Contains(part, "[DONE]")] = h.stored(s.about.Turn).State }
	if err := h.Run(t.Context(), h.chat("s1", "hi", `"stream":true,`), s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[bool]mooring.TurnState{false: mooring.Running, true: mooring.Completed}, states); diff != "" {
		t.Errorf("state of the turn as parts without and with the terminal event go out (-want +got):\n%s", diff)
	}
}

func TestFailover(t *testing.T) {
	t.Parallel()
	type attempt struct {
		State  mooring.TurnState
		Status int
		Reason string
	}
	for _, tt := range []struct {
		rule  string
		first upstreamtest.Reply
		down  bool
		rules func(*turn.Rules)
		spec  func(*upstream.Spec)
		want  []attempt // of the session's second turn
		pin   mooring.PinMark
		code  mooring.Code
	}{
		{
			rule: "who cannot be reached is left for another", down: true,
			want: []attempt{{mooring.Failed, 0, "The upstream a cannot be reached"}, {mooring.Completed, 200, ""}}, pin: mooring.PinMoved,
		},
		{
			rule: "so is who breaks off before an answer", first: upstreamtest.Reply{Fault: upstreamtest.Lost},
			want: []attempt{{mooring.Failed, 0, "The upstream a broke off before an answer"}, {mooring.Completed, 200, ""}}, pin: mooring.PinMoved,
		},
		{
			rule: "so is who fails", first: upstreamtest.Failure(500),
			want: []attempt{{mooring.Failed, 500, "The upstream answered Internal Server Error"}, {mooring.Completed, 200, ""}}, pin: mooring.PinMoved,
		},
		{
			rule: "a refusal is relayed", first: upstreamtest.Failure(429),
			want: []attempt{{mooring.Failed, 429, "The upstream answered Too Many Requests"}}, pin: mooring.PinHit,
		},
		{
			rule: "unless it is listed", first: upstreamtest.Failure(429), rules: func(r *turn.Rules) { r.FailoverOn.Statuses = []int{429} },
			want: []attempt{{mooring.Failed, 429, "The upstream answered Too Many Requests"}, {mooring.Completed, 200, ""}}, pin: mooring.PinMoved,
		},
		{
			rule: "an answer that must not be relayed moves nothing", first: upstreamtest.Redirect("http://127.0.0.1:1/"),
			want: []attempt{{mooring.Failed, 0, "The upstream a answered with a redirect, which is not followed"}}, pin: mooring.PinHit, code: mooring.CodeUpstreamError,
		},
		{
			rule: "who may not be left is not", down: true, spec: func(s *upstream.Spec) { s.Failover = "fail" },
			want: []attempt{{mooring.Failed, 0, "The upstream a cannot be reached"}}, pin: mooring.PinHit, code: mooring.CodeUpstreamUnavailable,
		},
		{
			rule: "nor where the rules name nothing", down: true, rules: func(r *turn.Rules) { r.FailoverOn = turn.FailoverOn{} },
			want: []attempt{{mooring.Failed, 0, "The upstream a cannot be reached"}}, pin: mooring.PinHit, code: mooring.CodeUpstreamUnavailable,
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			a, b := upstreamtest.New(t), upstreamtest.New(t)
			rules, first := moving(), spec("a", a)
			if tt.rules != nil {
				tt.rules(&rules)
			}
			if tt.spec != nil {
				tt.spec(&first)
			}
			h := newHouse(t, rules, first, spec("b", b))
			if s, err := h.run(h.chat("s1", "first", "")); err != nil || s.about.Upstream != "a" {
				t.Fatalf("first turn at %s: %v", s.about.Upstream, err)
			}
			if tt.down {
				a.Down()
				h.Fleet.Close() // the connection that was kept would be lost, not refused
			} else {
				a.Always(tt.first)
			}
			s, err := h.run(h.chat("s1", "second", ""))
			if tt.code != "" && mooring.CodeOf(err) != tt.code || tt.code == "" && err != nil {
				t.Fatalf("error = %v, want %s", err, tt.code)
			}
			got := h.stored(s.about.Turn)
			attempts := make([]attempt, len(got.Attempts))
			for i, of := range got.Attempts {
				attempts[i] = attempt{of.State, of.Status, of.Reason}
			}
			if diff := cmp.Diff(tt.want, attempts); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if s.about.Pin != tt.pin || got.State != tt.want[len(tt.want)-1].State {
				t.Errorf("pin = %s, state = %s, want %s", s.about.Pin, got.State, tt.pin)
			}
			a.Always(upstreamtest.Reply{})
			if tt.pin == mooring.PinMoved {
				if s, err := h.run(h.chat("s1", "third", "")); err != nil || s.about.Upstream != "b" || s.about.Pin != mooring.PinHit {
					t.Errorf("third turn at %s; pin=%s, %v: it stays moved", s.about.Upstream, s.about.Pin, err)
				}
			}
		})
	}
}

func TestFirstTurnThatFailsKeepsNoPin(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	a.Always(upstreamtest.Failure(429))
	h := newHouse(t, moving(), spec("a", a), spec("b", b))
	s, err := h.run(h.chat("s1", "hi", ""))
	if err != nil || s.head.Status != 429 || s.about.Pin != "" || s.about.Upstream != "a" {
		t.Fatalf("%d, %+v, %v", s.head.Status, s.about, err)
	}
	if pins, err := h.store.Pins(t.Context(), "acme", s.about.Session); err != nil || len(pins) != 0 {
		t.Errorf("pins = %+v, %v, want none", pins, err)
	}
	if again, err := h.run(h.chat("s1", "hi again", "")); err != nil || again.about.Upstream != "b" || again.about.Pin != mooring.PinNew || again.about.Session != s.about.Session {
		t.Errorf("again: %+v, %v", again.about, err)
	}
}

// Of first turns that race one makes the session and its claim; all go where that one goes, and find the pin in memory later.
func TestRetries(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		after time.Duration
		text  string
		same  bool
	}{
		"soon, the same":                {time.Minute, "hi", true},
		"at the last moment, the same":  {10*time.Minute - time.Second, "hi", true},
		"too late, another turn":        {10*time.Minute + time.Second, "hi", false},
		"another question, another one": {time.Minute, "ho", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			h := newHouse(t, turn.Rules{}, spec("u", u))
			now := time.Now()
			h.Now = func() time.Time { return now }
			u.Queue(upstreamtest.Failure(http.StatusInternalServerError))
			first, err := h.run(h.chat("s", "hi", ""))
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(of.after)
			again, err := h.run(h.chat("s", of.text, ""))
			if err != nil {
				t.Fatal(err)
			}
			if got := again.about.Turn == first.about.Turn; got != of.same {
				t.Errorf("turns %s and %s, want the same: %v", first.about.Turn, again.about.Turn, of.same)
			}
		})
	}
}

func TestFirstTurnsAtOnce(t *testing.T) {
	t.Parallel()
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", a), spec("b", b))
	const n = 8
	sinks, errs := make([]*sink, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { sinks[i], errs[i] = h.run(h.chat("s1", fmt.Sprint("hi ", i), "")) })
	}
	wg.Wait()
	for i, s := range sinks {
		if errs[i] != nil || s.about.Session != sinks[0].about.Session || s.about.Upstream != sinks[0].about.Upstream {
			t.Errorf("%+v, %v, want session and upstream of %+v", s.about, errs[i], sinks[0].about)
		}
	}
	if s, err := h.run(h.chat("s1", "later", "")); err != nil || s.about.Pin != mooring.PinHit || s.about.Upstream != sinks[0].about.Upstream {
		t.Errorf("later: %+v, %v", s.about, err)
	}
}

func TestClientThatLeaves(t *testing.T) {
	t.Parallel()
	for _, more := range []string{"", `"stream":true,`} {
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Fault: upstreamtest.Hang})
		h := newHouse(t, moving(), spec("a", u))
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if posts, err := u.WaitPosts(t.Context(), 1); err != nil || len(posts) != 1 {
				t.Errorf("no request came: %v", err)
			}
			cancel()
		}()
		s := &sink{}
		if err := h.Run(ctx, h.chat("s1", "hi", more), s); !errors.Is(err, context.Canceled) || s.heads != 0 {
			t.Errorf("Run = %v with %d headers, want context.Canceled and none", err, s.heads)
		}
		got := <-h.ended
		if stored := h.stored(got.ID); stored.State != mooring.Cancelled || stored.Attempts[0].Reason != "The client went away" || stored.ErrorCode != "" {
			t.Errorf("stored: %+v", stored)
		}
		if all, failed := h.Fleet.Get("a").Requests(); all != 1 || failed != 0 || h.Fleet.Get("a").InFlight() != 0 {
			t.Errorf("%d requests, %d failed, %d in flight: a client that leaves is no failure", all, failed, h.Fleet.Get("a").InFlight())
		}
	}
}

func TestStatefulUpstreamTakesOneTurnAtATime(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	hold := make(chan struct{})
	u.Queue(upstreamtest.Reply{Hold: hold})
	remote := spec("a", u)
	remote.Remote, remote.SessionHeaders = true, []string{"X-Hermes-Session-Id"}
	h := newHouse(t, moving(), remote)
	done := make(chan error, 2)
	go func() {
		_, err := h.run(h.chat("s1", "first", ""))
		done <- err
	}()
	if _, err := u.WaitPosts(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	h.rules.QueueDepth = 0 // nobody may wait now
	_, err := h.run(h.chat("s1", "second", ""))
	busy(t, err)
	if _, err := h.run(h.chat("s2", "another session", "")); err != nil {
		t.Errorf("another session waits: %v", err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := h.run(h.chat("s1", "third", "")); err != nil {
		t.Error(err)
	}
	for i, post := range u.Posts() {
		if got, want := post.Header.Get("X-Hermes-Session-Id"), []string{"s1", "s2", "s1"}[i]; got != want {
			t.Errorf("request %d goes up with id %q, want %q", i+1, got, want)
		}
	}
}

func TestSessionThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u))
	first, err := h.run(h.chat("s1", "hi", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err = h.Record.Commit(t.Context(), &mooring.Delete{Tenant: "acme", Session: first.about.Session}); err != nil {
		t.Fatal(err)
	}
	second, err := h.run(h.chat("s1", "hi", "")) // memory still knows the session
	if err != nil || second.about.Session == first.about.Session || second.about.Pin != mooring.PinNew {
		t.Errorf("%+v, %v, want a new session", second.about, err)
	}
}

func TestLongModelNamesAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	h := newHouse(t, moving(), spec("a", u))
	req := h.chat("s1", "hi", "")
	req.Wire.Model = "x" + strings.Repeat("é", 60)
	s, err := h.run(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.stored(s.about.Turn).Model; got != "x"+strings.Repeat("é", 49) || !utf8.ValidString(got) {
		t.Errorf("model = %q", got)
	}
}

// All that a client is told in an error begins with a capital letter, ends with a full stop and says what to do.
func TestWords(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	limited := spec("a", u)
	limited.Models = []string{"fake-1"}
	h := newHouse(t, turn.Rules{Concurrency: turn.Reject}, limited)
	unknown := h.chat("s1", "hi", "")
	unknown.Wire.Model = "other"
	twice := h.chat("s1", "hi", "")
	twice.Header["X-Session-Id"] = []string{"a", "b"}
	lost := h.chat("", "hi", "")
	lost.Header = http.Header{"X-Mooring-Session": {"ses_00000000000000000000000000"}}
	for name, of := range map[string]struct {
		req   turn.Request
		reply upstreamtest.Reply
	}{
		"unknown model":  {unknown, upstreamtest.Reply{}},
		"two ids":        {twice, upstreamtest.Reply{}},
		"no session":     {lost, upstreamtest.Reply{}},
		"lost":           {h.chat("s1", "hi", ""), upstreamtest.Reply{Fault: upstreamtest.Lost}},
		"hangs":          {h.chat("s1", "hi", ""), upstreamtest.Reply{Fault: upstreamtest.Hang}},
		"cut":            {h.chat("s1", "hi", ""), upstreamtest.Reply{Fault: upstreamtest.Cut}},
		"redirect":       {h.chat("s1", "hi", ""), upstreamtest.Redirect("/x")},
		"HTML":           {h.chat("s1", "hi", ""), upstreamtest.HTML(200)},
		"odd encoding":   {h.chat("s1", "hi", ""), upstreamtest.Reply{Header: http.Header{"Content-Encoding": {"rot13"}}}},
		"stream cut off": {h.chat("s1", "hi", ""), upstreamtest.Reply{Events: []string{"data: {}\n\n"}, ContentType: "text/event-stream"}},
	} {
		u.Always(of.reply)
		_, err := h.run(of.req)
		var e *mooring.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error = %v, want one for the client", name, err)
			continue
		}
		first, _ := utf8.DecodeRuneInString(e.Safe)
		if !unicode.IsUpper(first) || !strings.HasSuffix(e.Safe, ".") || strings.HasSuffix(e.Safe, "..") || !strings.Contains(e.Safe, "; ") {
			t.Errorf("%s: %q", name, e.Safe)
		}
	}
}
