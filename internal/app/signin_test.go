package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// browser is a page of the program's own origin with the cookies that it was given.
type browser struct {
	*product
	jar map[string]string
}

func (p *product) browser() *browser { return &browser{product: p.as(""), jar: map[string]string{}} }

func (b *browser) call(method, path, body string, hs ...string) *reply {
	b.t.Helper()
	var cookies []string
	for name, value := range b.jar {
		cookies = append(cookies, name+"="+value)
	}
	if len(cookies) > 0 {
		hs = append(hs, "Cookie", strings.Join(cookies, "; "))
	}
	if method != http.MethodGet {
		hs = append(hs, "Origin", b.base)
	}
	r := b.product.call(method, path, body, append(hs, "Sec-Fetch-Site", "same-origin")...)
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
			b.t.Errorf("cookie %s", c)
		}
		if c.MaxAge < 0 {
			delete(b.jar, c.Name)
			continue
		}
		b.jar[c.Name] = c.Value
	}
	return r
}

func (b *browser) signIn(key string) *reply {
	b.t.Helper()
	body, _ := json.Marshal(map[string]string{"key": key})
	return b.call(http.MethodPost, "/api/sign-in", string(body))
}

func (b *browser) token() string { return b.jar["mooring_sign_in"] }

func TestPeopleSignIn(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		p := start(t, store+keyring()+"upstreams:\n"+upstreamYAML("u1", u.URL, "key: none"))
		page, other := p.browser(), p.browser()
		page.call(http.MethodGet, "/api/me", "").refused(t, "nobody", http.StatusUnauthorized, "invalid_api_key")
		page.signIn("wrong").refused(t, "a wrong key", http.StatusUnauthorized, "invalid_api_key")
		if len(page.jar) > 0 {
			t.Fatalf("a wrong key gives cookies: %v", page.jar)
		}
		kind := "SQLite"
		if strings.Contains(store, "postgres") {
			kind = "PostgreSQL"
		}
		want := fmt.Sprintf(`{"tenant":"acme","key":"ka","role":"user","keys":true,"signed_in":true,"version":"test","store":"%s",`+
			`"operator_reads":false,"commands":["new"],"transcripts":"full"}`+"\n", kind)
		if diff := cmp.Diff(want, string(page.signIn("KA").want(http.StatusOK).body)); diff != "" {
			t.Errorf("sign-in (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, string(page.call(http.MethodGet, "/api/me", "").want(http.StatusOK).body)); diff != "" {
			t.Errorf("me (-want +got):\n%s", diff)
		}
		other.signIn("KB").want(http.StatusOK)

		made := page.call(http.MethodPost, "/api/sessions", `{"title":"WALRUS"}`).want(http.StatusCreated)
		id := fmt.Sprint(made.get("id"))
		if r := p.as("KA2").call(http.MethodGet, "/api/sessions/"+id, "").want(http.StatusOK); r.get("title") != "WALRUS" {
			t.Errorf("C135 the tenant's other key sees %s", r.body)
		}
		other.call(http.MethodGet, "/api/sessions/"+id, "").refused(t, "C135 another tenant's page", http.StatusNotFound, "session_not_found")
		other.call(http.MethodPatch, "/api/sessions/"+id, `{"title":"x"}`).refused(t, "C135 another tenant's page", http.StatusNotFound, "session_not_found")
		if r := other.call(http.MethodGet, "/api/search?q=walrus", "").want(http.StatusOK); strings.Contains(string(r.body), id) {
			t.Errorf("C135 another tenant's page finds %s", r.body)
		}
		page.call(http.MethodPost, "/v1/chat/completions", chatBody("hi", "")).refused(t, "a turn with the cookie", http.StatusUnauthorized, "invalid_api_key")
		if n := len(u.Posts()); n != 0 {
			t.Errorf("the upstream got %d requests", n)
		}

		if r := page.call(http.MethodGet, "/api/models", "").want(http.StatusOK); r.get("data", 0, "id") == nil {
			t.Errorf("a page with the cookie reads no models: %s", r.body)
		}

		before := page.token()
		page.call(http.MethodPost, "/api/sign-out", "").want(http.StatusNoContent)
		if len(page.jar) > 0 {
			t.Errorf("cookies after signing out: %v", page.jar)
		}
		page.jar["mooring_sign_in"] = before
		page.call(http.MethodGet, "/api/me", "").refused(t, "a kept copy of the cookie", http.StatusUnauthorized, "invalid_api_key")
		page.signIn("KA").want(http.StatusOK)
		if page.token() == before {
			t.Error("the same token again")
		}
		page.call(http.MethodGet, "/api/me", "").want(http.StatusOK)
		other.call(http.MethodGet, "/api/me", "").want(http.StatusOK)
	})
}

