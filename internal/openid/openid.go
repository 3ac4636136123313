// Package openid asks an OpenID provider who somebody is: it finds the provider, checks its tokens, and speaks the
// code flow with it. It keeps nothing but the provider's own keys, and knows no cookies, routes or tenants.
package openid

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// ErrUnknown says that the provider could not be asked; ErrRefused that it, or its token, says no; ErrClient, which is refused too, that it
// does not take this client, whoever signs in.
var (
	ErrUnknown = errors.New("the identity provider cannot be asked")
	ErrRefused = errors.New("the identity provider says no")
	ErrClient  = fmt.Errorf("%w to this client: look at client_id and client_secret, here and there", ErrRefused)
)

const (
	// leeway is how far clocks may differ.
	leeway = time.Minute
	// fresh is how old a token of a login that has just happened may be, and freshLogout a logout token.
	fresh       = 10 * time.Minute
	freshLogout = 5 * time.Minute
	// holds is how long what was found of the provider is used: a key that it withdraws is forgotten by then.
	holds = time.Hour
	// holdsUnsigned is how long a renewal without an ID token holds at most, and where it does not say how long.
	holdsUnsigned = 5 * time.Minute
	// retry is how soon a provider that could not be reached is asked again.
	retry = 3 * time.Second
)

// Options are what is known of the provider. Issuer, ClientID and Now are required.
type Options struct {
	Issuer      string
	ClientID    string // the audience of ID tokens
	Secret      string
	RedirectURI string
	Scopes      []string // besides openid
	Now         func() time.Time
}

// Provider is one OpenID provider. Its methods may be called at any time from anywhere.
type Provider struct {
	o      Options
	client *http.Client

	mu     sync.Mutex // guards what follows; it is held while the provider is looked for
	found  *found
	failed time.Time
}

type found struct {
	at       time.Time
	endpoint oauth2.Endpoint
	keys     oidc.KeySet
	end      string
}

// New makes a provider. It is looked for when it is first needed.
func New(o Options) *Provider {
	return &Provider{o: o, client: newClient(o.Now)}
}

// Token is what an ID token says, once it has been found good.
type Token struct {
	Subject string
	Session string // the provider's own session, "" where it names none
	Expires time.Time
	Issued  time.Time
	Raw     string
}

// Verify checks an ID token that somebody else was given for this client: signature, issuer, audience and times.
func (p *Provider) Verify(ctx context.Context, raw string) (subject string, err error) {
	f, err := p.current(ctx)
	if err != nil {
		return "", err
	}
	t, _, err := p.check(ctx, f, raw)
	return t.Subject, err
}

type claims struct {
	AZP     string                     `json:"azp"`
	Session string                     `json:"sid"`
	Nonce   *string                    `json:"nonce"`
	ID      string                     `json:"jti"`
	Events  map[string]json.RawMessage `json:"events"`
}

