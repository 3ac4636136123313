//nolint:tparallel // the rows share one edge and go one after the other
package edge_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mooring/internal/edge"
)

// spoofs are headers by which a client might speak for somebody, each in a spelling that some reader takes for another.
var spoofs = []string{
	identity, "x-hermes-tenant-identity", "X_Hermes_Tenant_Identity", "X.Hermes.Tenant.Identity", "X-Hermes_Tenant.Identity", "X-Hermes-Tenant-Id",
	"X_Forwarded_User", "X.Forwarded.User", "X-Forwarded-Email", "X-Forwarded-Groups", "X-Forwarded-Preferred-Username", "X-Forwarded-Access-Token",
	"X-Forwarded-Uri", "X-Forwarded-Prefix", "X-Forwarded-Proto", "X_Forwarded_Proto", "X.Forwarded.Proto", "X-Forwarded-Host", "X_Forwarded_Host",
	"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Method", "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
	"X-Auth-Request-User", "X-Auth-Request-Redirect", "X-Original-Url", "X-Rewrite-Url", "X-Envoy-Original-Path", "X-Envoy-External-Address",
	"X-Pomerium-Jwt-Assertion", "Gap-Auth", "Gap-Signature", "Remote-User", "X-Remote-User", "Authorization", "Proxy-Authorization",
	"X-Http-Method-Override", "X-Request-Id", "Proxy-Connection", "Te", "Trailer", "Expect-Ct", "X-Anything",
}

func TestIdentityOnEveryRequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.claimed(t, "alice")
	want := ""
	var lines []string
	for _, name := range spoofs {
		if name != "Te" && name != "Trailer" {
			lines = append(lines, name+": "+poison)
		}
	}
	for _, row := range []struct{ name, method, target string }{
		{"T-5 2.5-1 2.5-2 2.5-3 2.5-5 2.5-7 2.5-65 a page", "GET", "/"},
		{"T-5 2.5-2 an event stream", "GET", "/api/sessions/events"},
		{"T-5 a file", "GET", "/static/app.js"},
		{"T-5 the service worker", "GET", "/sw.js"},
		{"T-5 a beacon", "POST", "/api/client-events/log"},
		{"T-5 a deletion", "DELETE", "/api/x"},
		{"T-5 the head of a page", "HEAD", "/session/abc"},
		{"T-5 2.5-4 2.5-38 2.5-49 2.5-32 a question", "GET", "/api/session?session_id=a"},
		{"T-5 OPTIONS", "OPTIONS", "/api/x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			raw := as("alice", row.method, row.target, lines...)
			if row.method == "POST" {
				raw = withBody("alice", row.method, row.target, "{}", lines...)
			}
			r.send(raw).want(t, http.StatusOK)
			seen := r.one(t)
			got := seen.values(identity)
			if len(got) != 1 {
				t.Fatalf("%d identities: %q", len(got), seen.head)
			}
			if want == "" {
				want = got[0]
			}
			if got[0] != want || strings.Contains(seen.head, poison) || strings.Contains(seen.head, "alice") {
				t.Errorf("the slot saw %q, want one identity, %s, and nothing of the client's or of who she is", seen.head, want)
			}
			if h := seen.values("X-Forwarded-Host"); !slices.Equal(h, []string{host}) {
				t.Errorf("2.5-63 X-Forwarded-Host %q", h)
			}
			if h := seen.values("Host"); !slices.Equal(h, []string{host}) {
				t.Errorf("T-18 Host %q", h)
			}
		})
	}
	for _, row := range []struct {
		name  string
		lines []string
	}{
		{"2.5-8 Connection names the edge's own headers", []string{"Connection: " + identity + ", X-Forwarded-Host, X-Request-Id, Cookie"}},
		{"2.5-9 an empty Connection line, then one that names them", []string{"Connection:", "Connection: " + identity + ", X-Forwarded-Proto", "X-Anything: " + poison}},
		{"2.5-9 Connection names what the client sends", []string{"Connection: X-Anything", "X-Anything: " + poison}},
		{"2.5-38 Te and Trailer", []string{"Te: trailers, " + poison, "Trailer: " + poison}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r.send(as("alice", "GET", "/api/x", row.lines...)).want(t, http.StatusOK)
			seen := r.one(t)
			if got := seen.values(identity); !slices.Equal(got, []string{want}) || strings.Contains(seen.head, poison) || len(seen.values("X-Forwarded-Host")) != 1 || len(seen.values("X-Forwarded-Proto")) != 1 {
				t.Errorf("the slot saw %q", seen.head)
			}
		})
	}
}

