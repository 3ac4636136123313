package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mooring/test/harness"
)

// stamped is a model server whose chunks say when they were sent, in nanoseconds since the program began: client and server are
// one process and have one clock.
type stamped struct {
	url    string
	began  time.Time
	gap    time.Duration
	server *http.Server
}

func startStamped(gap time.Duration) (*stamped, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it lives as long as the part
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &stamped{url: "http://" + listener.Addr().String(), began: harness.Now(), gap: gap}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.server.Serve(listener) }() // ends with Close
	return s, nil
}

func (s *stamped) since() time.Duration { return harness.Now().Sub(s.began) }

// ServeHTTP streams until its client goes; the first chunk comes at a random time of the first gap, so that they do not come in waves.
func (s *stamped) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	flusher := http.NewResponseController(w)
	harness.Sleep(r.Context().Done(), rand.N(s.gap)) //nolint:gosec // to spread them
	ticks := time.NewTicker(s.gap)
	defer ticks.Stop()
	for {
		_, err := fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1700000000,"model":"mock-model","choices":[{"index":0,"delta":{"content":"%d "},"finish_reason":null}]}`+"\n\n", s.since().Nanoseconds())
		if err != nil || flusher.Flush() != nil {
			return
		}
		select {
		case <-ticks.C:
		case <-r.Context().Done():
			return
		}
	}
}

// watch is many streams at once, and what is seen of them.
type watch struct {
	source *stamped
	open   atomic.Int64
	chunks atomic.Int64
	broken atomic.Int64
	first  atomic.Pointer[error]

	from, to atomic.Int64 // nanoseconds between which delays are noted

	mu     sync.Mutex // guards the field below
	delays []time.Duration
}

var errEnded = errors.New("the stream ended")

func (w *watch) fail(err error) {
	w.broken.Add(1)
	w.first.CompareAndSwap(nil, &err)
}

// read opens one stream and reads it until the context ends.
func (w *watch) read(ctx context.Context, client *http.Client, url string, n int) {
	body := fmt.Sprintf(`{"model":"mock-model","stream":true,"messages":[{"role":"user","content":"stream %d, please"}]}`, n)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		w.fail(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Session-Id", fmt.Sprintf("5e55%04x-0000-4000-8000-%012x", n&0xffff, harness.Now().UnixNano()&0xffffffffffff))
	res, err := client.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			w.fail(err)
		}
		return
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		w.fail(fmt.Errorf("%w: status %d", errEnded, res.StatusCode))
		return
	}
	w.open.Add(1)
	defer w.open.Add(-1)
	delays, err := w.lines(res.Body)
	w.mu.Lock()
	w.delays = append(w.delays, delays...)
	w.mu.Unlock()
	if ctx.Err() == nil {
		w.fail(errors.Join(errEnded, err))
	}
}

func (w *watch) lines(body io.Reader) (delays []time.Duration, err error) {
	for lines := bufio.NewReaderSize(body, 1024); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return delays, err
		}
		_, rest, found := bytes.Cut(line, []byte(`"content":"`))
		if !found {
			continue
		}
		now := w.source.since()
		digits, _, _ := bytes.Cut(rest, []byte(" "))
		sent, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return delays, fmt.Errorf("read a chunk: %w", err)
		}
		w.chunks.Add(1)
		if from, to := w.from.Load(), w.to.Load(); from != 0 && sent >= from && (to == 0 || sent < to) {
			delays = append(delays, now-time.Duration(sent))
		}
	}
}

// quantile of times, which it sorts.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[int(q*float64(len(times)-1))]
}
