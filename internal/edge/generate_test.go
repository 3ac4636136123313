package edge_test

import (
	"fmt"
	"strconv"
	"strings"
)

// literal as the first byte of a generator's choices says that what follows is what a client sends, as it stands.
const literal = 0xff

// choices are the bytes that decide what a generator writes. Where they have come to an end, everything is as usual.
type choices struct {
	left     []byte
	bindings map[string]string // of tenants, the cookie that their slot is known by
}

// n chooses one of that many, the first one for 0.
func (c *choices) n(many int) int {
	if len(c.left) == 0 {
		return 0
	}
	b := c.left[0]
	c.left = c.left[1:]
	return int(b) % many
}

func (c *choices) of(list ...string) string { return list[c.n(len(list))] }

// odd chooses the usual most of the time.
func (c *choices) odd(usual string, list ...string) string {
	if c.n(50) < 49 {
		return usual
	}
	return c.of(list...)
}

// generate writes what a client sends on one connection.
func generate(choose []byte, bindings map[string]string) string {
	if len(choose) > 0 && choose[0] == literal {
		return string(choose[1:])
	}
	c := &choices{left: choose, bindings: bindings}
	var b strings.Builder
	b.WriteString(c.odd("", "\r\n", "\n", "\r", " ", "\x00", "\r\n\r\n"))
	for range 1 + c.n(8)/6 {
		b.WriteString(c.request())
	}
	return b.String()
}

