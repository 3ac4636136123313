package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"mooring"
	"mooring/internal/problem"
)

// heartbeat is how often a stream without events shows that it lives, and how long one of a key that was revoked goes on.
const heartbeat = 15 * time.Second

// events streams what happens to the sessions of the caller's tenant.
func (a *API) events(w http.ResponseWriter, r *http.Request) {
	caller, err := a.o.Caller(r)
	if err != nil {
		problem.Write(w, mooring.API, err)
		return
	}
	l, err := a.o.Hub.listen(r.Context(), caller.Tenant, r.Header.Get("Last-Event-ID"))
	if err != nil {
		problem.Write(w, mooring.API, err)
		return
	}
	defer l.leave()
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // nginx would hold the events back
	s := &stream{listener: l, w: w, valid: func() bool {
		now, err := a.o.Caller(r)
		return err == nil && now.Tenant == caller.Tenant
	}}
	s.open()
	if r.Method != http.MethodHead {
		s.run(r.Context(), a.o.Draining)
	}
}

// stream is one client's view of a tenant's events.
type stream struct {
	*listener
	w     http.ResponseWriter
	out   bytes.Buffer
	valid func() bool // its key is still one
	err   error       // of the last write: the client is gone
}

// open writes the header. The comment sends it on its way, the number without an event lets a client that loses the connection before
// the first one ask for what it missed.
func (s *stream) open() {
	fmt.Fprintf(&s.out, ": events\nid: %d\n\n", s.at)
	s.flush()
}

// run writes events as they come, until the client, its key or the server goes.
func (s *stream) run(ctx context.Context, draining <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for s.err == nil {
		select {
		case <-s.tell(ctx):
		case <-beat.C:
			if !s.valid() {
				return
			}
			s.out.WriteString(":\n\n")
			s.flush()
		case <-draining:
			return
		case <-ctx.Done():
			return
		}
	}
}

// tell writes what there is to tell, and gives a channel that is closed when there is more.
func (s *stream) tell(ctx context.Context) <-chan struct{} {
	s.reset() // before it goes on, so that its number is not that of an event to come
	events, more := s.next(ctx)
	s.reset()
	for _, e := range events {
		s.event(e)
	}
	s.flush()
	return more
}

// reset tells a client that lacks events to read everything anew; what follows its number is told.
func (s *stream) reset() {
	if s.lost {
		fmt.Fprintf(&s.out, "id: %d\nevent: reset\ndata: {}\n\n", s.at)
		s.lost = false
	}
}

// eventView is what an event holds: ids, and whether the session is gone.
type eventView struct {
	Session mooring.SessionID `json:"session_id"`
	Turn    mooring.TurnID    `json:"turn_id,omitempty"`
	Deleted bool              `json:"deleted,omitempty"`
}

func (s *stream) event(e mooring.Event) {
	data, _ := json.Marshal(eventView{Session: e.Session, Turn: e.Turn, Deleted: e.Kind == mooring.SessionDeleted}) // nothing in it can fail
	fmt.Fprintf(&s.out, "id: %d\nevent: %s\ndata: %s\n\n", e.Number, nameOf(e.Kind), data)
}

func nameOf(k mooring.EventKind) string {
	switch k {
	case mooring.TurnStarted:
		return "turn.started"
	case mooring.TurnFinished:
		return "turn.finished"
	case mooring.SessionUpdated, mooring.SessionDeleted:
	}
	return "session.updated"
}

// flush sends what was written.
func (s *stream) flush() {
	if s.out.Len() == 0 || s.err != nil {
		return
	}
	if _, s.err = s.w.Write(s.out.Bytes()); s.err == nil {
		s.err = http.NewResponseController(s.w).Flush()
	}
	s.out.Reset()
}
