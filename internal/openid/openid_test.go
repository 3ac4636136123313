//nolint:tparallel // the rows of one test share a clock and go one after the other
package openid_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mooring/internal/issuertest"
	"mooring/internal/openid"
)

type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time        { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) pass(by time.Duration) { c.ahead.Add(int64(by)) }

func provider(t *testing.T) (*openid.Provider, *issuertest.Issuer, *clock) {
	t.Helper()
	c := &clock{}
	i := issuertest.New(t, c.now)
	return openid.New(openid.Options{
		Issuer: i.URL, ClientID: issuertest.ClientID, Secret: issuertest.Secret, RedirectURI: "https://chat.example.org/oauth2/callback", Now: c.now,
	}), i, c
}

type claims = issuertest.Claims

func TestIDTokens(t *testing.T) {
	t.Parallel()
	p, i, _ := provider(t)
	_, other, _ := provider(t)
	seconds := func(n int64) int64 { return time.Now().Unix() + n }
	for _, row := range []struct {
		name, token string
		good        bool
	}{
		{"a good one", i.Sign(i.ID("alice", nil)), true},
		{"several audiences, made for this client", i.Sign(i.ID("alice", claims{"aud": []string{"x", issuertest.ClientID}, "azp": issuertest.ClientID})), true},
		{"expired, within what clocks may differ", i.Sign(i.ID("alice", claims{"exp": seconds(-50)})), true},
		{"2.5-43 expired by 61 seconds", i.Sign(i.ID("alice", claims{"exp": seconds(-61)})), false},
		{"2.5-43 without an end", i.Sign(i.ID("alice", claims{"exp": nil})), false},
		{"2.5-43 of another audience", i.Sign(i.ID("alice", claims{"aud": "other"})), false},
		{"2.5-43 of none", i.Sign(i.ID("alice", claims{"aud": nil})), false},
		{"2.5-43 several audiences, and no word for whom", i.Sign(i.ID("alice", claims{"aud": []string{"x", issuertest.ClientID}})), false},
		{"2.5-43 several audiences, made for another", i.Sign(i.ID("alice", claims{"aud": []string{"x", issuertest.ClientID}, "azp": "x"})), false},
		{"2.5-43 one audience, made for another", i.Sign(i.ID("alice", claims{"azp": "x"})), false},
		{"2.5-43 of another issuer", i.Sign(i.ID("alice", claims{"iss": other.URL})), false},
		{"2.5-43 of another issuer with its key", other.Sign(i.ID("alice", nil)), false},
		{"2.5-43 unsigned", i.Unsigned(i.ID("alice", nil)), false},
		{"2.5-43 signed with the public key as a secret", i.SignHMAC(i.PublicKey(), i.ID("alice", nil)), false},
		{"2.5-43 signed with the client's secret", i.SignHMAC([]byte(issuertest.Secret), i.ID("alice", nil)), false},
		{"2.5-43 cut", strings.TrimSuffix(i.Sign(i.ID("alice", nil)), "A") + "x", false},
		{"2.5-43 of nobody", i.Sign(i.ID("", nil)), false},
		{"2.5-43 from before its time", i.Sign(i.ID("alice", claims{"nbf": seconds(3600)})), false},
		{"2.5-43 a logout token", i.Sign(i.LogoutToken(claims{"sub": "alice", "exp": seconds(300)})), false},
		{"2.5-43 no token", "x", false},
		{"2.5-43 nothing", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			subject, err := p.Verify(t.Context(), row.token)
			if row.good && (err != nil || subject != "alice") {
				t.Errorf("Verify = %q, %v; want alice", subject, err)
			}
			if !row.good && (!errors.Is(err, openid.ErrRefused) || subject != "") {
				t.Errorf("Verify = %q, %v; want no", subject, err)
			}
		})
	}
}

