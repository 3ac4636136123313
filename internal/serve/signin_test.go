package serve_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/serve"
	"mooring/internal/signin"
)

// signIns is a store of sign-ins in memory.
type signIns struct {
	rows  map[string]mooring.SignIn
	reads int
	down  error
}

func (s *signIns) SignIn(_ context.Context, token []byte) (mooring.SignIn, bool, error) {
	s.reads++
	in, ok := s.rows[string(token)]
	return in, ok, s.down
}

func (s *signIns) commit(_ context.Context, c mooring.Change) error {
	change := c.(*mooring.SignInChange)
	delete(s.rows, string(change.Drop))
	if change.Add != nil {
		s.rows[string(change.Add.Token)] = *change.Add
	}
	return s.down
}

// withSignIns is a server on which browsers may sign in, and where it keeps that.
func withSignIns(t *testing.T, rules serve.Rules, change ...func(*serve.Options)) (*serve.Server, *signIns) {
	t.Helper()
	store := &signIns{rows: map[string]mooring.SignIn{}}
	return newServer(t, rules, append(change, func(o *serve.Options) {
		o.SignIns = signin.New(signin.Options{Store: store, Commit: store.commit, Secret: []byte("secret"), Now: o.Now, Log: o.Log})
	})...), store
}

// signIn gives the Cookie header of a browser that has signed in with the key.
func signIn(t *testing.T, s *serve.Server, secret string, header ...string) string {
	t.Helper()
	_, c, err := s.SignIn(request{target: "/api/sign-in", header: headers(header...)}.build(t), secret)
	if err != nil {
		t.Fatal(err)
	}
	return c.Name + "=" + c.Value
}

const ownPage = "http://" + here

