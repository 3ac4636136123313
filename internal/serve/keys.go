package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"time"

	"mooring"
)

// Caller finds who sends the request, by its key, or without one by the pages' cookie where that counts. Without keys in the
// rules it is the operator of the local tenant, and the credentials that came are the client's own. With keys, X-Mooring-Key
// decides where it is there and the others are the client's own; else Authorization decides, else X-Api-Key, and neither goes
// any further. The key in a header decides whatever the cookie says.
func (s *Server) Caller(r *http.Request) (mooring.Caller, error) {
	rules := s.rules.Load()
	caller, err := s.keyCaller(rules, r)
	if err == errNoKey { //nolint:errorlint // it is never wrapped, and another error of its code is another error
		return s.signedIn(rules, r)
	}
	return caller, err
}

// keyCaller finds who sends the request by headers alone; errNoKey where none of them holds a key.
func (s *Server) keyCaller(rules *ruleset, r *http.Request) (mooring.Caller, error) {
	own := mooring.Credential{
		Authorization: mooring.Secret(r.Header.Get("Authorization")),
		APIKey:        mooring.Secret(r.Header.Get("X-Api-Key")),
	}
	if len(rules.keys) == 0 {
		return mooring.Caller{Tenant: mooring.LocalTenant, Role: mooring.RoleOperator, Own: own}, nil
	}
	secret, header, err := presented(r.Header)
	if err != nil {
		return mooring.Caller{}, err
	}
	key, found := rules.find(secret)
	if !found {
		return mooring.Caller{}, errKey("The key in %s is not one of this server's; check it, or ask for one.", header)
	}
	if key.expired(s.opts.Now()) {
		return mooring.Caller{}, errExpired()
	}
	caller := key.caller()
	if header == mooringKeyHeader {
		caller.Own = own
	}
	return caller, nil
}

// keyOf is the key that somebody signs in with.
func (rs *ruleset) keyOf(secret string, now time.Time) (Key, error) {
	key, found := rs.find(secret)
	if !found {
		return Key{}, errKey("This is not a key of this server; check it, or ask for one.")
	}
	if key.expired(now) {
		return Key{}, errExpired()
	}
	return key, nil
}

func (k Key) expired(now time.Time) bool { return !k.Expires.IsZero() && !now.Before(k.Expires) }

func (k Key) caller() mooring.Caller {
	role := k.Role
	if role == "" {
		role = mooring.RoleUser
	}
	return mooring.Caller{Tenant: k.Tenant, Key: k.Name, Role: role}
}

const mooringKeyHeader = "X-Mooring-Key"

// presented is the key that decides, and the header that it stood in.
func presented(h http.Header) (secret, header string, err error) {
	for _, header := range []string{mooringKeyHeader, "Authorization", "X-Api-Key"} {
		secret, err := single(h.Values(header), header)
		if err != nil {
			return "", "", err
		}
		if header == "Authorization" {
			secret = bearer(secret)
		}
		if secret != "" {
			return secret, header, nil
		}
	}
	return "", "", errNoKey
}

// single is the one value that a header has, however often it was sent; empty ones do not count.
func single(values []string, header string) (string, error) {
	one := ""
	for _, v := range values {
		v = strings.TrimSpace(v)
		if v != "" && one != "" && v != one {
			return "", errKey("%s was sent twice with different values; send it once.", header)
		}
		if v != "" {
			one = v
		}
	}
	return one, nil
}

// bearer is the token of an Authorization value; empty for another scheme.
func bearer(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// find compares with every key in constant time, so that the time says nothing about which ones there are.
func (rs *ruleset) find(secret string) (found Key, ok bool) {
	sum := sha256.Sum256([]byte(secret))
	for _, k := range rs.keys {
		if subtle.ConstantTimeCompare(sum[:], k.Hash[:]) == 1 {
			found, ok = k, true
		}
	}
	return found, ok
}

// errNoKey tells a request without a key from one with a wrong one.
var errNoKey = errKey("This server needs a key: send it as Authorization: Bearer, X-Api-Key or X-Mooring-Key.")

func errExpired() error { return errKey("This key has expired; ask for a new one.") }

func errKey(format string, args ...any) error {
	return mooring.Errorf(mooring.CodeInvalidAPIKey, format, args...)
}
