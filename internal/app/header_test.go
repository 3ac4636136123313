package app_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// contractHeaders are those of CONTRACT 3.1 that every turn has.
func contractHeaders() []string {
	return []string{"X-Session-Id", "X-Hermes-Session-Id", "X-Mooring-Session", "X-Mooring-Turn", "X-Mooring-Kind", "X-Mooring-Identity", "X-Mooring-Upstream"}
}

// underscoreless is a reverse proxy that drops header names with an underscore, as common ones do.
func underscoreless(t *testing.T, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		maps.DeleteFunc(r.Out.Header, func(name string, _ []string) bool { return strings.Contains(name, "_") })
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

func TestUnderscores(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	direct := p.base
	hyphen := p.chat("", "hi", "session-id", "s1").want(http.StatusOK)

	t.Run("C025 both spellings reach one session", func(t *testing.T) {
		under := p.chat("", "again", "session_id", "s1").want(http.StatusOK)
		if under.session() != hyphen.session() {
			t.Errorf("session_id: %s, session-id: %s, want one session", under.session(), hyphen.session())
		}
		for name := range under.header {
			if strings.Contains(name, "_") {
				t.Errorf("response header %s has an underscore", name)
			}
		}
	})
	t.Run("C025 behind a proxy that drops underscores", func(t *testing.T) {
		p.base = underscoreless(t, direct)
		defer func() { p.base = direct }()
		if got := p.chat("", "third", "session-id", "s1").want(http.StatusOK).session(); got != hyphen.session() {
			t.Errorf("session-id through the proxy: %s, want %s", got, hyphen.session())
		}
		lost := p.chat("", "one of mine", "session_id", "s1").want(http.StatusOK)
		other := p.chat("", "one of yours", "session_id", "s1").want(http.StatusOK)
		if lost.session() == hyphen.session() || lost.session() == other.session() {
			t.Errorf("lost ids reach %s and %s, want sessions of their own beside %s", lost.session(), other.session(), hyphen.session())
		}
	})
}

func TestCrossOrigin(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	const page = "https://chat.example"
	u := upstreamtest.New(t)
	p := start(t, one(u)+"cors: {origins: ["+page+"]}\n")

	t.Run("C026 H-34 every answer exposes the headers of the contract", func(t *testing.T) {
		for name, r := range map[string]*reply{
			"200":  p.chat("", "hi", "Origin", page).want(http.StatusOK),
			"SSE":  p.stream("", "hi", "Origin", page).want(http.StatusOK),
			"4xx":  p.chat("a\tb", "hi", "Origin", page).want(http.StatusBadRequest),
			"json": p.call(http.MethodPost, chatPath, "{", "Origin", page).want(http.StatusBadRequest),
		} {
			exposed := strings.Split(strings.ReplaceAll(strings.ToLower(r.header.Get("Access-Control-Expose-Headers")), " ", ""), ",")
			for _, h := range append(contractHeaders(), "X-Mooring-Parent", "X-Mooring-Error") {
				if !slices.Contains(exposed, strings.ToLower(h)) {
					t.Errorf("%s: %s is not exposed: %v", name, h, exposed)
				}
			}
			if got := r.header.Get("Access-Control-Allow-Origin"); got != page {
				t.Errorf("%s: allowed origin = %q, want %q", name, got, page)
			}
			if !slices.Contains(r.header.Values("Vary"), "Origin") {
				t.Errorf("%s: Vary = %q, want Origin in it", name, r.header.Values("Vary"))
			}
		}
	})
	t.Run("C028 H-34 preflight", func(t *testing.T) {
		ask := []string{"content-type", "authorization", "x-session-id", "x-hermes-session-id", "idempotency-key"}
		preflight := func(origin string) *reply {
			return p.call(http.MethodOptions, chatPath, "", "Origin", origin, "Access-Control-Request-Method", "POST",
				"Access-Control-Request-Headers", strings.Join(ask, ", "))
		}
		good := preflight(page).want(http.StatusNoContent)
		allowed := strings.Split(strings.ReplaceAll(strings.ToLower(good.header.Get("Access-Control-Allow-Headers")), " ", ""), ",")
		for _, h := range ask {
			if !slices.Contains(allowed, h) {
				t.Errorf("%s is not allowed: %v", h, allowed)
			}
		}
		if methods := good.header.Get("Access-Control-Allow-Methods"); !strings.Contains(methods, "PATCH") {
			t.Errorf("allowed methods = %q, want PATCH in it", methods)
		}
		for name := range preflight("https://evil.example").header {
			if strings.HasPrefix(name, "Access-Control-Allow") {
				t.Errorf("another origin is told %s", name)
			}
		}
		if good.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Error("credentials are allowed")
		}
	})
}

