package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/config"
)

// file writes a configuration file into a folder of the test's own.
func file(t *testing.T, text string) config.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mooring.yaml")
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return config.Source{Path: path}
}

func content(t *testing.T, src config.Source) string {
	t.Helper()
	text, err := os.ReadFile(src.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAddKey(t *testing.T) {
	t.Parallel()
	added := config.Key{Name: "ann", Tenant: "acme", Role: "user", Hash: config.HashOf("a")}
	line := config.KeyLine(added)
	old := key("bob")
	for _, row := range []struct{ rule, before, after string }{
		{"no keys yet: at the end", "# mine\nlisten: 127.0.0.1:0 # here\n", "# mine\nlisten: 127.0.0.1:0 # here\n\nkeys:\n  - " + line + "\n"},
		{"a last line without end", "listen: 127.0.0.1:0", "listen: 127.0.0.1:0\n\nkeys:\n  - " + line + "\n"},
		{"an empty list", "keys: [] # none\nhosts: []\n", "keys: # none\n  - " + line + "\nhosts: []\n"},
		{"no value", "keys:\nhosts: []\n", "keys:\n  - " + line + "\nhosts: []\n"},
		{"before the others, as far in as they are", "keys:\n    # bob's\n    - " + old + "\n", "keys:\n    - " + line + "\n    # bob's\n    - " + old + "\n"},
		{"entries that are not indented", "keys:\n- " + old + "\n", "keys:\n- " + line + "\n- " + old + "\n"},
		{"a variable that is not set here", "secret: ${ELSEWHERE}\n", "secret: ${ELSEWHERE}\n\nkeys:\n  - " + line + "\n"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			src := file(t, row.before)
			if err := config.AddKey(src, added); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.after, content(t, src)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
			if info, err := os.Stat(src.Path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("mode = %v, %v, want it unchanged", info.Mode(), err)
			}
		})
	}
}

func TestAddKeyMakesAFile(t *testing.T) {
	t.Parallel()
	src := config.Source{Path: filepath.Join(t.TempDir(), "new.yaml")}
	if err := config.AddKey(src, config.Key{Name: "root", Role: "operator", Hash: digest}); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, src), "\nkeys:\n  - {name: root, role: operator, hash: \""+digest+"\"}\n"; got != want {
		t.Errorf("file = %q, want %q", got, want)
	}
	if info, err := os.Stat(src.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
}

func TestAddKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, before, says string }{
		{"a name that is there", "keys:\n  - " + strings.Replace(key("ann"), "9f", "00", 1) + "\n", "twice"},
		{"brackets", "keys: [" + key("bob") + "]\n", "by hand"},
		{"what the start would refuse", "upstreams:\n  - {name: up, url: 'http://h'}\n", "needs a key"},
		{"a file that is no YAML", "keys: [", "no YAML"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			src := file(t, row.before)
			err := config.AddKey(src, config.Key{Name: "ann", Tenant: "t", Hash: digest})
			if err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("AddKey = %v, want %q", err, row.says)
			}
			if got := content(t, src); got != row.before {
				t.Errorf("file changed to %q", got)
			}
		})
	}
}

func TestRemoveKey(t *testing.T) {
	t.Parallel()
	other := strings.Replace(key("ann"), "9f", "00", 1)
	long := "- name: bob # the second\n    tenant: t\n    hash: \"" + digest + "\"\n    models:\n      - x\n"
	for _, row := range []struct {
		rule, before, after string
		left                int
	}{
		{"one of two", "keys:\n  - " + other + "\n  - " + key("bob") + "\n  # end\n", "keys:\n  - " + other + "\n  # end\n", 1},
		{"an entry of many lines", "keys:\n  " + long + "  - " + other + "\nhosts: []\n", "keys:\n  - " + other + "\nhosts: []\n", 1},
		{"a dash on its own line", "keys:\n  -\n    " + key("bob") + "\n  - " + other + "\n", "keys:\n  - " + other + "\n", 1},
		{"the last one leaves an empty list", "keys: # mine\n  - " + key("bob") + "\nhosts: []\n", "keys: [] # mine\nhosts: []\n", 0},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			src := file(t, row.before)
			left, err := config.RemoveKey(src, "bob")
			if err != nil || left != row.left {
				t.Errorf("RemoveKey = %d, %v, want %d", left, err, row.left)
			}
			if diff := cmp.Diff(row.after, content(t, src)); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRemoveKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, before, says string }{
		{"no such key", "keys:\n  - " + key("ann") + "\n", `no key is named "bob"`},
		{"no keys at all", "hosts: []\n", "none are configured"},
		{"brackets", "keys: [" + key("bob") + "]\n", "by hand"},
		{"the last one of a server that is open to all", "listen: 0.0.0.0:1\nkeys:\n  - " + key("bob") + "\n", "listen"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			src := file(t, row.before)
			if _, err := config.RemoveKey(src, "bob"); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("RemoveKey = %v, want %q", err, row.says)
			}
			if got := content(t, src); got != row.before {
				t.Errorf("file changed to %q", got)
			}
		})
	}
}

func TestListKeys(t *testing.T) {
	t.Parallel()
	keys, err := config.ListKeys(file(t, "secret: ${ELSEWHERE}\nkeys:\n  - "+key("bob")+"\n"))
	if err != nil || len(keys) != 1 || keys[0].Name != mooring.KeyName("bob") {
		t.Errorf("ListKeys = %v, %v, want bob", keys, err)
	}
}

func TestKeyLineQuotesWhatNeedsIt(t *testing.T) {
	t.Parallel()
	got := config.KeyLine(config.Key{Name: "7", Tenant: "a: b", Hash: "h"})
	if want := `{name: "7", tenant: "a: b", hash: "h"}`; got != want {
		t.Errorf("KeyLine = %s, want %s", got, want)
	}
}
