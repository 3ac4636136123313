package upstream

import (
	"fmt"
	"sync"
	"time"
)

// How long a server that failed is left alone: it grows with each failure in a row, so that a server that restarts is found again
// soon and a dead one costs little.
const (
	firstPause = 2 * time.Second
	maxPause   = 30 * time.Second
)

// What opens the circuit. New sessions go elsewhere after the first request without an answer; sessions that are at home there
// only when it is no accident. A single error may be the request's own fault, so those count in a row alone.
const (
	silentOut = 3
	erredOut  = 5
	sickOut   = 2
)

// Standing is how a server stands, as its requests and checks have shown.
type Standing int

// Shaky means that a new session had better begin elsewhere; Erring and Silent, that whoever can goes elsewhere: the server has
// answered with errors again and again, or not at all.
const (
	Well Standing = iota
	Shaky
	Erring
	Silent
)

// Circuit is the state of a server's circuit breaker.
type Circuit string

// Open: the server is left alone for a while. HalfOpen: one request tries it, and the others keep away until that one knows.
const (
	Closed   Circuit = "closed"
	Open     Circuit = "open"
	HalfOpen Circuit = "half_open"
)

// proof says whether a verdict is that of the one request that tries the server.
type proof int

const (
	ordinary proof = iota
	probing
)

// circuit is what requests and checks have shown of a server.
type circuit struct {
	mu      sync.Mutex // guards the fields below
	lost    int        // requests in a row without an answer
	errors  int        // answers in a row that were errors of the server
	pauses  int        // in a row
	until   time.Time  // end of the last pause; zero while the circuit is closed
	probing bool       // one request tries it
	sick    int        // active checks in a row that failed
	found   string     // what the last one of those found
}

func (c *circuit) standing(now time.Time) Standing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standingLocked(now)
}

func (c *circuit) standingLocked(now time.Time) Standing {
	away := now.Before(c.until) || c.probing
	switch {
	case c.sick >= sickOut, away && c.lost >= silentOut:
		return Silent
	case away && c.errors >= erredOut:
		return Erring
	case away, c.sick > 0:
		return Shaky
	}
	return Well
}

func (c *circuit) state(now time.Time) Circuit {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.until.IsZero():
		return Closed
	case now.Before(c.until):
		return Open
	}
	return HalfOpen
}

// pass lets a request through unless it avoids the server as it stands. The first one after a pause is the probe.
func (c *circuit) pass(avoid func(Standing) bool, now time.Time) (probe bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if avoid != nil && avoid(c.standingLocked(now)) {
		return false, ErrAvoided
	}
	if c.until.IsZero() || now.Before(c.until) || c.probing {
		return false, nil
	}
	c.probing = true
	return true, nil
}

// unproved ends a probe that showed nothing: the next request is one.
func (c *circuit) unproved() {
	c.mu.Lock()
	c.probing = false
	c.mu.Unlock()
}

// well closes the circuit. Active checks have their own say.
func (c *circuit) well() {
	c.mu.Lock()
	c.closeLocked()
	c.lost, c.errors = 0, 0
	c.mu.Unlock()
}

func (c *circuit) closeLocked() { c.pauses, c.until, c.probing = 0, time.Time{}, false }

// silent notes a request without an answer.
func (c *circuit) silent(now time.Time, p proof) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost++
	c.pauseLocked(now, p)
}

// erred notes an answer that is an error of the server: it is there, but not well.
func (c *circuit) erred(now time.Time, p proof) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = 0
	if c.errors++; c.errors < erredOut {
		c.closeLocked()
		return
	}
	c.pauseLocked(now, p)
}

// pauseLocked begins a pause. What fails while one lasts, as requests do that were under way together, makes it no longer.
func (c *circuit) pauseLocked(now time.Time, p proof) {
	if p == ordinary && (now.Before(c.until) || c.probing) {
		return
	}
	c.pauses++
	c.until, c.probing = now.Add(min(firstPause<<min(c.pauses-1, 4), maxPause)), false
}

// checked notes what an active check found; empty where the server is well.
func (c *circuit) checked(found string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found = found
	if found == "" {
		c.sick = 0
	} else {
		c.sick++
	}
}

// ailment says in a sentence part why the server is not believed to answer; empty where it is.
func (c *circuit) ailment(now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	away := now.Before(c.until) || c.probing
	switch {
	case c.sick > 0:
		return "health check: " + c.found
	case !away:
	case c.lost == 1:
		return "the last request got no answer"
	case c.lost > 1:
		return fmt.Sprintf("no answer %d times in a row", c.lost)
	default:
		return fmt.Sprintf("%d errors in a row", c.errors)
	}
	return ""
}