// Whoever runs the client has to hear that it is the client, and not who signs in, that is not taken.
func TestClientThatIsNotTaken(t *testing.T) {
	t.Parallel()
	_, i, c := provider(t)
	p := openid.New(openid.Options{Issuer: i.URL, ClientID: issuertest.ClientID, Secret: issuertest.Secret + "\n", Now: c.now})
	_, err := p.Exchange(t.Context(), "code", "n", "v")
	if !errors.Is(err, openid.ErrClient) || !errors.Is(err, openid.ErrRefused) || strings.Contains(err.Error(), issuertest.Secret) {
		t.Errorf("Exchange: %v, want that this client is refused", err)
	}
	p = openid.New(openid.Options{Issuer: i.URL, ClientID: issuertest.ClientID, Secret: issuertest.Secret, Now: c.now})
	if _, err = p.Exchange(t.Context(), "code", "n", "v"); errors.Is(err, openid.ErrClient) || !errors.Is(err, openid.ErrRefused) {
		t.Errorf("Exchange of a code that is none: %v, want that the code is refused", err)
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	p, i, c := provider(t)
	verify := func(token string) error { _, err := p.Verify(t.Context(), token); return err }
	old := i.Sign(i.ID("alice", nil))
	if err := verify(old); err != nil {
		t.Fatal(err)
	}
	c.pass(time.Minute)
	i.Rotate(t)
	if err := verify(i.Sign(i.ID("alice", nil))); err != nil {
		t.Errorf("a token of the new key: %v", err)
	}
	c.pass(2 * time.Hour)
	if err := verify(old); !errors.Is(err, openid.ErrRefused) {
		t.Errorf("a token of a withdrawn key: %v", err)
	}
	before := i.Asked("/keys")
	for n := range 50 {
		if err := verify(i.SignAs(fmt.Sprintf("flood-%d", n), i.ID("alice", nil))); !errors.Is(err, openid.ErrRefused) {
			t.Fatalf("an unknown key: %v", err)
		}
	}
	if asked := i.Asked("/keys") - before; asked > 1 {
		t.Errorf("50 tokens of unknown keys made %d requests", asked)
	}
}

// TestTrouble has the provider answer what says nothing of a token: nobody may be called refused for it.
func TestTrouble(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if code == http.StatusFound {
				w.Header().Set("Location", "/maintenance")
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, path := range []string{"/.well-known/openid-configuration", "/keys", "/token"} {
		for name, h := range map[string]http.HandlerFunc{
			"hangs up": hangUp, "500": status(500, `{"error":"server_error"}`), "404": status(404, "not found"), "429": status(429, `{"error":"slow_down"}`), "302": status(302, ""),
			"403 by a wall": status(403, "<html>no"), "no JSON": status(200, "<html>maintenance"), "endless": status(200, `{"a":"`+strings.Repeat("x", 2<<20)+`"}`), "503 without words": status(503, ""),
		} {
			t.Run(path+" "+name, func(t *testing.T) {
				t.Parallel()
				p, i, _ := provider(t)
				i.Answer(path, h)
				if path != "/token" {
					if _, err := p.Verify(t.Context(), i.Sign(i.ID("alice", nil))); !errors.Is(err, openid.ErrUnknown) {
						t.Errorf("Verify: %v, want that nobody can tell", err)
					}
				}
				if _, err := p.Refresh(t.Context(), "a token", ""); path != "/keys" && !errors.Is(err, openid.ErrUnknown) {
					t.Errorf("Refresh: %v, want that nobody can tell", err)
				}
			})
		}
	}
}

func TestCodes(t *testing.T) {
	t.Parallel()
	p, i, c := provider(t)
	begin := func(t *testing.T, said claims) string {
		t.Helper()
		to, err := p.AuthURL(t.Context(), "state-1", "nonce-1", "a verifier that is as long as it has to be, which is 43")
		if err != nil {
			t.Fatal(err)
		}
		back, err := i.Login(to, said)
		if err != nil {
			t.Fatal(err)
		}
		return back.Query().Get("code")
	}
	verifier := "a verifier that is as long as it has to be, which is 43"
	for _, row := range []struct {
		name            string
		said            claims
		nonce, verifier string
		good            bool
	}{
		{"a good login", claims{"sub": "alice", "sid": "s1"}, "nonce-1", verifier, true},
		{"without the verifier", claims{"sub": "alice"}, "nonce-1", "", false},
		{"with another verifier", claims{"sub": "alice"}, "nonce-1", verifier + "x", false},
		{"2.5-67 with the nonce of another login", claims{"sub": "alice"}, "nonce-2", verifier, false},
		{"2.5-67 without a nonce", claims{"sub": "alice", "nonce": nil}, "nonce-1", verifier, false},
		{"of an hour ago", claims{"sub": "alice", "iat": time.Now().Add(-time.Hour).Unix()}, "nonce-1", verifier, false},
		{"of tomorrow", claims{"sub": "alice", "iat": time.Now().Add(time.Hour).Unix()}, "nonce-1", verifier, false},
		{"for another client", claims{"sub": "alice", "aud": "x"}, "nonce-1", verifier, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := i.Asked("/token")
			g, err := p.Exchange(t.Context(), begin(t, row.said), row.nonce, row.verifier)
			if row.good && (err != nil || g.Subject != "alice" || g.Session != "s1" || g.Refresh == "") {
				t.Errorf("Exchange = %+v, %v", g, err)
			}
			if !row.good && !errors.Is(err, openid.ErrRefused) {
				t.Errorf("Exchange: %v, want no", err)
			}
			if n := i.Asked("/token") - before; n != 1 {
				t.Errorf("the code was given in %d times", n)
			}
		})
	}
	t.Run("a login is renewed, and its token counts once", func(t *testing.T) {
		g, err := p.Exchange(t.Context(), begin(t, claims{"sub": "alice"}), "nonce-1", verifier)
		if err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute)
		next, err := p.Refresh(t.Context(), g.Refresh, "nonce-1")
		if err != nil || next.Refresh == g.Refresh || next.Subject != "alice" || !next.Expires.After(g.Expires) {
			t.Fatalf("Refresh = %+v, %v", next, err)
		}
		before := i.Asked("/token")
		if _, err = p.Refresh(t.Context(), g.Refresh, "nonce-1"); !errors.Is(err, openid.ErrRefused) {
			t.Errorf("the same token again: %v", err)
		}
		if n := i.Asked("/token") - before; n != 1 {
			t.Errorf("a refused token was given in %d times", n)
		}
	})
}

