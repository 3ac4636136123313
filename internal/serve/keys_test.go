package serve_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/serve"
)

// C135 (who the caller is comes from the key alone), C137 (open without keys, from the first request to the last).
func TestCaller(t *testing.T) {
	t.Parallel()
	expired, ending := key("old", "acme", "mk-old"), key("ending", "acme", "mk-ending")
	expired.Expires = noon()
	ending.Expires = noon().Add(time.Second)
	keys := append(twoKeys(), expired, ending)
	user := mooring.Caller{Tenant: "acme", Key: "alice", Role: mooring.RoleUser}
	withOwn := user
	withOwn.Own = mooring.Credential{Authorization: "Bearer of-a-vendor", APIKey: "also"}
	for _, tt := range []struct {
		rule   string
		keys   []serve.Key
		header []string
		want   mooring.Caller
		denied bool
	}{
		{
			rule: "without keys everybody is the local operator", header: []string{"Authorization", "Bearer v", "X-Api-Key", "w", "X-Mooring-Key", "no"},
			want: mooring.Caller{Tenant: "local", Role: mooring.RoleOperator, Own: mooring.Credential{Authorization: "Bearer v", APIKey: "w"}},
		},
		{rule: "a bearer", keys: keys, header: []string{"Authorization", "Bearer " + alice}, want: user},
		{rule: "the scheme in any case", keys: keys, header: []string{"Authorization", "bearer  " + alice}, want: user},
		{rule: "an x-api-key", keys: keys, header: []string{"X-Api-Key", alice}, want: user},
		{rule: "an x-mooring-key leaves the others to the client", keys: keys, header: []string{"X-Mooring-Key", alice, "Authorization", "Bearer of-a-vendor", "X-Api-Key", "also"}, want: withOwn},
		{rule: "an empty x-mooring-key is none", keys: keys, header: []string{"X-Mooring-Key", "", "X-Api-Key", alice}, want: user},
		{rule: "another scheme is none", keys: keys, header: []string{"Authorization", "Basic " + alice, "X-Api-Key", alice}, want: user},
		{rule: "the same key twice is one", keys: keys, header: []string{"X-Mooring-Key", alice, "X-Mooring-Key", alice}, want: user},
		{rule: "the role is the key's", keys: keys, header: []string{"X-Api-Key", root}, want: mooring.Caller{Key: "root", Role: mooring.RoleOperator}},
		{rule: "a key holds until it expires", keys: keys, header: []string{"X-Api-Key", "mk-ending"}, want: mooring.Caller{Tenant: "acme", Key: "ending", Role: mooring.RoleUser}},
		{rule: "headers that name people change nothing", keys: keys, header: []string{"X-Api-Key", alice, "X-Forwarded-User", "root", "X-Hermes-Tenant-Identity", "globex"}, want: user},
		{rule: "none", keys: keys, denied: true},
		{rule: "a wrong bearer", keys: keys, header: []string{"Authorization", "Bearer wrong"}, denied: true},
		{rule: "a wrong x-api-key", keys: keys, header: []string{"X-Api-Key", "no"}, denied: true},
		{rule: "not ASCII", keys: keys, header: []string{"Authorization", "Bearer \u00e9\u00e9\xff"}, denied: true},
		{rule: "a wrong x-mooring-key decides beside a right bearer", keys: keys, header: []string{"X-Mooring-Key", "no", "Authorization", "Bearer " + alice}, denied: true},
		{rule: "two different x-mooring-keys", keys: keys, header: []string{"X-Mooring-Key", alice, "X-Mooring-Key", root}, denied: true},
		{rule: "a key in a cookie", keys: keys, header: []string{"Cookie", "key=" + alice}, denied: true},
		{rule: "the hash is not the key", keys: keys, header: []string{"X-Api-Key", "sha256:" + alice}, denied: true},
		{rule: "an expired one", keys: keys, header: []string{"X-Api-Key", "mk-old"}, denied: true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, serve.Rules{Keys: tt.keys})
			got, err := s.Caller(request{header: headers(tt.header...)}.build(t))
			if denied := mooring.CodeOf(err) == mooring.CodeInvalidAPIKey && err != nil; denied != tt.denied {
				t.Fatalf("error = %v, want denied: %v", err, tt.denied)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueryIsNoKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{Keys: twoKeys()})
	_, err := s.Caller(request{method: http.MethodGet, target: "/api/sessions?key=" + alice}.build(t))
	if got := mooring.CodeOf(err); got != mooring.CodeInvalidAPIKey {
		t.Errorf("code = %s, want invalid_api_key", got)
	}
}

// C172: who has the tenant's new key goes on; the old one ends with its line in the rules.
func TestRotatedKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{Keys: []serve.Key{key("old", "acme", "mk-1"), key("new", "acme", "mk-2")}})
	caller := func(secret string) (mooring.Tenant, error) {
		c, err := s.Caller(request{header: headers("X-Api-Key", secret)}.build(t))
		return c.Tenant, err
	}
	before, err := caller("mk-1")
	if err != nil {
		t.Fatal(err)
	}
	s.SetRules(serve.Rules{Keys: []serve.Key{key("new", "acme", "mk-2")}})
	after, err := caller("mk-2")
	if err != nil || before != after {
		t.Errorf("tenant by the new key = %q (%v), want %q", after, err, before)
	}
	if _, err := caller("mk-1"); mooring.CodeOf(err) != mooring.CodeInvalidAPIKey {
		t.Errorf("a revoked key gives %v, want invalid_api_key", err)
	}
}
