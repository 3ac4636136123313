package serve_test

import (
	"context"
	"errors"
	"testing"
	"time"

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