// OpenID Connect Core 1.0, section 12.2: the answer to a refresh request might not contain an ID token.
func TestRenewalWithoutAnIDToken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, answer, refresh string
		holds                 time.Duration
	}{
		{"with another refresh token", `{"access_token":"a","token_type":"Bearer","expires_in":120,"refresh_token":"next"}`, "next", 2 * time.Minute},
		{"with nothing but an access token", `{"access_token":"a","token_type":"Bearer"}`, "first", 5 * time.Minute},
		{"for a day", `{"access_token":"a","token_type":"Bearer","expires_in":86400}`, "first", 5 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, i, c := provider(t)
			i.Answer("/token", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(row.answer))
			})
			g, err := p.Refresh(t.Context(), "first", "nonce-1")
			if err != nil || g.Raw != "" || g.Subject != "" || g.Refresh != row.refresh {
				t.Fatalf("Refresh = %+v, %v", g, err)
			}
			if left := g.Expires.Sub(c.now()); left > row.holds || left < row.holds-time.Minute {
				t.Errorf("it holds for %s, want %s", left, row.holds)
			}
			if _, err = p.Exchange(t.Context(), "code", "nonce-1", "verifier"); !errors.Is(err, openid.ErrRefused) {
				t.Errorf("a login without an ID token: %v, want no", err)
			}
		})
	}
}

