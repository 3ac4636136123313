package apiclient_test

import (
	"strings"
	"testing"

	"mooring/internal/apiclient"
)

func TestParseAddress(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, text, want string }{
		{"host and port", "127.0.0.1:4747", "http://127.0.0.1:4747"},
		{"a name and a port", "localhost:4747", "http://localhost:4747"},
		{"a URL stays", "http://example.org:80", "http://example.org:80"},
		{"https", "https://chat.example.org", "https://chat.example.org"},
		{"a base path is kept, its last slash is not", "https://example.org/mooring/", "https://example.org/mooring"},
		{"an escaped base path is kept", "https://example.org/a%2Fb/", "https://example.org/a%2Fb"},
		{"every interface is asked on loopback", "0.0.0.0:4747", "http://127.0.0.1:4747"},
		{"every interface of version 6", "[::]:4747", "http://[::1]:4747"},
		{"every interface in a URL", "http://0.0.0.0:1/x", "http://127.0.0.1:1/x"},
		{"a port after a colon", ":4747", "http://127.0.0.1:4747"},
		{"a port alone", "4747", "http://127.0.0.1:4747"},
		{"white space around it", " 127.0.0.1:1\n", "http://127.0.0.1:1"},
		{"a password is not shown", "http://ann:hidden@h:1", "http://ann:xxxxx@h:1"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			got, err := apiclient.ParseAddress(row.text, "here")
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != row.want || got.From != "here" {
				t.Errorf("ParseAddress(%q) = %s from %s, want %s from here", row.text, got, got.From, row.want)
			}
		})
	}
}

func TestParseAddressRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, text, says string }{
		{"nothing", "", "no address"},
		{"a host without port", "hidden", "no address"},
		{"another scheme", "unix:///hidden", "http://"},
		{"no host", "http:///hidden", "no address"},
		{"any port", "127.0.0.1:0", "port 0"},
		{"a query", "http://h:1/?hidden=1", "base URL"},
		{"a broken password", "http://ann:hid%zzden@h:1", "no address"},
		{"a port that is none", "h:hidden", "no address"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			_, err := apiclient.ParseAddress(row.text, "--server")
			if err == nil || !strings.Contains(err.Error(), row.says) || !strings.HasPrefix(err.Error(), "--server: ") {
				t.Fatalf("ParseAddress(%q) = %v, want an error of --server with %q", row.text, err, row.says)
			}
			if strings.Contains(err.Error(), "hid") {
				t.Errorf("the error repeats what may be a password: %v", err)
			}
		})
	}
}