func TestCookieCaller(t *testing.T) {
	t.Parallel()
	s, _ := withSignIns(t, serve.Rules{Keys: twoKeys(), Origins: []string{app}})
	cookie, operator := signIn(t, s, alice), signIn(t, s, root)
	user := mooring.Caller{Tenant: "acme", Key: "alice", Role: mooring.RoleUser, SignedIn: true}
	byKey := mooring.Caller{Key: "root", Role: mooring.RoleOperator}
	for _, tt := range []struct {
		rule, method, target string
		header               []string
		want                 mooring.Caller
		code                 mooring.Code
	}{
		{rule: "a read", header: []string{"Cookie", cookie}, want: user},
		{rule: "a read of the page itself", header: []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, want: user},
		{rule: "an address that was typed", header: []string{"Cookie", cookie, "Sec-Fetch-Site", "none"}, want: user},
		{rule: "the start page", target: "/", header: []string{"Cookie", cookie}, want: user},
		{rule: "beside another scheme's credential, which is the browser's own affair", header: []string{"Cookie", cookie, "Authorization", "Basic eDp5"}, want: user},
		{rule: "a change by the page", method: http.MethodPost, header: []string{"Cookie", cookie, "Origin", ownPage, "Sec-Fetch-Site", "same-origin"}, want: user},
		{rule: "a change that only says same-origin", method: http.MethodDelete, header: []string{"Cookie", cookie, "Sec-Fetch-Site", "same-origin"}, want: user},
		{rule: "the role is the key's", header: []string{"Cookie", operator}, want: mooring.Caller{Key: "root", Role: mooring.RoleOperator, SignedIn: true}},
		{rule: "a key decides beside a cookie", header: []string{"Cookie", cookie, "X-Api-Key", root}, want: byKey},
		{rule: "so does a wrong one", header: []string{"Cookie", cookie, "X-Api-Key", "wrong"}, code: mooring.CodeInvalidAPIKey},
		{rule: "C145 a read from another site", header: []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site"}, code: mooring.CodeInvalidAPIKey},
		{rule: "a read from another port of this machine", header: []string{"Cookie", cookie, "Sec-Fetch-Site", "same-site"}, code: mooring.CodeInvalidAPIKey},
		{rule: "a read of a listed origin", header: []string{"Cookie", cookie, "Origin", app}, code: mooring.CodeInvalidAPIKey},
		{rule: "C143 a change of a listed origin", method: http.MethodPost, header: []string{"Cookie", cookie, "Origin", app}, code: mooring.CodeOriginForbidden},
		{rule: "C143 a change from nowhere", method: http.MethodPost, header: []string{"Cookie", cookie}, code: mooring.CodeOriginForbidden},
		{rule: "C143 a change that somebody is said to have typed", method: http.MethodPost, header: []string{"Cookie", cookie, "Sec-Fetch-Site", "none"}, code: mooring.CodeOriginForbidden},
		{rule: "C143 a change by a form of another site", method: http.MethodPost, header: []string{"Cookie", cookie, "Origin", ownPage, "Sec-Fetch-Site", "cross-site"}, code: mooring.CodeOriginForbidden},
		{rule: "a made-up token that changes something", method: http.MethodPost, header: []string{"Cookie", cookie[:len(cookie)-4] + "AAAA"}, code: mooring.CodeInvalidAPIKey},
		{rule: "the key as the cookie", header: []string{"Cookie", "mooring_sign_in=" + alice}, code: mooring.CodeInvalidAPIKey},
		{rule: "a model route", target: "/v1/models", header: []string{"Cookie", cookie}, code: mooring.CodeInvalidAPIKey},
		{rule: "a turn of the page's origin", method: http.MethodPost, target: "/v1/chat/completions", header: []string{"Cookie", cookie, "Origin", ownPage}, code: mooring.CodeInvalidAPIKey},
		{rule: "a prefixed route", method: http.MethodPost, target: "/openai/v1/responses", header: []string{"Cookie", cookie, "Origin", ownPage}, code: mooring.CodeInvalidAPIKey},
		{rule: "the other prefix", method: http.MethodPost, target: "/anthropic/v1/messages", header: []string{"Cookie", cookie, "Origin", ownPage}, code: mooring.CodeInvalidAPIKey},
		{rule: "an escaped model route", target: "/%761/models", header: []string{"Cookie", cookie}, code: mooring.CodeInvalidAPIKey},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			if tt.target == "" {
				tt.target = "/api/sessions"
			}
			if tt.method == "" {
				tt.method = http.MethodGet
			}
			got, err := s.Caller(request{method: tt.method, target: tt.target, header: headers(tt.header...)}.build(t))
			if tt.code != "" && (err == nil || mooring.CodeOf(err) != tt.code) || tt.code == "" && err != nil {
				t.Fatalf("error = %v, want %q", err, tt.code)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}
}

// CONTRACT 3.6: gone with its key, at once.
func TestCookieEndsWithItsKey(t *testing.T) {
	t.Parallel()
	now := &clock{noon()}
	ending := key("alice", "acme", alice)
	ending.Expires = noon().Add(time.Hour)
	rules := serve.Rules{Keys: []serve.Key{ending, key("bob", "acme", "mk-bob")}}
	s, store := withSignIns(t, rules, func(o *serve.Options) { o.Now = now.Now })
	cookie := signIn(t, s, alice)
	caller := func() (mooring.Caller, mooring.Code) {
		c, err := s.Caller(request{method: http.MethodGet, target: "/api/me", header: headers("Cookie", cookie)}.build(t))
		if err == nil {
			return c, ""
		}
		return c, mooring.CodeOf(err)
	}
	moved := ending
	moved.Tenant, moved.Role = "globex", mooring.RoleOperator
	s.SetRules(serve.Rules{Keys: []serve.Key{moved}})
	if c, code := caller(); code != "" || c.Tenant != "globex" || !c.Operator() {
		t.Errorf("caller %+v %s, want what the key is now", c, code)
	}
	renamed := key("alice", "acme", "mk-alice-2")
	for what, keys := range map[string][]serve.Key{"removed": {key("bob", "acme", "mk-bob")}, "another key under the name": {renamed}, "its hash under another name": {key("alicia", "acme", alice)}} {
		s.SetRules(serve.Rules{Keys: keys})
		if _, code := caller(); code != mooring.CodeInvalidAPIKey {
			t.Errorf("%s: %q, want invalid_api_key", what, code)
		}
	}
	s.SetRules(rules)
	now.now = ending.Expires
	if _, code := caller(); code != mooring.CodeInvalidAPIKey {
		t.Errorf("expired: %q, want invalid_api_key", code)
	}
	s.SetRules(serve.Rules{})
	if c, code := caller(); code != "" || c.SignedIn || c.Tenant != mooring.LocalTenant {
		t.Errorf("without keys: %+v %q, want the local operator", c, code)
	}
	s.SetRules(rules)
	store.down = mooring.Errorf(mooring.CodeStoreUnavailable, "down")
	if _, code := caller(); code != mooring.CodeStoreUnavailable {
		t.Errorf("with the store down: %q, want that and no 401, which would send people to sign in", code)
	}
}

func TestSignInIsForPagesOfThisServer(t *testing.T) {
	t.Parallel()
	listed := serve.Rules{Keys: twoKeys(), Origins: []string{app}, Hosts: []string{"box.example"}}
	for _, tt := range []struct {
		rule, host, secret string
		header             []string
		want               string // the cookie's name
		code               mooring.Code
	}{
		{rule: "a page", header: []string{"Origin", ownPage, "Sec-Fetch-Site", "same-origin"}, want: "mooring_sign_in"},
		{rule: "a program", want: "mooring_sign_in"},
		{rule: "a page behind a TLS proxy", host: "box.example", header: []string{"Origin", "https://box.example"}, want: "__Host-mooring_sign_in"},
		{rule: "the same on another port", host: "box.example:8443", header: []string{"Origin", "https://box.example:8443"}, want: "__Host-mooring_sign_in"},
		{rule: "no header of a client says that there is TLS", host: "box.example", header: []string{"X-Forwarded-Proto", "https", "Forwarded", "proto=https"}, want: "mooring_sign_in"},
		{rule: "https of an address of this machine is another server", header: []string{"Origin", "https://" + here}, code: mooring.CodeOriginForbidden},
		{rule: "a listed origin", header: []string{"Origin", app}, code: mooring.CodeOriginForbidden},
		{rule: "another site", header: []string{"Sec-Fetch-Site", "same-site"}, code: mooring.CodeOriginForbidden},
		{rule: "a wrong key", secret: "wrong", code: mooring.CodeInvalidAPIKey},
		{rule: "no key", secret: " ", code: mooring.CodeInvalidAPIKey},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			s, store := withSignIns(t, listed)
			if tt.secret == "" {
				tt.secret = alice
			}
			c, cookie, err := s.SignIn(request{target: "/api/sign-in", host: tt.host, header: headers(tt.header...)}.build(t), tt.secret)
			if tt.code != "" {
				if err == nil || mooring.CodeOf(err) != tt.code || len(store.rows) > 0 {
					t.Errorf("error = %v with %d sign-ins, want %s and none", err, len(store.rows), tt.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Key != "alice" || !c.SignedIn || cookie.Name != tt.want || cookie.Secure != strings.HasPrefix(tt.want, "__Host-") {
				t.Errorf("caller %+v, cookie %s; want alice and %s", c, cookie, tt.want)
			}
		})
	}
}

func TestOpenServerHasNothingToSignInTo(t *testing.T) {
	t.Parallel()
	s, store := withSignIns(t, serve.Rules{})
	c, cookie, err := s.SignIn(request{target: "/api/sign-in"}.build(t), "whatever")
	if err != nil || cookie != nil || c.SignedIn || !c.Operator() || len(store.rows) > 0 {
		t.Errorf("SignIn = %+v, %v, %v; want the local operator without a cookie", c, cookie, err)
	}
}

func TestWrongKeysAreCounted(t *testing.T) {
	t.Parallel()
	s, _ := withSignIns(t, serve.Rules{Keys: twoKeys()})
	try := func(secret string) error {
		_, _, err := s.SignIn(request{target: "/api/sign-in"}.build(t), secret)
		return err
	}
	for range 20 {
		if err := try(alice); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 {
		if got := mooring.CodeOf(try("guess")); got != mooring.CodeInvalidAPIKey {
			t.Fatalf("a wrong key: %s", got)
		}
	}
	wantLimit(t, try("guess"), mooring.CodeKeyLimit, time.Minute)
	wantLimit(t, try(alice), mooring.CodeKeyLimit, time.Minute) // or a guesser would see which one is right
}

func TestSignOut(t *testing.T) {
	t.Parallel()
	s, store := withSignIns(t, serve.Rules{Keys: twoKeys()})
	cookie, other := signIn(t, s, alice), signIn(t, s, alice)
	out := func(header ...string) ([]*http.Cookie, error) {
		return s.SignOut(request{target: "/api/sign-out", header: headers(header...)}.build(t))
	}
	if _, err := out("Cookie", cookie, "Sec-Fetch-Site", "cross-site"); mooring.CodeOf(err) != mooring.CodeOriginForbidden || len(store.rows) != 2 {
		t.Errorf("C143 another site signs people out: %v", err)
	}
	if gone, err := out("Cookie", cookie, "Origin", ownPage); err != nil || len(gone) != 1 || gone[0].MaxAge >= 0 || len(store.rows) != 1 {
		t.Errorf("SignOut = %v, %v with %d sign-ins left; want an expired cookie and the other browser", gone, err, len(store.rows))
	}
	if _, err := s.Caller(request{method: http.MethodGet, target: "/api/me", header: headers("Cookie", other)}.build(t)); err != nil {
		t.Errorf("the other browser: %v", err)
	}
	if gone, err := out(); err != nil || len(gone) > 0 {
		t.Errorf("SignOut of nobody = %v, %v", gone, err)
	}
}

// C145: beside a cookie the Host counts, as it does without anything.
func TestHostRuleHoldsForCookies(t *testing.T) {
	t.Parallel()
	s, _ := withSignIns(t, serve.Rules{Keys: twoKeys(), Hosts: []string{"box.example"}})
	cookie := signIn(t, s, alice)
	for host, want := range map[string]int{"evil.example": http.StatusForbidden, "box.example": http.StatusOK, here: http.StatusOK} {
		r, _ := ask(t, s, request{host: host, method: http.MethodGet, target: "/api/sessions", header: headers("Cookie", cookie)})
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, r.StatusCode, want)
		}
	}
}

// A name of the configuration may stand for a TLS proxy; what is no name of it does not.
func TestOriginBehindTLS(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule, host, origin string
		hosts              []string
		status             int
	}{
		{rule: "a listed name", host: "box.example", origin: "https://box.example", hosts: []string{"box.example"}, status: http.StatusOK},
		{rule: "another page of that name", host: "box.example", origin: "https://box.example:8443", hosts: []string{"box.example"}, status: http.StatusForbidden},
		{rule: "any name", host: "box.example", origin: "https://box.example", hosts: []string{"*"}, status: http.StatusOK},
		{rule: "any name, but another page", host: "box.example", origin: "https://evil.example", hosts: []string{"*"}, status: http.StatusForbidden},
		{rule: "localhost", host: "localhost", origin: "https://localhost", hosts: []string{"*"}, status: http.StatusForbidden},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r, _ := ask(t, newServer(t, serve.Rules{Hosts: tt.hosts, Keys: twoKeys()}), request{host: tt.host, header: headers("Origin", tt.origin)})
			r.Body.Close()
			if r.StatusCode != tt.status {
				t.Errorf("status %d, want %d", r.StatusCode, tt.status)
			}
		})
	}
}