func TestResponseHeaders(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	u.Always(upstreamtest.Reply{Header: http.Header{"Request-Id": {"req_1"}, "X-Ratelimit-Remaining": {"41"}, "Connection": {"X-Mooring-Session, X-Session-Id, X-Hop"}, "X-Hop": {"1"}}})
	p := start(t, one(u))

	t.Run("C029 H-6 the same names buffered and streamed", func(t *testing.T) {
		names := func(r *reply) []string {
			h := r.want(http.StatusOK).header.Clone()
			for _, of := range []string{"Content-Length", "Content-Type", "Cache-Control", "X-Accel-Buffering"} { // length, and what the type brings
				h.Del(of)
			}
			return slices.Sorted(maps.Keys(h))
		}
		buffered, streamed := names(p.chat("c029", "hi")), names(p.stream("c029", "hi"))
		if diff := cmp.Diff(buffered, streamed); diff != "" {
			t.Errorf("header names (-buffered +streamed):\n%s", diff)
		}
		for _, h := range append(contractHeaders(), "Request-Id", "X-Ratelimit-Remaining") {
			if !slices.Contains(streamed, h) {
				t.Errorf("%s is missing: %v", h, streamed)
			}
		}
	})
	t.Run("C037 an upstream strips none of ours by naming it in Connection", func(t *testing.T) {
		r := p.chat("c037", "hi").want(http.StatusOK)
		if r.session() == "" || r.header.Get("X-Session-Id") != "c037" || r.header.Get("X-Hop") != "" {
			t.Errorf("headers = %v, want ours and no X-Hop", r.header)
		}
	})
}

func TestControlCharacters(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	body := chatBody("hi", "")

	for name, value := range map[string]string{"CR": "a\rb", "NUL": "a\x00b", "DEL": "a\x7fb", "TAB": "a\tb", "LF": "a\nb"} {
		t.Run("C030 H-3 "+name+" in a session header", func(t *testing.T) {
			_, in := p.raw(rawChat(body, "X-Session-Id: "+value+"\r\n"))
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("status = %d, want 400", res.StatusCode)
			}
		})
	}
	t.Run("C030 TAB is named as an invalid id", func(t *testing.T) {
		if got := p.chat("a\tb", "hi").want(http.StatusBadRequest).get("error", "code"); got != "invalid_session_id" {
			t.Errorf("code = %v, want invalid_session_id", got)
		}
	})
	for _, escaped := range []string{`\u0000`, `\n`, `\r\nSet-Cookie: x=1`, `\t`, `\u007f`} {
		t.Run("C030 "+escaped+" in the body", func(t *testing.T) {
			r := p.call(http.MethodPost, chatPath, chatBody("hi", `"session_id":"a`+escaped+`b",`)).want(http.StatusBadRequest)
			if got := r.get("error", "code"); got != "invalid_session_id" {
				t.Errorf("code = %v, want invalid_session_id", got)
			}
		})
	}
	if n := len(u.Posts()); n != 0 {
		t.Errorf("%d requests reached the upstream, want none", n)
	}
	if n := p.sessions(); n != 0 {
		t.Errorf("%d sessions are there, want none", n)
	}
	t.Run("C030 percent text is plain text", func(t *testing.T) {
		const id = "a%0d%0aSet-Cookie:x=1"
		r := p.call(http.MethodPost, chatPath+"?session_id="+id, chatBody("hi", `"session_id":"`+id+`",`)).want(http.StatusOK)
		if got := r.header.Get("X-Session-Id"); got != id {
			t.Errorf("X-Session-Id = %q, want %q", got, id)
		}
		if r.header.Get("Set-Cookie") != "" || u.LastPost(t).Header.Get("Set-Cookie") != "" {
			t.Error("the id made a header line")
		}
	})
}

func TestUnicodeIDs(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	for name, send := range map[string]func(id, text string) *reply{
		"C031 in the header": func(id, text string) *reply { return p.chat(id, text) },
		"C031 in the body": func(id, text string) *reply {
			return p.call(http.MethodPost, chatPath, chatBody(text, fmt.Sprintf(`"session_id":%q,`, id)))
		},
		"C031 beside an unrelated one": func(id, text string) *reply { return p.chat(id+"-u", text, "X-Note", "größe 🙂") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, id := range []string{"sesión-1", "会话一"} {
				first, second := send(id, "hi").want(http.StatusOK), send(id, "again").want(http.StatusOK)
				if first.session() != second.session() {
					t.Errorf("%s: two sessions", id)
				}
				key := second.header.Get("X-Session-Id")
				if key != strings.TrimSuffix(key, "-u")+strings.TrimPrefix(key, strings.TrimSuffix(key, "-u")) || !strings.HasPrefix(key, id) {
					t.Errorf("X-Session-Id = %q, want %q", key, id)
				}
				r := p.call(http.MethodGet, "/api/sessions/"+url.PathEscape(key), "").want(http.StatusOK)
				if r.get("id") != first.session() || r.get("key") != key {
					t.Errorf("session by its key = %v %v, want %s %s", r.get("id"), r.get("key"), first.session(), key)
				}
			}
		})
	}
}

