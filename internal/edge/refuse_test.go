//nolint:tparallel // the rows share one edge and go one after the other
package edge_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"mooring/internal/edge"
)

// TestRefused sends what must not get through: each row's bytes get that answer, and no slot sees anything of them.
func TestRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.claimed(t, "alice")
	long := strings.Repeat("a", 256)
	nobody := func(method, target string, lines ...string) string {
		return wire(method, target, append([]string{"Host: " + host}, lines...)...)
	}
	hidden := "GET /api/" + poison + " HTTP/1.1\r\nHost: " + host + "\r\n" + identity + ": t1-x\r\n\r\n"
	rows := []struct {
		name, raw string
		status    int
		code      string
	}{
		{"T-1 T-3 no page without an identity", nobody("GET", "/"), 401, "identity_required"},
		{"T-1 2.5-31 nor the figures of the server", nobody("GET", "/metrics"), 401, "identity_required"},
		{"T-1 2.5-31 nor its profiles", nobody("GET", "/debug/pprof/"), 401, "identity_required"},
		{"T-2 another host", wire("GET", "/", "Host: "+poison+".org", "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-2 2.5-63 another host beside the right one in X-Forwarded-Host", wire("GET", "/", "Host: "+poison+".org", "X-Forwarded-Host: "+host, "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-2 2.5-22 a host that ends alike", wire("GET", "/", "Host: bad"+host, "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-2 2.5-22 a host that begins alike", wire("GET", "/", "Host: "+host+".bad.org", "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-2 2.5-22 a host with another port", wire("GET", "/", "Host: "+host+":8080", "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-2 2.5-22 a host with two ports", wire("GET", "/", "Host: "+host+":80:443", "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-2 another host in an absolute-form request line", wire("GET", "http://"+poison+".org/", "Host: "+host, "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-2 OPTIONS * to another host", wire("OPTIONS", "*", "Host: "+poison+".org", "X-Forwarded-User: alice"), 421, "host_forbidden"},
		{"T-14 OPTIONS *", as("alice", "OPTIONS", "*"), 400, "bad_request"},
		{"T-2 two hosts", wire("GET", "/", "Host: "+host, "Host: "+host, "X-Forwarded-User: alice"), 400, ""},
		{"T-2 no host", wire("GET", "/", "X-Forwarded-User: alice"), 400, ""},
		{"T-3 an empty identity", as("", "GET", "/"), 401, "identity_required"},
		{"T-3 2.5-34 two identities", as("alice", "GET", "/", "X-Forwarded-User: bob"), 401, "identity_required"},
		{"T-3 2.5-34 the same identity twice", as("alice", "GET", "/", "X-Forwarded-User: alice"), 401, "identity_required"},
		{"T-3 2.5-17 an address as identity", as("alice@example.org", "GET", "/"), 401, "identity_required"},
		{"T-3 2.5-17 two @", as("alice@evil@example.org", "GET", "/"), 401, "identity_required"},
		{"T-3 several identities in one line", as("alice,bob", "GET", "/"), 401, "identity_required"},
		{"T-3 a space inside", as("alice bob", "GET", "/"), 401, "identity_required"},
		{"T-3 2.5-40 not ASCII", as("al\xc3\xafce", "GET", "/"), 401, "identity_required"},
		{"T-3 2.5-40 no text at all", as("al\xffce", "GET", "/"), 401, "identity_required"},
		{"T-3 256 bytes", as(long, "GET", "/"), 401, "identity_required"},
		{"T-3 2.5-39 a NUL in the identity", as("al\x00ice", "GET", "/"), 400, ""},
		{"T-3 2.5-39 a CR in the identity", as("al\rice", "GET", "/"), 400, ""},
		{"2.5-41 a NUL in a header", as("alice", "GET", "/", "Accept: a\x00b"), 400, ""},
		{"T-3 2.5-1 the identity under an alias", nobody("GET", "/", "X_Forwarded_User: alice"), 401, "identity_required"},
		{"T-3 2.5-3 the identity under another alias", nobody("GET", "/", "X.Forwarded.User: alice"), 401, "identity_required"},
		{"T-3 2.5-6 2.5-65 the slot's own header and no identity", nobody("GET", "/", identity+": t1-"+poison), 401, "identity_required"},
		{"T-3 2.5-10 only the e-mail address is left", nobody("GET", "/", "Connection: X-Forwarded-User", "X-Forwarded-Email: alice@example.org", "X-Auth-Request-User: alice", "Remote-User: alice"), 401, "identity_required"},
		{"2.5-10 what Connection names is gone before us, and stays gone", nobody("GET", "/api/session?session_id=s", "Connection: X-Forwarded-User"), 401, "identity_required"},
		{"2.5-11 a rewritten address opens nothing", nobody("GET", "/api/session", "X-Forwarded-Uri: /health", "X-Original-Url: /health", "X-Rewrite-Url: /health"), 401, "identity_required"},
		{"2.5-13 a probe's User-Agent opens nothing", nobody("GET", "/api/session", "User-Agent: kube-probe/1.29"), 401, "identity_required"},
		{"2.5-13 nor another's", nobody("GET", "/health", "User-Agent: GoogleHC/1.0"), 401, "identity_required"},
		{"2.5-14 a query opens nothing", nobody("GET", "/api/session?x=/health"), 401, "identity_required"},
		{"2.5-15 2.5-50 a fragment", as("alice", "GET", "/api/session#/health"), 400, "bad_request"},
		{"2.5-15 2.5-46 an escaped fragment", as("alice", "GET", "/api/session%23/health"), 400, "bad_request"},
		{"2.5-33 a denied path with a fragment", as("alice", "GET", "/api/shutdown#"+poison), 400, "bad_request"},
		{"2.5-32 the same by its query's side", as("alice", "GET", "/api/shutdown?a#b"), 400, "bad_request"},
		{"T-13 2.5-55 GET with a body", nobody("GET", "/health", "X-Forwarded-User: alice", "Content-Length: "+itoa(len(hidden))) + hidden, 400, "bad_request"},
		{"T-13 2.5-55 HEAD with a body", withBody("alice", "HEAD", "/", hidden), 400, "bad_request"},
		{"T-13 2.5-55 OPTIONS with a body", withBody("alice", "OPTIONS", "/", hidden), 400, "bad_request"},
		{"T-13 2.5-55 GET in chunks", as("alice", "GET", "/", "Transfer-Encoding: chunked") + "5\r\nabcde\r\n0\r\n\r\n", 400, "bad_request"},
		{"T-13 a body over the limit", as("alice", "POST", "/api/x", "Content-Length: 9000000"), 413, "body_too_large"},
		{"2.5-53 a bare LF behind a chunk's size", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + "5\nabcde\r\n0\r\n\r\n", 400, "bad_request"},
		{"2.5-53 a chunk's size that is none", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + "+5\r\nabcde\r\n0\r\n\r\n", 400, "bad_request"},
		{"2.5-54 an unknown Transfer-Encoding", as("alice", "POST", "/api/x", "Transfer-Encoding: xchunked") + "0\r\n\r\n", 501, ""},
		{"2.5-54 Transfer-Encoding with a tab inside", as("alice", "POST", "/api/x", "Transfer-Encoding: \x0bchunked") + "0\r\n\r\n", 400, ""},
		{"2.5-54 identity and chunked", as("alice", "POST", "/api/x", "Transfer-Encoding: identity, chunked") + "0\r\n\r\n", 501, ""},
		{"2.5-54 two of them", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked", "Transfer-Encoding: identity") + "0\r\n\r\n", 501, ""},
		{"2.5-54 a space before the colon", as("alice", "POST", "/api/x", "Transfer-Encoding : chunked") + "0\r\n\r\n", 400, ""},
		{"2.5-54 two lengths", as("alice", "POST", "/api/x", "Content-Length: 3", "Content-Length: 4") + "abcd", 400, ""},
		{"2.5-54 a length with a sign", as("alice", "POST", "/api/x", "Content-Length: +3") + "abc", 400, ""},
		{"T-14 2.5-35 a dot-dot segment", as("alice", "GET", "/static/../api/shutdown"), 400, "bad_request"},
		{"T-14 2.5-45 an escaped one", as("alice", "GET", "/static/%2e%2e/api/shutdown"), 400, "bad_request"},
		{"T-14 2.5-45 a half escaped one", as("alice", "GET", "/static/.%2E/api/shutdown"), 400, "bad_request"},
		{"T-14 a dot segment", as("alice", "GET", "/./api/shutdown"), 400, "bad_request"},
		{"T-14 an escaped dot segment", as("alice", "GET", "/%2e/api/shutdown"), 400, "bad_request"},
		{"T-14 2.5-36 dots with a parameter", as("alice", "GET", "/..;a/api/shutdown"), 400, "bad_request"},
		{"T-14 2.5-37 a parameter", as("alice", "GET", "/api/shutdown;x"), 400, "bad_request"},
		{"T-14 2.5-37 an empty parameter in between", as("alice", "GET", "/api;/session"), 400, "bad_request"},
		{"T-14 2.5-46 an escaped slash", as("alice", "GET", "/api%2fshutdown"), 400, "bad_request"},
		{"T-14 2.5-46 an escaped slash, large", as("alice", "GET", "/api%2Fshutdown"), 400, "bad_request"},
		{"T-14 2.5-46 an escaped backslash", as("alice", "GET", "/api%5cshutdown"), 400, "bad_request"},
		{"T-14 2.5-46 an escaped NUL", as("alice", "GET", "/api/shutdown%00"), 400, "bad_request"},
		{"T-14 2.5-46 an escaped semicolon", as("alice", "GET", "/api/shutdown%3bx"), 400, "bad_request"},
		{"T-14 2.5-46 an escaped question mark", as("alice", "GET", "/api/shutdown%3fx"), 400, "bad_request"},
		{"T-14 2.5-47 a letter escaped", as("alice", "GET", "/api/%73hutdown"), 400, "bad_request"},
		{"T-14 2.5-47 an escape escaped", as("alice", "GET", "/api/%2573hutdown"), 400, "bad_request"},
		{"T-14 2.5-47 half an escape", as("alice", "GET", "/api/a%2"), 400, ""},
		{"T-14 2.5-48 dots glued to a segment", as("alice", "GET", "/api../shutdown"), 400, "bad_request"},
		{"T-14 2.5-48 dots glued before a segment", as("alice", "GET", "/..api/shutdown"), 400, "bad_request"},
		{"T-14 two slashes", as("alice", "GET", "//api/session"), 400, "bad_request"},
		{"T-14 two slashes inside", as("alice", "GET", "/api//session"), 400, "bad_request"},
		{"T-14 a backslash", as("alice", "GET", `/api\session`), 400, "bad_request"},
		{"T-14 not ASCII", as("alice", "GET", "/session/\xc3\xa4"), 400, "bad_request"},
		{"T-14 no slash in front", as("alice", "GET", "api/session"), 400, ""},
		{"T-14 a whole address", as("alice", "GET", "http://"+host+"/api/session"), 400, "bad_request"},
		{"T-14 2049 bytes", as("alice", "GET", "/"+strings.Repeat("a", 2048)), 400, "bad_request"},
		{"2.5-51 a query that means two things", as("alice", "GET", "/api/session?session_id=a;session_id=b"), 400, "bad_request"},
		{"2.5-51 an escape that is none in the query", as("alice", "GET", "/api/session?session_id=%zz"), 400, "bad_request"},
		{"2.5-52 1001 parameters", as("alice", "GET", "/api/session?"+strings.Repeat("a&", 1000)+"a"), 414, "bad_request"},
		{"2.5-52 a query of more than 8 KiB", as("alice", "GET", "/api/session?a="+strings.Repeat("b", 8<<10)), 414, "bad_request"},
		{"T-15 2.5-61 an upgrade", as("alice", "GET", "/api/terminal", "Connection: Upgrade", "Upgrade: websocket"), 400, "bad_request"},
		{"T-15 2.5-61 an upgrade by nobody", nobody("GET", "/", "Connection: Upgrade", "Upgrade: websocket"), 400, "bad_request"},
		{"T-15 an upgrade to h2c", as("alice", "GET", "/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 400, "bad_request"},
		{"T-15 Upgrade alone", as("alice", "GET", "/", "Upgrade: websocket"), 400, "bad_request"},
		{"T-15 Connection: upgrade alone", as("alice", "GET", "/", "Connection: keep-alive, uPgRaDe"), 400, "bad_request"},
		{"T-15 TRACE", as("alice", "TRACE", "/"), 405, "method_not_allowed"},
		{"T-15 CONNECT", wire("CONNECT", host+":443", "Host: "+host+":443", "X-Forwarded-User: alice"), 405, "method_not_allowed"},
		{"T-15 a method of somebody's own", as("alice", "PROPFIND", "/"), 405, "method_not_allowed"},
		{"T-15 get in small letters", as("alice", "get", "/"), 405, "method_not_allowed"},
		{"T2.3-8 2.5-56 thousands of cookies", as("alice", "GET", "/", "Cookie: "+strings.Repeat("a=1; ", 5000)), 431, "bad_request"},
		{"T2.3-8 2.5-56 65 cookies in several lines", as("alice", "GET", "/", "Cookie: "+strings.Repeat("a=1; ", 40), "Cookie: "+strings.Repeat("b=1; ", 25)), 431, "bad_request"},
		{"T2.3-8 one cookie of more than 16 KiB", as("alice", "GET", "/", "Cookie: a="+strings.Repeat("x", 16<<10)), 431, "bad_request"},
		{"T3.2-8 the edge's own paths are never the slot's", as("alice", "GET", "/.mooring/"+poison), 404, "not_found"},
		{"T3.2-7 the script under another hash", as("alice", "GET", "/.mooring/continuity.js?v=000000000000"), 404, "not_found"},
		{"T3.2-7 the script without a hash", as("alice", "GET", "/.mooring/continuity.js"), 404, "not_found"},
		{"2.1 the proxy's own paths", as("alice", "GET", "/oauth2/sign_in"), 404, "not_found"},
		{"2.1 2.5-30 nor who somebody is", as("alice", "GET", "/oauth2/userinfo"), 404, "not_found"},
		{"T3.2-6 HEAD of what is no page", as("alice", "HEAD", "/api/session"), 405, "method_not_allowed"},
		{"2.5-62 2.5-66 an error repeats nothing", as("alice", "GET", "/<script>"+poison+"</script>/.."), 400, "bad_request"},
		{"T-30 nor does one of the API", as("alice", "GET", "/api/"+poison+"/..?"+poison, "Referer: "+poison), 400, "bad_request"},
		{"T-16 the one setting that takes a web UI over", withBody("alice", "POST", "/api/settings", `{"a":[{"_set_pass\u0077ord":"x"}]}`), 404, "not_found"},
		{"T-16 settings that are read in two ways", withBody("alice", "POST", "/api/settings", `{"a":1,"a":{"_set_password":"x"}}`), 400, "bad_request"},
		{"T-16 settings that are no JSON", withBody("alice", "POST", "/api/settings", `_set_password=x`), 400, "bad_request"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a := r.send(row.raw)
			a.refused(t, row.status, row.code)
			r.none(t)
			if len(a.Header["Set-Cookie"]) > 0 && row.status != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("a refusal sets cookies: %q", a.Header["Set-Cookie"])
			}
			if row.code == "" {
				return
			}
			if cc := a.Header.Get("Cache-Control"); cc != "no-store, private" {
				t.Errorf("T-30 Cache-Control %q of a refusal", cc)
			}
		})
	}
}

// TestDenied asks for every path of the deny-list, also as others might spell it.
func TestDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.claimed(t, "alice")
	open := newRig(t, 1, func(o *edge.Options) { o.DenyOpen = []string{"/share", "/api/terminal/*"} })
	open.claimed(t, "alice")
	for _, path := range []string{
		"/api/shutdown", "/api/shutdown/", "/API/Shutdown", "/api/health/restart", "/api/onboarding/start", "/api/updates/apply", "/api/updates/force",
		"/api/updates/clear_lock", "/api/auth/login", "/api/auth/oidc/start", "/api/auth/passkey/register", "/api/approval/inject_test",
		"/api/clarify/inject_test", "/api/admin/reload", "/api/extensions/install", "/api/terminal/start", "/api/gateway/start", "/api/gateway/stop",
		"/api/gateway/restart", "/share", "/share/abc", "/api/share/abc",
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			t.Run("T-16 2.5-64 "+method+" "+path, func(t *testing.T) {
				r.send(as("alice", method, path)).refused(t, 404, "not_found")
				r.none(t)
				opened := strings.HasPrefix(path, "/share") || strings.HasPrefix(path, "/api/terminal/")
				if a := open.send(as("alice", method, path)); (a.StatusCode == http.StatusOK) != opened {
					t.Errorf("status %d where /share and /api/terminal are open", a.StatusCode)
				}
			})
		}
	}
	t.Run("T-16 the web UI's own login leads to ours", func(t *testing.T) {
		a := r.send(as("alice", "GET", "/login?next=//evil.org"))
		a.want(t, http.StatusFound)
		if got := a.Header.Get("Location"); got != "/oauth2/start?rd=%2F" {
			t.Errorf("Location %q", got)
		}
		r.none(t)
	})
	for _, path := range []string{"/api/shutdownx", "/sharex", "/api/sharing", "/api/settings"} {
		t.Run("T-16 is not "+path, func(t *testing.T) { r.send(as("alice", "GET", path)).want(t, http.StatusOK) })
	}
}

// TestUntrustedPeer has the right header from the wrong machine.
func TestUntrustedPeer(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	for _, row := range []struct {
		name, from string
		status     int
	}{
		{"T-4 2.5-64 a peer that is not in the list", "127.0.0.2", 401},
		{"T-4 one that is", "127.0.0.1", 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			r.sendFrom(row.from, as("alice", "GET", "/api/x")).want(t, row.status)
		})
	}
}

// TestErrorForm compares errors of pages with those of the API.
func TestErrorForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	api := r.send(wire("GET", "/api/x", "Host: "+host))
	page := r.send(wire("GET", "/x", "Host: "+host))
	t.Run("T-30 the API's errors are JSON", func(t *testing.T) {
		api.refused(t, 401, "identity_required")
		if got := api.Header.Get("Content-Type"); got != "application/json" || !bytes.Contains(api.body, []byte(`"code":"identity_required"`)) || !bytes.Contains(api.body, []byte(`"param":null`)) {
			t.Errorf("%s: %s", got, api.body)
		}
	})
	t.Run("T-30 2.5-66 all others are one constant page", func(t *testing.T) {
		page.refused(t, 401, "identity_required")
		other := r.send(wire("GET", "/other/"+poison+"?"+poison, "Host: "+host, "Referer: "+poison, "X-Forwarded-User: "+poison+"@"))
		other.refused(t, 401, "identity_required")
		if !bytes.Equal(page.body, other.body) || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
			t.Errorf("two pages: %s\n%s", page.body, other.body)
		}
		if !strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("no policy: %v", page.Header)
		}
	})
	t.Run("2.5-60 who is nobody gets no cookies", func(t *testing.T) {
		if len(page.Header["Set-Cookie"])+len(api.Header["Set-Cookie"]) > 0 {
			t.Errorf("cookies: %v %v", page.Header["Set-Cookie"], api.Header["Set-Cookie"])
		}
	})
}