func TestOperatorSignsIn(t *testing.T) {
	t.Parallel()
	p := start(t, keyring())
	root := p.browser()
	r := root.signIn("KROOT").want(http.StatusOK)
	if r.get("role") != "operator" || r.get("tenant") != nil || r.get("key") != "root" {
		t.Errorf("me = %s", r.body)
	}
	root.call(http.MethodGet, "/metrics", "").want(http.StatusOK)
	page := p.browser()
	page.signIn("KA").want(http.StatusOK)
	page.call(http.MethodGet, "/metrics", "").refused(t, "a user", http.StatusForbidden, "operator_required")
}

func TestSignInWithoutKeys(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	page := p.browser()
	for _, r := range []*reply{page.call(http.MethodGet, "/api/me", ""), page.signIn("whatever")} {
		if r.want(http.StatusOK); r.get("keys") != false || r.get("signed_in") != false || r.get("tenant") != "local" || r.get("key") != nil || r.get("role") != "operator" {
			t.Errorf("me = %s", r.body)
		}
	}
	page.call(http.MethodPost, "/api/sign-out", "").want(http.StatusNoContent)
	if len(page.jar) > 0 {
		t.Errorf("an open server gives cookies: %v", page.jar)
	}
}

// C172: what a reload takes away is gone at once, and what it leaves alone stays.
func TestSignInEndsWithItsKey(t *testing.T) {
	t.Parallel()
	p := start(t, keysYAML("KA", "acme", "KB", "globex"))
	alice, bob := p.browser(), p.browser()
	alice.signIn("KA").want(http.StatusOK)
	bob.signIn("KB").want(http.StatusOK)
	alice.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK)
	p.reload(keysYAML("KB", "globex"))
	alice.call(http.MethodGet, "/api/sessions", "").refused(t, "a removed key", http.StatusUnauthorized, "invalid_api_key")
	bob.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK)
	p.reload(strings.Replace(keysYAML("KB", "globex"), sum("KB"), sum("KB-new"), 1))
	bob.call(http.MethodGet, "/api/sessions", "").refused(t, "another key under the name", http.StatusUnauthorized, "invalid_api_key")
	bob.call(http.MethodPost, "/api/sign-out", "").want(http.StatusNoContent)
	bob.signIn("KB-new").want(http.StatusOK)
	p.app.Stop(t.Context())
	p.run()
	bob.base = p.base
	bob.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK) // a restart ends nothing
}

// C143, C145: what another origin or another name can make a browser send counts for nothing.
func TestForeignPagesHaveNoSignIn(t *testing.T) {
	t.Parallel()
	p := start(t, keysYAML("KA", "acme")+"cors: {origins: [\"https://app.example\"]}\n")
	page := p.browser()
	page.signIn("KA").want(http.StatusOK)
	id := fmt.Sprint(page.call(http.MethodPost, "/api/sessions", `{"title":"mine"}`).want(http.StatusCreated).get("id"))
	cookie := "mooring_sign_in=" + page.token()
	anybody := p.as("")
	for _, from := range []string{"https://evil.example", "https://app.example", "http://localhost:3000", "null"} {
		for _, ask := range [][2]string{{http.MethodPatch, `{"title":"stolen"}`}, {http.MethodDelete, ""}} {
			anybody.call(ask[0], "/api/sessions/"+id, ask[1], "Cookie", cookie, "Origin", from).refused(t, "C143 "+ask[0]+" from "+from, http.StatusForbidden, "origin_forbidden")
		}
		for _, path := range []string{"/api/sign-in", "/api/sign-out"} {
			anybody.call(http.MethodPost, path, `{"key":"KA"}`, "Cookie", cookie, "Origin", from).refused(t, "C143 "+path+" from "+from, http.StatusForbidden, "origin_forbidden")
		}
		r := anybody.call(http.MethodGet, "/api/sessions/"+id, "", "Cookie", cookie, "Origin", from)
		r.refused(t, "C143 reading from "+from, http.StatusUnauthorized, "invalid_api_key")
		if got := r.header.Get("Access-Control-Allow-Credentials"); got != "" {
			t.Errorf("credentials are allowed: %s", got)
		}
	}
	anybody.call(http.MethodPatch, "/api/sessions/"+id, `{"title":"stolen"}`, "Cookie", cookie).refused(t, "C143 a change from nowhere", http.StatusForbidden, "origin_forbidden")
	anybody.call(http.MethodPost, "/api/sign-in", "key=KA", "Content-Type", "application/x-www-form-urlencoded").refused(t, "C143 a form", http.StatusUnsupportedMediaType, "unsupported_media_type")
	for _, path := range []string{"/api/sessions", "/api/me", "/"} {
		page.call(http.MethodGet, path, "", "Host", "evil.example:8080").refused(t, "C145 "+path, http.StatusForbidden, "host_forbidden")
	}
	page.call(http.MethodPost, "/api/sign-in", `{"key":"KA"}`, "Host", "evil.example").refused(t, "C145 signing in", http.StatusForbidden, "host_forbidden")
	if r := page.call(http.MethodGet, "/api/sessions/"+id, "").want(http.StatusOK); r.get("title") != "mine" {
		t.Errorf("the session is %s", r.body)
	}
}

