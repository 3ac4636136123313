package serve_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/serve"
)

// clock is set by its test alone.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func caller(name mooring.KeyName) mooring.Caller { return mooring.Caller{Tenant: "acme", Key: name} }

func wantLimit(t *testing.T, err error, code mooring.Code, wait time.Duration) {
	t.Helper()
	var e *mooring.Error
	if !errors.As(err, &e) || e.Code != code || e.RetryAfter != wait {
		t.Fatalf("error = %v (Retry-After %v), want %s after %v", err, retryOf(e), code, wait)
	}
}

func retryOf(e *mooring.Error) time.Duration {
	if e == nil {
		return 0
	}
	return e.RetryAfter
}

func TestRequestsPerMinute(t *testing.T) {
	t.Parallel()
	now := &clock{noon()}
	limited := key("alice", "acme", alice)
	limited.RequestsPerMinute = 3
	rules := serve.Rules{Keys: []serve.Key{limited, key("bob", "acme", "mk-bob")}}
	s := newServer(t, rules, func(o *serve.Options) { o.Now = now.Now })
	for range 3 {
		if _, err := s.Admit(t.Context(), caller("alice"), serve.Ask{}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Admit(t.Context(), caller("alice"), serve.Ask{})
	wantLimit(t, err, mooring.CodeKeyLimit, 20*time.Second)
	if _, err = s.Admit(t.Context(), caller("bob"), serve.Ask{}); err != nil {
		t.Errorf("another key is refused: %v", err)
	}
	s.SetRules(rules)
	_, err = s.Admit(t.Context(), caller("alice"), serve.Ask{})
	wantLimit(t, err, mooring.CodeKeyLimit, 20*time.Second) // a reload is no new minute
	now.now = now.now.Add(20 * time.Second)
	if _, err = s.Admit(t.Context(), caller("alice"), serve.Ask{}); err != nil {
		t.Errorf("refused after the wait that was told: %v", err)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	limited := key("alice", "acme", alice)
	limited.Streams = 1
	s := newServer(t, serve.Rules{Keys: []serve.Key{limited}})
	release, err := s.Admit(t.Context(), caller("alice"), serve.Ask{Turn: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Admit(t.Context(), caller("alice"), serve.Ask{}); err != nil {
		t.Errorf("a request that is no turn needs no place: %v", err)
	}
	s.SetRules(serve.Rules{Keys: []serve.Key{limited}})
	refused, err := s.Admit(t.Context(), caller("alice"), serve.Ask{Turn: true})
	wantLimit(t, err, mooring.CodeKeyLimit, time.Second)
	refused() // a refused request holds nothing that it could give back
	_, err = s.Admit(t.Context(), caller("alice"), serve.Ask{Turn: true})
	wantLimit(t, err, mooring.CodeKeyLimit, time.Second)
	release()
	release() // once only
	if _, err = s.Admit(t.Context(), caller("alice"), serve.Ask{Turn: true}); err != nil {
		t.Errorf("refused after the place was given back: %v", err)
	}
	_, err = s.Admit(t.Context(), caller("alice"), serve.Ask{Turn: true})
	wantLimit(t, err, mooring.CodeKeyLimit, time.Second)
}

func TestModelsOfAKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, model string
		globs       []string
		denied      bool
	}{
		{rule: "no list is all", model: "gpt-x"},
		{rule: "no model is no question", globs: []string{"gpt-*"}},
		{rule: "a star takes no model too", globs: []string{"*"}},
		{rule: "an exact name", model: "gpt-x", globs: []string{"claude-y", "gpt-x"}},
		{rule: "a star at the end", model: "gpt-x", globs: []string{"gpt-*"}},
		{rule: "a star alone, slashes too", model: "vendor/gpt-x", globs: []string{"*"}},
		{rule: "stars in between", model: "vendor/gpt-x-mini", globs: []string{"*/gpt*mini"}},
		{rule: "the end must fit", model: "gpt-x-mini-2", globs: []string{"gpt*mini"}, denied: true},
		{rule: "beginning and end do not overlap", model: "aba", globs: []string{"ab*ba"}, denied: true},
		{rule: "a name is no beginning", model: "gpt-xy", globs: []string{"gpt-x"}, denied: true},
		{rule: "case counts", model: "GPT-x", globs: []string{"gpt-*"}, denied: true},
		{rule: "brackets are letters", model: "gpt-x", globs: []string{"gpt-[a-z]"}, denied: true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			limited := key("alice", "acme", alice)
			limited.Models = tt.globs
			s := newServer(t, serve.Rules{Keys: []serve.Key{limited}})
			_, err := s.Admit(t.Context(), caller("alice"), serve.Ask{Model: tt.model})
			if denied := err != nil && mooring.CodeOf(err) == mooring.CodeModelNotFound; denied != tt.denied {
				t.Errorf("error = %v, want denied: %v", err, tt.denied)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	now := &clock{noon()}
	var asked int
	var from, to time.Time
	cost := 4.0
	limited := key("alice", "acme", alice)
	limited.BudgetUSD = 5
	s := newServer(t, serve.Rules{Keys: []serve.Key{limited}}, func(o *serve.Options) {
		o.Now = now.Now
		o.Spent = func(_ context.Context, tenant mooring.Tenant, k mooring.KeyName, f, u time.Time) (mooring.KeyUse, error) {
			asked++
			from, to = f, u
			if tenant != "acme" || k != "alice" {
				t.Errorf("asked for %s of %s", k, tenant)
			}
			return mooring.KeyUse{CostUSD: cost}, nil
		}
	})
	admit := func() error {
		_, err := s.Admit(t.Context(), caller("alice"), serve.Ask{Turn: true})
		return err
	}
	if err := admit(); err != nil {
		t.Fatal(err)
	}
	cost = 5
	if err := admit(); err != nil || asked != 1 {
		t.Errorf("within 5 s: %v after %d questions, want none after one", err, asked)
	}
	s.Spend("alice", noon().AddDate(0, -1, 0), 9)
	s.Spend("bob", noon(), 9)
	if err := admit(); err != nil {
		t.Errorf("refused for what was spent last month, or by another key: %v", err)
	}
	s.Spend("alice", noon(), 1)
	s.SetRules(serve.Rules{Keys: []serve.Key{limited}})
	if wantCode(t, admit(), mooring.CodeKeyLimit); asked != 1 {
		t.Errorf("%d questions for what was spent here and is known, want one", asked)
	}
	now.now = now.now.Add(5 * time.Second)
	december := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	wantLimit(t, admit(), mooring.CodeKeyLimit, december.Sub(now.now))
	if !from.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) || !to.Equal(december) {
		t.Errorf("asked from %v to %v, want November", from, to)
	}
	cost, now.now = 0, december
	if err := admit(); err != nil {
		t.Errorf("refused in the new month: %v", err)
	}
}

func wantCode(t *testing.T, err error, code mooring.Code) {
	t.Helper()
	if got := mooring.CodeOf(err); err == nil || got != code {
		t.Fatalf("error = %v, want %s", err, code)
	}
}

func TestOneRequestAsksWhatAKeyHasSpent(t *testing.T) {
	t.Parallel()
	now := &clock{noon()}
	var s *serve.Server
	var asked int
	var fails error
	admit := func() error {
		_, err := s.Admit(t.Context(), caller("alice"), serve.Ask{})
		return err
	}
	limited := key("alice", "acme", alice)
	limited.BudgetUSD = 5
	s = newServer(t, serve.Rules{Keys: []serve.Key{limited}}, func(o *serve.Options) {
		o.Now = now.Now
		o.Spent = func(context.Context, mooring.Tenant, mooring.KeyName, time.Time, time.Time) (mooring.KeyUse, error) {
			if asked++; asked > 1 {
				if err := admit(); err != nil { // as another request would
					t.Errorf("refused while another request asks: %v", err)
				}
			}
			now.now = now.now.Add(time.Second) // a slow store
			return mooring.KeyUse{CostUSD: 1}, fails
		}
	})
	for range 2 {
		if err := admit(); err != nil {
			t.Fatal(err)
		}
		now.now = now.now.Add(50 * time.Second)
	}
	if asked != 2 {
		t.Errorf("asked %d times, want twice", asked)
	}
	fails = errors.New("disk on fire")
	wantCode(t, admit(), mooring.CodeStoreUnavailable)
	fails = nil
	if err := admit(); err != nil || asked != 4 {
		t.Errorf("after a store that was down: %v, asked %d times, want four", err, asked)
	}
	now.now = now.now.Add(49 * time.Second)
	if err := admit(); err != nil || asked != 4 {
		t.Errorf("%v, asked %d times: what took a second holds for 50", err, asked)
	}
}

func TestReplicasShareAKey(t *testing.T) {
	t.Parallel()
	now := &clock{noon()}
	elsewhere, fails := 1, error(nil)
	limited, wide := key("alice", "acme", alice), key("bob", "acme", "mk-bob")
	limited.RequestsPerMinute, wide.Streams = 3, 2
	s := newServer(t, serve.Rules{Keys: []serve.Key{limited, wide}}, func(o *serve.Options) {
		o.Now = now.Now
		o.Elsewhere = func(_ context.Context, tenant mooring.Tenant, k mooring.KeyName) (int, error) {
			if tenant != "acme" || k != "bob" {
				t.Errorf("asked for %s of %s", k, tenant)
			}
			return elsewhere, fails
		}
	})
	admit := func(k mooring.KeyName) error {
		_, err := s.Admit(t.Context(), caller(k), serve.Ask{Turn: true})
		return err
	}
	for range 2 { // alone: nobody is asked
		if err := admit("bob"); err != nil {
			t.Fatal(err)
		}
	}
	s = newServer(t, serve.Rules{Keys: []serve.Key{limited, wide}}, func(o *serve.Options) {
		o.Now, o.Elsewhere = now.Now, func(context.Context, mooring.Tenant, mooring.KeyName) (int, error) { return elsewhere, fails }
	})
	s.Replicas(2)
	for range 2 { // half of three, rounded up
		if err := admit("alice"); err != nil {
			t.Fatal(err)
		}
	}
	wantLimit(t, admit("alice"), mooring.CodeKeyLimit, 40*time.Second)
	s.SetRules(serve.Rules{Keys: []serve.Key{limited, wide}})
	wantLimit(t, admit("alice"), mooring.CodeKeyLimit, 40*time.Second)
	s.Replicas(1)
	wantLimit(t, admit("alice"), mooring.CodeKeyLimit, 20*time.Second)
	s.Replicas(2)
	if err := admit("bob"); err != nil {
		t.Errorf("a place is left: %v", err)
	}
	wantLimit(t, admit("bob"), mooring.CodeKeyLimit, time.Second) // one here, one there
	elsewhere = 0
	if err := admit("bob"); err != nil {
		t.Errorf("the other replica's turn has ended: %v", err)
	}
	fails = errors.New("disk on fire")
	wantCode(t, admit("bob"), mooring.CodeStoreUnavailable)
	if s.Shares() != 2 {
		t.Errorf("shared by %d", s.Shares())
	}
}

func TestHitsAreToldByLimit(t *testing.T) {
	t.Parallel()
	var hits []serve.Limit
	limited := key("alice", "acme", alice)
	limited.Models, limited.Streams, limited.RequestsPerMinute, limited.BudgetUSD = []string{"gpt-*"}, 1, 2, 5
	usd := 0.0
	s := newServer(t, serve.Rules{Keys: []serve.Key{limited}}, func(o *serve.Options) {
		o.Now = func() time.Time { return noon() }
		o.Limited = func(l serve.Limit) { hits = append(hits, l) }
		o.Spent = func(context.Context, mooring.Tenant, mooring.KeyName, time.Time, time.Time) (mooring.KeyUse, error) {
			return mooring.KeyUse{CostUSD: usd}, nil
		}
	})
	admit := func(ask serve.Ask) error {
		_, err := s.Admit(t.Context(), caller("alice"), ask)
		return err
	}
	wantCode(t, admit(serve.Ask{Model: "claude"}), mooring.CodeModelNotFound)
	wantCode(t, admit(serve.Ask{Turn: true}), mooring.CodeModelNotFound) // the upstream's default may be any
	wantCode(t, admit(serve.Ask{Unread: true}), mooring.CodeUnsupportedMediaType)
	if err := admit(serve.Ask{Model: "gpt-x", Turn: true}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, admit(serve.Ask{Model: "gpt-x", Turn: true}), mooring.CodeKeyLimit)
	if err := admit(serve.Ask{Model: "gpt-x"}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, admit(serve.Ask{Model: "gpt-x"}), mooring.CodeKeyLimit)
	s.Spend("alice", noon(), 5)
	wantCode(t, admit(serve.Ask{Model: "gpt-x"}), mooring.CodeKeyLimit)
	if err := admit(serve.Ask{Free: true}); mooring.CodeOf(err) != mooring.CodeKeyLimit {
		t.Fatal(err)
	}
	want := []serve.Limit{
		serve.LimitModels, serve.LimitModels, serve.LimitModels, serve.LimitStreams, serve.LimitRequests, serve.LimitBudget, serve.LimitRequests,
	}
	if diff := cmp.Diff(want, hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func TestModelNamesInErrorsAreShort(t *testing.T) {
	t.Parallel()
	limited := key("alice", "acme", alice)
	limited.Models = []string{"gpt-*"}
	s := newServer(t, serve.Rules{Keys: []serve.Key{limited}})
	_, err := s.Admit(t.Context(), caller("alice"), serve.Ask{Model: strings.Repeat("é", 10_000)})
	if n := len(err.Error()); n > 300 {
		t.Errorf("an error of %d bytes", n)
	}
	for model, want := range map[string]bool{"gpt-x": true, "claude": false} {
		if got := s.MayUse(caller("alice"), model); got != want {
			t.Errorf("MayUse(%s) = %v", model, got)
		}
	}
	if s.MayUse(caller("gone"), "gpt-x") || !newServer(t, serve.Rules{}).MayUse(mooring.Caller{}, "any") {
		t.Error("a revoked key may use a model, or an open server's caller may not")
	}
}

func TestUnknownSpendingIsRefused(t *testing.T) {
	t.Parallel()
	limited := key("alice", "acme", alice)
	limited.BudgetUSD = 5
	down := func(context.Context, mooring.Tenant, mooring.KeyName, time.Time, time.Time) (mooring.KeyUse, error) {
		return mooring.KeyUse{}, errors.New("disk on fire")
	}
	for rule, spent := range map[string]func(context.Context, mooring.Tenant, mooring.KeyName, time.Time, time.Time) (mooring.KeyUse, error){
		"the store is down": down, "nobody counts": nil,
	} {
		s := newServer(t, serve.Rules{Keys: []serve.Key{limited}}, func(o *serve.Options) { o.Spent = spent })
		_, err := s.Admit(t.Context(), caller("alice"), serve.Ask{})
		if got := mooring.CodeOf(err); got != mooring.CodeStoreUnavailable {
			t.Errorf("%s: code = %s, want store_unavailable", rule, got)
		}
	}
}

func TestAdmitWithoutKeysAndOfARevokedKey(t *testing.T) {
	t.Parallel()
	if _, err := newServer(t, serve.Rules{}).Admit(t.Context(), mooring.Caller{}, serve.Ask{Turn: true}); err != nil {
		t.Errorf("refused without keys: %v", err)
	}
	s := newServer(t, serve.Rules{Keys: twoKeys()})
	if _, err := s.Admit(t.Context(), caller("gone"), serve.Ask{}); mooring.CodeOf(err) != mooring.CodeInvalidAPIKey {
		t.Errorf("a revoked key gives %v, want invalid_api_key", err)
	}
}
