package config_test

import (
	"errors"
	"strings"
	"testing"

	"mooring/internal/config"
)

// edgeFile is a file with a good edge, in which one entry is another one.
func edgeFile(entry, value string) string {
	entries := []struct{ name, value string }{
		{"listen", "127.0.0.1:4748"},
		{"host", "chat.example.org"},
		{"salt", "0123456789abcdef0123456789abcdef"},
		{"identity", "{source: x-forwarded-user, trusted: [127.0.0.1/32]}"},
		{"slots", "[{name: a, url: 'http://127.0.0.1:8787'}, {name: b, url: 'http://127.0.0.1:8788'}]"},
	}
	var out strings.Builder
	out.WriteString("edge:\n")
	found := false
	for _, e := range entries {
		if e.name == entry {
			e.value, found = value, true
		}
		out.WriteString("  " + e.name + ": " + e.value + "\n")
	}
	if !found && entry != "" {
		out.WriteString("  " + entry + ": " + value + "\n")
	}
	return out.String()
}

func TestEdgeRefused(t *testing.T) {
	t.Parallel()
	slots := func(one, two string) string {
		return "[{name: a, url: '" + one + "'}, {name: b, url: '" + two + "'}]"
	}
	trusted := func(list string) string { return "{source: x-forwarded-user, trusted: " + list + "}" }
	for _, row := range []struct{ rule, entry, value, key string }{
		{"T-4 2.5-12 no trusted peers", "identity", trusted("[]"), "edge.identity.trusted"},
		{"T-4 2.5-12 none at all", "identity", "{source: x-forwarded-user}", "edge.identity.trusted"},
		{"T-4 2.5-12 everybody", "identity", trusted("[10.0.0.0/8, 0.0.0.0/0]"), "edge.identity.trusted"},
		{"T-4 2.5-12 everybody of version 6", "identity", trusted("['::/0']"), "edge.identity.trusted"},
		{"T-4 2.5-12 everybody in two halves", "identity", trusted("[128.0.0.0/1, 0.0.0.0/1]"), "edge.identity.trusted"},
		{"T-4 2.5-12 everybody in four pieces that overlap", "identity", trusted("[0.0.0.0/2, 64.0.0.0/2, 96.0.0.0/3, 128.0.0.0/1]"), "edge.identity.trusted"},
		{"T-4 a peer that is no address", "identity", trusted("[proxy]"), "edge.identity.trusted[0]"},
		{"T-3 2.5-18 a source that is none", "identity", "{source: forwarded, trusted: [127.0.0.1]}", "edge.identity.source"},
		{"T-3 2.5-18 no source", "identity", "{trusted: [127.0.0.1]}", "edge.identity.source"},
		{"2.5-18 a key that means nothing", "identity", "{source: x-forwarded-user, trusted: [127.0.0.1], allowed_groups: [x]}", "edge.identity.allowed_groups"},
		{"2.5-18 another one", "deny_opened", "[]", "edge.deny_opened"},
		{"2.5-43 tokens that were made for anybody", "identity", "{source: bearer-id-token, issuer: 'https://id.example.org'}", "edge.identity.audience"},
		{"2.5-43 tokens of no issuer", "identity", "{source: bearer-id-token, audience: x}", "edge.identity.issuer"},
		{"2.5-43 an issuer without TLS", "identity", "{source: bearer-id-token, audience: x, issuer: 'http://id.example.org'}", "edge.identity.issuer"},
		{"T-6 a salt of 31 bytes", "salt", "0123456789abcdef0123456789abcde", "edge.salt"},
		{"T-6 no salt", "salt", "''", "edge.salt"},
		{"T-12 two slots with one address", "slots", slots("http://127.0.0.1:8787", "http://127.0.0.1:8787"), "edge.slots[1].url"},
		{"T-12 the same in another spelling", "slots", slots("http://LOCALHOST:80/", "http://127.0.0.1"), "edge.slots[1].url"},
		{"T-12 the same by another scheme", "slots", slots("http://h:8787", "https://H:8787"), "edge.slots[1].url"},
		{"T-12 two slots with one name", "slots", "[{name: a, url: 'http://h:1'}, {name: a, url: 'http://h:2'}]", "edge.slots[1].name"},
		{"T-12 a slot's address with a path", "slots", slots("http://h:1", "http://h:2/x"), "edge.slots[1].url"},
		{"no slots", "slots", "[]", "edge.slots"},
		{"T-2 no host", "host", "''", "edge.host"},
		{"T-2 2.5-22 any host", "host", "'*.example.org'", "edge.host"},
		{"T-2 2.5-22 a host in capitals", "host", "Chat.example.org", "edge.host"},
		{"T-1 the main listener's address", "listen", "127.0.0.1:4747", "edge.listen"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("f", []byte("listen: 127.0.0.1:4747\n"+edgeFile(row.entry, row.value)), config.Source{})
			var named *config.Error
			if !errors.As(err, &named) || named.Key != row.key {
				t.Errorf("Parse = %v, want an error of %s", err, row.key)
			}
		})
	}
	t.Run("the file without such an entry is good", func(t *testing.T) {
		t.Parallel()
		parsed(t, edgeFile("", ""))
	})
}

func TestEdgeRedirectURI(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, host, uri, words string }{
		{"as it has to be", "chat.example.org", "https://chat.example.org/oauth2/callback", ""},
		{"a host that lacks the port", "localhost", "http://localhost:4748/oauth2/callback", "leads to localhost:4748 and edge.host is localhost"},
		{"another path", "chat.example.org", "https://chat.example.org/callback", "has to be https://chat.example.org/oauth2/callback"},
		{"no address", "chat.example.org", "/oauth2/callback", "has to be https://chat.example.org/oauth2/callback"},
		{"without TLS", "chat.example.org", "http://chat.example.org/oauth2/callback", "has to begin with https://"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(edgeFile("identity", "{source: oidc, client_id: c, issuer: 'https://id.example.org'}"), "chat.example.org", row.host, 1) +
				"  oidc: {redirect_uri: '" + row.uri + "'}\n"
			_, err := config.Parse("f", []byte(text), config.Source{})
			if row.words == "" {
				if err != nil {
					t.Errorf("Parse: %v", err)
				}
				return
			}
			var named *config.Error
			if !errors.As(err, &named) || named.Key != "edge.oidc.redirect_uri" || !strings.Contains(named.Msg, row.words) {
				t.Errorf("Parse: %v, want %q", err, row.words)
			}
		})
	}
}
