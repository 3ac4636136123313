package edge

import (
	"context"
	"encoding/base32"
	"errors"
	"net/http"
	"net/netip"
	"strings"

	"mooring"
	"mooring/internal/openid"
)

func base32Of(b []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b)
}

// person is who a request comes from, as the one source of identity says.
type person struct {
	key   mooring.TenantKey
	login []byte // digest of the token of an edge's own login; nil for the other sources
}

// source is the one place that identities come from.
type source interface {
	// identify gives the person, or why there is none: a *refusal.
	identify(ctx context.Context, r *http.Request, cookies *brought) (person, error)
}

const maxSubject = 255

// subjectOf takes what a source calls a person; what is not plain could mean two people, or none.
func subjectOf(text string) (string, bool) {
	if text == "" || len(text) > maxSubject {
		return "", false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return "", false
		}
	}
	return text, true
}

// oneLine gives a header that is there exactly once.
func oneLine(h http.Header, name string) (string, bool) {
	values := h[http.CanonicalHeaderKey(name)]
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}

// peerOf is the address of the connection.
func peerOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// trusted says whether a peer may speak for people; with no list anybody may ask, for sources that prove what they say.
func trusted(nets []netip.Prefix, peer netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(peer) {
			return true
		}
	}
	return false
}

// forwardedUser believes the header of a proxy that people have signed in at.
type forwardedUser struct {
	nets   []netip.Prefix
	salt   []byte
	issuer string // "" where the configuration names none
}

const forwardedHeader = "X-Forwarded-User"

func (f *forwardedUser) identify(_ context.Context, r *http.Request, _ *brought) (person, error) {
	if !trusted(f.nets, peerOf(r)) {
		return person{}, nobody()
	}
	line, ok := oneLine(r.Header, forwardedHeader)
	if !ok {
		return person{}, nobody()
	}
	subject, ok := subjectOf(line)
	if !ok {
		return person{}, nobody()
	}
	return person{key: tenantKey(f.salt, f.issuer, subject)}, nil
}

// Verifier tells whether an ID token is good. An error that wraps openid.ErrUnknown means that nobody can tell now.
type Verifier interface {
	Verify(ctx context.Context, token string) (subject string, err error)
}

// bearerToken believes an ID token that the proxy in front sends along.
type bearerToken struct {
	nets   []netip.Prefix // none: any peer
	salt   []byte
	issuer string
	verify Verifier
}

func (b *bearerToken) identify(ctx context.Context, r *http.Request, _ *brought) (person, error) {
	if len(b.nets) > 0 && !trusted(b.nets, peerOf(r)) {
		return person{}, nobody()
	}
	line, ok := oneLine(r.Header, "Authorization")
	scheme, token, _ := strings.Cut(line, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return person{}, nobody()
	}
	said, err := b.verify.Verify(ctx, token)
	if err != nil {
		return person{}, unproven(err)
	}
	subject, ok := subjectOf(said)
	if !ok {
		return person{}, nobody()
	}
	if other := r.Header[forwardedHeader]; len(other) > 0 && (len(other) > 1 || other[0] != subject) {
		return person{}, nobody() // the proxy contradicts itself
	}
	return person{key: tenantKey(b.salt, b.issuer, subject)}, nil
}

func unproven(err error) error {
	if errors.Is(err, openid.ErrUnknown) {
		return unasked(err)
	}
	return nobody()
}