func TestOutbound(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.claimed(t, "alice")
	names := func(q request) []string {
		set := map[string]bool{}
		for line := range strings.SplitSeq(q.head, "\r\n") {
			if n, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, q.line()) {
				set[n] = true
			}
		}
		return slices.Sorted(maps.Keys(set))
	}
	always := []string{"Connection", "Host", "X-Forwarded-Host", "X-Forwarded-Proto", identity, "X-Request-Id"}
	rest := []string{
		"Accept: a/b", "Accept-Language: en", "Content-Type: application/json", "Origin: https://" + host, "Referer: https://" + host + "/", "User-Agent: a browser",
		"Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Sec-Fetch-Site: same-origin", "Sec-Fetch-User: ?1", "X-Hermes-Csrf-Token: c", "X-Csrf-Token: d", "Last-Event-Id: 7",
		"Cache-Control: no-cache", "Dnt: 1", "Priority: u=1",
	}
	parts := []string{"Range: bytes=0-1", "If-Range: x", "If-None-Match: x", "If-Modified-Since: x"}
	allowed := func(lines ...[]string) []string {
		out := slices.Clone(always)
		for _, line := range slices.Concat(lines...) {
			n, _, _ := strings.Cut(line, ":")
			out = append(out, n)
		}
		return slices.Sorted(slices.Values(out))
	}
	for _, row := range []struct {
		name, target string
		want         []string
	}{
		{"T-18 T2.3-5 an API question gets what is on the list, and nothing else", "/api/x", allowed(rest, []string{"Accept-Encoding:"})},
		{"T-18 T3.2-1 a page neither a range nor a condition, nor a coding", "/session/abc", allowed(rest)},
		{"T-18 a file all of them", "/static/a.js", allowed(rest, parts, []string{"Accept-Encoding:"})},
		{"T-18 a file of the API too", "/api/file/raw?path=a", allowed(rest, parts, []string{"Accept-Encoding:"})},
		{"T-18 the snapshot is read, so it is not coded", "/api/session?session_id=a", allowed(rest)},
	} {
		t.Run(row.name, func(t *testing.T) {
			lines := append(slices.Concat(rest, parts), "Accept-Encoding: br, zstd, gzip", "X-Other: a", "Upgrade-Insecure-Requests: 1", "Sec-Ch-Ua: x", "Sec-Gpc: 1", "Sec-Purpose: x")
			r.send(as("alice", "GET", row.target, lines...)).want(t, http.StatusOK)
			seen := r.one(t)
			if got := names(seen); !slices.Equal(got, row.want) {
				t.Errorf("headers %q, want %q", got, row.want)
			}
			if coding := seen.values("Accept-Encoding"); len(coding) > 0 && coding[0] != "gzip" {
				t.Errorf("Accept-Encoding %q", coding)
			}
		})
	}
	for name, target := range map[string]string{
		"2.5-29 2.5-47 the target goes on as it came": "/session/a-B_c~1?x=%2F%3b&y=a+b&&=", "2.5-51 the query too": "/api/x?a=1&a=2&b", "T-14 escapes that have to be": "/a%20b/%5Bc%5D",
		"2.5-52 a thousand parameters": "/api/x?" + strings.Repeat("a&", 999) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			r.send(as("alice", "GET", target)).want(t, http.StatusOK)
			if got := r.one(t).line(); got != "GET "+target+" HTTP/1.1" {
				t.Errorf("the slot saw %q", got)
			}
		})
	}
	t.Run("T-18 a header twice goes on once", func(t *testing.T) {
		r.send(as("alice", "GET", "/api/x", "Accept: one/a", "Accept: two/b")).want(t, http.StatusOK)
		if got := r.one(t).values("Accept"); !slices.Equal(got, []string{"one/a"}) {
			t.Errorf("Accept %q", got)
		}
	})
	big := strings.Repeat("body of a megabyte and more ", 50_000)
	for _, row := range []struct{ name, raw, body string }{
		{"T-13 a body in chunks gets a length", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + "5\r\nabcde\r\n3;x=y\r\nfgh\r\n0\r\nX-Trailer: " + poison + "\r\n\r\n", "abcdefgh"},
		{"T-13 a body with a length keeps it", withBody("alice", "POST", "/api/x", "abc"), "abc"},
		{"T-13 a body beyond what memory holds", withBody("alice", "PUT", "/api/x", big), big},
		{"T-13 no body", as("alice", "POST", "/api/x"), ""},
		{"T-13 an empty one in chunks", as("alice", "PATCH", "/api/x", "Transfer-Encoding: chunked") + "0\r\n\r\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r.send(row.raw).want(t, http.StatusOK)
			seen := r.one(t)
			if string(seen.body) != row.body || len(seen.values("Transfer-Encoding")) > 0 || !slices.Equal(seen.values("Content-Length"), []string{itoa(len(row.body))}) {
				t.Errorf("the slot saw %q with %d bytes", seen.head, len(seen.body))
			}
		})
	}
	t.Run("T-13 two requests on one connection reach the slot on two", func(t *testing.T) {
		c := r.dial("")
		defer c.Close()
		write(c, as("alice", "GET", "/api/one")+as("alice", "GET", "/api/two", "Connection: close"))
		all, _ := io.ReadAll(c)
		seen := r.take()
		if bytes.Count(all, []byte("HTTP/1.1 200")) != 2 || len(seen) != 2 || len(seen[0].extra)+len(seen[1].extra) > 0 || !slices.Equal(seen[0].values("Connection"), []string{"close"}) {
			t.Errorf("answers %q, the slot saw %q", all, seen)
		}
	})
	t.Run("T-13 2.5-55 what follows a body is a request of its own, with an identity of its own", func(t *testing.T) {
		c := r.dial("")
		defer c.Close()
		write(c, withBody("alice", "POST", "/api/one", "{}")+wire("GET", "/api/"+poison, "Host: "+host, identity+": t1-x", "Connection: close"))
		all, _ := io.ReadAll(c)
		if seen := r.take(); len(seen) != 1 || len(seen[0].extra) > 0 || !bytes.Contains(all, []byte("HTTP/1.1 401")) {
			t.Errorf("answers %q, the slot saw %q", all, seen)
		}
	})
}

