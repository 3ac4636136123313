package serve

import (
	"net/http"
	"net/url"
	"strings"

	"mooring"
	"mooring/internal/signin"
)

// checkOrigin refuses a request that changes something and was sent by a page of another origin. http.CrossOriginProtection
// does not fit: it believes Sec-Fetch-Site over Origin, compares hosts only and looks at one of several Origin headers.
func (rs *ruleset) checkOrigin(r *http.Request) error {
	if reads(r.Method) {
		return nil
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 && strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return errForeign()
	}
	for _, origin := range origins {
		if !rs.ownOrigin(r, origin) && rs.allowOrigin(r, origin) == "" {
			return errForeign()
		}
	}
	return nil
}

func errForeign() error {
	return mooring.Errorf(mooring.CodeOriginForbidden,
		"Pages of this origin may not call this server; list the origin under cors.origins in the configuration.")
}

// allowOrigin is the value of Access-Control-Allow-Origin for a page of that origin; empty where it is allowed nothing.
func (rs *ruleset) allowOrigin(r *http.Request, origin string) string {
	if canonical, ok := canonicalOrigin(origin); ok && rs.origins[canonical] {
		return origin
	}
	if rs.anyOrigin && r.URL.Path != "/api" && !strings.HasPrefix(r.URL.Path, "/api/") {
		return "*"
	}
	return ""
}

// reads says that the method changes nothing.
func reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// ownOrigin says that the page came from this very server: scheme, name and port.
func (rs *ruleset) ownOrigin(r *http.Request, origin string) bool {
	theirs, ok := canonicalOrigin(origin)
	if !ok {
		return false
	}
	if r.TLS == nil && theirs == originAt("http", r.Host) {
		return true
	}
	return (r.TLS != nil || rs.behindTLS(r)) && theirs == originAt("https", r.Host)
}

func originAt(scheme, host string) string {
	origin, _ := canonicalOrigin(scheme + "://" + host)
	return origin
}

// behindTLS says that a TLS proxy may stand between the browser and this plain connection: under a name of the configuration,
// never under an address of this machine. No header is asked for that, since any client can send one.
func (rs *ruleset) behindTLS(r *http.Request) bool {
	host, ok := parseHost(r.Host)
	return ok && !host.loopback() && (rs.anyHost || rs.lists(host))
}

// transport says that the request's page came over TLS, where that is sure: by the connection, or by the origin that the browser
// names and that is this server's own.
func (rs *ruleset) transport(r *http.Request) signin.Transport {
	if r.TLS != nil {
		return signin.TLS
	}
	for _, origin := range r.Header.Values("Origin") {
		scheme, _, _ := strings.Cut(origin, ":")
		if strings.EqualFold(scheme, "https") && rs.ownOrigin(r, origin) {
			return signin.TLS
		}
	}
	return signin.Unknown
}

// foreign says that a browser has sent the request for a page of another origin, or may have.
func (rs *ruleset) foreign(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		if !rs.ownOrigin(r, origin) {
			return true
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		typed := strings.EqualFold(site, "none") && reads(r.Method) // into the address bar, or a bookmark
		if !typed && !strings.EqualFold(site, "same-origin") {
			return true
		}
	}
	return false
}

// sameOrigin says that the pages' cookie may count: nothing says that the request came from elsewhere, and one that changes
// something says that it came from here. Every browser says so.
func (rs *ruleset) sameOrigin(r *http.Request) bool {
	if rs.foreign(r) {
		return false
	}
	return reads(r.Method) || len(r.Header.Values("Origin")) > 0 || len(r.Header.Values("Sec-Fetch-Site")) > 0
}

// canonicalOrigin writes scheme and name in lower case and leaves out the scheme's own port. "null" is no origin.
func canonicalOrigin(origin string) (string, bool) {
	scheme, rest, ok := strings.Cut(origin, "://")
	if !ok || scheme == "" {
		return "", false
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host != rest || u.User != nil {
		return "", false
	}
	host, ok := parseHost(rest)
	if !ok {
		return "", false
	}
	scheme = strings.ToLower(scheme)
	if (scheme == "http" && host.port == "80") || (scheme == "https" && host.port == "443") {
		host.port = ""
	}
	return scheme + "://" + host.String(), true
}