func (p *Provider) check(ctx context.Context, f *found, raw string) (Token, claims, error) {
	var c claims
	t, err := p.examine(ctx, f, raw, &oidc.Config{Now: p.late})
	if err != nil {
		return Token{}, c, err
	}
	if err = t.Claims(&c); err != nil {
		return Token{}, c, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch {
	case c.Events != nil:
		return Token{}, c, fmt.Errorf("%w: a logout token is no ID token", ErrRefused)
	case t.Subject == "":
		return Token{}, c, fmt.Errorf("%w: the token names nobody", ErrRefused)
	case len(t.Audience) > 1 && c.AZP != p.o.ClientID, c.AZP != "" && c.AZP != p.o.ClientID && len(t.Audience) < 2:
		return Token{}, c, fmt.Errorf("%w: the token was made for another client", ErrRefused)
	}
	return Token{Subject: t.Subject, Session: c.Session, Expires: t.Expiry, Issued: t.IssuedAt, Raw: raw}, c, nil
}

// examine checks a token's signature, issuer and audience, and tells a token that is bad from keys that could not be fetched.
func (p *Provider) examine(ctx context.Context, f *found, raw string, how *oidc.Config) (*oidc.IDToken, error) {
	how.ClientID, how.SupportedSigningAlgs = p.o.ClientID, []string{oidc.RS256, oidc.ES256}
	keys := &watched{KeySet: f.keys}
	t, err := oidc.NewVerifier(p.o.Issuer, keys, how).Verify(ctx, raw)
	switch {
	case err == nil:
		return t, nil
	case errors.Is(keys.err, errFetch):
		return nil, fmt.Errorf("%w: %w", ErrUnknown, keys.err)
	}
	return nil, fmt.Errorf("%w: %w", ErrRefused, err)
}

// watched remembers why a signature could not be checked; the verifier keeps the words alone.
type watched struct {
	oidc.KeySet
	err error
}

// VerifySignature checks a signature against the provider's keys.
func (w *watched) VerifySignature(ctx context.Context, jwt string) (payload []byte, err error) {
	payload, w.err = w.KeySet.VerifySignature(ctx, jwt)
	return payload, w.err
}

// misnamed says that what was reached calls itself otherwise than the configuration does.
func misnamed(err error) error {
	other, ok := errors.AsType[*oidc.IssuerMismatchError](err)
	if !ok {
		return err
	}
	return fmt.Errorf("it was reached, and calls itself %q, not %q; write it as it does, to the letter", other.Discovered, other.Provided)
}

// Find looks for the provider, where that has not been done for a while; an error wraps ErrUnknown.
func (p *Provider) Find(ctx context.Context) error {
	_, err := p.current(ctx)
	return err
}

// current looks for the provider where that has not been done for a while.
func (p *Provider) current(ctx context.Context) (*found, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Now()
	if p.found != nil && now.Sub(p.found.at) < holds {
		return p.found, nil
	}
	if now.Sub(p.failed) < retry {
		return p.known(errors.New("it has just been tried"))
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.client), p.o.Issuer)
	if err != nil {
		p.failed = now
		return p.known(misnamed(err))
	}
	var more struct {
		Keys    string   `json:"jwks_uri"`
		End     string   `json:"end_session_endpoint"`
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	endpoint := provider.Endpoint()
	if err = provider.Claims(&more); err != nil || more.Keys == "" || !secure(p.o.Issuer, more.Keys, endpoint.AuthURL, endpoint.TokenURL) {
		p.failed = now
		return p.known(errors.Join(errors.New("its description names no keys, or a place without TLS"), err))
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // trying both would use codes and refresh tokens twice
	if len(more.Methods) > 0 && !slices.Contains(more.Methods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), p.client), more.Keys) // it outlives the request
	p.found = &found{at: now, endpoint: endpoint, end: more.End, keys: keys}
	return p.found, nil
}

// secure says that a provider with TLS has it everywhere.
func secure(issuer string, places ...string) bool {
	const tls = "https://"
	return !strings.HasPrefix(issuer, tls) || !slices.ContainsFunc(places, func(place string) bool { return !strings.HasPrefix(place, tls) })
}

