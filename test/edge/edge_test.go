// Package edge_test puts the built binary behind a real oauth2-proxy, as it stands in front of people: a provider, the proxy, the edge, and web
// UIs that write down what they are sent.
//
//nolint:bodyclose,tparallel // a body is closed where it is read; the steps share one house
package edge_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mooring/internal/issuertest"
	"mooring/test/product"
)

var binary product.Binary

func TestMain(m *testing.M) { os.Exit(product.Run(m, &binary)) }

const (
	identity = "X-Hermes-Tenant-Identity"
	session  = "hermes_chat_session"
	patience = 15 * time.Second
)

// webUI is a tenant's web UI: it keeps a session for the identity that it is told.
type webUI struct {
	name string
	url  string

	mu   sync.Mutex
	seen []*http.Request
}

func newWebUI(t *testing.T, name string) *webUI {
	t.Helper()
	u := &webUI{name: name}
	s := httptest.NewServer(u)
	t.Cleanup(s.Close)
	u.url = s.URL
	return u
}

func (u *webUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	u.seen = append(u.seen, r)
	u.mu.Unlock()
	switch {
	case r.URL.Path == "/api/sessions/events":
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case strings.HasPrefix(r.URL.Path, "/api/"):
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"session":{"session_id":%q,"slot":%q}}`, r.URL.Query().Get("session_id"), u.name)
	default:
		http.SetCookie(w, &http.Cookie{Name: session, Value: strings.Repeat("a", 64) + "." + strings.Repeat("0", 64), MaxAge: 600})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, "<!doctype html><head><title>%s</title></head>", u.name)
	}
}

func (u *webUI) requests() []*http.Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]*http.Request(nil), u.seen...)
}

// rig is all of it, by the proxy's address.
type rig struct {
	url    string
	issuer *issuertest.Issuer
	slots  []*webUI
}

func freeAddr(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// build starts all of it; more are flags of the proxy beside those that are documented.
func build(t *testing.T, more map[string]string) *rig {
	t.Helper()
	file, built := proxy(t)
	if !built {
		t.Skip("there is no oauth2-proxy; make oauth2-proxy builds it")
	}
	h := &rig{issuer: issuertest.New(t, time.Now), slots: []*webUI{newWebUI(t, "tenant-0"), newWebUI(t, "tenant-1")}}
	front, behind := freeAddr(t), freeAddr(t)
	h.url = "http://" + front
	binary.Serve(t, fmt.Sprintf(`
edge:
  listen: %s
  host: %q
  identity: {source: x-forwarded-user, trusted: [127.0.0.1/32]}
  salt: 0123456789abcdef0123456789abcdef
  slots: [{name: tenant-0, url: %q}, {name: tenant-1, url: %q}]
`, behind, front, h.slots[0].url, h.slots[1].url))
	flags := map[string]string{
		"http-address": front, "upstream": "http://" + behind + "/", "oidc-issuer-url": h.issuer.URL, "client-id": issuertest.ClientID,
		"redirect-url": h.url + "/oauth2/callback", "backend-logout-url": "", "oidc-enabled-signing-alg": "ES256", "pass-access-token": "true",
	}
	maps.Copy(flags, more)
	startProxy(t, file, front, issuertest.Secret, flags)
	return h
}

// person is somebody's browser.
type person struct {
	h    *rig
	http *http.Client
}

func (h *rig) person(t *testing.T) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{h: h, http: &http.Client{Jar: jar, Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (p *person) get(t *testing.T, target string, lines ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.h.url+target, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		k, v, _ := strings.Cut(line, ": ")
		req.Header.Add(k, v)
	}
	return p.do(t, req)
}

func (p *person) do(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := p.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// login follows the proxy to the provider and back to the page that was asked for.
func (p *person) login(t *testing.T, subject, target string) string {
	t.Helper()
	res, _ := p.get(t, target)
	for range 6 {
		if res.StatusCode != http.StatusFound {
			break
		}
		to, err := res.Location()
		if err != nil {
			t.Fatal(err)
		}
		if to.Path == "/authorize" {
			if to, err = p.h.issuer.Login(to.String(), issuertest.Claims{"sub": subject, "email": subject + "@example.org", "email_verified": false}); err != nil {
				t.Fatal(err)
			}
		}
		var body string
		if res, body = p.get(t, to.RequestURI()); res.StatusCode == http.StatusOK {
			return body
		}
	}
	t.Fatalf("after the login of %s: %d %v", subject, res.StatusCode, res.Header)
	return ""
}

var asPage = []string{"Accept: application/json", "Sec-Fetch-Mode: cors"}

func TestBehindOAuth2Proxy(t *testing.T) {
	t.Parallel()
	h := build(t, nil)
	alice, bob := h.person(t), h.person(t)
	home := alice.login(t, "alice", "/session/abc")
	t.Run("T-23 who logs in sees the session's page, with the script", func(t *testing.T) {
		if !strings.Contains(home, "/.mooring/continuity.js?v=") || !strings.Contains(home, "<title>tenant-") {
			t.Errorf("the page is %s", home)
		}
	})
	_, mine := alice.get(t, "/api/session?session_id=abc", asPage...)
	t.Run("T-6 T-17 the web UI is told a key, and sees its own cookies alone", func(t *testing.T) {
		for _, slot := range h.slots {
			for _, r := range slot.requests() {
				if ids := r.Header[identity]; len(ids) != 1 || !strings.HasPrefix(ids[0], "t1-") {
					t.Errorf("%s was told %q", slot.name, ids)
				}
				for _, name := range []string{"X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Access-Token", "X-Forwarded-Preferred-Username", "Gap-Auth", "Authorization"} {
					if got := r.Header.Get(name); got != "" {
						t.Errorf("%s saw %s: %s", slot.name, name, got)
					}
				}
				for _, c := range r.Cookies() {
					if c.Name != session {
						t.Errorf("%s saw the cookie %s", slot.name, c.Name)
					}
				}
			}
		}
	})
	t.Run("T-8 who logs out and in again is at the same session", func(t *testing.T) {
		res, _ := alice.get(t, "/oauth2/sign_out")
		if res.StatusCode != http.StatusFound {
			t.Fatalf("sign-out: %d", res.StatusCode)
		}
		if res, _ = alice.get(t, "/api/session?session_id=abc", asPage...); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("F9 R10 a poll after the sign-out: %d, want 401", res.StatusCode)
		}
		if again := alice.login(t, "alice", "/session/abc"); again != home {
			t.Errorf("the page is %s, was %s", again, home)
		}
		if _, again := alice.get(t, "/api/session?session_id=abc", asPage...); again != mine {
			t.Errorf("the session is %s, was %s", again, mine)
		}
	})
	t.Run("2.5-8 2.5-10 F4 a header that the browser has the proxy drop is missing, and nothing takes its place", func(t *testing.T) {
		before := len(h.slots[0].requests()) + len(h.slots[1].requests())
		res, _ := alice.get(t, "/api/session?session_id=abc", append(asPage, "Connection: X-Forwarded-User")...)
		if after := len(h.slots[0].requests()) + len(h.slots[1].requests()); res.StatusCode != http.StatusUnauthorized || after != before {
			t.Errorf("status %d, %d requests came through", res.StatusCode, after-before)
		}
	})
	theirs := bob.login(t, "bob", "/session/abc")
	t.Run("T-8 T-5 R6 somebody else with the first one's id, cookies and identity sees nothing of theirs", func(t *testing.T) {
		if theirs == home {
			t.Fatalf("both see %s", theirs)
		}
		at, err := url.Parse(h.url)
		if err != nil {
			t.Fatal(err)
		}
		lines := append([]string{identity + ": " + keyOf(h, home), "X-Forwarded-User: alice", "X_Forwarded_User: alice"}, asPage...)
		var stolen []*http.Cookie
		for _, c := range alice.http.Jar.Cookies(at) {
			if !strings.HasPrefix(c.Name, "_oauth2_proxy") {
				stolen = append(stolen, c)
			}
		}
		bob.http.Jar.SetCookies(at, stolen)
		res, body := bob.get(t, "/api/session?session_id=abc", lines...)
		if res.StatusCode == http.StatusOK && body == mine {
			t.Errorf("bob sees %s", body)
		}
		for _, slot := range h.slots {
			for _, r := range slot.requests() {
				if strings.Contains(home, "<title>"+slot.name) != (r.Header.Get(identity) == keyOf(h, home)) {
					t.Errorf("%s was asked as %s", slot.name, r.Header.Get(identity))
				}
			}
		}
	})
	t.Run("T-21 a stream comes through as it is, in two tabs", func(t *testing.T) {
		for range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/api/sessions/events", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept", "text/event-stream")
			res, err := alice.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 9)
			if _, err = io.ReadFull(res.Body, got); err != nil || string(got) != "data: 1\n\n" {
				t.Errorf("the stream began with %q, %v", got, err)
			}
			cancel()
			_ = res.Body.Close()
		}
	})
}

// keyOf gives the key of the tenant of whom that page is.
func keyOf(h *rig, page string) string {
	for _, slot := range h.slots {
		if all := slot.requests(); strings.Contains(page, "<title>"+slot.name) && len(all) > 0 {
			return all[0].Header.Get(identity)
		}
	}
	return ""
}
