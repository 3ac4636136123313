package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mooring/test/harness"
)

// asking is one kind of question to a server with a filled store.
type asking struct {
	name  string
	path  func(s *side, chance *rand.Rand) string
	has   string // what the answer must hold
	grows bool   // it reads more where there is more, or up to a bound: told, not judged; a tenth of the questions
}

func (few originals) askings() []asking {
	fixed := func(path string) func(*side, *rand.Rand) string {
		return func(*side, *rand.Rand) string { return path }
	}
	session := func(format string) func(*side, *rand.Rand) string {
		return func(s *side, chance *rand.Rand) string { return fmt.Sprintf(format, few.key(chance.IntN(s.sessions))) }
	}
	return []asking{
		{name: "list, first page of 50", path: fixed("/api/sessions?limit=50"), has: `"sessions":[{`},
		{name: "list, those of one upstream", path: fixed("/api/sessions?limit=50&upstream=" + upstreamName), has: `"sessions":[{`, grows: true},
		{name: "list, by a part of title or key that few have", path: func(s *side, chance *rand.Rand) string {
			return "/api/sessions?limit=50&q=" + few.own(chance.IntN(s.sessions))
		}, has: `"sessions":[{`, grows: true},
		{name: "session by its key", path: session("/api/sessions/%s"), has: `"key":`},
		{name: "its messages", path: session("/api/sessions/%s/messages"), has: `"messages":[{`},
		{name: "its turns", path: session("/api/sessions/%s/turns"), has: `"turns":[{`},
		{name: "search, a word of one session", path: func(s *side, chance *rand.Rand) string { return "/api/search?q=" + few.own(chance.IntN(s.sessions)) }, has: `"results":[{`, grows: true},
		{name: "search, a word of every tenth question", path: fixed("/api/search?q=" + common), has: `"results":[{`},
		{name: "search, three frequent words", path: fixed("/api/search?q=" + url.QueryEscape(word(1)+" "+word(2)+" "+word(3))), has: `"results":[`},
		{name: "search, a word that nobody said", path: fixed("/api/search?q=zeppelinflug"), has: `"results":[]`, grows: true},
		{name: "stats", path: fixed("/api/stats"), has: `"turns"`, grows: true},
		{name: "usage by model, 30 days", path: fixed("/api/usage?by=model"), has: `"rows"`, grows: true},
	}
}

const (
	claiming = "claim: first turn of a new session"
	going    = "next turn of a session that is there"
)

// cost is what a kind of question took on one side.
type cost struct {
	times []time.Duration
	cpu   time.Duration
	rest  int64
}

// nothing is a time below which nobody looks how much longer a question takes on the large store. What is known to read more where
// there is more is told and not judged.
const nothing = 20 * time.Millisecond

// ask puts all questions to both sides in turns, so that both see the same machine.
func (l *load) ask(ctx context.Context, sides [2]*side, model *harness.Models) ([]string, error) {
	chance := harness.Chance(l.seed, 0)
	costs, growing := map[string]*[2]cost{}, map[string]bool{}
	var order []string
	for range l.rounds {
		for _, a := range originals(l.few).askings() {
			n := l.questions
			growing[a.name] = a.grows
			if a.grows {
				n = max(3, n/10)
			}
			err := l.inTurns(ctx, sides, n, note(costs, &order, a.name), func(s *side) error { return l.get(ctx, s, a.path(s, chance), a.has) })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.name, err)
			}
		}
		for _, name := range []string{claiming, going} {
			err := l.inTurns(ctx, sides, l.questions, note(costs, &order, name), func(s *side) error {
				key := originals(l.few).key(chance.IntN(s.sessions))
				if name == claiming {
					key = fmt.Sprintf("%08x-0000-4000-8000-%012x", chance.Uint32(), chance.Uint64()&0xffffffffffff)
				}
				return l.turn(ctx, s, key)
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		model.Forget()
	}
	return l.tell(sides, costs, order, growing), nil
}

func note(costs map[string]*[2]cost, order *[]string, name string) *[2]cost {
	if costs[name] == nil {
		costs[name] = &[2]cost{}
		*order = append(*order, name)
	}
	return costs[name]
}

func (l *load) inTurns(ctx context.Context, sides [2]*side, n int, c *[2]cost, do func(*side) error) error {
	for i := range n {
		for at, s := range sides {
			before, err := harness.UseOf(s.replica.PID())
			if err != nil {
				return err
			}
			began := harness.Now()
			if err = do(s); err != nil {
				return fmt.Errorf("%d sessions: %w", s.sessions, err)
			}
			if i > 0 { // the first one finds nothing warm
				c[at].times = append(c[at].times, harness.Now().Sub(began))
			}
			after, err := harness.UseOf(s.replica.PID())
			if err != nil {
				return err
			}
			c[at].cpu += after.CPU - before.CPU
			c[at].rest = after.Resident
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (*load) get(ctx context.Context, s *side, path, has string) error {
	var body []byte
	if err := s.replica.Get(ctx, path, &body); err != nil {
		return err
	}
	if !strings.Contains(string(body), has) {
		return fmt.Errorf("%w: GET %s holds no %s: %.200s", errFound, path, has, body)
	}
	return nil
}

func (*load) turn(ctx context.Context, s *side, key string) error {
	body := fmt.Sprintf(`{"model":"mock-model","messages":[{"role":"user","content":"%s"}]}`, harness.Question{Key: key, N: 1}.Text())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.replica.URL+harness.Chat, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", key)
	res, err := s.replica.Send(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = &harness.StatusError{Method: http.MethodPost, Path: harness.Chat, Status: res.StatusCode, Body: string(b)}
	}
	return err
}

// tell prints the table and gives what is not flat.
func (l *load) tell(sides [2]*side, costs map[string]*[2]cost, order []string, growing map[string]bool) (faults []string) {
	l.say("\n| question, %d rounds in turns | p50, %d sessions | p50, %d sessions | p99, %d | p99, %d | processor time of the server, %d | processor time of the server, %d |\n|---|---|---|---|---|---|---|\n",
		l.rounds, sides[0].sessions, sides[1].sessions, sides[0].sessions, sides[1].sessions, sides[0].sessions, sides[1].sessions)
	for _, name := range order {
		c := costs[name]
		n := max(1, len(c[0].times))
		p50 := [2]time.Duration{quantile(slices.Clone(c[0].times), .5), quantile(slices.Clone(c[1].times), .5)}
		title := name
		if growing[name] {
			title += " (reads more where there is more)"
		}
		l.say("| %s | %s | %s | %s | %s | %s | %s |\n", title, fine(p50[0]), fine(p50[1]), fine(quantile(c[0].times, .99)), fine(quantile(c[1].times, .99)),
			fine(c[0].cpu/time.Duration(n)), fine(c[1].cpu/time.Duration(n)))
		if !growing[name] && p50[1] > nothing && float64(p50[1]) > l.slower*float64(p50[0]) {
			faults = append(faults, fmt.Sprintf("%s: %s at the median, %s with %d sessions", name, fine(p50[1]), fine(p50[0]), sides[0].sessions))
		}
	}
	last := costs[order[len(order)-1]]
	l.say("| resident memory at the end | %.1f MB | %.1f MB | | | | |\n", megabytes(last[0].rest), megabytes(last[1].rest))
	return faults
}

func fine(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
