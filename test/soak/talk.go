package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"mooring/test/harness"
)

// converse holds one conversation after the other, each of some turns; some streams are left in the middle.
func (s *soak) converse(ctx context.Context, stop <-chan struct{}, worker int, every time.Duration, chance *rand.Rand) {
	ledger := &harness.Ledger{Tell: s.tally.seen}
	next := harness.Now()
	for n := 0; !over(stop, ctx); n++ {
		key := fmt.Sprintf("soak-%x-%d-%d-%d", s.seed, worker, n, chance.IntN(1e6))
		client := harness.NewClient(chance.IntN(1000), key, ledger, s.replicas, s.transport)
		for range 1 + chance.IntN(12) {
			if over(stop, ctx) {
				return
			}
			if every > 0 {
				next = next.Add(every)
				harness.Sleep(stop, next.Sub(harness.Now()))
			}
			if every > 0 && chance.IntN(20) == 0 {
				s.leave(ctx, client, chance)
				continue
			}
			client.Ask(ctx)
		}
	}
}

func over(stop <-chan struct{}, ctx context.Context) bool { //nolint:revive // the context is the second reason
	select {
	case <-stop:
		return true
	default:
		return ctx.Err() != nil
	}
}

// leave asks and goes away in the middle of the answer.
func (s *soak) leave(ctx context.Context, client *harness.Client, chance *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, harness.Between(chance, 0, 40*time.Millisecond))
	defer cancel()
	if client.Ask(ctx).Outcome == harness.Answered {
		return
	}
	s.tally.add("left by their client", 1)
}

// incident is something that people do beside the turns.
type incident struct {
	every time.Duration // on average
	do    func(ctx context.Context, chance *rand.Rand) (what string, err error)
}

func (s *soak) incidents() []incident {
	return []incident{
		{10 * time.Second, s.reload},
		{7 * time.Second, s.drain},
		{500 * time.Millisecond, s.page},
		{500 * time.Millisecond, s.page},
		{time.Second, s.anew},
		{time.Second, s.look},
		{2 * time.Second, s.remove},
		{3 * time.Second, s.listen},
	}
}

// again has an incident happen now and then. Short runs have each of them happen more often.
func (s *soak) again(ctx context.Context, i incident, chance *rand.Rand) {
	every := min(i.every, s.length/5)
	for ctx.Err() == nil {
		harness.Sleep(ctx.Done(), harness.Between(chance, every/2, every*3/2))
		if ctx.Err() != nil {
			return
		}
		what, err := i.do(ctx, chance)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.tally.fail("%s: %v", what, err)
		default:
			s.tally.add(what, 1)
		}
	}
}

func (s *soak) any(chance *rand.Rand) *harness.Replica {
	return s.replicas[chance.IntN(len(s.replicas))]
}

func (s *soak) reload(_ context.Context, chance *rand.Rand) (string, error) {
	return "reloads", s.any(chance).Reload()
}

// drain takes an upstream out for new sessions for a moment.
func (s *soak) drain(ctx context.Context, chance *rand.Rand) (string, error) {
	r, upstream := s.any(chance), fmt.Sprintf("/api/upstreams/u%d/", 1+chance.IntN(models))
	err := r.Do(ctx, http.MethodPost, upstream+"drain", "", nil)
	if harness.StatusOf(err) == http.StatusNotFound {
		return "drains that this build does not know", nil
	}
	if err != nil {
		return "drain", err
	}
	harness.Sleep(ctx.Done(), harness.Between(chance, 0, time.Second))
	return "drains", r.Do(context.WithoutCancel(ctx), http.MethodPost, upstream+"resume", "", nil)
}

// page begins a turn as the pages do and listens: to all of it, or to the beginning; some are followed from another replica, some
// are stopped.
func (s *soak) page(ctx context.Context, chance *rand.Rand) (string, error) {
	key := fmt.Sprintf("page-%x-%d", s.seed, chance.IntN(50))
	q := harness.Question{Key: key, N: chance.IntN(1e6)}
	body := fmt.Sprintf(`{"sessionKey":%q,"message":%q,"model":"fake-1"}`, key, q.Text())
	listen, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := s.events(listen, http.MethodPost, s.any(chance).URL+"/api/send-stream", body)
	if err != nil {
		return "page", err
	}
	defer func() { _ = events.Close() }()
	turn, last := follow(events, "started")
	if last != "started" {
		return "page", fmt.Errorf("%w: %s before it had started", errPage, last)
	}
	switch chance.IntN(4) {
	case 0:
		return "page turns that were dropped", nil
	case 1:
		err := s.any(chance).Do(ctx, http.MethodPost, "/api/turns/"+turn+"/cancel", "", nil)
		if harness.StatusOf(err) == http.StatusTooManyRequests && len(s.replicas) > 1 {
			return "cancels that only the other replica could do", nil
		}
		return "page turns that were stopped", err
	case 2:
		other, err := s.events(listen, http.MethodGet, s.any(chance).URL+"/api/turns/"+turn+"/stream", "")
		if err != nil {
			return "follow", err
		}
		defer func() { _ = other.Close() }()
		if _, last = follow(other, "done"); last != "done" && last != "" {
			return "follow", fmt.Errorf("%w: it ended with %s", errPage, last)
		}
		return "page turns that were followed from elsewhere", nil
	}
	if _, last = follow(events, "done"); last != "done" {
		return "page", fmt.Errorf("%w: it ended with %q", errPage, last)
	}
	return "page turns", nil
}

func (s *soak) events(ctx context.Context, method, url, body string) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: s.transport}).Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		return nil, &harness.StatusError{Method: method, Path: url, Status: res.StatusCode, Body: string(b)}
	}
	return res.Body, nil
}

// follow reads events until one of a kind comes, or the last one; it gives the turn that they speak of, and the last event's kind.
func follow(events io.Reader, until string) (turn, last string) {
	for lines := bufio.NewScanner(events); lines.Scan(); {
		line := lines.Text()
		if name, found := strings.CutPrefix(line, "event: "); found && name != "heartbeat" {
			last = name
		}
		if _, rest, found := strings.Cut(line, `"runId":"`); found {
			turn, _, _ = strings.Cut(rest, `"`)
			if last == until {
				return turn, last
			}
		}
	}
	return turn, last
}
