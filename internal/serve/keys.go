package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"mooring"
)

// Caller finds who sends the request, by its key alone. Without keys in the rules it is the operator of the local tenant,
// and the credentials that came are the client's own. With keys, X-Mooring-Key decides where it is there and the others
// are the client's own; else Authorization decides, else X-Api-Key, and neither goes any further.
func (s *Server) Caller(r *http.Request) (mooring.Caller, error) {
	rules := s.rules.Load()
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
	if !key.Expires.IsZero() && !s.opts.Now().Before(key.Expires) {
		return mooring.Caller{}, errKey("This key has expired; ask for a new one.")
	}
	caller := mooring.Caller{Tenant: key.Tenant, Key: key.Name, Role: key.Role}
	if caller.Role == "" {
		caller.Role = mooring.RoleUser
	}
	if header == mooringKeyHeader {
		caller.Own = own
	}
	return caller, nil
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
	return "", "", errKey("This server needs a key: send it as Authorization: Bearer, X-Api-Key or X-Mooring-Key.")
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

func errKey(format string, args ...any) error {
	return mooring.Errorf(mooring.CodeInvalidAPIKey, format, args...)
}
