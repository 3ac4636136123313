package edge_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"mooring/internal/edge"
)

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/", "/api/session", "/session/a-b_c~1", "//a", "/a//b", "/./a", "/a/../b", "/a/..", "/%2e%2e/a", "/a;b", "/a%2fb", "/a%20b", "/%zz", "/a%", `/a\b`, "/\x00", "/ä", "a", "", "/..a", "/a..", "/%5B", "/a+b", "/a?b", "/a#b", "/.", "/a/.", "/...",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if !edge.PlainPath(p) {
			return
		}
		u, err := url.ParseRequestURI(p)
		if strings.ContainsAny(p, "?#") {
			return // the caller has cut one off, and refused the other
		}
		if err != nil || u.Host != "" || u.RawQuery != "" {
			t.Fatalf("%q was let through and is no path: %v", p, err)
		}
		clean := path.Clean(u.Path)
		if strings.HasSuffix(p, "/") && clean != "/" {
			clean += "/"
		}
		if clean != u.Path || strings.ContainsAny(u.Path, ";\\#?%\x00") || strings.Count(u.Path, "/") != strings.Count(p, "/") {
			t.Fatalf("%q was let through and is %q, cleaned %q", p, u.Path, clean)
		}
		for _, c := range []byte(p) {
			if c <= ' ' || c >= 0x7f {
				t.Fatalf("%q was let through with the byte %#x", p, c)
			}
		}
	})
}