func TestOverTLSOnlyTheSecureCookieCounts(t *testing.T) {
	t.Parallel()
	s, _ := withSignIns(t, serve.Rules{Keys: twoKeys()})
	cookie := signIn(t, s, alice)
	for c, want := range map[string]bool{cookie: false, "__Host-" + cookie: true} {
		r := request{method: http.MethodGet, target: "/api/me", header: headers("Cookie", c)}.build(t)
		r.TLS = &tls.ConnectionState{}
		if _, err := s.Caller(r); (err == nil) != want {
			t.Errorf("%.30s…: %v, want it to count: %v", c, err, want)
		}
	}
}

// One read of the store for a request, however often its caller is asked for; none where nobody asks.
func TestCookieIsLookedUpOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, store := withSignIns(t, serve.Rules{Keys: twoKeys()}, func(o *serve.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	cookie := signIn(t, s, alice)
	serveOne := func(h http.HandlerFunc) {
		q := request{target: "/api/sessions", header: headers("Cookie", cookie, "Origin", ownPage), body: "{}"}
		s.Wrap(h).ServeHTTP(httptest.NewRecorder(), q.build(t))
	}
	serveOne(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "a file") })
	if store.reads != 0 || strings.Contains(log.String(), "key_name=alice") {
		t.Errorf("%d reads for what needs no caller; log %s", store.reads, log.String())
	}
	serveOne(func(w http.ResponseWriter, r *http.Request) {
		for range 3 {
			if _, err := s.Caller(r); err != nil {
				t.Error(err)
			}
		}
		body, err := s.ReadBody(w, r, 100)
		if err != nil {
			t.Error(err)
			return
		}
		body.Release()
	})
	if store.reads != 1 {
		t.Errorf("%d reads, want 1", store.reads)
	}
	_, token, _ := strings.Cut(cookie, "=")
	if got := log.String(); !strings.Contains(got, "key_name=alice tenant=acme") || strings.Contains(got, token) {
		t.Errorf("C149 log %s, want the key's name and no token", got)
	}
}

