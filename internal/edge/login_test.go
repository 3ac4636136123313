//nolint:tparallel // the steps of a test share one edge and go one after the other
package edge_test

import (
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mooring/internal/edge"
	"mooring/internal/issuertest"
	"mooring/internal/openid"
)

type claims = issuertest.Claims

// loginRig is an edge that signs people in at an issuer of the tests.
func loginRig(t *testing.T, slots int) (*rig, *issuertest.Issuer) {
	t.Helper()
	var i *issuertest.Issuer
	r := newRig(t, slots, func(o *edge.Options) {
		i = issuertest.New(t, o.Now)
		o.Trusted = nil
		o.Login = &edge.LoginOptions{
			Provider: openid.New(openid.Options{
				Issuer: i.URL, ClientID: issuertest.ClientID, Secret: issuertest.Secret, RedirectURI: "https://" + host + "/oauth2/callback", Now: o.Now,
			}),
			Issuer: i.URL, ClientID: issuertest.ClientID, Secret: []byte("a secret that seals what is kept"),
		}
	})
	return r, i
}

// browser keeps cookies as one does.
type browser struct {
	r   *rig
	jar map[string]string
}

func newBrowser(r *rig) *browser { return &browser{r: r, jar: map[string]string{}} }

func (b *browser) request(method, target string, lines ...string) string {
	lines = append([]string{"Host: " + host}, lines...)
	for _, name := range slices.Sorted(maps.Keys(b.jar)) {
		lines = append(lines, "Cookie: "+name+"="+b.jar[name])
	}
	return wire(method, target, lines...)
}

func (b *browser) send(raw string) reply {
	a := b.r.send(raw)
	if a.Response != nil {
		for _, c := range a.Cookies() {
			if c.MaxAge < 0 {
				delete(b.jar, c.Name)
			} else {
				b.jar[c.Name] = c.Value
			}
		}
	}
	return a
}

func (b *browser) get(target string, lines ...string) reply {
	return b.send(b.request("GET", target, lines...))
}

// begin starts a login and gives where the provider sends the browser back to.
func (b *browser) begin(t *testing.T, i *issuertest.Issuer, rd string, said claims) string {
	t.Helper()
	a := b.get("/oauth2/start?rd=" + url.QueryEscape(rd))
	a.want(t, http.StatusFound)
	back, err := i.Login(a.Header.Get("Location"), said)
	if err != nil {
		t.Fatal(err)
	}
	return back.RequestURI()
}

func (b *browser) login(t *testing.T, i *issuertest.Issuer, said claims) *browser {
	t.Helper()
	a := b.get(b.begin(t, i, "/session/abc", said))
	a.want(t, http.StatusFound)
	if a.Header.Get("Location") != "/session/abc" || b.jar[sso] == "" {
		t.Fatalf("after the login: %v, cookies %v", a.Header, b.jar)
	}
	return b
}

const sso = "__Host-mooring_sso"