func TestInbound(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	s := r.claimed(t, "alice")
	t.Run("T-20 T2.3-10 headers that speak for the host are not passed on", func(t *testing.T) {
		bad := []string{
			"Server: HermesWebUI/" + poison, "Gap-Auth: " + poison, "X-Hermes-Tenant-Identity: " + poison, "X_Hermes_Tenant_Identity: " + poison, "X-Forwarded-User: " + poison,
			"Alt-Svc: " + poison, "Clear-Site-Data: \"" + poison + "\"", "Refresh: 0;url=" + poison, "Report-To: " + poison, "Nel: " + poison, "Service-Worker-Allowed: /" + poison,
			"Access-Control-Allow-Origin: " + poison, "Www-Authenticate: Basic realm=" + poison, "Strict-Transport-Security: max-age=0; " + poison, "X-Mooring-Error: " + poison,
			"Set-Cookie: other=" + poison, "Set-Cookie: HERMES_CHAT_SESSION=" + poison, "Set-Cookie: __Host-mooring_sso=" + poison, "Set-Cookie2: a=" + poison,
			"Location: https://" + poison + ".org/", "Keep-Alive: " + poison, "Via: " + poison,
		}
		s.says(answerOf("200 OK", "{}", append(bad, "Content-Type: application/json", "X-Kept: yes", "Cache-Control: public, max-age=60")...))
		a := r.send(as("alice", "GET", "/api/x"))
		a.want(t, http.StatusOK)
		if text := fmt.Sprint(a.Header); strings.Contains(text, poison) || a.Header.Get("X-Kept") != "yes" {
			t.Errorf("headers %v", a.Header)
		}
		if a.Header.Get("Cache-Control") != "no-store, private" || a.Header.Get("Vary") != "Cookie" || a.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
			t.Errorf("headers %v", a.Header)
		}
	})
	t.Run("T-20 a file is kept by the browser alone", func(t *testing.T) {
		s.says(answerOf("200 OK", "x", "Content-Type: text/javascript", "Cache-Control: public, max-age=31536000, immutable, s-maxage=9", "Service-Worker-Allowed: /", "Etag: W/\"1\""))
		a := r.send(as("alice", "GET", "/sw.js"))
		if a.Header.Get("Cache-Control") != "private, max-age=31536000, immutable" || a.Header.Get("Service-Worker-Allowed") != "/" || a.Header.Get("Etag") == "" {
			t.Errorf("headers %v", a.Header)
		}
	})
	for _, row := range []struct{ name, sent, want string }{
		{"T2.3-10 a path", "/session/abc?x=1", "/session/abc?x=1"},
		{"T2.3-10 this host", "https://" + host + "/a", "/a"},
		{"T2.3-10 this host without a path", "https://" + host, "/"},
		{"T2.3-10 the slot itself", s.url + "/a", "/a"},
		{"T2.3-10 2.5-22 another host", "https://" + host + ".bad.org/", ""},
		{"T2.3-10 2.5-19 2.5-23 no scheme", "//bad.org/", ""},
		{"T2.3-10 2.5-19 2.5-25 a backslash", `/\bad.org`, ""},
		{"T2.3-10 the slot's host, and then another one", s.url + "//bad.org", ""},
		{"T2.3-10 a script", "javascript:alert(1)", ""},
		{"T2.3-10 somebody at this host", "https://x@" + host + "/", ""},
		{"T2.3-10 the web UI's login is ours", "/login?next=%2Fsession%2Fabc", "/oauth2/start?rd=%2Fsession%2Fabc"},
		{"T2.3-10 2.5-26 and leads nowhere else", "login?next=https://bad.org", "/oauth2/start?rd=%2F"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.says(answerOf("302 Found", "", "Location: "+row.sent))
			a := r.send(as("alice", "GET", "/x"))
			a.want(t, http.StatusFound)
			if got := a.Header.Get("Location"); got != row.want {
				t.Errorf("Location %q, want %q", got, row.want)
			}
		})
	}
	for _, row := range []struct{ name, raw, code string }{
		{"T-15 2.5-57 a slot that switches protocols", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Leak: " + poison + "\r\nSet-Cookie: hermes_chat_session=" + goodSession("a") + "\r\n\r\n", "upstream_error"},
		{"T-30 a slot that talks nonsense", poison + "\r\n\r\n", "upstream_error"},
		{"T-10 a slot that closes without a word", "", "upstream_unavailable"},
		{"T-10 a slot without a thread", "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "upstream_unavailable"},
		{"T-30 a slot whose header never ends", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 100<<10), "upstream_error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r.take()
			s.does(func(_ request, c net.Conn) { write(c, row.raw) })
			status := http.StatusBadGateway
			if row.code == "upstream_unavailable" {
				status = http.StatusServiceUnavailable
			}
			a := r.send(withBody("alice", "POST", "/api/x", "{}"))
			a.refused(t, status, row.code)
			if len(a.Header["Set-Cookie"]) > 0 || len(r.take()) != 1 {
				t.Errorf("headers %v, or it was asked again", a.Header)
			}
		})
	}
	t.Run("T-20 2.5-58 early hints and trailers stay behind", func(t *testing.T) {
		s.says("HTTP/1.1 103 Early Hints\r\nSet-Cookie: a=" + poison + "\r\nLink: " + poison + "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie, X-Late\r\n\r\n2\r\n{}\r\n0\r\nSet-Cookie: a=" + poison + "\r\nX-Late: " + poison + "\r\n\r\n")
		c := r.dial("")
		defer c.Close()
		write(c, as("alice", "GET", "/api/x", "Te: trailers", "Connection: close"))
		all, _ := io.ReadAll(c)
		if bytes.Contains(all, []byte(poison)) || bytes.Contains(all, []byte(" 103 ")) || !bytes.Contains(all, []byte("{}")) {
			t.Errorf("the client got %q", all)
		}
	})
	for _, row := range []struct{ name, raw string }{
		{"T-22 a body that breaks off before its length", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":"},
		{"T-22 chunks that break off", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n"},
		{"T-22 a page that breaks off behind its head", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9000\r\n\r\n<!doctype html><head><title>a</title>" + strings.Repeat(" ", 1000)},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.says(row.raw)
			if a := r.send(as("alice", "GET", "/x")); a.err == nil {
				t.Errorf("the client got a whole answer: %v %q", a.Header, a.body)
			}
		})
	}
	t.Run("T3.2-6 the head of a page is asked for as a page", func(t *testing.T) {
		r.take()
		s.says(htmlPage("<head></head>"))
		a := r.send(as("alice", "HEAD", "/session/a"))
		a.want(t, http.StatusOK)
		if got := r.one(t).line(); got != "GET /session/a HTTP/1.1" || a.Header.Get("Content-Length") != "" {
			t.Errorf("the slot saw %q, the client %v", got, a.Header)
		}
	})
}