func TestLogoutTokens(t *testing.T) {
	t.Parallel()
	p, i, _ := provider(t)
	_, other, _ := provider(t)
	events := "http://schemas.openid.net/event/backchannel-logout"
	for _, row := range []struct {
		name, token string
		good        bool
	}{
		{"of a session", i.Sign(i.LogoutToken(claims{"sid": "s1"})), true},
		{"of a person", i.Sign(i.LogoutToken(claims{"sub": "alice"})), true},
		{"without an end", i.Sign(i.LogoutToken(claims{"sub": "alice", "exp": nil})), true},
		{"expired", i.Sign(i.LogoutToken(claims{"sub": "alice", "exp": time.Now().Add(-2 * time.Minute).Unix()})), false},
		{"of nobody", i.Sign(i.LogoutToken(nil)), false},
		{"with a nonce", i.Sign(i.LogoutToken(claims{"sub": "alice", "nonce": "n"})), false},
		{"without an id", i.Sign(i.LogoutToken(claims{"sub": "alice", "jti": nil})), false},
		{"old", i.Sign(i.LogoutToken(claims{"sub": "alice", "iat": time.Now().Add(-6 * time.Minute).Unix()})), false},
		{"of tomorrow", i.Sign(i.LogoutToken(claims{"sub": "alice", "iat": time.Now().Add(6 * time.Minute).Unix()})), false},
		{"without a time", i.Sign(i.LogoutToken(claims{"sub": "alice", "iat": nil})), false},
		{"for another client", i.Sign(i.LogoutToken(claims{"sub": "alice", "aud": "x"})), false},
		{"of another issuer", other.Sign(i.LogoutToken(claims{"sub": "alice"})), false},
		{"unsigned", i.Unsigned(i.LogoutToken(claims{"sub": "alice"})), false},
		{"of another event", i.Sign(i.LogoutToken(claims{"sub": "alice", "events": claims{"x": claims{}}})), false},
		{"whose event is no object", i.Sign(i.LogoutToken(claims{"sub": "alice", "events": claims{events: nil}})), false},
		{"an ID token", i.Sign(i.ID("alice", nil)), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			said, err := p.Logout(t.Context(), row.token)
			if row.good && (err != nil || said.ID == "" || said.Subject+said.Session == "") {
				t.Errorf("Logout = %+v, %v", said, err)
			}
			if !row.good && !errors.Is(err, openid.ErrRefused) {
				t.Errorf("Logout = %+v, %v; want no", said, err)
			}
		})
	}
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	t.Run("a provider that names itself otherwise is none", func(t *testing.T) {
		t.Parallel()
		p, i, _ := provider(t)
		i.Answer("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"issuer":"%s/","jwks_uri":"%s/keys","authorization_endpoint":"%s/a","token_endpoint":"%s/t"}`, i.URL, i.URL, i.URL, i.URL)
		})
		_, err := p.AuthURL(t.Context(), "s", "n", "v")
		if !errors.Is(err, openid.ErrUnknown) {
			t.Fatalf("AuthURL: %v", err)
		}
		if said := err.Error(); !strings.Contains(said, fmt.Sprintf("it was reached, and calls itself %q, not %q", i.URL+"/", i.URL)) {
			t.Errorf("AuthURL: %s, want what it calls itself", said)
		}
	})
	t.Run("one that was away is found later", func(t *testing.T) {
		t.Parallel()
		p, i, c := provider(t)
		i.Answer("/.well-known/openid-configuration", http.NotFound)
		for range 5 {
			if _, err := p.AuthURL(t.Context(), "s", "n", "v"); !errors.Is(err, openid.ErrUnknown) {
				t.Errorf("AuthURL: %v", err)
			}
		}
		if n := i.Asked("/.well-known/openid-configuration"); n != 1 {
			t.Errorf("it was looked for %d times at once", n)
		}
		i.Answer("/.well-known/openid-configuration", nil)
		c.pass(time.Minute)
		to, err := p.AuthURL(t.Context(), "s", "n", "v")
		u, bad := url.Parse(to)
		if err != nil || bad != nil || u.Query().Get("code_challenge_method") != "S256" || u.Query().Get("scope") != "openid" || strings.Contains(to, "code_verifier") {
			t.Errorf("AuthURL = %q, %v", to, err)
		}
	})
}
