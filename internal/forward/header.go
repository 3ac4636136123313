package forward

import (
	"net/http"
	"net/textproto"
	"strings"
	"unicode"

	"mooring"
	"mooring/internal/upstream"
)

// The names in the tables below are canonical ones.

// hopByHop are the headers of one connection (RFC 9110, 7.6.1, and what proxies are known to send beside them).
func hopByHop(name string) bool {
	switch name {
	case "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "proxy":
		return true
	}
	return strings.HasPrefix(name, "proxy-")
}

// endsHere are the request headers that do not go upstream, besides those of the connection.
func endsHere(name string) bool {
	switch name {
	case "content-length", "accept-encoding", "expect", "host": // they belong to the bytes of this connection; the next has its own
		return true
	case "authorization", "x-api-key", "api-key", "x-goog-api-key": // a credential goes only where credential puts it
		return true
	case "cookie", "cookie2": // one for this server, or for all that share its name
		return true
	}
	return strings.HasPrefix(name, "x-mooring-") || strings.HasPrefix(name, "authorization-")
}

// withheld are the response headers that a client does not get, besides those of the connection.
func withheld(name string) bool {
	switch name {
	case "content-length", "content-encoding": // they belong to the bytes as they came
		return true
	case "x-session-id", "x-hermes-session-id", "x-claude-session-id": // Mooring sets them
		return true
	case "location", "refresh": // they would lead the client past Mooring
		return true
	case "alt-svc", "strict-transport-security", "public-key-pins", "public-key-pins-report-only", "expect-ct": // a host says them of itself
		return true
	case "clear-site-data", "service-worker-allowed", "content-security-policy", "content-security-policy-report-only", "accept-ch": // so does an origin
		return true
	case "nel", "report-to", "reporting-endpoints": // they would have browsers report Mooring's traffic to others
		return true
	}
	return strings.HasPrefix(name, "x-mooring-") || strings.HasPrefix(name, "access-control-") || // Mooring sets them
		strings.HasPrefix(name, "set-cookie") // they would join strangers behind one gateway
}

// listed are the names that a Connection header adds to the hop-by-hop ones.
func listed(h http.Header) map[string]bool {
	var out map[string]bool
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			if name = textproto.TrimString(name); name != "" {
				if out == nil {
					out = map[string]bool{}
				}
				out[http.CanonicalHeaderKey(name)] = true
			}
		}
	}
	return out
}

// requestHeader is the client's header as the upstream gets it.
func requestHeader(c Call) http.Header {
	own := listed(c.Header)
	out := make(http.Header, len(c.Header)+len(c.Upstream.SessionHeaders)+2)
	for name, values := range c.Header {
		if low := canonical(name); !own[name] && !hopByHop(low) && !endsHere(low) && !sets(c.Upstream, low) {
			out[name] = values
		}
	}
	out["Accept-Encoding"] = acceptEncoding(c.Header["Accept-Encoding"])
	if _, ok := out["User-Agent"]; !ok {
		out["User-Agent"] = []string{""} // net/http would put its own name there
	}
	credential(out, c)
	for name, value := range c.Upstream.Headers {
		out.Set(name, value)
	}
	if c.Remote != "" {
		for _, name := range c.Upstream.SessionHeaders {
			out.Set(name, c.Remote)
		}
	}
	hideReplayable(out)
	return out
}

// hideReplayable spells the headers so that net/http does not see them: it would send a request that has one a second time by
// itself where a kept connection breaks, and a turn would run twice behind its record. Servers do not tell case apart.
func hideReplayable(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// canonical is a header name in lower case with hyphens: servers behind some gateways do not tell "_" and "." from "-".
func canonical(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '.':
			return '-'
		}
		return unicode.ToLower(r)
	}, name)
}

// sets says whether Mooring alone decides what an upstream gets under this name: the headers and session headers configured for
// it, and towards a server with state of its own every generic session header.
func sets(u *upstream.Upstream, low string) bool {
	for name := range u.Headers {
		if canonical(name) == low {
			return true
		}
	}
	for _, s := range u.SessionHeaders {
		if canonical(s) == low {
			return true
		}
	}
	if !u.Remote {
		return false
	}
	switch low {
	case "x-session-id", "x-hermes-session-id", "x-claude-session-id", "x-conversation-id", "x-chat-id", "x-thread-id":
		return true
	}
	return false
}

// credential puts in the one credential that the upstream is to get.
func credential(out http.Header, c Call) {
	switch c.Upstream.KeyMode {
	case upstream.KeyNone:
	case upstream.KeyClient:
		if c.Own.Authorization != "" {
			out.Set("Authorization", c.Own.Authorization.Reveal())
		}
		if c.Own.APIKey != "" {
			out.Set("X-Api-Key", c.Own.APIKey.Reveal())
		}
	case upstream.KeyOwn:
		if c.Account.Key == "" {
			return
		}
		if c.Protocol == mooring.Messages {
			out.Set("X-Api-Key", c.Account.Key.Reveal())
		} else {
			out.Set("Authorization", "Bearer "+c.Account.Key.Reveal())
		}
	}
}

// responseHeader is the upstream's header as the client may see it: without the connection's own and what is withheld.
func responseHeader(h http.Header) http.Header {
	own := listed(h)
	out := make(http.Header, len(h)+8)
	for name, values := range h {
		if low := canonical(name); !own[name] && !hopByHop(low) && !withheld(low) {
			out[name] = values
		}
	}
	return out
}