func TestIDLengths(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	send := map[string]func(id string) *reply{
		"header": func(id string) *reply { return p.chat(id, "hi") },
		"body": func(id string) *reply {
			return p.call(http.MethodPost, chatPath, chatBody("hi", fmt.Sprintf(`"session_id":%q,`, id)))
		},
		"hermes": func(id string) *reply { return p.chat("", "hi", "X-Hermes-Session-Id", id) },
		"messages": func(id string) *reply {
			return p.call(http.MethodPost, messagesPath, messagesBody("hi", ""), "X-Session-Id", id)
		},
	}
	long := strings.Repeat("x", 256)
	for name, f := range send {
		t.Run("C033 H-3 "+name, func(t *testing.T) {
			if got := f(long + "").want(http.StatusOK).header.Get("X-Session-Id"); got != long {
				t.Errorf("X-Session-Id has %d bytes, want 256", len(got))
			}
			n := len(u.Posts())
			for _, id := range []string{long + "a", long + "b", strings.Repeat("y", 8000), strings.Repeat("é", 200)} {
				r := f(id).want(http.StatusBadRequest)
				code := r.get("error", "code")
				if code == nil {
					code = r.header.Get("X-Mooring-Error") // Anthropic's errors have none
				}
				if code != "invalid_session_id" {
					t.Errorf("%d bytes: code = %v, want invalid_session_id", len(id), code)
				}
			}
			if got := len(u.Posts()); got != n {
				t.Errorf("%d refused requests reached the upstream", got-n)
			}
		})
	}
	if n := p.sessions(); n != 1 {
		t.Errorf("%d sessions, want the one of the 256 bytes", n)
	}
	t.Run("C033 blanks around a header value are not part of it", func(t *testing.T) {
		want := p.chat("s1", "hi").want(http.StatusOK).session()
		_, in := p.raw(rawChat(chatBody("again", ""), "X-Session-Id:   s1 \t \r\n"))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if got := res.Header.Get("X-Mooring-Session"); got != want {
			t.Errorf("session = %q, want %q", got, want)
		}
	})
}

func TestEncodings(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	for _, coding := range []string{"gzip", "br", "zstd"} {
		u := upstreamtest.New(t)
		u.Always(upstreamtest.Reply{Encoding: coding, Text: "packed and sent"})
		p := start(t, one(u))
		for _, accept := range []string{coding, "identity"} {
			t.Run("C034 "+coding+" for a client that takes "+accept, func(t *testing.T) {
				r := p.chat(coding+accept, "hi", "Accept-Encoding", accept).want(http.StatusOK)
				if r.err != nil || r.header.Get("Content-Encoding") != "" || r.header.Get("Content-Length") != fmt.Sprint(len(r.body)) {
					t.Errorf("err %v, Content-Encoding %q, Content-Length %q of %d bytes", r.err, r.header.Get("Content-Encoding"), r.header.Get("Content-Length"), len(r.body))
				}
				if got := r.get("choices", 0, "message", "content"); got != "packed and sent" {
					t.Errorf("text = %v", got)
				}
				if diff := cmp.Diff([]string{"user: hi", "assistant: packed and sent"}, p.texts(r.session())); diff != "" {
					t.Errorf("stored (-want +got):\n%s", diff)
				}
				s := p.stream(coding+accept+"s", "hi", "Accept-Encoding", accept).want(http.StatusOK)
				if got := said(t, string(s.body)); got != "packed and sent" || s.header.Get("Content-Encoding") != "" {
					t.Errorf("stream says %q with Content-Encoding %q", got, s.header.Get("Content-Encoding"))
				}
			})
		}
	}
}

func TestFraming(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	for name, more := range map[string]string{"buffered": "", "streamed": `"stream":true,`} {
		t.Run("C036 "+name, func(t *testing.T) {
			_, in := p.raw(rawChat(chatBody("hi", more), "X-Session-Id: c036\r\n", "Connection: close\r\n"))
			head := map[string]int{}
			for {
				line, err := in.ReadString('\n')
				if err != nil || !strings.HasSuffix(line, "\r\n") {
					t.Fatalf("header line %q: %v", line, err)
				}
				if line == "\r\n" {
					break
				}
				name, _, _ := strings.Cut(line, ":")
				head[strings.ToLower(name)]++
			}
			if head["content-length"]+head["transfer-encoding"] != 1 {
				t.Errorf("framing headers: %v, want exactly one", head)
			}
			for _, once := range []string{"content-type", "date", "x-session-id", "x-hermes-session-id", "x-mooring-session"} {
				if head[once] != 1 {
					t.Errorf("%s is there %d times, want once", once, head[once])
				}
			}
			if rest, err := io.ReadAll(in); err != nil || len(rest) == 0 {
				t.Errorf("body: %d bytes, %v", len(rest), err)
			}
		})
	}
}

