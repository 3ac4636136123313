package relay

import (
	"maps"
	"net/http"
	"strconv"
	"strings"

	"mooring"
	"mooring/internal/turn"
)

// sink writes a turn's answer to an HTTP client.
type sink struct {
	w       http.ResponseWriter
	flush   *http.ResponseController
	minimal bool
	stream  bool
	begun   bool
}

func newSink(w http.ResponseWriter, minimal bool) *sink {
	return &sink{w: w, flush: http.NewResponseController(w), minimal: minimal}
}

// About puts what is known of the turn into the response headers.
func (s *sink) About(a turn.About) {
	h := s.w.Header()
	if a.ClientID != "" {
		h["X-Session-Id"] = []string{a.ClientID}
		h["X-Hermes-Session-Id"] = []string{a.ClientID}
	}
	if s.minimal {
		return
	}
	if a.Session == "" {
		h["X-Mooring-Upstream"] = []string{upstreamOf(a)}
		return
	}
	h["X-Mooring-Session"] = []string{string(a.Session)}
	if a.Turn != "" {
		h["X-Mooring-Turn"] = []string{string(a.Turn)}
	}
	h["X-Mooring-Kind"] = []string{string(a.Kind)}
	h["X-Mooring-Identity"] = []string{a.Identity}
	h["X-Mooring-Upstream"] = []string{upstreamOf(a)}
	if a.Parent != "" {
		h["X-Mooring-Parent"] = []string{string(a.Parent)}
	}
}

func upstreamOf(a turn.About) string {
	switch {
	case a.Upstream == "":
		return "none"
	case a.Pin == "", a.Pin == mooring.PinSpill: // no pin is kept
		return string(a.Upstream)
	}
	return string(a.Upstream) + "; pin=" + string(a.Pin)
}

// Head sends the response header.
func (s *sink) Head(head turn.Head) error {
	h := s.w.Header()
	maps.Copy(h, head.Header)
	s.begun = true
	if head.Length < 0 {
		s.stream = true
		if strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
			h["Cache-Control"] = []string{"no-cache"}
			h["X-Accel-Buffering"] = []string{"no"} // nginx would hold the events back
		}
		h.Del("Content-Length")
		s.w.WriteHeader(head.Status)
		return s.flush.Flush()
	}
	h["Content-Length"] = []string{strconv.Itoa(head.Length)}
	s.w.WriteHeader(head.Status)
	return nil
}

// Write sends bytes, at once where they are a stream's.
func (s *sink) Write(held, fresh []byte) error {
	for _, p := range [2][]byte{held, fresh} {
		if len(p) == 0 {
			continue
		}
		if _, err := s.w.Write(p); err != nil {
			return err
		}
	}
	if s.stream {
		return s.flush.Flush()
	}
	return nil
}

// Trailer sends what came behind the upstream's body.
func (s *sink) Trailer(t http.Header) {
	for name, values := range t {
		s.w.Header()[http.TrailerPrefix+name] = values
	}
}