func TestStreams(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	s := r.claimed(t, "alice")
	t.Run("T-21 an event passes before the next one is there, and the client's end ends the slot's", func(t *testing.T) {
		gone := make(chan struct{})
		s.does(func(_ request, c net.Conn) {
			streamHead(c)
			_, _ = c.Read(make([]byte, 1))
			close(gone)
		})
		c := r.dial("")
		write(c, as("alice", "GET", "/api/sessions/events", "Accept: text/event-stream"))
		var got []byte
		for !bytes.Contains(got, []byte("data: 1\n\n")) {
			b := make([]byte, 4096)
			n, err := c.Read(b)
			if err != nil {
				t.Fatalf("after %q: %v", got, err)
			}
			got = append(got, b[:n]...)
		}
		_ = c.Close()
		select {
		case <-gone:
		case <-time.After(wait):
			t.Error("the slot's stream stays open")
		}
	})
	t.Run("T-11 T-21 a stream ends when its slot goes from the list", func(t *testing.T) {
		r.take()
		s.does(func(_ request, c net.Conn) {
			streamHead(c)
			_, _ = c.Read(make([]byte, 1))
		})
		c := r.dial("")
		defer c.Close()
		write(c, as("alice", "GET", "/api/sessions/events", "Accept: text/event-stream"))
		eventually(t, "the slot is asked", func() bool { return len(r.take()) == 1 })
		if err := r.edge.Replace([]edge.Slot{{Name: "other", URL: "http://127.0.0.1:1"}}); err != nil {
			t.Fatal(err)
		}
		if a := readReply(c, "GET"); a.Response != nil && a.err != nil {
			t.Errorf("the stream ended by %v, want a clean end", a.err)
		}
	})
}

