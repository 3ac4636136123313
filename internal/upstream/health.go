package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// How long a server that failed is asked last: it grows with each failure in a row, so that a server that restarts is
// found again soon and a dead one costs little.
const (
	firstPenalty = 2 * time.Second
	maxPenalty   = 30 * time.Second
)

// health is what requests and checks have shown of a server.
type health struct {
	mu        sync.Mutex // guards the fields below
	failed    int        // failures in a row
	downUntil time.Time
	checkDown bool   // the active check failed last
	found     string // what it found then
}

// Up says whether the server is believed to answer. A server that is not up is asked last, not never.
func (u *Upstream) Up(now time.Time) bool {
	u.health.mu.Lock()
	defer u.health.mu.Unlock()
	return !u.health.checkDown && !now.Before(u.health.downUntil)
}

// Ailment says in a sentence part why the server is not believed to answer; empty where it is. It names no address.
func (u *Upstream) Ailment(now time.Time) string {
	u.health.mu.Lock()
	defer u.health.mu.Unlock()
	switch {
	case u.health.checkDown:
		return "health check: " + u.health.found
	case now.Before(u.health.downUntil) && u.health.failed == 1:
		return "the last request got no answer"
	case now.Before(u.health.downUntil):
		return fmt.Sprintf("no answer %d times in a row", u.health.failed)
	}
	return ""
}

// Succeeded notes an answer, whatever its status: the server is there.
func (u *Upstream) Succeeded() {
	u.health.mu.Lock()
	u.health.failed, u.health.downUntil = 0, time.Time{}
	u.health.mu.Unlock()
}

// Failed notes that the server could not be reached, broke off before an answer or gave none in time. What fails while the
// server is out already, as requests do that were under way together, makes the wait no longer. A client that went away is no
// failure.
func (u *Upstream) Failed(now time.Time) {
	u.failures.Add(1)
	u.health.mu.Lock()
	defer u.health.mu.Unlock()
	if now.Before(u.health.downUntil) {
		return
	}
	u.health.failed++
	penalty := min(firstPenalty<<min(u.health.failed-1, 4), maxPenalty)
	u.health.downUntil = now.Add(penalty)
}

// checkBody is how much of an answer to a check is read, so that its connection can be used again.
const checkBody = 16 << 10

// check asks the health path once. It never touches a pin.
func (u *Upstream) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Base.String()+u.Health, nil)
	if err != nil {
		return
	}
	res, err := u.transport.RoundTrip(req)
	well := err == nil && res.StatusCode < http.StatusInternalServerError
	found := "no answer"
	if err == nil {
		found = "status " + strconv.Itoa(res.StatusCode)
		_, _ = io.CopyN(io.Discard, res.Body, checkBody)
		_ = res.Body.Close()
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return // the program stops
	}
	u.health.mu.Lock()
	u.health.checkDown, u.health.found = !well, found
	u.health.mu.Unlock()
}
