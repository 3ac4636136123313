package edge

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
)

// allowed are the request's headers that a slot gets to see; all others are dropped, in whatever spelling they came.
func allowed(name string) bool {
	switch name {
	case "Accept", "Accept-Language", "Content-Type", "Origin", "Referer", "User-Agent", "X-Hermes-Csrf-Token", "X-Csrf-Token", "Last-Event-Id",
		"Cache-Control", "Dnt", "Priority", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Sec-Fetch-Site", "Sec-Fetch-User":
		return true
	}
	return false
}

// conditional headers reach file routes alone: pages and API answers are personal, and pages are changed on the way.
func conditional(name string) bool {
	switch name {
	case "Range", "If-Range", "If-None-Match", "If-Modified-Since":
		return true
	}
	return false
}

// maxHeaders are lines of one request to a slot; Python's http.server takes a hundred.
const maxHeaders = 48

// outbound builds a request's header from nothing.
func (e *Edge) outbound(r *http.Request, v *visit) http.Header {
	h := http.Header{}
	files := v.class == classStatic || fileRoute(v.path)
	for name, values := range r.Header {
		if (allowed(name) || files && conditional(name)) && len(h) < maxHeaders {
			h[name] = values[:1]
		}
	}
	h.Set(e.set.IdentityHeader, string(v.key))
	h.Set("X-Forwarded-Proto", "https")
	h.Set("X-Forwarded-Host", e.set.Host)
	h.Set("X-Request-Id", v.id)
	if _, has := h["User-Agent"]; !has {
		h["User-Agent"] = []string{""} // or net/http names itself
	}
	if gzipTaken(r, v) {
		h.Set("Accept-Encoding", "gzip")
	}
	var pairs []string
	for i, value := range v.forward {
		if value != "" {
			pairs = append(pairs, e.set.Cookies[i]+"="+value)
		}
	}
	if len(pairs) > 0 {
		h.Set("Cookie", strings.Join(pairs, "; "))
	}
	return h
}

// gzipTaken says whether the slot may answer in gzip: not where the edge reads the answer, nor where the client could not.
func gzipTaken(r *http.Request, v *visit) bool {
	if v.class == classPage || v.path == snapshotPath || wantsStream(r) {
		return false
	}
	for coding := range strings.SplitSeq(strings.Join(r.Header["Accept-Encoding"], ","), ",") {
		name, q, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") && strings.TrimSpace(q) != "q=0" {
			return true
		}
	}
	return false
}

// fileRoute says that a route of the API serves files, for which ranges and conditions mean something.
func fileRoute(path string) bool {
	switch path {
	case "/api/file/raw", "/api/media", "/api/escape/file/raw":
		return true
	}
	return false
}

func wantsStream(r *http.Request) bool {
	return strings.Contains(strings.ToLower(r.Header.Get("Accept")), "text/event-stream")
}

// withheld are headers of a slot's answer that do not reach the browser: they speak for the whole host, of identities, or of the
// connection.
func withheld(name, path string) bool {
	switch name {
	case "Server", "Date", "Alt-Svc", "Clear-Site-Data", "Refresh", "Report-To", "Nel", "Www-Authenticate", "Strict-Transport-Security", "Set-Cookie",
		"Set-Cookie2", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Location", "Content-Length", "Via", "Forwarded":
		return true
	case "Service-Worker-Allowed":
		return path != "/sw.js"
	}
	folded := strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
	for _, prefix := range []string{"gap-", "x-hermes-tenant-", "x-forwarded-", "access-control-", "x-mooring-", "x-auth-request-"} {
		if strings.HasPrefix(folded, prefix) {
			return true
		}
	}
	return false
}

// inbound builds an answer's header from a slot's.
func (e *Edge) inbound(h http.Header, v *visit, res *http.Response) {
	for name, values := range res.Header {
		if !withheld(name, v.path) {
			h[name] = values
		}
	}
	if !e.set.Plain {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if to := res.Header.Get("Location"); to != "" {
		if safe := e.location(to, v); safe != "" {
			h.Set("Location", safe)
		}
	}
	if v.class == classAPI || isHTML(res) {
		h.Set("Cache-Control", "no-store, private")
		h.Add("Vary", "Cookie")
	} else {
		h.Set("Cache-Control", private(strings.Join(res.Header["Cache-Control"], ", ")))
	}
	if e.set.Continuity && v.path == snapshotPath {
		h.Set(pageHeader, e.pageMark(v.key))
	}
	if v.early {
		// A tab from before the login asks while the first page is on its way: it names the page that it is, and has no cookie of one. The web
		// UI gives each of the two a session of its own, and a page can do nothing with any but the one that it came with (hermes-webui
		// api/routes.py at df65251d, _check_csrf).
		return
	}
	for _, line := range setCookies(e.set.Cookies, res.Header["Set-Cookie"], v.stale) {
		h.Add("Set-Cookie", line)
	}
	e.bind(h, v)
}

// bind gives the browser the cookie that its slot is known by. Who comes after somebody else in one browser finds nothing of theirs.
func (e *Edge) bind(h http.Header, v *visit) {
	if v.bound {
		return
	}
	h.Add("Set-Cookie", bake(bindingName, v.binding, bindingAge))
	if v.class == classPage && v.changed {
		h.Set("Clear-Site-Data", `"cache", "storage"`)
	}
}

// private takes shared caches out of a file's Cache-Control: tenants have one address space and different files.
func private(control string) string {
	out := []string{"private"}
	for part := range strings.SplitSeq(control, ",") {
		part = strings.TrimSpace(part)
		switch name, _, _ := strings.Cut(strings.ToLower(part), "="); name {
		case "", "public", "private", "s-maxage", "proxy-revalidate":
		default:
			out = append(out, part)
		}
	}
	return strings.Join(out, ", ")
}

// location lets a redirect lead to this host only; one to the web UI's own login leads to the edge's. "" for anything else.
func (e *Edge) location(to string, v *visit) string {
	u, err := url.Parse(to)
	if err != nil || strings.ContainsAny(to, "\\\t\r\n") || u.Opaque != "" || u.User != nil {
		return ""
	}
	local := to
	if u.Host != "" || u.Scheme != "" {
		own := u.Scheme+"://"+u.Host == e.set.Origin
		if !own && (u.Host != v.slot.url.Host || u.Scheme != v.slot.url.Scheme) {
			return ""
		}
		u.Scheme, u.Host = "", ""
		if u.Path == "" {
			u.Path = "/"
		}
		local = u.String()
	}
	if strings.TrimPrefix(u.Path[strings.LastIndexByte(u.Path, '/')+1:], "/") == "login" {
		back := v.path
		if next := u.Query().Get("next"); next != "" {
			back = next
		}
		return startAt(back)
	}
	if strings.HasPrefix(local, "//") || strings.HasPrefix(u.Path, "//") {
		return ""
	}
	return local
}

// startAt is where a login begins that leads back to a path.
func startAt(back string) string { return "/oauth2/start?rd=" + url.QueryEscape(safeReturn(back)) }

func requestID() string {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // it never fails
	return "req_" + hex.EncodeToString(raw)
}