// tagEnd is what follows the script's address in its tag.
var tagEnd = regexp.MustCompile(`^[0-9a-f]{12}" data-mooring-continuity="1" data-mooring-page="([0-9a-f]{16})"></script>`)

func TestPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	s := r.claimed(t, "alice")
	const tag = `<script defer src="/.mooring/continuity.js?v=`
	const policy = "Content-Security-Policy: default-src 'self'; script-src 'self' 'unsafe-inline'"
	page := "<!doctype html>\r\n<!-- <head> --><html><head data-a='>'><title><head></title></head><body>\xc3\xa4</body></html>"
	for _, row := range []struct {
		name, target, answer string
		lines                []string
		tagged               bool
	}{
		{"T-23 the first page", "/", htmlPage(page), nil, true},
		{"T-23 a session's page, opened", "/session/abc", htmlPage(page, policy), []string{"Sec-Fetch-Dest: document"}, true},
		{"T-23 any other page", "/some/page", htmlPage(page), nil, true},
		{"T-23 a frame", "/some/page", htmlPage(page), []string{"Sec-Fetch-Dest: iframe"}, false},
		{"T-23 an answer of the API", "/api/x", htmlPage(page), nil, false},
		{"T-23 a plug-in", "/plugins/a.html", htmlPage(page), nil, false},
		{"T-23 an extension", "/extensions/a.html", htmlPage(page), nil, false},
		{"T-23 a file", "/session/static/a.html", htmlPage(page), nil, false},
		{"T-23 a download", "/a", htmlPage(page, "Content-Disposition: attachment; filename=a.html"), nil, false},
		{"T-23 a preview in a sandbox", "/a", htmlPage(page, "Content-Security-Policy: Sandbox allow-scripts"), nil, false},
		{"T-23 an error page", "/a", answerOf("404 Not Found", page, "Content-Type: text/html"), nil, false},
		{"T-23 a part of a page", "/a", htmlPage(page, "Content-Range: bytes 0-1/2"), nil, false},
		{"T-23 another charset", "/a", answerOf("200 OK", page, "Content-Type: text/html; charset=utf-16"), nil, false},
		{"T-23 text", "/a", answerOf("200 OK", page, "Content-Type: text/plain"), nil, false},
		{"T-24 a policy without this host", "/a", htmlPage(page, "Content-Security-Policy: script-src 'unsafe-inline'"), nil, false},
		{"T-24 T3.2-2 a coding that nobody asked for", "/a", htmlPage(page, "Content-Encoding: br"), nil, false},
		{"T-24 no place for it", "/a", htmlPage("<p>a"), nil, false},
		{"T-24 a head too far down", "/a", htmlPage(strings.Repeat(" ", 70<<10) + page), nil, false},
		{"T-24 a tag that is there already", "/a", htmlPage(`<head><script data-mooring-continuity="1"></script></head>`), nil, false},
		{"T-24 a tag that is there already, without a head", "/a", htmlPage(`<body><script data-mooring-continuity="1"></script></body>`), nil, false},
		{"T3.2-3 without a head, before the body's end", "/a", htmlPage("<body>a</body>"), nil, true},
		{"T3.2-5 a long page", "/a", htmlPage(page + strings.Repeat("x", 300<<10)), nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.says(row.answer)
			a := r.send(as("alice", "GET", row.target, row.lines...))
			if a.err != nil {
				t.Fatal(a.err)
			}
			_, sent, _ := strings.Cut(row.answer, "\r\n\r\n")
			before, after, found := strings.Cut(string(a.body), tag)
			if found != row.tagged {
				t.Fatalf("tagged: %v, want %v: %.300s", found, row.tagged, a.body)
			}
			if end := tagEnd.FindStringIndex(after); found && end != nil {
				after = after[end[1]:]
				place := "<body>a"
				if strings.Contains(sent, "<head data-a") {
					place = "<head data-a='>'>"
				}
				if !strings.HasSuffix(before, place) {
					t.Errorf("T-24 the tag stands behind %q", before)
				}
			}
			if got := before + after; got != sent {
				t.Errorf("the rest is %q, want %q", got, sent)
			}
			if want, got := strings.Contains(row.answer, policy), a.Header.Get("Content-Security-Policy") == strings.TrimPrefix(policy, "Content-Security-Policy: "); want && !got {
				t.Errorf("T-24 the policy became %q", a.Header.Get("Content-Security-Policy"))
			}
			if a.ContentLength != int64(len(a.body)) {
				t.Errorf("T3.2-5 Content-Length %d of %d", a.ContentLength, len(a.body))
			}
		})
	}
	t.Run("T3.2-7 the script that pages name is there, and may be kept", func(t *testing.T) {
		r.take()
		s.says(htmlPage(page))
		_, rest, _ := strings.Cut(string(r.send(as("alice", "GET", "/")).body), `src="`)
		src, _, _ := strings.Cut(rest, `"`)
		r.take()
		a := r.send(wire("GET", src, "Host: "+host))
		a.want(t, http.StatusOK)
		if !strings.Contains(a.Header.Get("Cache-Control"), "immutable") || a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" || len(a.body) == 0 {
			t.Errorf("%v: %d bytes", a.Header, len(a.body))
		}
		r.none(t)
	})
}

func TestWhosePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	marks := map[string]string{}
	for _, who := range []string{"alice", "bob"} {
		s := r.claimed(t, who)
		s.says(htmlPage("<head></head>"))
		found := tagEnd.FindStringSubmatch(strings.TrimPrefix(string(r.send(as(who, "GET", "/session/abc")).body), `<head><script defer src="/.mooring/continuity.js?v=`))
		if found == nil {
			t.Fatalf("%s's page has no tag", who)
		}
		marks[who] = found[1]
		for _, answer := range []string{
			answerOf("200 OK", `{"session":{"messages":[]}}`, "Content-Type: application/json", "X-Mooring-Page: "+marks["alice"]+"0"),
			answerOf("404 Not Found", `{"error":"Session not found"}`, "Content-Type: application/json"),
			answerOf("409 Conflict", `{"code":"session_profile_mismatch"}`, "Content-Type: application/json"),
		} {
			s.says(answer)
			if got := r.send(as(who, "GET", "/api/session?session_id=abc")).Header["X-Mooring-Page"]; !slices.Equal(got, []string{marks[who]}) {
				t.Errorf("what %s's page asks for is answered as for %q, want %q: %.20s", who, got, marks[who], answer)
			}
		}
		s.says(answerOf("200 OK", "{}", "Content-Type: application/json"))
		if got := r.send(as(who, "GET", "/api/sessions")).Header["X-Mooring-Page"]; got != nil {
			t.Errorf("another answer says %q", got)
		}
	}
	if marks["alice"] == marks["bob"] {
		t.Errorf("both pages are marked %s", marks["bob"])
	}
}

