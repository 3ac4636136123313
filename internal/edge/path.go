package edge

import (
	"net/http"
	"strings"
)

const (
	maxPath   = 2048
	maxQuery  = 8 << 10
	maxParams = 1000
)

// canonical splits a request's target into path and query, byte for byte, and refuses a path that the edge and a slot could read
// differently: Python's http.server folds slashes and splits `;` off.
func canonical(r *http.Request) (path, query string, err error) {
	if strings.IndexByte(r.RequestURI, '#') >= 0 {
		return "", "", badRequest("This address cannot be used.")
	}
	path, query, _ = strings.Cut(r.RequestURI, "?")
	if !plainPath(path) || r.URL.EscapedPath() != path {
		return "", "", badRequest("This address cannot be used.")
	}
	if len(query) > maxQuery || strings.Count(query, "&") >= maxParams {
		refused := badRequest("This address is too long.")
		refused.status = http.StatusRequestURITooLong
		return "", "", refused
	}
	if !plainQuery(query) {
		return "", "", badRequest("This address cannot be used.")
	}
	return path, query, nil
}

// plainPath says whether a path means the same to everybody. What needs no escape must not be escaped, and what separates must not
// be hidden in an escape.
func plainPath(path string) bool {
	if path == "" || path[0] != '/' || len(path) > maxPath || strings.Contains(path, "//") || strings.Contains(path, "..") {
		return false
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7f || c == ';' || c == '\\':
			return false
		case c == '%':
			b, ok := unhex(path[i+1:])
			if !ok || !strings.ContainsRune(" \"<>[]^`{|}", rune(b)) {
				return false
			}
			i += 2
		}
	}
	for segment := range strings.SplitSeq(path[1:], "/") {
		if segment == "." {
			return false
		}
	}
	return true
}

// plainQuery says whether a query has one meaning: `;` separates for some, and a bad escape makes others drop a parameter.
func plainQuery(query string) bool {
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c <= ' ' || c >= 0x7f || c == ';' || c == '\\':
			return false
		case c == '%':
			if _, ok := unhex(query[i+1:]); !ok {
				return false
			}
		}
	}
	return true
}

// unhex reads the two digits of an escape.
func unhex(s string) (byte, bool) {
	if len(s) < 2 {
		return 0, false
	}
	hi, lo := strings.IndexByte(hexDigits, lower(s[0])), strings.IndexByte(hexDigits, lower(s[1]))
	return byte(hi<<4 | lo), hi >= 0 && lo >= 0 //nolint:gosec // two digits
}

const hexDigits = "0123456789abcdef"

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// class is what kind of route a path is; it stands in logs and metrics instead of the path.
type class string

const (
	classPage   class = "page"
	classAPI    class = "api"
	classStatic class = "static" // never a page, whatever it is served as
	classLogin  class = "login"
	classOwn    class = "own"
)

func classOf(path string) class {
	switch {
	case strings.HasPrefix(path, "/api/"):
		return classAPI
	case strings.HasPrefix(path, "/oauth2/"), path == "/oauth2":
		return classLogin
	case strings.HasPrefix(path, "/.mooring/"), path == "/.mooring":
		return classOwn
	case path == "/sw.js", path == "/favicon.ico", path == "/robots.txt", path == "/manifest.json", path == "/session/manifest.json":
		return classStatic
	}
	for _, prefix := range []string{"/static/", "/session/static/", "/extensions/", "/plugins/", "/dashboard-plugins/"} {
		if strings.HasPrefix(path, prefix) {
			return classStatic
		}
	}
	return classPage
}

// navigates says that a request is, as far as its headers tell, a person opening a page, and not a part of one.
func navigates(r *http.Request) bool {
	mode, dest := r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	return (mode == "" || mode == "navigate") && (dest == "" || dest == "document")
}

// claims says whether a request may give its tenant a slot: somebody has to want it now.
func claims(r *http.Request, c class) bool {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" || r.Header.Get("Purpose") != "" {
		return false
	}
	return c == classAPI || c == classPage && navigates(r)
}

// denied says that a path of the web UI is not for anybody behind an edge: the web UI takes every caller for somebody at its own
// machine (hermes-webui api/routes.py at df65251d and its advisories), or it is public there.
func denied(path string, open []string) bool {
	path = strings.ToLower(path)
	for _, o := range open {
		if under(path, strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(o, "*"), "/"))) {
			return false
		}
	}
	for _, d := range []string{
		"/api/shutdown", "/api/health/restart", "/api/onboarding", "/api/updates/apply", "/api/updates/force", "/api/updates/clear_lock",
		"/api/auth/login", "/api/auth/oidc", "/api/auth/passkey", "/api/approval/inject_test", "/api/clarify/inject_test", "/api/admin/reload",
		"/api/extensions/install", "/api/terminal", "/api/gateway/start", "/api/gateway/stop", "/api/gateway/restart", "/share", "/api/share", "/login",
	} {
		if under(path, d) {
			return true
		}
	}
	return false
}

func under(path, parent string) bool {
	rest, ok := strings.CutPrefix(path, parent)
	return ok && (rest == "" || rest[0] == '/')
}

// safeReturn is where a login leads back to: a path of this host, else the first page.
func safeReturn(rd string) string {
	if once, ok := unescapeOnce(rd); !ok || !localPath(rd) || !localPath(once) {
		return "/"
	}
	return rd
}

func localPath(p string) bool {
	if p == "" || p[0] != '/' || len(p) > maxPath || strings.Contains(p, "//") || strings.Contains(p, "\\") || strings.Contains(p, "/./") ||
		strings.Contains(p, "..") || under(p, "/oauth2") || strings.HasSuffix(p, "/.") {
		return false
	}
	return strings.IndexFunc(p, func(c rune) bool { return c < 0x21 || c == 0x7f }) < 0
}

func unescapeOnce(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		c, ok := unhex(s[i+1:])
		if !ok {
			return "", false
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), true
}
