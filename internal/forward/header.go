package forward

import (
	"net/http"
	"net/textproto"
	"strings"

	"mooring"
	"mooring/internal/upstream"
)

// hopByHop are the headers of one connection (RFC 9110, 7.6.1, and what proxies are known to send beside them).
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Authentication-Info", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Http2-Settings":
		return true
	}
	return false
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
		if !own[name] && !hopByHop(name) && !ours(name) && !sets(c.Upstream, name) {
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
	return out
}

// ours are the request headers that end here: Mooring's own, the credentials, and what belongs to the bytes of this connection.
func ours(name string) bool {
	switch name {
	case "Authorization", "X-Api-Key", "Content-Length", "Accept-Encoding", "Expect", "Host":
		return true
	}
	return strings.HasPrefix(canonical(name), "x-mooring-")
}

// canonical is a header name in lower case with hyphens: servers behind some gateways do not tell "_" from "-".
func canonical(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// sets says whether Mooring alone decides what an upstream gets under this name: the session headers configured for it, and
// towards a server with state of its own every generic one.
func sets(u *upstream.Upstream, name string) bool {
	if len(u.SessionHeaders) == 0 && !u.Remote {
		return false
	}
	low := canonical(name)
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

// responseHeader is the upstream's header as the client may see it: without the connection's own, without names that are
// Mooring's to set, without cookies (they would join strangers behind one gateway) and without what speaks for another origin.
func responseHeader(h http.Header) http.Header {
	own := listed(h)
	out := make(http.Header, len(h)+8)
	for name, values := range h {
		if !own[name] && !hopByHop(name) && !withheld(name) {
			out[name] = values
		}
	}
	return out
}

func withheld(name string) bool {
	switch name {
	case "Content-Length", "Content-Encoding", "X-Session-Id", "X-Hermes-Session-Id", "X-Claude-Session-Id", "Set-Cookie", "Set-Cookie2", "Alt-Svc",
		"Strict-Transport-Security", "Location":
		return true
	}
	low := canonical(name)
	return strings.HasPrefix(low, "x-mooring-") || strings.HasPrefix(low, "access-control-")
}