// A live stream asks for its caller as long as it goes on, and ends with the sign-in.
func TestLongRequestEndsWithItsSignIn(t *testing.T) {
	t.Parallel()
	now := &clock{noon()}
	s, store := withSignIns(t, serve.Rules{Keys: twoKeys()}, func(o *serve.Options) { o.Now = now.Now })
	cookie := signIn(t, s, alice)
	s.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := s.Caller(r); err != nil {
			t.Error(err)
		}
		clear(store.rows) // signed out
		now.now = now.now.Add(15 * time.Second)
		if _, err := s.Caller(r); mooring.CodeOf(err) != mooring.CodeInvalidAPIKey {
			t.Errorf("after signing out: %v, want invalid_api_key", err)
		}
	})).ServeHTTP(httptest.NewRecorder(), request{method: http.MethodGet, target: "/api/events", header: headers("Cookie", cookie)}.build(t))
}

func TestOpenBodyNeedsNoKey(t *testing.T) {
	t.Parallel()
	s, _ := withSignIns(t, serve.Rules{Keys: twoKeys()})
	body, err := s.ReadOpen(httptest.NewRecorder(), request{body: "{}"}.build(t), 10)
	if err != nil || string(body.Bytes()) != "{}" {
		t.Fatalf("ReadOpen: %v", err)
	}
	body.Release()
	for code, q := range map[mooring.Code]request{
		mooring.CodeBodyTooLarge: {body: strings.Repeat("x", 11)}, mooring.CodeUnsupportedMediaType: {body: "{}", header: headers("Content-Type", "text/plain")},
	} {
		_, err := s.ReadOpen(httptest.NewRecorder(), q.build(t), 10)
		var e *mooring.Error
		if !errors.As(err, &e) || e.Code != code {
			t.Errorf("error = %v, want %s", err, code)
		}
	}
}