// The pages of hermes-webui work with the session that they came with, and with no other.
func TestSessionComesWithThePage(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	s := r.claimed(t, "alice")
	session := "hermes_chat_session=" + strings.Repeat("a", 64) + "." + strings.Repeat("b", 64)
	set := "Set-Cookie: " + session + "; Path=/; Max-Age=60"
	s.says(answerOf("200 OK", "<head></head>", "Content-Type: text/html", set))
	first := r.send(as("alice", "GET", "/"))
	names := func(a reply) (all []string) {
		for _, c := range a.Cookies() {
			all = append(all, c.Name)
		}
		return all
	}
	if got := names(first); !slices.Equal(got, []string{"hermes_chat_session", "__Host-mooring_slot"}) {
		t.Fatalf("the first page sets %q", got)
	}
	bound := "Cookie: __Host-mooring_slot=" + first.Cookies()[1].Value
	const page, dark = "Referer: https://chat.example.org/session/abc", "Cookie: theme=dark"
	both := []string{"hermes_chat_session", "__Host-mooring_slot"}
	for _, row := range []struct {
		name, target string
		lines, want  []string
	}{
		{"a tab from before the login sets nothing", "/api/session?session_id=abc", []string{page}, nil},
		{"nor does its stream", "/api/sessions/events", []string{page}, nil},
		{"nor one of its files", "/static/app.js", []string{page}, nil},
		{"nor with cookies of others", "/api/sessions", []string{page, dark}, nil},
		{"a second page does", "/session/abc", []string{page}, both},
		{"so does an answer to who comes from no page", "/api/sessions", nil, both},
		{"and one to who has had a page", "/api/sessions", []string{page, bound}, both[:1]},
		{"and one to somebody with a session of unknown origin", "/api/sessions", []string{page, "Cookie: " + session}, both},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.says(answerOf("200 OK", "{}", "Content-Type: application/json", set))
			if got := names(r.send(as("alice", "GET", row.target, row.lines...))); !slices.Equal(got, row.want) {
				t.Errorf("it sets %q, want %q", got, row.want)
			}
		})
	}
}

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

