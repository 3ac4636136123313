package serve

import (
	"net/http"
	"slices"
	"strings"
)

// exposed are the headers of an answer that a page may read: those of CONTRACT 3.1, those that name a chat of the workspace, and what
// goes with errors.
const exposed = "X-Session-Id, X-Hermes-Session-Id, X-Mooring-Session, X-Mooring-Turn, X-Mooring-Kind, X-Mooring-Parent, " +
	"X-Mooring-Identity, X-Mooring-Upstream, X-Mooring-Error, X-Hermes-Session-Key, X-Hermes-Friendly-Id, Retry-After, X-Request-Id"

const preflightMethods = "GET, POST, PATCH, DELETE, OPTIONS"

// preflightAge is how long a browser may remember a preflight's answer, in seconds; a reload of the rules counts by then.
const preflightAge = "600"

// grant is what a page of another origin may do with an answer. The zero value is nothing.
type grant struct {
	origin    string // as Access-Control-Allow-Origin says it
	preflight bool   // the answer is a preflight's
	headers   string // that a preflight allows
}

// grantTo looks at the one Origin header that a browser sends; of several none is believed.
func (rs *ruleset) grantTo(r *http.Request) grant {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return grant{}
	}
	return grant{origin: rs.allowOrigin(r, origins[0])}
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowedHeaders are those of the asked-for headers that a page may send.
func (s *Server) allowedHeaders(r *http.Request) string {
	session := s.opts.SessionHeaders()
	var allowed []string
	for _, line := range r.Header.Values("Access-Control-Request-Headers") {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			same := func(h string) bool { return strings.EqualFold(h, name) }
			if sendable(name) || slices.ContainsFunc(session, same) {
				allowed = append(allowed, name)
			}
		}
	}
	return strings.Join(allowed, ", ")
}

// sendable says that a page may send the header, whose name is in lower case, on any request.
func sendable(name string) bool {
	switch name {
	case "accept", "content-type", "authorization", "x-api-key", "x-mooring-key", "idempotency-key", "last-event-id":
		return true
	}
	for _, family := range []string{"anthropic-", "openai-", "x-stainless-"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

// set writes the grant in place of whatever an upstream or a handler said.
func (g grant) set(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			delete(h, name)
		}
	}
	// Also without a grant: whether there is one depends on the Origin.
	if !slices.ContainsFunc(h.Values("Vary"), func(v string) bool { return strings.EqualFold(v, "Origin") }) {
		h.Add("Vary", "Origin")
	}
	if g.origin == "" {
		return
	}
	h.Set("Access-Control-Allow-Origin", g.origin)
	h.Set("Access-Control-Expose-Headers", exposed)
	if g.preflight {
		g.setPreflight(h)
	}
}

// setPreflight writes what a preflight is told beside the grant.
func (g grant) setPreflight(h http.Header) {
	h.Set("Access-Control-Allow-Methods", preflightMethods)
	h.Set("Access-Control-Max-Age", preflightAge)
	if g.headers != "" {
		h.Set("Access-Control-Allow-Headers", g.headers)
	}
}
