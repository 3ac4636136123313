package config_test

import (
	"strings"
	"testing"

	"mooring/internal/config"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, text, want, from string }{
		{"as the file says", "listen: 10.0.0.1:80\n", "10.0.0.1:80", "listen in mooring.yaml"},
		{"the default where the file says nothing", "store: sqlite:x.db\n", "127.0.0.1:4747", "the default: mooring.yaml has no listen"},
		{"with its variables", "listen: ${HARBOUR}:1\n", "quay:1", "listen in mooring.yaml"},
		{"the server's other variables need not be set", "listen: :1\nupstreams: [{name: a, url: \"${GONE}\", key: \"${GONE}\"}]\n", ":1", "listen in mooring.yaml"},
		{"a file that would be refused is read all the same", "listen: 0.0.0.0:80\n", "0.0.0.0:80", "listen in mooring.yaml"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			src := file(t, row.text)
			src.Env = func(name string) (string, bool) { return "quay", name == "HARBOUR" }
			got, from, err := config.Address(src)
			if got != row.want || from != row.from || err != nil {
				t.Errorf("Address = %q from %q, %v, want %q from %q", got, from, err, row.want, row.from)
			}
		})
	}
}

func TestAddressRefuses(t *testing.T) {
	t.Parallel()
	if _, _, err := config.Address(config.Source{Path: "/nowhere/mooring.yaml"}); err == nil {
		t.Error("Address of a named file that is not there gives no error")
	}
	_, _, err := config.Address(file(t, "listne: 1\n"))
	if err == nil || !strings.Contains(err.Error(), "did you mean listen?") || !strings.Contains(err.Error(), "mooring.yaml") {
		t.Errorf("Address = %v, want the misspelt key and its file", err)
	}
}