func TestLogin(t *testing.T) {
	t.Parallel()
	r, i := loginRig(t, 2)
	t.Run("T-7 a page without a login leads to one, everything else is 401", func(t *testing.T) {
		a := r.send(wire("GET", "/session/abc", "Host: "+host, "Sec-Fetch-Mode: navigate"))
		a.want(t, http.StatusFound)
		if got := a.Header.Get("Location"); got != "/oauth2/start?rd=%2Fsession%2Fabc" {
			t.Errorf("Location %q", got)
		}
		for _, raw := range []string{
			wire("GET", "/session/abc", "Host: "+host), wire("GET", "/api/x", "Host: "+host, "Sec-Fetch-Mode: cors"), wire("POST", "/", "Host: "+host, "Sec-Fetch-Mode: navigate", "Content-Length: 0"),
			wire("GET", "/", "Host: "+host, "X-Forwarded-User: alice"), wire("GET", "/", "Host: "+host, "Cookie: "+sso+"="+poison),
		} {
			r.send(raw).refused(t, http.StatusUnauthorized, "identity_required")
		}
		r.none(t)
	})
	b := newBrowser(r).login(t, i, claims{"sub": "alice", "sid": "s1"})
	t.Run("T-3 T-6 a login gives a slot and tells it no name", func(t *testing.T) {
		b.get("/api/x", "X-Forwarded-User: bob").want(t, http.StatusOK)
		seen := r.one(t)
		if len(seen.values(identity)) != 1 || strings.Contains(seen.head, "alice") || strings.Contains(seen.head, sso) || strings.Contains(seen.head, b.jar[sso]) {
			t.Errorf("the slot saw %q", seen.head)
		}
	})
	t.Run("2.5-68 2.5-16 a second login has another token, and the first counts no longer", func(t *testing.T) {
		old := *b
		old.jar = maps.Clone(b.jar)
		b.login(t, i, claims{"sub": "bob"})
		if b.jar[sso] == old.jar[sso] {
			t.Error("the token stayed")
		}
		old.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
		b.get("/api/x").want(t, http.StatusOK)
	})
	t.Run("2.5-27 2.5-30 no token is in an address, nor who somebody is", func(t *testing.T) {
		c := newBrowser(r)
		a := c.get("/oauth2/start")
		to := a.Header.Get("Location")
		if strings.Contains(to, "verifier") || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("to %q with %v", to, a.Header)
		}
		for name, value := range c.jar {
			if strings.Contains(to, value) || !strings.HasPrefix(name, "__Host-mooring_oidc_") {
				t.Errorf("cookie %s=%s, to %q", name, value, to)
			}
		}
		for _, path := range []string{"/oauth2/userinfo", "/oauth2/auth", "/oauth2/sign_in", "/oauth2"} {
			b.get(path).refused(t, http.StatusNotFound, "not_found")
		}
	})
	t.Run("F1 ten tabs that log in together", func(t *testing.T) {
		c := newBrowser(r)
		var backs []string
		for range 10 {
			backs = append(backs, c.begin(t, i, "/session/abc", claims{"sub": "alice"}))
		}
		if len(c.jar) > 5 {
			t.Errorf("%d logins are kept as begun", len(c.jar))
		}
		slices.Reverse(backs)
		for n, back := range backs {
			c.get(back).want(t, http.StatusFound)
			if got := c.jar[sso]; got == "" {
				t.Errorf("tab %d is not signed in", n)
			}
		}
		c.get("/api/x").want(t, http.StatusOK)
	})
}

