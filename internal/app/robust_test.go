package app_test

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/config"
)

// aKey is a client key and its entry in `keys`.
func aKey(name string) (secret, entry string) {
	secret = "mk-" + name
	return secret, "  - {name: " + name + ", tenant: " + name + ", hash: \"" + config.HashOf(secret) + "\"}\n"
}

// parse gives the configuration of this file, which has to be sound.
func parse(t *testing.T, yaml string) config.Config {
	t.Helper()
	cfg, err := config.Parse("mooring.yaml", []byte(yaml), config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// A file that would be sound on loopback must not open a server that others reach.
func TestReloadDoesNotOpenTheServer(t *testing.T) {
	t.Parallel()
	secret, entry := aKey("alice")
	p := prepare(t, "keys:\n"+entry+"upstreams: [{name: demo, builtin: echo}]\n")
	p.yaml = strings.Replace(p.yaml, "listen: 127.0.0.1:0", "listen: 0.0.0.0:0", 1)
	p.run()
	_, port, err := net.SplitHostPort(p.app.Addr())
	if err != nil {
		t.Fatal(err)
	}
	p.base = "http://127.0.0.1:" + port
	p.call(http.MethodGet, "/api/sessions", "").want(http.StatusUnauthorized)

	err = p.app.Reload(parse(t, "listen: 127.0.0.1:0\nhosts: [mooring.example]\nupstreams: [{name: other, builtin: echo}]\n"))
	if err == nil || !strings.Contains(err.Error(), "keys") {
		t.Errorf("reload without keys = %v, want an error that says what is missing", err)
	}
	p.call(http.MethodGet, "/api/sessions", "").want(http.StatusUnauthorized)
	p.key = secret
	r := p.call(http.MethodGet, "/api/upstreams", "").want(http.StatusOK)
	if got := r.get("upstreams", 0, "name"); got != "demo" {
		t.Errorf("upstream = %v, want nothing of the refused file", got)
	}
}

func TestReloadNamesWhatTakesARestart(t *testing.T) {
	t.Parallel()
	p := start(t, "upstreams: [{name: demo, builtin: echo}]\n")
	next := parse(t, `
listen: 127.0.0.1:4
store: sqlite:other.db
secret: 0123456789abcdef0123456789abcdef
durability: full
sessions: {retention: 1d, memory: 1MiB, headers: [X-Shop-Chat]}
limits: {header_timeout: 3s, body: 1MiB}
telemetry: {format: json, log: error}
upstreams: [{name: demo, builtin: echo}]
`)
	// The second time says the same: what runs is what was started.
	for range 2 {
		if err := p.app.Reload(next); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, m := range regexp.MustCompile(`config_key=(\S+)`).FindAllStringSubmatch(p.log.String(), -1) {
		got = append(got, m[1])
	}
	once := []string{
		"listen", "store", "secret", "sessions.retention", "sessions.memory", "sessions.headers", "limits.header_timeout", "durability", "telemetry.format",
	}
	if diff := cmp.Diff(append(once, once...), got); diff != "" {
		t.Errorf("keys named (-want +got):\n%s", diff)
	}
}

func TestProtocolsThatAreNotServed(t *testing.T) {
	t.Parallel()
	p := start(t, "upstreams: [{name: demo, builtin: echo}]\n")
	for _, path := range []string{"/v1beta", "/v1beta/models/gemini-pro:generateContent", "/openai/v1beta/models"} {
		r := p.call(http.MethodPost, path, "{}").want(http.StatusNotFound)
		if words, _ := r.get("error", "message").(string); r.get("error", "code") != "not_found" || !strings.Contains(words, "Gemini") {
			t.Errorf("%s: body = %s, want not_found and a sentence about Gemini", path, r.body)
		}
	}
	for _, path := range []string{"/v1/responses", "/v1/chat/completions", "/nowhere", "/"} {
		r := p.call(http.MethodGet, path, "", "Connection", "Upgrade", "Upgrade", "websocket").want(http.StatusUpgradeRequired)
		if got := r.header.Get("X-Mooring-Error"); got != "upgrade_unsupported" {
			t.Errorf("%s: error = %q, want upgrade_unsupported", path, got)
		}
	}
}

// One tenant's bodies under way, which hold their room until they are whole, leave room for another tenant's.
func TestBodiesOfOneTenantLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	alice, one := aKey("alice")
	mallory, two := aKey("mallory")
	p := start(t, "keys:\n"+one+two+"upstreams: [{name: demo, builtin: echo}]\n")
	for range 17 { // as many as would fill all of it at the limit of a body each
		sent := make(chan struct{})
		r := p.request(http.MethodPost, "/v1/chat/completions", "", "X-Api-Key", mallory)
		r.Body, r.ContentLength = dribbling{sent: sent, done: t.Context().Done()}, -1
		go func() {
			if res, err := http.DefaultTransport.RoundTrip(r); err == nil {
				res.Body.Close()
			}
		}()
		<-sent
	}
	p.key = alice
	p.call(http.MethodPost, "/v1/chat/completions", `{"model":"echo","messages":[{"role":"user","content":"hi"}]}`).want(http.StatusOK)
}

// dribbling is a body that opens and then says nothing more until the test is over.
type dribbling struct {
	sent chan struct{} // closed once the first bytes are out
	done <-chan struct{}
}

func (d dribbling) Read(p []byte) (int, error) {
	select {
	case <-d.sent:
		<-d.done
		return 0, http.ErrBodyReadAfterClose
	default:
		close(d.sent)
		return copy(p, "{"), nil
	}
}

func (dribbling) Close() error { return nil }