func TestSnapshots(t *testing.T) {
	t.Parallel()
	const limit = 2000
	r := newRig(t, 1, func(o *edge.Options) { o.SnapshotLimit = limit })
	s := r.claimed(t, "alice")
	odd := `"odd": [1e400, -0, 12345678901234567890, "\u2028\ud800", {"messages": [1,2]}, "` + "\u2028" + `"]`
	whole := func(messages string) string {
		return "{ \"messages\": [0],\n  \"session\" : {" + odd + ", \"messages\" : [" + messages + "], \"session\": {\"messages\": []}, \"z\": 1 }, \"q\": {} }\n"
	}
	fill := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	room := limit - len(whole(""))
	many := strings.Repeat("{\"a\":1}, ", 3000) + "{\"b\":2}"
	js := func(body string, lines ...string) string {
		return answerOf("200 OK", body, append(lines, "Content-Type: application/json; charset=utf-8")...)
	}
	for _, row := range []struct {
		name, answer, want string
		dropped            string
		status             int
	}{
		{"T-26 at the limit", js(whole(fill(room))), whole(fill(room)), "", 200},
		{"T-27 one byte over, with an older message", js(whole("{\"a\": 1} ,\n" + fill(room-10))), whole(fill(room - 10)), "1", 200},
		{"T-27 as many as have to go", js(whole(fill(900) + "," + fill(901) + " , " + fill(300) + "," + fill(room-400))), whole(fill(300) + "," + fill(room-400)), "2", 200},
		{"T-29 one byte over with the last message alone", js(whole(fill(room + 1))), "", "", 502},
		{"T-29 one message too large behind others", js(whole("1,2," + fill(room+1))), "", "", 502},
		{"T-29 no messages", js(`{"session":{"a":` + fill(limit) + `}}`), "", "", 502},
		{"T-29 messages that are no list", js(`{"session":{"messages":` + fill(limit) + `}}`), "", "", 502},
		{"T-29 two lists of messages", js(`{"session":{"messages":[1,2],"messages":[` + fill(limit-10) + `,3]}}`), "", "", 502},
		{"T-29 two lists, one spelled otherwise", js(`{"session":{"messages":[1,2],"mess\u0061ges":[` + fill(limit-10) + `,3]}}`), "", "", 502},
		{"T-29 two sessions", js(`{"session":{"messages":[` + fill(limit) + `,2]},"session":{}}`), "", "", 502},
		{"T-29 a number that is none", js(`{"session":{"a":NaN,"messages":[` + fill(limit) + `,2]}}`), "", "", 502},
		{"T-29 something behind it", js(`{"session":{"messages":[` + fill(limit) + `,2]}} x`), "", "", 502},
		{"T-29 too deep", js(`{"session":{"messages":[` + fill(limit) + `,` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `]}}`), "", "", 502},
		{"T-29 cut in the middle", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"session\":{", "", "", 502},
		{"T-29 a coding that nobody asked for", js("x", "Content-Encoding: br"), "", "", 502},
		{"T-26 what is no JSON and fits is passed on", js("{NaN"), "{NaN", "", 200},
		{"T-26 gzip is read", js(gzipped(whole("1,2")), "Content-Encoding: gzip"), whole("1,2"), "", 200},
		{"T-29 gzip that is a bomb", js(gzipped(strings.Repeat(" ", 70<<20)), "Content-Encoding: gzip"), "", "", 502},
		{"T-29 404 passes as it is", answerOf("404 Not Found", fill(3*limit), "Content-Type: application/json"), fill(3 * limit), "", 404},
		{"T-29 409 too", answerOf("409 Conflict", `{"code":"session_profile_mismatch"}`, "Content-Type: application/json"), `{"code":"session_profile_mismatch"}`, "", 409},
		{"T-29 401 too", answerOf("401 Unauthorized", `{"error":"x"}`, "Content-Type: application/json"), `{"error":"x"}`, "", 401},
		{"T-27 T3.4-c thousands of small ones, bytes that are no text", js(`{"session":{"a":"` + "\xff" + `","messages":[` + many + `]}}`), "", "2783", 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.says(row.answer)
			a := r.send(as("alice", "GET", "/api/session?session_id=a&msg_limit=500", "Accept: application/json"))
			if row.status == http.StatusBadGateway {
				a.refused(t, 502, "upstream_error")
				return
			}
			a.want(t, row.status)
			if row.want != "" && string(a.body) != row.want || a.err != nil || a.ContentLength != int64(len(a.body)) {
				t.Errorf("%v, body %q, want %q", a.err, a.body, row.want)
			}
			if got := a.Header.Get("X-Mooring-Envelope-Trimmed"); got != row.dropped || row.status == 200 && len(a.body) > limit {
				t.Errorf("dropped %q in %d bytes, want %q", got, len(a.body), row.dropped)
			}
		})
	}
	large, less := whole("1,"+fill(room+1)), whole("3")
	for _, row := range []struct{ name, query, again string }{
		{"T-28 who asks for everything is given what the slot says to a smaller question", "?session_id=a", "?session_id=a&msg_limit=200"},
		{"T-28 who says how much is not asked for", "?session_id=a&msg_limit=9", ""},
		{"T-28 nor who wants no messages", "?session_id=a&messages=0", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s.does(func(q request, c net.Conn) {
				if strings.Contains(q.line(), "msg_limit=200") {
					write(c, js(less))
					return
				}
				write(c, js(large))
			})
			r.take()
			a := r.send(as("alice", "GET", "/api/session"+row.query))
			seen := r.take()
			if row.again == "" {
				a.refused(t, 502, "upstream_error")
				if len(seen) != 1 {
					t.Errorf("the slot saw %q", seen)
				}
				return
			}
			a.want(t, http.StatusOK)
			if string(a.body) != less || len(seen) != 2 || seen[1].line() != "GET /api/session"+row.again+" HTTP/1.1" || len(seen[1].values(identity)) != 1 {
				t.Errorf("body %q, the slot saw %q", a.body, seen)
			}
		})
	}
	t.Run("T-26 clients that do not read take no places away", func(t *testing.T) {
		big := js(`{"session":{"messages":[` + strings.Repeat(`"`+strings.Repeat("x", 1000)+`",`, 7000) + `1]}}`) // more than the sockets between them hold
		wide := newRig(t, 1, func(o *edge.Options) { o.SnapshotLimit = 6 << 20 })
		ws := wide.claimed(t, "alice")
		ws.says(big)
		for range 5 {
			c := wide.dial("")
			defer c.Close()
			_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
			write(c, as("alice", "GET", "/api/session?session_id=a&msg_limit=500"))
		}
		eventually(t, "all are asked", func() bool { return len(wide.slots[0].peek()) == 6-1 })
		a := wide.send(as("alice", "GET", "/api/session?session_id=a&msg_limit=500"))
		a.want(t, http.StatusOK)
		if a.err != nil {
			t.Error(a.err)
		}
	})
}