func (c *choices) request() string {
	who := c.of("alice", "alice", "bob")
	end := c.odd("\r\n", "\n", "\r", "\n\r", "\r\r\n", "\x0b")
	framing, body := c.body()
	lines := append([]string{
		c.odd("Host: "+host, "Host: "+host+":443", "host:"+host, "Host: "+strings.ToUpper(host), "Host: other.example.org", "Host: "+host+"\r\nHost: "+host, "Host: "+host+"\x00", "X: y", "Host : "+host, "Host: "+host+"/x"),
		c.odd("X-Forwarded-User: "+who, "x-forwarded-user:\t"+who+" ", "X_Forwarded_User: "+who, "X-Forwarded-User: "+who+"\r\nX-Forwarded-User: bob", "X-Forwarded-User: "+who+", bob", "X-Forwarded-User: carol@example.org", "X-Forwarded-User:",
			"X-Forwarded-User: "+who+"\r\n bob", "X-Forwarded-User: "+who+"\x85"),
	}, framing...)
	for range c.n(7) {
		line := c.header(who)
		at := c.n(len(lines) + 1)
		lines = append(lines[:at:at], append([]string{line}, lines[at:]...)...)
	}
	method := c.of("GET", "GET", "POST", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD")
	if len(framing) > 0 && c.n(6) < 5 {
		method = c.of("POST", "PUT", "PATCH", "DELETE")
	}
	method = c.odd(method, "get", "TRACE", "CONNECT", "G\x00T", "GET\t", "POST,GET", "M-SEARCH", "", "PROPFIND", "GÄT", "GET /a")
	space := c.odd(" ", "  ", "\t", "\x0b", " \t ", "\xa0", "")
	version := c.odd("HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.1 ", "HTTP/1.10", "http/1.1", "HTTP/01.1", "", "HTTP/1.1 HTTP/1.1", "HTTP/9.9", "HTTP/1.1\x0b")
	return method + space + c.target() + c.odd(" ", "  ", "\t", "\x0c", "\x85") + version + end + strings.Join(lines, end) + end + c.odd(end, "", " "+end, "\x00"+end, "\n") + body
}

func (c *choices) target() string {
	path := c.of("/api/x", "/", "/api/session", "/session/abc", "/static/app.js", "/api/file/raw", "/sw.js", "/api/chat/start", "/a.b/c~d", "/health", "/api/sessions", "/extensions/a/b.js")
	for range c.n(8) / 6 {
		piece := c.of("//", "/./", "/../", ";x", "%2f", "%5c", "\\", "%2e%2e/", "%00", "%20b", "%5B", "%41", "%c3%a4", "ä", "\xff", "\x85", "\x00", "\x1c", "*", "%", "%zz", "%3b", "%3f", "%23", "%25", "'", "\"", "<", "@", ":", "..", ".", "|", "/", "%0d%0aX:%20y", "%7e", "+", "&", "=")
		at := c.n(len(path) + 1)
		path = path[:at] + piece + path[at:]
	}
	path = c.odd(path, "http://"+host+path, "//"+host+path, "HTTP://"+host, "*", host+":443", "", "/"+strings.Repeat("a", 2040+c.n(20)), "?"+path, "//api/shutdown", "/api/shutdown;x", "/api/shutdown", "/login", "/.mooring/continuity.js", "/oauth2/start")
	query := c.of("", "", "?a=b", "?session_id=a&session_id=b", "?", "?a=b;c=d", "??", "?%zz", "?a b", "?a\tb", "?"+strings.Repeat("a&", 1+c.n(4)*250), "?x=%0d%0aY:%20z", "?"+strings.Repeat("q", 8180+c.n(20)), "?a=\xe4", "?a='\"<>", "?/../x", "?a=//b", "?a\x85b", "?%2", "?\\")
	return path + query + c.odd("", "#", "#/health", "%23x")
}

// header writes one line, which may hold others.
func (c *choices) header(who string) string {
	if c.n(3) == 0 {
		return c.cookie(who)
	}
	name := c.name()
	return name + c.odd(": ", ":", " : ", ":\t", "\t:", ":  \t ", "", ":\r\n ", ":\n", "\x00:", "\x0b:") + c.value()
}

func (c *choices) name() string {
	switch c.n(5) {
	case 0, 1:
		return c.of("Accept", "Accept-Language", "Content-Type", "Origin", "Referer", "User-Agent", "X-Hermes-CSRF-Token", "X-CSRF-Token", "Last-Event-ID", "Cache-Control", "DNT", "Priority", "Sec-Fetch-Mode", "Sec-Fetch-Dest",
			"Sec-Fetch-Site", "Sec-Fetch-User", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "Accept-Encoding", "sec-fetch-mode", "ACCEPT")
	case 2:
		return c.of("Connection", "Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade", "Transfer-Encoding", "Expect", "Proxy-Authorization", "HTTP2-Settings", "Via", "Max-Forwards", "Content-Length", "Content-Encoding", "Host")
	case 3:
		return c.of(identity, "x-hermes-tenant-identity", "X_Hermes_Tenant_Identity", "X.Hermes.Tenant.Identity", "X-Hermes-Tenant-Other", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For", "X_Forwarded_User", "X-Forwarded-Prefix",
			"Forwarded", "X-Real-IP", "X-Original-URL", "X-Rewrite-URL", "X-Request-Id", "X-HTTP-Method-Override", "Authorization", "X-Auth-Request-User", "X-Forwarded-Email", "Cf-Connecting-Ip", "X-Envoy-Original-Path", "Remote-User")
	}
	return c.of("X-A", "X-"+strings.Repeat("n", 300), "From ", "Accept ", "Ac\x00cept", "Äccept", "Accept(", "", ":", "Content_Length", "Transfer_Encoding", "Transfer-Encoding\x0b", "Subject", "MIME-Version", "GET / HTTP/1.1", "\xefAccept", "Accept\x85", "Sec-Fetch-Other", "If-Match", "Set-Cookie")
}

func (c *choices) value() string {
	switch c.n(4) {
	case 0:
		return c.of("a", "", "*/*", "text/event-stream", "application/json", "multipart/form-data; boundary=x", "message/rfc822", "text/html; charset=\"utf-8\"", "navigate", "document", "gzip", "gzip, br", "bytes=0-1", "\"etag\"", "=?utf-8?b?YQ==?=", "(comment)")
	case 1:
		return c.of("close", "keep-alive", "upgrade", "close, "+identity, "X-Forwarded-User", "Cookie, X-Forwarded-Host", "", "h2c", "websocket", "100-continue", "chunked", "identity", "trailers", "5", "+5", "0x5", "X-A, Content-Length", "close\r\nConnection: "+identity, "Transfer-Encoding")
	case 2:
		end := c.of("\r\n", "\n", "\r", "\r\n ", "\r\n\t", "\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\x00", "\xa0", "\xe2\x80\xa8", "\n ", "\r\n\r\n", ",", "\\r\\n")
		return "a" + end + c.of(identity+": "+poison, "b", "Content-Length: 7", "Transfer-Encoding: chunked", "From b c", "GET /api/"+poison+" HTTP/1.1\r\nHost: "+host+"\r\n", "Cookie: "+sid+"="+goodSession("e"), "")
	}
	return c.of(" padded\t ", "ä", "\xff\xfe", "\x7f", "\x01", strings.Repeat("l", 1+c.n(5)*1000), strings.Repeat("w", 31<<10), "a, b; c=\"d\"", poison, "bob", "t1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "127.0.0.1", "/api/shutdown", strings.Repeat("a\r\nX-B: ", 1+c.n(130)), "a: b", "://")
}

func (c *choices) cookie(who string) string {
	var pairs []string
	if c.n(4) < 3 {
		pairs = append(pairs, bid+"="+c.odd(c.bindings[who], c.bindings["bob"], "x", ""))
	}
	for range 1 + c.n(4) {
		name := c.of(sid, sid, pid, pid, "a", c.odd(sid, strings.ToUpper(sid), " "+sid, sid+" ", "$Version", "\""+sid+"\"", "\xa0"+sid, sid+"\x00", "__Host-mooring_sso", sid+"\x85", "", pid+"\t", "hermes_chat_"))
		value := c.of(goodSession("a"), goodProfile("w"), c.odd(goodSession("b"), "", "\""+goodSession("c")+"\"", goodSession("A"), "other", goodProfile("w")+"\x85", goodSession("d")+" ", "x="+goodSession("a"), "a,b", "\\\"", goodProfile("../w"), goodSession("f")+"\x00", "ä"))
		if name == sid && c.n(3) < 2 {
			value = goodSession(c.of("a", "b"))
		}
		if name == pid && c.n(3) < 2 {
			value = goodProfile(c.of("w", "v_-1"))
		}
		pairs = append(pairs, name+c.odd("=", " = ", "", "==", "=\t")+value)
	}
	line := "Cookie: "
	if c.n(10) == 9 {
		line = c.of("cookie:", "COOKIE: ", "Cookie2: ", "Cookie:\t ", "Cookie : ", "Cookie: ;;")
	}
	return line + strings.Join(pairs, c.odd("; ", ";", ", ", " ; ", "; ;", ";\x00", "\r\nCookie: ", "\r\n ", "\x85; ", "\t", "&", " "))
}

// body writes the lines that tell of a body, and the body.
func (c *choices) body() (lines []string, body string) {
	if c.n(5) < 2 {
		return nil, c.odd("", "stray", c.hidden())
	}
	body = c.of("a=b", "", c.hidden(), `{"a":1}`, "0\r\n\r\n"+c.hidden(), "\r\n\r\n", "\x00\xff", strings.Repeat("b", 1+c.n(100)*1000), "5\r\nabcde\r\n0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n")
	n := strconv.Itoa(len(body))
	switch c.n(8) {
	case 0, 1, 2:
		return []string{"Content-Length: " + n}, body
	case 3, 4:
		return []string{"Transfer-Encoding: chunked"}, c.chunks(body)
	case 5:
		return []string{c.of("Content-Length: +"+n, "Content-Length: 0x"+n, "Content-Length: "+n+", "+n, "Content-Length: "+n+"\r\nContent-Length: "+n, "Content-Length: "+n+"\r\nContent-Length: 0", "Content-Length: -1", "Content-Length:\t"+n+" ", "Content-Length: 0"+n,
			"Content-Length: 1_0", "Content-Length: ", "Content-Length: "+n+"\x0b", "Content-Length: 99999999999999999999", "Content-Length: 0", "Content-Length: 1", "Content-Length: "+strconv.Itoa(len(body)+40), "Content-Length: "+n+"\r\n 0", "content-length:"+n, "Content-Length : "+n, "Content-Length: 4000000")}, body
	case 6:
		both := []string{"Content-Length: " + c.of(n, "0", "4", "5", "1000"), c.coding()}
		if c.n(2) == 1 {
			both[0], both[1] = both[1], both[0]
		}
		return both, c.chunks(body)
	}
	return []string{c.coding()}, c.chunks(body)
}

func (c *choices) coding() string {
	return c.of("Transfer-Encoding: chunked", "Transfer-Encoding: Chunked", "transfer-encoding:chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: xchunked",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding:\r\n chunked", "Transfer-Encoding: \x0bchunked", "Transfer-Encoding: chunked;q=1", "Transfer-Encoding : chunked", "Transfer_Encoding: chunked", "Transfer-Encoding: ", "Transfer-Encoding: \"chunked\"",
		"X: y\rTransfer-Encoding: chunked", "Transfer-Encoding: chunked\x85", "Transfer-Encoding: chunked,", "TE: chunked")
}

// chunks cuts a body up.
func (c *choices) chunks(body string) string {
	var b strings.Builder
	for body != "" {
		n := len(body)
		if c.n(3) == 2 {
			n = 1 + c.n(n)
		}
		size := fmt.Sprintf(c.odd("%x", "%X", "0%x", "0000000000000000%x", "0x%x", "+%x", " %x", "%x ", "%x\t", "-%x", "%d", "1%x"), n)
		size = strings.ReplaceAll(size, "%!", "")
		b.WriteString(size + c.odd("", ";a=b", ";a=\"\r\n\"", ";\n", ";"+strings.Repeat("e", 500), "\x00", ";\r") + c.odd("\r\n", "\n", "\r", "\n\r\n") + body[:n] + c.odd("\r\n", "\n", "", "xx", "\r"))
		body = body[n:]
	}
	b.WriteString(c.odd("0\r\n", "0\n", "00\r\n", "0;a\r\n", "", "0 \r\n", "-0\r\n"))
	b.WriteString(c.odd("", "X-T: y\r\n", identity+": "+poison+"\r\n", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "X-Forwarded-User: bob\r\n", " folded\r\n", "no colon\r\n", "Cookie: "+sid+"="+goodSession("e")+"\r\n"))
	return b.String() + c.odd("\r\n", "\n", "", "\r", "\r\n\r\n")
}

// hidden is a request that hides in the body of another one.
func (c *choices) hidden() string {
	return wire(c.of("GET", "POST", "HEAD"), c.of("/api/"+poison, "/api/shutdown", "/api/session"), "Host: "+host, identity+": "+poison, "X-Forwarded-User: "+c.of("bob", "alice"))
}