func FuzzSafeReturn(f *testing.F) {
	for _, seed := range []string{"/session/abc", "//a", `/\a`, "/\t/a", "/%09/a", "/%2f/a", "/..//a", "https://a", "/a?b=//c", "/oauth2/start", "/%2foauth2", "/a%00", "/a%zz", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rd string) {
		got := edge.SafeReturn(rd)
		if got != "/" && got != rd {
			t.Fatalf("%q became %q", rd, got)
		}
		// Browsers drop tabs and line ends, and take a backslash for a slash.
		for _, seen := range []string{got, strings.ReplaceAll(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(got), `\`, "/")} {
			u, err := url.Parse("https://" + host)
			if err != nil {
				t.Fatal(err)
			}
			to, err := u.Parse(seen)
			if err != nil || to.Host != host || to.Scheme != "https" || strings.HasPrefix(seen, "//") || strings.HasPrefix(to.Path, "/oauth2/") {
				t.Fatalf("%q leads to %v, %v", rd, to, err)
			}
		}
	})
}

var wellFormed = [2]*regexp.Regexp{regexp.MustCompile(`\A[0-9a-f]{64}\.[0-9a-f]{32,64}\z`), regexp.MustCompile(`\A[a-z0-9][a-z0-9_-]{0,63}\.[0-9a-f]{64}\z`)}

func FuzzCookies(f *testing.F) {
	s, p := sid+"="+goodSession("a"), pid+"="+goodProfile("w")
	for _, seed := range []string{s, p, s + "; " + p, s + "\n" + s, s + ";" + s, sid + "\n" + s, s + "x", ";;" + s, " " + s + " ", "a=b;" + p + "\n" + sid + "=", sid + "=\n;" + s} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		values, ok := edge.ReadCookies(lines, [2]string{sid, pid})
		if !ok {
			return
		}
		for i, name := range []string{sid, pid} {
			if values[i] == "" {
				continue
			}
			if !wellFormed[i].MatchString(values[i]) {
				t.Fatalf("%q gave %s=%q", text, name, values[i])
			}
			if n := strings.Count(text, name+"="+values[i]); n != 1 {
				t.Fatalf("%q has it %d times", text, n)
			}
			// Go's own reader agrees that it is there, and that there is no other one.
			found := (&http.Request{Header: http.Header{"Cookie": lines}}).CookiesNamed(name)
			if len(found) != 1 || found[0].Value != values[i] {
				t.Fatalf("%q: net/http reads %v", text, found)
			}
		}
	})
}

func FuzzPage(f *testing.F) {
	for _, seed := range []string{
		"<!doctype html><html><head><title>a</title></head><body></body></html>", "<head>", "<HEAD\na='>'>x", "<!-- <head> --><head>", "<script><head></script><head>", "<body></body>", "<p>", "", "<head", "<title><head></title></body>",
		"<head/>x", "\r\n<head>\r\n", "<head>\x00\xff", "<textarea></body></textarea></body>", "<svg><head>", "<![CDATA[<head>]]>", "<head><script data-mooring-continuity>", "<?xml <head>?><head>", "</head><head>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		in := bytes.NewReader(page)
		begin, at, err := edge.FindHead(in)
		if err != nil {
			t.Fatalf("%q: %v", page, err)
		}
		rest, _ := io.ReadAll(in)
		if !bytes.Equal(append(bytes.Clone(begin), rest...), page) {
			t.Fatalf("%q became %q and %q", page, begin, rest)
		}
		if at < 0 {
			return
		}
		if at > len(begin) || bytes.Contains(begin, []byte("data-mooring-continuity")) && at+20 < len(begin) && bytes.Contains(begin[at:], []byte("data-mooring-continuity")) {
			t.Fatalf("%q is tagged at %d of %d", page, at, len(begin))
		}
		if before := bytes.ToLower(begin[:at]); !bytes.HasSuffix(before, []byte(">")) && !bytes.HasPrefix(bytes.ToLower(begin[at:]), []byte("</body")) {
			t.Fatalf("%q is tagged behind %q", page, before)
		}
	})
}

func FuzzTrim(f *testing.F) {
	for _, seed := range []string{
		`{"session":{"messages":[1,2,3]}}`, `{"session":{"messages":[{"a":"]"}, [2] , 3],"x":1e400}}`, `{"session":{"messages":[]}}`, `{"session":{"messages":[1],"messages":[2]}}`,
		`{"messages":[1,2],"session":{"a":{"messages":[1]},"messages":["\ud800","\"",2]}}`, `{"session":[]}`, `{"session":{"messages":[1,2]}} `, `[]`, `{"session":{"mess\u0061ges":[1,2]}}`, "{\"session\":{\"messages\":[\"\xff\",2]}}", `{"session":{"messages":[1,,2]}}`,
	} {
		f.Add([]byte(seed), uint16(len(seed)-3))
	}
	f.Fuzz(func(t *testing.T, body []byte, limit uint16) {
		was := bytes.Clone(body)
		got, dropped, err := edge.Trim(body, int(limit))
		if !bytes.Equal(was, body) {
			t.Fatalf("%q was changed to %q", was, body)
		}
		if err != nil {
			return
		}
		if dropped < 1 || len(got) > int(limit) || len(got) >= len(body) {
			t.Fatalf("%q to %d bytes: dropped %d, left %d", body, limit, dropped, len(got))
		}
		same := 0
		for same < len(got) && got[same] == body[same] {
			same++
		}
		if tail := len(got) - same; !bytes.Equal(got[same:], body[len(body)-tail:]) {
			t.Fatalf("%q became %q, which is more than a piece taken out", body, got)
		}
		var a, b struct {
			Session struct {
				Messages []json.RawMessage `json:"messages"`
			} `json:"session"`
		}
		if json.Unmarshal(body, &a) != nil || strings.Count(strings.ToLower(string(body)), "essages") > 1 || strings.Count(strings.ToLower(string(body)), "ession") > 1 || bytes.Contains(body, []byte(`\u`)) {
			return // encoding/json takes names in any case, and the last of two
		}
		if err := json.Unmarshal(got, &b); err != nil {
			t.Fatalf("%q became %q: %v", body, got, err)
		}
		if len(a.Session.Messages) != len(b.Session.Messages)+dropped || len(b.Session.Messages) == 0 {
			t.Fatalf("%q became %q with %d dropped", body, got, dropped)
		}
		for i, m := range b.Session.Messages {
			if !bytes.Equal(m, a.Session.Messages[i+dropped]) {
				t.Fatalf("%q became %q", body, got)
			}
		}
	})
}

// FuzzRequest sends any bytes to an edge: for each of what net/http takes for a request, a slot sees one at most, with one identity and one
// Cookie line.
func FuzzRequest(f *testing.F) {
	r := newRig(f, 1)
	s := r.claimed(f, "alice")
	two := "Cookie: " + sid + "=" + goodSession("a")
	hidden := wire("GET", "/api/"+poison, "Host: "+host, identity+": "+poison)
	for _, seed := range []string{
		as("alice", "GET", "/"), as("alice", "GET", "/api/x", two, two), withBody("alice", "POST", "/api/x", hidden), withBody("alice", "GET", "/", hidden),
		as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + "5\r\nabcde\r\n0\r\n\r\n" + hidden, as("alice", "POST", "/api/x", "Transfer-Encoding: chunked", "Content-Length: 3") + "5\r\nabcde\r\n0\r\n\r\n",
		as("alice", "GET", "//api/session"), as("alice", "GET", "/", identity+": "+poison, "X_Hermes_Tenant_Identity: "+poison), as("alice", "GET", "/", "Connection: "+identity), as("alice", "GET", "/", "Upgrade: h2c"),
		"GET / HTTP/1.0\r\nHost: " + host + "\r\nX-Forwarded-User: alice\r\n\r\n", as("alice", "GET", "/", "A: b\r\n c: d"), as("alice", "GET", "/ HTTP/1.1\r\nX: "), as("alice", "HEAD", "/"), "\r\n\r\n" + as("alice", "GET", "/"), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s.take()
		c := (&rig{t: t, addr: r.addr}).dial("")
		defer c.Close()
		_, _ = c.Write(raw)
		if tcp, ok := c.(interface{ CloseWrite() error }); ok {
			_ = tcp.CloseWrite()
		}
		_ = c.SetReadDeadline(time.Now().Add(wait))
		all, _ := io.ReadAll(c)
		most := bytes.Count(all, []byte("HTTP/1."))
		if most == 0 { // taken for a client that has gone: the slot may have been asked, and is done soon
			time.Sleep(20 * time.Millisecond)
			most = 1
		}
		seen := s.take()
		if len(seen) > most {
			t.Fatalf("%q: %d answers, but the slot saw %q", raw, most, seen)
		}
		for _, q := range seen {
			ids, cookies := q.values(identity), q.values("Cookie")
			if len(ids) != 1 || len(ids[0]) != 35 || len(cookies) > 1 || len(q.extra) > 0 || len(q.values("Host")) != 1 || q.values("Host")[0] != host {
				t.Fatalf("%q: the slot saw %q", raw, q)
			}
			if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(q.head + "\r\n" + string(q.body)))); err != nil {
				t.Fatalf("%q: the slot saw %q, which is no request: %v", raw, q.head, err)
			}
		}
	})
}