func TestCallback(t *testing.T) {
	t.Parallel()
	r, i := loginRig(t, 1)
	for _, row := range []struct {
		name   string
		change func(back string, b *browser) string
	}{
		{"2.5-44 without a state", func(string, *browser) string { return "/oauth2/callback?code=x" }},
		{"2.5-44 with nothing", func(string, *browser) string { return "/oauth2/callback" }},
		{"2.5-44 with a short state", func(string, *browser) string { return "/oauth2/callback?state=a&code=x" }},
		{"2.5-67 in a browser that has not begun it", func(back string, b *browser) string { clear(b.jar); return back }},
		{"2.5-67 in a browser that has begun another one", func(back string, b *browser) string { clear(b.jar); b.get("/oauth2/start"); return back }},
		{"2.5-67 with a cookie of another login under its name", func(back string, b *browser) string {
			other := newBrowser(r)
			other.get("/oauth2/start")
			for name := range b.jar {
				for _, value := range other.jar {
					b.jar[name] = value
				}
			}
			return back
		}},
		{"with a code that is none", func(back string, _ *browser) string { return strings.Replace(back, "code=", "code=x", 1) }},
		{"without a code", func(back string, _ *browser) string { return strings.Replace(back, "code=", "cod=", 1) }},
		{"2.5-62 with an error", func(back string, _ *browser) string { return back + "&error=%3Cscript%3E" + poison }},
		{"of another issuer", func(back string, _ *browser) string { return strings.Replace(back, "iss=http", "iss=https", 1) }},
		{"with two states", func(back string, _ *browser) string { return back + "&state=x" }},
		{"with two codes", func(back string, _ *browser) string { return back + "&code=x" }},
		{"after more than ten minutes", func(back string, _ *browser) string { r.pass(11 * time.Minute); return back }},
		{"a second time, with what the browser had", func(back string, b *browser) string {
			was := maps.Clone(b.jar)
			b.get(back)
			b.jar = was
			return back
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBrowser(r)
			a := b.get(row.change(b.begin(t, i, "/", claims{"sub": "alice"}), b))
			a.refused(t, http.StatusBadRequest, "bad_request")
			if b.jar[sso] != "" {
				t.Error("it signed somebody in")
			}
		})
	}
	t.Run("2.5-39 T-3 a subject that is no plain name", func(t *testing.T) {
		for _, sub := range []string{"a\r\nX-Hermes-Tenant-Identity: t1-x", "a b", "a@b", "a,b", "\x00", strings.Repeat("a", 256)} {
			b := newBrowser(r)
			b.get(b.begin(t, i, "/", claims{"sub": sub})).refused(t, http.StatusUnauthorized, "identity_required")
			if b.jar[sso] != "" {
				t.Errorf("%q is signed in", sub)
			}
		}
	})
	t.Run("R9 a state that is over, for somebody who is signed in", func(t *testing.T) {
		b := newBrowser(r)
		back := b.begin(t, i, "/", claims{"sub": "alice"})
		b.login(t, i, claims{"sub": "alice"})
		b.get(back).want(t, http.StatusFound)
		a := b.get(back)
		a.want(t, http.StatusFound)
		if a.Header.Get("Location") != "/" || b.get("/api/x").StatusCode != http.StatusOK {
			t.Errorf("%v", a.Header)
		}
	})
	for rd, want := range map[string]string{
		"/session/abc": "/session/abc", "/a?b=c": "/a?b=c", "": "/",
		"//evil.org": "/", `/\evil.org`: "/", `\/evil.org`: "/", "https://evil.org": "/", "evil.org": "/", "/\t/evil.org": "/", "/%09/evil.org": "/", "/ /evil.org": "/", "/%20/evil.org": "/", "/\v\\evil.org": "/",
		"/../\\evil.org": "/", "/%2e%2e/%5cevil.org": "/", "/./\\evil.org": "/", "/%2fevil.org": "/", "/%5cevil.org": "/", "/a?b=https://evil.org": "/", "/oauth2/start": "/", "/oauth2/sign_out?x": "/", "/%": "/", "/a\r\nSet-Cookie: x=y": "/",
		"javascript:alert(1)": "/", "/\x00": "/",
	} {
		t.Run("2.5-19 2.5-20 2.5-21 2.5-23 2.5-24 2.5-25 where it leads back to: "+rd, func(t *testing.T) {
			b := newBrowser(r)
			a := b.get(b.begin(t, i, rd, claims{"sub": "alice"}))
			a.want(t, http.StatusFound)
			if got := a.Header.Get("Location"); got != want {
				t.Errorf("Location %q, want %q", got, want)
			}
		})
	}
	t.Run("2.5-26 two of them lead to the first page", func(t *testing.T) {
		b := newBrowser(r)
		a := b.get("/oauth2/start?rd=/a&rd=//evil.org", "X-Auth-Request-Redirect: //evil.org")
		back, err := i.Login(a.Header.Get("Location"), claims{"sub": "alice"})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.get(back.RequestURI()).Header.Get("Location"); got != "/" {
			t.Errorf("Location %q", got)
		}
	})
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	together := func(t *testing.T, b *browser, n int) map[int]int {
		t.Helper()
		var all sync.WaitGroup
		var mu sync.Mutex
		got := map[int]int{}
		raw := b.request("GET", "/api/x")
		for range n {
			all.Go(func() {
				a := b.r.send(raw)
				mu.Lock()
				defer mu.Unlock()
				if a.Response != nil {
					got[a.StatusCode]++
				}
			})
		}
		all.Wait()
		return got
	}
	t.Run("50 requests together make one question", func(t *testing.T) {
		t.Parallel()
		r, i := loginRig(t, 1)
		b := newBrowser(r).login(t, i, claims{"sub": "alice"})
		for round := 1; round <= 3; round++ {
			r.pass(4*time.Minute + 30*time.Second)
			before := i.Asked("/token")
			if got := together(t, b, 50); got[http.StatusOK] != 50 {
				t.Fatalf("round %d: %v", round, got)
			}
			if n := i.Asked("/token") - before; n != 1 {
				t.Errorf("round %d: the provider was asked %d times", round, n)
			}
		}
	})
	t.Run("two replicas use each refresh token once", func(t *testing.T) {
		t.Parallel()
		r, i := loginRig(t, 1)
		first := &rig{t: t, addr: r.addr, slots: r.slots}
		b := newBrowser(r).login(t, i, claims{"sub": "alice"})
		r.start()
		for round := range 4 {
			r.pass(3*time.Minute + 58500*time.Millisecond)
			b.get("/api/x").want(t, http.StatusOK) // both know the login as it is before its renewal
			first.send(b.request("GET", "/api/x")).want(t, http.StatusOK)
			r.pass(1600 * time.Millisecond)
			before := i.Asked("/token")
			b.get("/api/x").want(t, http.StatusOK)
			first.send(b.request("GET", "/api/x")).want(t, http.StatusOK)
			if n := i.Asked("/token") - before; n > 1 {
				t.Fatalf("round %d: the provider was asked %d times", round, n)
			}
		}
	})
	t.Run("a renewal without an ID token is one", func(t *testing.T) {
		t.Parallel()
		r, i := loginRig(t, 1)
		b := newBrowser(r).login(t, i, claims{"sub": "alice"})
		i.Answer("/token", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"a","token_type":"Bearer","expires_in":300}`)
		})
		for range 3 {
			r.pass(4*time.Minute + 30*time.Second)
			before := i.Asked("/token")
			b.get("/api/x").want(t, http.StatusOK)
			if n := i.Asked("/token") - before; n != 1 {
				t.Fatalf("the provider was asked %d times", n)
			}
		}
		i.Answer("/token", nil)
		i.Revoke()
		r.pass(4*time.Minute + 30*time.Second)
		b.get("/api/x").want(t, http.StatusUnauthorized)
	})
	t.Run("a provider that is away is waited for, and then nobody is let in, however they ask", func(t *testing.T) {
		t.Parallel()
		r, i := loginRig(t, 1)
		b := newBrowser(r).login(t, i, claims{"sub": "alice"})
		i.Answer("/token", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		r.pass(5*time.Minute + 10*time.Second)
		begin := time.Now()
		if got := together(t, b, 20); got[http.StatusOK] != 20 || time.Since(begin) > wait {
			t.Fatalf("within the grace: %v after %v", got, time.Since(begin))
		}
		b.get("/api/sessions/events", "Accept: text/event-stream").want(t, http.StatusOK)
		r.pass(5 * time.Minute)
		r.take()
		if got := together(t, b, 20); got[http.StatusServiceUnavailable] != 20 {
			t.Errorf("after the grace: %v", got)
		}
		b.get("/api/x", "Accept: text/event-stream").refused(t, http.StatusServiceUnavailable, "upstream_unavailable")
		r.none(t)
		if b.jar[sso] == "" {
			t.Error("the login was taken away")
		}
		i.Answer("/token", nil)
		r.pass(10 * time.Second)
		b.get("/api/x").want(t, http.StatusOK)
	})
	for name, h := range map[string]http.HandlerFunc{
		"in trouble": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"behind a wall": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("<html>maintenance"))
		},
	} {
		t.Run("a provider "+name+" ends no login", func(t *testing.T) {
			t.Parallel()
			r, i := loginRig(t, 1)
			b := newBrowser(r).login(t, i, claims{"sub": "alice"})
			for _, path := range []string{"/token", "/keys"} {
				i.Rotate(t)
				i.Answer(path, h)
				r.pass(4*time.Minute + 30*time.Second)
				b.get("/api/x").want(t, http.StatusOK)
				i.Answer(path, nil)
				r.pass(10 * time.Second)
				if path == "/token" {
					b.get("/api/x").want(t, http.StatusOK)
				}
			}
		})
	}
	t.Run("R11 a provider that says no ends the login, and its streams", func(t *testing.T) {
		t.Parallel()
		r, i := loginRig(t, 1)
		b := newBrowser(r).login(t, i, claims{"sub": "alice"})
		b.get("/api/x").want(t, http.StatusOK)
		c := b.stream(t)
		i.Revoke()
		r.pass(4*time.Minute + 30*time.Second)
		b.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
		if a := readReply(c, "GET"); a.err != nil {
			t.Errorf("the stream ended by %v", a.err)
		}
		i.Answer("/token", nil)
		b.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
	})
	t.Run("a login ends after eight hours without use, and after a day at the latest", func(t *testing.T) {
		t.Parallel()
		r, i := loginRig(t, 1)
		idle, busy := newBrowser(r).login(t, i, claims{"sub": "alice"}), newBrowser(r).login(t, i, claims{"sub": "alice"})
		for range 8 {
			r.pass(time.Hour)
			busy.get("/api/x").want(t, http.StatusOK)
		}
		idle.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
		for range 15 {
			r.pass(time.Hour)
			busy.get("/api/x").want(t, http.StatusOK)
		}
		r.pass(time.Hour)
		busy.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
	})
}

// stream opens a stream of events at the browser's slot, which never ends it.
func (b *browser) stream(t *testing.T) net.Conn {
	t.Helper()
	for _, s := range b.r.slots {
		s.does(func(q request, c net.Conn) {
			if !strings.Contains(q.line(), "/events") {
				write(c, answerOf("200 OK", "{}", "Content-Type: application/json"))
				return
			}
			streamHead(c)
			_, _ = c.Read(make([]byte, 1))
		})
	}
	b.r.take()
	c := b.r.dial("")
	t.Cleanup(func() { _ = c.Close() })
	write(c, b.request("GET", "/api/sessions/events", "Accept: text/event-stream"))
	eventually(t, "the slot is asked", func() bool { return len(b.r.take()) == 1 })
	return c
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	r, i := loginRig(t, 1)
	post := func(b *browser, body string, lines ...string) reply {
		lines = append(lines, "Content-Type: application/x-www-form-urlencoded", "Content-Length: "+itoa(len(body)))
		return b.send(b.request("POST", "/oauth2/sign_out", lines...) + body)
	}
	t.Run("another site signs nobody out, nor does a link", func(t *testing.T) {
		b := newBrowser(r).login(t, i, claims{"sub": "alice"})
		was := maps.Clone(b.jar)
		for _, line := range []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site", "Origin: https://evil.org"} {
			post(b, "", line).refused(t, http.StatusForbidden, "origin_forbidden")
		}
		b.get("/oauth2/sign_out").want(t, http.StatusOK)
		if b.get("/api/x").want(t, http.StatusOK); b.jar[sso] != was[sso] {
			t.Error("the login has gone")
		}
	})
	t.Run("R18 2.5-60 a sign-out ends this login and its streams, here and at the provider", func(t *testing.T) {
		b, other := newBrowser(r).login(t, i, claims{"sub": "alice"}), newBrowser(r).login(t, i, claims{"sub": "alice"})
		b.get("/api/x")
		second := &browser{r: r, jar: maps.Clone(b.jar)}
		c := b.stream(t)
		a := post(b, "", "Sec-Fetch-Site: same-origin")
		a.want(t, http.StatusSeeOther)
		to, err := url.Parse(a.Header.Get("Location"))
		if err != nil || to.Path != "/end" || to.Query().Get("post_logout_redirect_uri") != "https://"+host+"/" || to.Query().Get("client_id") != issuertest.ClientID || to.Query().Get("id_token_hint") == "" {
			t.Errorf("to %v", to)
		}
		if b.jar[sso] != "" || b.jar[bid] != "" || a.Header.Get("Clear-Site-Data") == "" {
			t.Errorf("left: %v, %v", b.jar, a.Header)
		}
		if a := readReply(c, "GET"); a.err != nil {
			t.Errorf("the stream ended by %v", a.err)
		}
		poll := second.get("/api/session?session_id=a")
		poll.refused(t, http.StatusUnauthorized, "identity_required")
		if len(poll.Header["Set-Cookie"]) > 0 {
			t.Errorf("a second tab got %q", poll.Header["Set-Cookie"])
		}
		other.get("/api/x").want(t, http.StatusOK)
	})
	t.Run("a sign-out everywhere ends all of the person's, and nobody else's", func(t *testing.T) {
		one, two := newBrowser(r).login(t, i, claims{"sub": "alice"}), newBrowser(r).login(t, i, claims{"sub": "alice"})
		post(one, "everywhere=1", "Origin: https://"+host).want(t, http.StatusSeeOther)
		two.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
	})
	t.Run("who is not signed in is signed out", func(t *testing.T) {
		post(newBrowser(r), "").want(t, http.StatusSeeOther)
	})
}

func TestBackChannel(t *testing.T) {
	t.Parallel()
	r, i := loginRig(t, 2)
	tell := func(token string) reply {
		body := "logout_token=" + token
		return r.send(wire("POST", "/oauth2/backchannel-logout", "Host: "+host, "Content-Type: application/x-www-form-urlencoded", "Content-Length: "+itoa(len(body))) + body)
	}
	one := newBrowser(r).login(t, i, claims{"sub": "alice", "sid": "s1"})
	two := newBrowser(r).login(t, i, claims{"sub": "alice", "sid": "s2"})
	bob := newBrowser(r).login(t, i, claims{"sub": "bob", "sid": "s3"})
	for _, b := range []*browser{one, two, bob} {
		b.get("/api/x").want(t, http.StatusOK)
	}
	t.Run("R18 T-21 the provider's word ends a session of its own and its streams", func(t *testing.T) {
		c := one.stream(t)
		a := tell(i.Sign(i.LogoutToken(claims{"sub": "alice", "sid": "s1"})))
		a.want(t, http.StatusOK)
		if a.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v", a.Header)
		}
		begin := time.Now()
		if a := readReply(c, "GET"); a.err != nil || time.Since(begin) > wait {
			t.Errorf("the stream ended by %v", a.err)
		}
		one.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
		two.get("/api/x").want(t, http.StatusOK)
	})
	t.Run("a token counts once, and others not at all", func(t *testing.T) {
		token := i.Sign(i.LogoutToken(claims{"sid": "s9"}))
		tell(token).want(t, http.StatusOK)
		tell(token).refused(t, http.StatusBadRequest, "bad_request")
		for _, bad := range []string{i.Sign(i.LogoutToken(claims{"sub": "bob", "nonce": "n"})), i.Sign(i.LogoutToken(claims{"sub": "bob", "aud": "x"})), i.Unsigned(i.LogoutToken(claims{"sub": "bob"})), i.Sign(i.ID("bob", nil)), poison, ""} {
			tell(bad).refused(t, http.StatusBadRequest, "bad_request")
		}
		tell(strings.Repeat("x", 20<<10)).refused(t, http.StatusBadRequest, "bad_request")
		bob.get("/api/x").want(t, http.StatusOK)
	})
	t.Run("a person's all", func(t *testing.T) {
		tell(i.Sign(i.LogoutToken(claims{"sub": "alice"}))).want(t, http.StatusOK)
		two.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
		bob.get("/api/x").want(t, http.StatusOK)
	})
	t.Run("R18 another replica ends its streams within seconds", func(t *testing.T) {
		c := bob.stream(t)
		first := r.addr
		r.start()
		tell(i.Sign(i.LogoutToken(claims{"sid": "s3"}))).want(t, http.StatusOK)
		begin := time.Now()
		if a := readReply(c, "GET"); a.err != nil || time.Since(begin) > wait {
			t.Errorf("the stream at %s ended by %v after %v", first, a.err, time.Since(begin))
		}
	})
}

// A person who signs out while the provider is being asked about them stays signed out.
func TestSignOutDuringARenewal(t *testing.T) {
	t.Parallel()
	r, i := loginRig(t, 1)
	b := newBrowser(r).login(t, i, claims{"sub": "alice"})
	other := &browser{r: r, jar: maps.Clone(b.jar)}
	i.Answer("/token", func(w http.ResponseWriter, q *http.Request) {
		i.Answer("/token", nil)
		other.send(other.request("POST", "/oauth2/sign_out", "Content-Length: 0"))
		again, err := http.NewRequestWithContext(q.Context(), http.MethodPost, i.URL+"/token", q.Body)
		if err != nil {
			return
		}
		again.Header = q.Header.Clone()
		res, err := http.DefaultClient.Do(again)
		if err != nil {
			return
		}
		defer res.Body.Close()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(res.StatusCode)
		_, _ = io.Copy(w, res.Body)
	})
	r.pass(4*time.Minute + 30*time.Second)
	for range 2 {
		b.get("/api/x").refused(t, http.StatusUnauthorized, "identity_required")
	}
}
