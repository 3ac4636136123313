package turn

import (
	"net/http"
	"time"
)

// traced is the request's header with the trace that an attempt belongs to, for an upstream that traces too. A client's own trace goes
// up as it was sent; where nobody traces the header stays the client's.
func (t *running) traced(attempt time.Time) http.Header {
	if t.Trace == nil || len(t.req.Header["Traceparent"]) > 0 {
		return t.req.Header
	}
	h := t.req.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Traceparent", t.Trace(t.turn.ID, attempt))
	return h
}
