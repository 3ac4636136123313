package serve

import (
	"net/http"
	"strings"
	"time"
)

const (
	// stride is how much of an answer a client must take within StallTimeout: less than any client that still reads.
	stride = 16 << 10
	// renewals is how often within StallTimeout a write deadline is renewed at most.
	renewals = 12
)

// answer is a ResponseWriter that counts, and that has the last word on the headers that no handler decides.
type answer struct {
	http.ResponseWriter
	id      string
	status  int // 0 while no header went out
	bytes   int64
	patient patience
	unread  func() // bounds the reading of a body that the handler left alone; nil where there is none
	guarded bool   // the fields below count
	grant   grant
	minimal bool
}

func (s *Server) newAnswer(w http.ResponseWriter) *answer {
	return &answer{ResponseWriter: w, patient: patience{rc: http.NewResponseController(w), now: s.opts.Now, limit: s.opts.StallTimeout}}
}

// patience bounds the wait for a client that takes nothing more of its answer: a write then fails as if it had gone away.
// net/http takes the deadline off the connection once the answer is out.
type patience struct {
	rc      *http.ResponseController
	now     func() time.Time
	limit   time.Duration
	renewed time.Time
}

// renew gives the client its time for what is written next.
func (p *patience) renew() {
	now := p.now()
	if now.Sub(p.renewed) < p.limit/renewals {
		return
	}
	p.renewed = now
	_ = p.rc.SetWriteDeadline(now.Add(p.limit)) // a writer without one has no client to wait for
}

// Unwrap lets http.ResponseController reach deadlines and Hijack.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader sends the header; informational ones do not count as the answer.
func (a *answer) WriteHeader(status int) {
	a.patient.renew()
	if status >= 200 || status == http.StatusSwitchingProtocols {
		if a.status != 0 {
			return // the first one stands
		}
		a.status = status
		a.finish()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends the header where that has not happened, and part of the body.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	n := 0
	for {
		a.patient.renew()
		took, err := a.ResponseWriter.Write(p[n:min(len(p), n+stride)])
		n += took
		a.bytes += int64(took)
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// FlushError sends what was written so far, as http.ResponseController asks for it.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	a.patient.renew()
	return a.patient.rc.Flush()
}

// Flush is FlushError for handlers that know http.Flusher only.
func (a *answer) Flush() { _ = a.FlushError() }

// finish settles the headers that are the same for all answers.
func (a *answer) finish() {
	h := a.Header()
	if h.Get("X-Request-Id") == "" { // an upstream's own one is what its support asks for
		h.Set("X-Request-Id", a.id)
	}
	a.boundUnread()
	if !a.guarded {
		return
	}
	a.grant.set(h)
	if !a.minimal {
		return
	}
	for name := range h {
		if strings.HasPrefix(name, "X-Mooring-") {
			delete(h, name)
		}
	}
}

// boundUnread keeps a refusal from waiting for a stalled client: net/http reads on in an unread body before it sends the
// header. Where the body itself was the trouble, ReadRaw has left a deadline that is closer.
func (a *answer) boundUnread() {
	if a.unread == nil || a.status < http.StatusBadRequest ||
		a.status == http.StatusRequestTimeout || a.status == http.StatusRequestEntityTooLarge {
		return
	}
	a.unread()
}