func TestHopByHop(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", u.URL, "key: none", "session_headers: [X-Up-Session]"))
	t.Run("C037", func(t *testing.T) {
		_, in := p.raw(rawChat(chatBody("hi", ""), "X-Session-Id: c037\r\n", "Connection: keep-alive, X-Internal, X-Session-Id, X-Up-Session\r\n", "X-Internal: 1\r\n",
			"Proxy-Authorization: Basic Zm9v\r\n", "Proxy-Connection: keep-alive\r\n", "Keep-Alive: timeout=5\r\n", "TE: trailers\r\n", "X-Mooring-Thing: 1\r\n", "X-Kept: 1\r\n"))
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK || res.Header.Get("X-Session-Id") != "c037" || res.Header.Get("X-Mooring-Session") == "" {
			t.Errorf("answer %d %v, want our headers on it", res.StatusCode, res.Header)
		}
		got := u.LastPost(t).Header
		for _, name := range []string{"X-Internal", "Proxy-Authorization", "Proxy-Connection", "Keep-Alive", "Te", "Connection", "X-Mooring-Thing"} {
			if got.Get(name) != "" {
				t.Errorf("%s: %s reached the upstream", name, got.Get(name))
			}
		}
		if got.Get("X-Up-Session") != "c037" || got.Get("X-Kept") != "1" {
			t.Errorf("upstream got X-Up-Session %q and X-Kept %q, want both", got.Get("X-Up-Session"), got.Get("X-Kept"))
		}
	})
}

func TestEqualCalls(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	held := make(chan struct{})
	u.Always(upstreamtest.Reply{Hold: held, Header: http.Header{"Set-Cookie": {"who=first"}}})
	p := start(t, one(u)+twoKeys())
	t.Run("C039 ten equal calls at once are ten sessions", func(t *testing.T) {
		var wg sync.WaitGroup
		answers := make([]*reply, 10)
		for i := range answers {
			key := []string{keyA, keyB}[i%2]
			wg.Go(func() {
				answers[i] = p.chat("", "the same for all", "Authorization", "Bearer "+key, "X-Stainless-Retry-Count", "0")
			})
		}
		_, err := u.WaitPosts(t.Context(), len(answers))
		close(held)
		wg.Wait()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, r := range answers {
			r.want(http.StatusOK)
			seen[r.session()], seen[r.header.Get("X-Session-Id")] = true, true
			if r.header.Get("Set-Cookie") != "" {
				t.Error("a cookie is relayed")
			}
		}
		if len(seen) != 2*len(answers) {
			t.Errorf("%d different ids and sessions, want %d", len(seen), 2*len(answers))
		}
	})
}

func TestEarlyHints(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	u.Always(upstreamtest.Reply{Hints: true})
	p := start(t, one(u))
	for name, send := range map[string]func() *reply{
		"buffered": func() *reply { return p.chat("hints", "hi") },
		"streamed": func() *reply { return p.stream("hints", "hi") },
	} {
		t.Run("a 103 before the answer breaks nothing, "+name, func(t *testing.T) {
			r := send().want(http.StatusOK)
			if r.err != nil || r.session() == "" || r.header.Get("Link") != "" || p.turnState(r) != "completed" {
				t.Errorf("err %v, headers %v, turn %v", r.err, r.header, p.turnState(r))
			}
		})
	}
}

func TestTrailers(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	u.Always(upstreamtest.Reply{Trailer: http.Header{"X-Checksum": {"42"}, "X-Mooring-Turn": {"forged"}, "Set-Cookie": {"a=b"}}})
	p := start(t, one(u))
	t.Run("trailers of a stream come through, but none that is ours to set", func(t *testing.T) {
		l := p.open(chatPath, chatBody("hi", `"stream":true,`))
		if text := l.rest(); !strings.HasSuffix(text, "data: [DONE]\n\n") {
			t.Errorf("stream ends in %q", text)
		}
		if diff := cmp.Diff(http.Header{"X-Checksum": {"42"}}, l.Trailer); diff != "" {
			t.Errorf("trailers (-want +got):\n%s", diff)
		}
	})
	t.Run("a buffered answer with trailers is whole", func(t *testing.T) {
		if r := p.chat("", "hi").want(http.StatusOK); r.err != nil || r.get("choices", 0, "message", "content") == nil {
			t.Errorf("err %v, body %s", r.err, r.body)
		}
	})
}
