// Package issuertest is an OpenID provider in process, for tests: it has discovery, keys that rotate, codes with PKCE, refresh tokens
// that count once, and signs whatever it is told to. It knows no people and shows no pages; its goroutines are those of its HTTP server.
package issuertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// What a client of the issuer is called, and its secret.
const (
	ClientID = "mooring"
	Secret   = "the client's secret"
)

// Claims are what a token says.
type Claims map[string]any

// Issuer is made by New.
type Issuer struct {
	URL string
	now func() time.Time

	mu      sync.Mutex // guards what follows
	key     *ecdsa.PrivateKey
	kid     string
	made    int
	codes   map[string]grant
	refresh map[string]grant
	asked   map[string]int
	answers map[string]http.HandlerFunc
}

type grant struct {
	claims    Claims
	challenge string
}

// New starts an issuer that ends with the test.
func New(tb testing.TB, now func() time.Time) *Issuer {
	tb.Helper()
	i := &Issuer{now: now, codes: map[string]grant{}, refresh: map[string]grant{}, asked: map[string]int{}, answers: map[string]http.HandlerFunc{}}
	i.Rotate(tb)
	server := httptest.NewServer(i)
	tb.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Rotate has the issuer sign with a new key, and withdraw the one before.
func (i *Issuer) Rotate(tb testing.TB) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.made++
	i.key, i.kid = key, fmt.Sprintf("key-%d", i.made)
}

// Answer has a path answered by something else; nil for as usual.
func (i *Issuer) Answer(path string, h http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answers[path] = h
}

// Asked is how often a path was asked for.
func (i *Issuer) Asked(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked[path]
}

// Revoke makes all refresh tokens worthless.
func (i *Issuer) Revoke() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.refresh)
}

// ID gives the claims of a good ID token of that subject, with others put in their place; nil takes one away.
func (i *Issuer) ID(subject string, others Claims) Claims {
	now := i.now().Unix()
	return with(Claims{"iss": i.URL, "aud": ClientID, "sub": subject, "iat": now, "exp": now + 300}, others)
}

// LogoutToken gives the claims of a good logout token, as ID does.
func (i *Issuer) LogoutToken(others Claims) Claims {
	now := i.now().Unix()
	return with(Claims{
		"iss": i.URL, "aud": ClientID, "iat": now, "jti": rand.Text(), "events": Claims{"http://schemas.openid.net/event/backchannel-logout": Claims{}},
	}, others)
}

func with(c, others Claims) Claims {
	maps.Copy(c, others)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// Sign signs claims with the key of now.
func (i *Issuer) Sign(c Claims) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.signed(c, i.kid)
}

// SignAs signs with the key of now under another name.
func (i *Issuer) SignAs(kid string, c Claims) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.signed(c, kid)
}

func (i *Issuer) signed(c Claims, kid string) string {
	text := unsigned(Claims{"alg": "ES256", "kid": kid}, c)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		panic(err) // the key is good
	}
	raw := make([]byte, 64)
	r.FillBytes(raw[:32])
	s.FillBytes(raw[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(raw)
}

// Unsigned gives a token that says that it needs no signature.
func (i *Issuer) Unsigned(c Claims) string { return unsigned(Claims{"alg": "none"}, c) + "." }

// SignHMAC signs with a shared secret: what a forger makes of a public key, or a client of its own secret.
func (i *Issuer) SignHMAC(secret []byte, c Claims) string {
	i.mu.Lock()
	kid := i.kid
	i.mu.Unlock()
	text := unsigned(Claims{"alg": "HS256", "kid": kid}, c)
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// PublicKey is the key of now, as the issuer publishes it.
func (i *Issuer) PublicKey() []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	raw, err := json.Marshal(i.jwk())
	if err != nil {
		panic(err) // it is made of strings
	}
	return raw
}

func (i *Issuer) jwk() Claims {
	raw, err := i.key.PublicKey.Bytes()
	if err != nil {
		panic(err) // the key is good
	}
	b64 := base64.RawURLEncoding.EncodeToString
	return Claims{"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": i.kid, "x": b64(raw[1:33]), "y": b64(raw[33:])}
}

func unsigned(header, c Claims) string {
	part := func(v Claims) string {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err) // the test made it
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	return part(header) + "." + part(c)
}

// Login is what the issuer's own page does: it gives a code for a request to log in, and where the browser goes with it.
func (i *Issuer) Login(authorize string, c Claims) (callback *url.URL, err error) {
	u, err := url.Parse(authorize)
	if err != nil {
		return nil, err
	}
	q := u.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		return nil, fmt.Errorf("not a request to log in: %v", q)
	}
	code := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	claims := with(Claims{"nonce": q.Get("nonce")}, c)
	i.codes[code] = grant{claims, q.Get("code_challenge")}
	back.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}.Encode()
	return back, nil
}

// ServeHTTP answers as an issuer does.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked[r.URL.Path]++
	other := i.answers[r.URL.Path]
	i.mu.Unlock()
	if other != nil {
		other(w, r)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer(w, http.StatusOK, Claims{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"end_session_endpoint": i.URL + "/end", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		})
	case "/keys":
		i.mu.Lock()
		defer i.mu.Unlock()
		answer(w, http.StatusOK, Claims{"keys": []Claims{i.jwk()}})
	case "/token":
		i.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

// token gives tokens for a code or a refresh token, once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	if id, secret, ok := r.BasicAuth(); !ok || id != ClientID || secret != url.QueryEscape(Secret) {
		answer(w, http.StatusUnauthorized, Claims{"error": "invalid_client"})
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	from, name := i.codes, r.PostFormValue("code")
	if r.PostFormValue("grant_type") == "refresh_token" {
		from, name = i.refresh, r.PostFormValue("refresh_token")
	}
	g, ok := from[name]
	delete(from, name)
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if proof := base64.RawURLEncoding.EncodeToString(sum[:]); !ok || g.challenge != "" && subtle.ConstantTimeCompare([]byte(proof), []byte(g.challenge)) != 1 {
		clear(i.refresh) // one that comes twice ends them all
		answer(w, http.StatusBadRequest, Claims{"error": "invalid_grant"})
		return
	}
	next := rand.Text()
	i.refresh[next] = grant{claims: g.claims}
	now := i.now().Unix()
	id := with(Claims{"iss": i.URL, "aud": ClientID, "iat": now, "exp": now + 300}, g.claims)
	answer(w, http.StatusOK, Claims{"access_token": "opaque", "token_type": "Bearer", "expires_in": 300, "refresh_token": next, "id_token": i.signed(id, i.kid)})
}

func answer(w http.ResponseWriter, status int, c Claims) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(c) // a client that is gone cannot be told
}
