package serve

import (
	"net/http"
	"net/url"
	"strings"

	"mooring"
)

// checkOrigin refuses a request that changes something and was sent by a page of another origin. http.CrossOriginProtection
// does not fit: it believes Sec-Fetch-Site over Origin, compares hosts only and looks at one of several Origin headers.
func (rs *ruleset) checkOrigin(r *http.Request) error {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return nil
	}
	origins := r.Header.Values("Origin")
	if len(origins) == 0 && strings.EqualFold(r.Header.Get("Sec-Fetch-Site"), "cross-site") {
		return errForeign()
	}
	for _, origin := range origins {
		if !ownOrigin(r, origin) && rs.allowOrigin(r, origin) == "" {
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

// ownOrigin says that the page came from this very server: scheme, name and port.
func ownOrigin(r *http.Request, origin string) bool {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	own, ok := canonicalOrigin(scheme + "://" + r.Host)
	if !ok {
		return false
	}
	theirs, ok := canonicalOrigin(origin)
	return ok && own == theirs
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
