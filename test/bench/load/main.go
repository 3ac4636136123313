// Command load is a closed-loop chat client: workers hold conversations, one request after the other, and time each answer.
//
//	load -url URL -c 32 -d 5s -turns 8 -sess X-Session-Id   conversations of 8 turns with a growing history, named by a header
//	load -url URL -c 1 -stream -sess ""                     streamed, no header: the history alone tells the conversation
//	load -url URL -c 32 -n 312 -turns 1 -size 2048          312 requests a worker, each of 2 KB and a session of its own
//
// It prints one JSON object: see result.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// result is what a run measured; times are in microseconds, from sending to the end of the answer or its first byte.
type result struct {
	OK      int     `json:"ok"`
	Failed  int     `json:"failed"`
	Error   string  `json:"error,omitempty"` // the first one
	RPS     float64 `json:"rps"`
	P50     int64   `json:"p50_us"`
	P90     int64   `json:"p90_us"`
	P99     int64   `json:"p99_us"`
	First50 int64   `json:"first50_us"`
}

type options struct {
	url, model, header string
	stream             bool
	workers            int
	limit, turns, size int
	warm, measured     time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "", "address of chat completions")
	flag.StringVar(&o.model, "model", "mock-model", "model")
	flag.StringVar(&o.header, "sess", "X-Session-Id", "header that carries the session id, empty for none")
	flag.BoolVar(&o.stream, "stream", false, "ask for a stream")
	flag.IntVar(&o.workers, "c", 1, "workers")
	flag.IntVar(&o.limit, "n", 0, "requests per worker at the most, 0 for no limit")
	flag.IntVar(&o.turns, "turns", 8, "turns of a conversation before the next one starts")
	flag.IntVar(&o.size, "size", 1000, "bytes of a user's message")
	flag.DurationVar(&o.measured, "d", 5*time.Second, "measured time")
	flag.DurationVar(&o.warm, "warm", time.Second, "time before measuring")
	flag.Parse()
	if err := json.NewEncoder(os.Stdout).Encode(run(o)); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

func run(o options) result {
	c := &client{options: o, http: &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: o.workers * 2, MaxIdleConns: o.workers * 2, DisableCompression: true,
		},
	}}
	var sum tally
	var wg sync.WaitGroup
	started := time.Now() //nolint:forbidigo // it measures
	from := started.Add(o.warm)
	base := int(started.UnixNano() & 0x7fffffff)
	for w := range o.workers {
		wg.Go(func() { c.work(newConversation(base+w, o), from, &sum) })
	}
	wg.Wait()
	return sum.result(time.Since(from))
}

// work holds conversations until the time or the number of requests is over.
func (c *client) work(v *conversation, from time.Time, sum *tally) {
	end := from.Add(c.measured)
	for done := 0; c.limit == 0 || done < c.limit; done++ {
		now := time.Now() //nolint:forbidigo // it measures
		if now.After(end) {
			return
		}
		a, err := c.ask(v)
		if err == nil {
			v.heard(a.body)
		} else {
			v.startAnew()
		}
		if !now.Before(from) {
			sum.add(a, err)
		}
	}
}

type tally struct {
	mu           sync.Mutex // guards the fields below
	total, first []time.Duration
	failed       int
	firstError   string
}

func (t *tally) add(a answer, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.total, t.first = append(t.total, a.total), append(t.first, a.first)
		return
	}
	t.failed++
	if t.firstError == "" {
		t.firstError = err.Error()
	}
}

func (t *tally) result(took time.Duration) result {
	slices.Sort(t.total)
	slices.Sort(t.first)
	return result{
		OK: len(t.total), Failed: t.failed, Error: t.firstError, RPS: float64(len(t.total)) / took.Seconds(),
		P50: quantile(t.total, .5), P90: quantile(t.total, .9), P99: quantile(t.total, .99), First50: quantile(t.first, .5),
	}
}

func quantile(sorted []time.Duration, p float64) int64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(p*float64(len(sorted)-1))].Microseconds()
}
