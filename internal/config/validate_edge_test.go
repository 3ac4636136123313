package config_test

import (
	"errors"
	"strings"
	"testing"

	"mooring/internal/config"
)

// edgeWith is an edge that is right but for one key, which is given in its place.
func edgeWith(key, value string) string {
	keys := map[string]string{
		"listen": "'127.0.0.1:4748'", "host": "chat.example.org", "identity": "{source: x-forwarded-user, trusted: [127.0.0.1/32]}",
		"salt": strings.Repeat("s", 32), "slots": "[{name: a, url: 'http://127.0.0.1:1'}, {name: b, url: 'http://127.0.0.1:2'}]",
	}
	keys[key] = value
	var b strings.Builder
	b.WriteString("edge:\n")
	for _, name := range []string{"listen", "host", "identity", "salt", "slots", "identity_header", "cookies", "deny_open", "snapshot_limit", "oidc"} {
		if v, ok := keys[name]; ok {
			b.WriteString("  " + name + ": " + v + "\n")
		}
	}
	return b.String()
}

func TestEdgeRefused(t *testing.T) {
	t.Parallel()
	forwarded := func(nets string) string { return "{source: x-forwarded-user, trusted: " + nets + "}" }
	for _, row := range []struct{ rule, key, value, at string }{
		{"T-4 no trusted peer", "identity", forwarded("[]"), "edge.identity.trusted"},
		{"T-4 every address", "identity", forwarded("[0.0.0.0/0]"), "edge.identity.trusted"},
		{"T-4 every address in two halves", "identity", forwarded("['128.0.0.0/1', '0.0.0.0/1']"), "edge.identity.trusted"},
		{"T-4 every address in overlapping pieces", "identity", forwarded("['0.0.0.0/1', '64.0.0.0/2', '128.0.0.0/2', '192.0.0.0/2']"), "edge.identity.trusted"},
		{"T-4 every address of version 6", "identity", forwarded("['127.0.0.1/32', '::/0']"), "edge.identity.trusted"},
		{"no network", "identity", forwarded("[somewhere]"), "edge.identity.trusted[0]"},
		{"2.5-18 no such source", "identity", "{source: x-forwarded-email, trusted: [127.0.0.1/32]}", "edge.identity.source"},
		{"2.5-18 no such key", "identity", "{source: x-forwarded-user, trusted: [127.0.0.1/32], groups: [a]}", "edge.identity.groups"},
		{"a token for anybody", "identity", "{source: bearer-id-token, issuer: 'https://id.test'}", "edge.identity.audience"},
		{"an issuer in the clear", "identity", "{source: bearer-id-token, issuer: 'http://id.test', audience: a}", "edge.identity.issuer"},
		{"an issuer that is none", "identity", "{source: oidc, issuer: 'id.test', client_id: a}", "edge.identity.issuer"},
		{"no client", "identity", "{source: oidc, issuer: 'https://id.test'}", "edge.identity.client_id"},
		{"T-6 a short salt", "salt", strings.Repeat("s", 31), "edge.salt"},
		{"T-12 one web UI twice", "slots", "[{name: a, url: 'http://127.0.0.1:1'}, {name: b, url: 'http://127.0.0.1:1/'}]", "edge.slots[1].url"},
		{"T-12 one web UI by two names", "slots", "[{name: a, url: 'http://127.0.0.1:1'}, {name: b, url: 'http://LOCALHOST:1'}]", "edge.slots[1].url"},
		{"T-12 one web UI by its usual port", "slots", "[{name: a, url: 'http://h'}, {name: b, url: 'http://h:80'}]", "edge.slots[1].url"},
		{"one name twice", "slots", "[{name: a, url: 'http://127.0.0.1:1'}, {name: a, url: 'http://127.0.0.1:2'}]", "edge.slots[1].name"},
		{"no slots", "slots", "[]", "edge.slots"},
		{"a path of a web UI", "slots", "[{name: a, url: 'http://127.0.0.1:1/x'}]", "edge.slots[0].url"},
		{"no host", "host", "''", "edge.host"},
		{"a host with a scheme", "host", "'https://chat.example.org'", "edge.host"},
		{"no port", "listen", "'127.0.0.1'", "edge.listen"},
		{"the main listener's address", "listen", "'127.0.0.1:4747'", "edge.listen"},
		{"an identity header that means something else", "identity_header", "cookie", "edge.identity_header"},
		{"one cookie", "cookies", "[a]", "edge.cookies"},
		{"one cookie twice", "cookies", "[a, a]", "edge.cookies"},
		{"the edge's own cookie", "cookies", "[a, __Host-mooring_slot]", "edge.cookies[1]"},
		{"an open path that is none", "deny_open", "[share]", "edge.deny_open[0]"},
		{"a limit that cuts everything", "snapshot_limit", "1KiB", "edge.snapshot_limit"},
		{"login keys without login", "oidc", "{idle: 1h}", "edge.oidc"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("mooring.yaml", []byte(edgeWith(row.key, row.value)), config.Source{})
			var named *config.Error
			if !errors.As(err, &named) || named.Key != row.at {
				t.Errorf("Parse = %v, want an error at %s", err, row.at)
			}
		})
	}
}

func TestEdgeTaken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, key, value string }{
		{"as it is", "host", "chat.example.org"},
		{"a host with a port", "host", "localhost:4748"},
		{"half of all addresses", "identity", "{source: x-forwarded-user, trusted: ['0.0.0.0/1', '192.0.0.0/2', '::1']}"},
		{"T-6 a salt of 32 bytes", "salt", strings.Repeat("s", 32)},
		{"an issuer on this machine", "identity", "{source: oidc, issuer: 'http://localhost:9998/', client_id: chat}"},
		{"a token", "identity", "{source: bearer-id-token, issuer: 'https://id.test/realms/x', audience: chat}"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			if _, err := config.Parse("mooring.yaml", []byte(edgeWith(row.key, row.value)), config.Source{}); err != nil {
				t.Error(err)
			}
		})
	}
}
