package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mooring/test/harness"
)

const (
	firstSessions = 50
	firstEach     = 4 // requests of a session
)

// first plays 200 first requests of 50 sessions at once, each session's over all replicas. The policy gives another upstream to
// each request that asks it, so that only the claim keeps a session together.
func first(state string) func(ctx context.Context, p *play, s scene) (*verdict, error) {
	return func(ctx context.Context, p *play, s scene) (*verdict, error) {
		c, err := p.enact(ctx, plan{
			replicas: 3, postgres: quick, settings: "routing: {policy: round_robin}\n", upstream: ", state: " + state + ", session_headers: [X-Session-Id]",
		})
		if err != nil {
			return nil, err
		}
		judge := harness.NewJudge(c.replicas, c.models, harness.Rules{Settle: 5 * time.Second})
		sum := &verdict{}
		for n := range p.options.repetitions {
			prefix := fmt.Sprintf("%s-%x-%d-", s.name, p.options.seed, n)
			began := harness.Now()
			seen := rush(ctx, c, prefix)
			took := harness.Now().Sub(began)
			v := judge.Repetition(ctx, prefix, seen)
			together(v, c, prefix, seen)
			if state == "remote" {
				alone(v, c, prefix)
			}
			shown(ctx, v, c, prefix)
			p.say("  %2d: %d requests at once, done after %s%s\n", n+1, len(seen), rounded(took), found(v))
			sum.Add(v)
			sum.repetitions++
			c.models.Forget()
		}
		p.faults(&sum.Verdict)
		return sum, ctx.Err()
	}
}

// rush has all first requests sent at once.
func rush(ctx context.Context, c *cast, prefix string) []*harness.Seen {
	ledger := &harness.Ledger{}
	transport := harness.NewTransport()
	defer transport.CloseIdleConnections()
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range firstSessions * firstEach {
		client := harness.NewClient(i, fmt.Sprintf("%ss%d", prefix, i/firstEach), ledger, c.replicas, transport)
		client.Style = harness.Lone
		all.Go(func() {
			<-start
			client.Ask(ctx)
		})
	}
	close(start)
	all.Wait()
	return ledger.All()
}

// together judges that all requests of a session reached one upstream, and no other one was asked.
func together(v *harness.Verdict, c *cast, prefix string, seen []*harness.Seen) {
	asked, told, sessions := map[string][]string{}, map[string][]string{}, map[string]bool{}
	for _, a := range c.models.Asked(prefix) {
		asked[a.Key] = added(asked[a.Key], a.Upstream)
	}
	for _, s := range seen {
		name, _, _ := strings.Cut(s.Upstream, ";")
		told[s.Key] = added(told[s.Key], name)
		sessions[s.Session] = true
	}
	if len(sessions) != firstSessions {
		v.Fail(harness.Split, "%d sessions were named, want %d", len(sessions), firstSessions)
	}
	for key := range told {
		if len(asked[key]) != 1 || !slices.Equal(asked[key], told[key]) {
			v.Fail(harness.Strayed, "%s: the headers name %v, and %v were asked", key, told[key], asked[key])
		}
	}
}

func added(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	return append(list, name)
}

// alone judges that no server with state had two requests of one session at once.
func alone(v *harness.Verdict, c *cast, prefix string) {
	last := map[string]harness.Asked{}
	for _, a := range c.models.Asked(prefix) {
		if before, known := last[a.Key]; known && (before.Over.IsZero() || a.At.Before(before.Over)) {
			v.Fail(harness.Strayed, "%s: %s was asked at %s, before the request of %s was over at %s",
				a.Key, a.Upstream, a.At.Format("05.000"), before.At.Format("05.000"), before.Over.Format("05.000"))
		}
		last[a.Key] = a
	}
}

// shown judges that every replica lists the sessions with the upstream that was asked.
func shown(ctx context.Context, v *harness.Verdict, c *cast, prefix string) {
	asked := map[string]string{}
	for _, a := range c.models.Asked(prefix) {
		asked[a.Key] = a.Upstream
	}
	for _, r := range c.replicas {
		list, err := r.Sessions(ctx, prefix)
		if err != nil || len(list) != firstSessions {
			v.Fail(harness.Split, "%s lists %d sessions, want %d (%v)", r.Name, len(list), firstSessions, err)
		}
		for _, s := range list {
			if s.Upstream != asked[s.Key] || s.Turns != firstEach {
				v.Fail(harness.Strayed, "%s shows %s at %s with %d turns, want %s and %d", r.Name, s.Key, s.Upstream, s.Turns, asked[s.Key], firstEach)
			}
		}
	}
}