func TestWrongKeysAreHeldUp(t *testing.T) {
	t.Parallel()
	p := start(t, keysYAML("KA", "acme"))
	page := p.browser()
	for range 10 {
		page.signIn("guess").refused(t, "a guess", http.StatusUnauthorized, "invalid_api_key")
	}
	r := page.signIn("guess")
	r.refused(t, "the 11th", http.StatusTooManyRequests, "key_limit")
	if r.header.Get("Retry-After") == "" {
		t.Error("it does not say when to try again")
	}
	for _, body := range []string{`{}`, `{"key":""}`, `{"key":7}`, `{"key":"KA","more":1}`, `{"key":"KA","key":"KB"}`, `[]`, `key`} {
		if r := page.call(http.MethodPost, "/api/sign-in", body); r.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", body, r.status, r.body)
		}
	}
	page.call(http.MethodPost, "/api/sign-in", `{"key":"`+strings.Repeat("x", 9000)+`"}`).refused(t, "a long one", http.StatusRequestEntityTooLarge, "body_too_large")
	p.as("KA").call(http.MethodGet, "/api/me", "").want(http.StatusOK) // programs are not held up
}

// C149: neither the key nor the cookie is in a log, an error, the metrics or the store.
func TestSignInKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		const key = "mk-QUOKKA-key"
		p := start(t, store+"telemetry: {log: debug}\n"+keysYAML(key, "acme"))
		page := p.browser()
		var said strings.Builder
		for _, r := range []*reply{
			page.signIn(key), page.signIn(key + "-wrong"), page.call(http.MethodPost, "/api/sign-in", `{"nokey":"`+key+`"}`),
			page.call(http.MethodGet, "/api/me?key="+key, ""), page.call(http.MethodGet, "/api/sessions?q="+key, ""), p.as(key).call(http.MethodGet, "/api/me", ""),
		} {
			said.Write(r.body)
		}
		token := page.token()
		page.call(http.MethodPost, "/api/sign-out", "").want(http.StatusNoContent)
		page.jar["mooring_sign_in"] = token
		said.Write(page.call(http.MethodGet, "/api/me", "").body)
		said.WriteString(p.log.String())
		db := openStore(t, store)
		page.signIn(key).want(http.StatusOK)
		var digest, mark []byte
		if err := db.QueryRow(`SELECT token, mark FROM sign_in`).Scan(&digest, &mark); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&said, "%q %x %q %x", digest, digest, mark, mark)
		for what, secret := range map[string]string{"key": "mk-QUOKKA", "key's hash": sum(key), "token": token, "new token": page.token()} {
			if strings.Contains(said.String(), secret) {
				t.Errorf("the %s is told", what)
			}
		}
	})
}

// Two replicas of one database: signing in at one works at the other, and so does signing out.
func TestReplicasShareSignIns(t *testing.T) {
	t.Parallel()
	store := newDatabase(t).yaml("")
	one, two := start(t, store+keysYAML("KA", "acme")), start(t, store+keysYAML("KA", "acme"))
	here := one.browser()
	here.signIn("KA").want(http.StatusOK)
	there := &browser{product: two.as(""), jar: here.jar}
	there.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK)
	cookie := here.token()
	there.call(http.MethodPost, "/api/sign-out", "").want(http.StatusNoContent)
	here.jar["mooring_sign_in"] = cookie
	here.call(http.MethodGet, "/api/sessions", "").refused(t, "signed out at the other replica", http.StatusUnauthorized, "invalid_api_key")
}