// known goes on with what was found before, which may be old; the lock is held.
func (p *Provider) known(err error) (*found, error) {
	if p.found != nil {
		return p.found, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
}

// late is the time by a clock that is behind by as much as clocks may differ.
func (p *Provider) late() time.Time { return p.o.Now().Add(-leeway) }

func (p *Provider) oauth(f *found) *oauth2.Config {
	scopes := []string{oidc.ScopeOpenID}
	for _, s := range p.o.Scopes {
		if !slices.Contains(scopes, s) {
			scopes = append(scopes, s)
		}
	}
	return &oauth2.Config{ClientID: p.o.ClientID, ClientSecret: p.o.Secret, Endpoint: f.endpoint, RedirectURL: p.o.RedirectURI, Scopes: scopes}
}

// AuthURL is where a browser is sent to log in.
func (p *Provider) AuthURL(ctx context.Context, state, nonce, verifier string) (string, error) {
	f, err := p.current(ctx)
	if err != nil {
		return "", err
	}
	return p.oauth(f).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Grant is what a login, or its renewal, brings.
type Grant struct {
	Token
	Refresh string // "" where the provider gives none
}

// Exchange gives a code in for tokens and checks them.
func (p *Provider) Exchange(ctx context.Context, code, nonce, verifier string) (Grant, error) {
	f, err := p.current(ctx)
	if err != nil {
		return Grant{}, err
	}
	got, err := p.oauth(f).Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return Grant{}, said(err)
	}
	g, c, err := p.grant(ctx, f, got, "")
	switch {
	case err != nil:
		return Grant{}, err
	case c.Nonce == nil || subtle.ConstantTimeCompare([]byte(*c.Nonce), []byte(nonce)) != 1:
		return Grant{}, fmt.Errorf("%w: the token belongs to another login", ErrRefused)
	}
	return g, nil
}

// Refresh asks whether a login still holds. ErrRefused means that it does not; ErrUnknown that nobody can tell. A provider may answer
// without a new ID token (OpenID Connect Core 1.0, section 12.2): then Raw and Subject are empty, and Expires is the access token's.
func (p *Provider) Refresh(ctx context.Context, refresh, nonce string) (Grant, error) {
	f, err := p.current(ctx)
	if err != nil {
		return Grant{}, err
	}
	got, err := p.oauth(f).TokenSource(oidc.ClientContext(ctx, p.client), &oauth2.Token{RefreshToken: refresh, Expiry: time.Unix(1, 0)}).Token()
	if err != nil {
		return Grant{}, said(err)
	}
	if raw, ok := got.Extra("id_token").(string); !ok || raw == "" {
		return p.unsigned(got, refresh), nil
	}
	g, c, err := p.grant(ctx, f, got, refresh)
	if err == nil && c.Nonce != nil && nonce != "" && subtle.ConstantTimeCompare([]byte(*c.Nonce), []byte(nonce)) != 1 {
		return Grant{}, fmt.Errorf("%w: the token belongs to another login", ErrRefused)
	}
	return g, err
}

// unsigned is the grant of a renewal that brought no ID token.
func (p *Provider) unsigned(got *oauth2.Token, refresh string) Grant {
	now := p.o.Now()
	g := Grant{Token: Token{Issued: now, Expires: got.Expiry}, Refresh: cmp.Or(got.RefreshToken, refresh)}
	if most := now.Add(holdsUnsigned); g.Expires.IsZero() || g.Expires.After(most) {
		g.Expires = most
	}
	return g
}

func (p *Provider) grant(ctx context.Context, f *found, got *oauth2.Token, refresh string) (Grant, claims, error) {
	raw, _ := got.Extra("id_token").(string)
	if raw == "" {
		return Grant{}, claims{}, fmt.Errorf("%w: it gave no ID token", ErrRefused)
	}
	t, c, err := p.check(ctx, f, raw)
	if err != nil {
		return Grant{}, c, err
	}
	if t.Issued.Before(p.o.Now().Add(-fresh)) || t.Issued.After(p.o.Now().Add(leeway)) {
		return Grant{}, c, fmt.Errorf("%w: the token is not of now", ErrRefused)
	}
	return Grant{Token: t, Refresh: cmp.Or(got.RefreshToken, refresh)}, c, nil
}

// said tells a provider that says no from one that is in trouble: no is an OAuth error (RFC 6749, section 5.2), not any status by whatever
// stands in front of it.
func said(err error) error {
	no, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || no.Response == nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	switch no.Response.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		switch no.ErrorCode { // its description may repeat what was sent
		case "", "temporarily_unavailable", "server_error":
		case "invalid_client", "unauthorized_client":
			return fmt.Errorf("%w: %s", ErrClient, no.ErrorCode)
		default:
			return fmt.Errorf("%w: %s", ErrRefused, no.ErrorCode)
		}
	}
	return fmt.Errorf("%w: status %d", ErrUnknown, no.Response.StatusCode)
}

// Logout is what a provider's logout token says: which of its sessions has ended, or that all of a subject's have.
type Logout struct {
	Subject string
	Session string
	ID      string // each counts once
}

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// Logout checks a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6).
func (p *Provider) Logout(ctx context.Context, raw string) (Logout, error) {
	f, err := p.current(ctx)
	if err != nil {
		return Logout{}, err
	}
	t, err := p.examine(ctx, f, raw, &oidc.Config{SkipExpiryCheck: true, Now: p.o.Now}) // it may have no expiry
	if err != nil {
		return Logout{}, err
	}
	var c claims
	if err = t.Claims(&c); err != nil {
		return Logout{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	event, ok := c.Events[logoutEvent]
	now := p.o.Now()
	switch {
	case !ok || len(event) == 0 || event[0] != '{':
		return Logout{}, fmt.Errorf("%w: it is no logout token", ErrRefused)
	case c.Nonce != nil:
		return Logout{}, fmt.Errorf("%w: a logout token has no nonce", ErrRefused)
	case t.Subject == "" && c.Session == "":
		return Logout{}, fmt.Errorf("%w: it names nobody", ErrRefused)
	case c.ID == "":
		return Logout{}, fmt.Errorf("%w: it has no id", ErrRefused)
	case t.IssuedAt.Before(now.Add(-freshLogout)) || t.IssuedAt.After(now.Add(leeway)):
		return Logout{}, fmt.Errorf("%w: it is not of now", ErrRefused)
	case !t.Expiry.IsZero() && t.Expiry.Unix() > 0 && t.Expiry.Before(p.late()):
		return Logout{}, fmt.Errorf("%w: it has expired", ErrRefused)
	}
	return Logout{Subject: t.Subject, Session: c.Session, ID: c.ID}, nil
}

// EndURL is where the provider ends its own session; "" where it has no such place.
func (p *Provider) EndURL(ctx context.Context) string {
	f, err := p.current(ctx)
	if err != nil {
		return ""
	}
	return f.end
}
