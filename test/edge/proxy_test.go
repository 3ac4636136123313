//nolint:bodyclose // a body is closed where it is read
package edge_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mooring/internal/issuertest"
)

// proxy gives the oauth2-proxy that make has built.
func proxy(t *testing.T) (file string, built bool) {
	t.Helper()
	file, err := filepath.Abs("../../.cache/bin/oauth2-proxy")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(file)
	return file, !errors.Is(err, os.ErrNotExist)
}

// documented gives the flags of the oauth2-proxy in docs/edge.md: their names, and what they are set to.
func documented(t *testing.T) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/edge.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "```sh\noauth2-proxy ")
	command, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("docs/edge.md has no oauth2-proxy")
	}
	flags := map[string]string{}
	for word := range strings.FieldsSeq(strings.ReplaceAll(command, "\\\n", " ")) {
		name, value, isSet := strings.Cut(word, "=")
		name, isFlag := strings.CutPrefix(name, "--")
		if !isSet || !isFlag {
			t.Fatalf("docs/edge.md has an oauth2-proxy with %s, want --name=value", word)
		}
		flags[name] = strings.Trim(value, "'")
	}
	return flags
}

// startProxy starts an oauth2-proxy with the flags that docs/edge.md has, but for TLS and those that are given, and waits until it answers.
func startProxy(t *testing.T, file, front, secret string, more map[string]string) {
	t.Helper()
	flags := documented(t)
	maps.Copy(flags, more)
	flags["cookie-secure"] = "false" // no TLS here
	args := make([]string, 0, len(flags))
	for name, value := range flags {
		args = append(args, "--"+name+"="+value)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), file, args...)
	cmd.Dir = t.TempDir()
	for name, content := range map[string]string{"client.secret": secret, "cookie.secret": "0123456789abcdef0123456789abcdef"} {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get("http://" + front + "/ping")
		if err == nil {
			_ = res.Body.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("oauth2-proxy does not answer: %v", err)
		}
	}
}

// A page that was open before goes on asking while somebody is at the login page: its streams, and a picture of a folder that is no API.
func TestTabsOfALoginThatHasGone(t *testing.T) {
	t.Parallel()
	alice := build(t, nil).person(t)
	res, _ := alice.get(t, "/session/abc")
	provider, err := res.Location()
	if err != nil || res.StatusCode != http.StatusFound {
		t.Fatalf("without a login: %d, %v", res.StatusCode, err)
	}
	for target, want := range map[string]int{"/api/sessions/events": http.StatusUnauthorized, "/static/icon.png": http.StatusFound} {
		if res, _ = alice.get(t, target, "Accept: */*"); res.StatusCode != want {
			t.Errorf("%s without a login: %d, want %d", target, res.StatusCode, want)
		}
	}
	back, err := alice.h.issuer.Login(provider.String(), issuertest.Claims{"sub": "alice"})
	if err != nil {
		t.Fatal(err)
	}
	if res, _ = alice.get(t, back.RequestURI()); res.StatusCode != http.StatusFound {
		t.Fatalf("the end of the login: %d", res.StatusCode)
	}
	if res, _ = alice.get(t, res.Header.Get("Location")); res.StatusCode != http.StatusOK || res.Request.URL.Path != "/session/abc" {
		t.Errorf("after the login: %d at %s", res.StatusCode, res.Request.URL)
	}
}

// Whoever the provider knows no more is asked for soon, by the proxy.
func TestDismissedBehindOAuth2Proxy(t *testing.T) {
	t.Parallel()
	if often := documented(t)["cookie-refresh"]; often != "4m" {
		t.Fatalf("docs/edge.md has the proxy ask the provider every %q, and says that it is 4m", often)
	}
	alice := build(t, map[string]string{"cookie-refresh": "1s"}).person(t)
	alice.login(t, "alice", "/session/abc")
	until := func(what string, done func() bool) {
		for end := time.Now().Add(patience); !done(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal(what)
			}
		}
	}
	status := func() int {
		res, _ := alice.get(t, "/api/session?session_id=abc", asPage...)
		return res.StatusCode
	}
	asked := alice.h.issuer.Asked("/token")
	until("the provider was not asked again", func() bool {
		if got := status(); got != http.StatusOK {
			t.Fatalf("a request of somebody who is logged in: %d", got)
		}
		return alice.h.issuer.Asked("/token") > asked
	})
	alice.h.issuer.Revoke()
	until("who was dismissed is still let in", func() bool { return status() == http.StatusUnauthorized })
}
