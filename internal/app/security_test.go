package app_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/app"
	"mooring/internal/config"
	"mooring/internal/upstreamtest"
)

// keyring is a configuration's keys: three users of two tenants and an operator.
func keyring() string {
	return keysYAML("KA", "acme", "KA2", "acme", "KB", "globex") +
		fmt.Sprintf("  - {name: root, role: operator, hash: \"sha256:%s\"}\n", sum("KROOT"))
}

// keysYAML is the `keys` of pairs of a key and its tenant.
func keysYAML(pairs ...string) string {
	var b strings.Builder
	b.WriteString("keys:\n")
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "  - {name: %s, tenant: %s, hash: \"sha256:%s\"}\n", strings.ToLower(pairs[i]), pairs[i+1], sum(pairs[i]))
	}
	return b.String()
}

// as is the program as another key's holder sees it.
func (p *product) as(key string) *product {
	other := *p
	other.key = key
	return &other
}

// refused checks the status and the code of an error that Mooring made.
func (r *reply) refused(t *testing.T, what string, status int, code string) {
	t.Helper()
	if r.status != status || r.header.Get("X-Mooring-Error") != code {
		t.Errorf("%s: %d %q, want %d %s; body %.200s", what, r.status, r.header.Get("X-Mooring-Error"), status, code, r.body)
	}
}

func TestAnotherTenantsSessionIsOutOfReach(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, keyring()+"upstreams:\n"+upstreamYAML("u1", u.URL, "key: none"))
	alice, carol, bob := p.as("KA"), p.as("KA2"), p.as("KB")
	u.Queue(upstreamtest.Reply{Text: "WALRUS-answer"})
	made := alice.chat("WALRUS-key", "WALRUS-question").want(http.StatusOK)
	id, turn := made.session(), made.header.Get("X-Mooring-Turn")
	shown := func() []string {
		return append(alice.texts(id), string(alice.call(http.MethodGet, "/api/sessions/"+id, "").want(http.StatusOK).body))
	}
	before := shown()

	reads := []string{"/api/sessions/" + id, "/api/sessions/" + id + "/messages", "/api/sessions/" + id + "/turns", "/api/turns/" + turn}
	for _, path := range reads {
		code := "session_not_found"
		if strings.HasPrefix(path, "/api/turns/") {
			code = "not_found"
		}
		bob.call(http.MethodGet, path, "").refused(t, "C135 bob reads "+path, http.StatusNotFound, code)
		if r := carol.call(http.MethodGet, path, "").want(http.StatusOK); !strings.Contains(string(r.body), id) {
			t.Errorf("C135 carol, of alice's tenant, reads %s: %s, want the session", path, r.body)
		}
	}
	bob.call(http.MethodGet, "/api/sessions/WALRUS-key", "").refused(t, "C135 bob reads by key", http.StatusNotFound, "session_not_found")
	bob.chat("", "hello", "X-Mooring-Session", id).refused(t, "C135 bob's turn", http.StatusNotFound, "session_not_found")
	for method, path := range map[string]string{
		http.MethodPatch: "/api/sessions/" + id, http.MethodDelete: "/api/sessions/" + id, http.MethodPost: "/api/sessions/" + id + "/fork",
	} {
		body := `{"title":"mine","message_id":"x"}`
		if r := bob.call(method, path, body); r.status/100 == 2 {
			t.Errorf("C135 bob's %s %s: %d, want a refusal", method, path, r.status)
		}
	}
	for _, path := range []string{
		"/api/sessions", "/api/sessions?parent=" + id, "/api/sessions/" + id + "/tree", "/api/sessions/" + id + "/export", "/api/turns/" + turn + "/stream",
		"/api/usage", "/api/stats", "/api/search?q=walrus",
	} {
		if r := bob.call(http.MethodGet, path, ""); strings.Contains(string(r.body), "WALRUS") || strings.Contains(string(r.body), `"`+id) {
			t.Errorf("C135 bob reads %s: %s", path, r.body)
		}
	}
	if got := len(u.Posts()); got != 1 {
		t.Errorf("C135 the upstream got %d requests, want alice's alone", got)
	}
	if diff := cmp.Diff(before, shown()); diff != "" {
		t.Errorf("C135 the session (-before +after):\n%s", diff)
	}
}

func TestOpenOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	upstreams := "upstreams:\n" + upstreamYAML("u1", u.URL, "key: none")
	path := filepath.Join(t.TempDir(), "mooring.yaml")
	if err := os.WriteFile(path, []byte("listen: 0.0.0.0:0\n"+upstreams), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(config.Source{Path: path, Env: func(string) (string, bool) { return "", false }})
	if err == nil || !strings.Contains(err.Error(), "listen") || !strings.Contains(err.Error(), "keys") {
		t.Errorf("C137 an open server on every address: %v, want an error that names listen and keys", err)
	}

	open := start(t, upstreams)
	first := open.chat("s1", "one").want(http.StatusOK)
	if second := open.chat("s1", "two").want(http.StatusOK); second.session() != first.session() {
		t.Errorf("C137 turn 2 is in session %s, want %s", second.session(), first.session())
	}
	if got := open.call(http.MethodGet, "/api/sessions/s1", "").want(http.StatusOK).get("tenant"); got != "local" {
		t.Errorf("C137 tenant = %v, want local", got)
	}

	asked := len(u.Posts())
	closed := start(t, keyring()+upstreams)
	for turn := range 2 {
		closed.chat("s1", "hello").refused(t, fmt.Sprint("C137 without a key, turn ", turn+1), http.StatusUnauthorized, "invalid_api_key")
	}
	if got := len(u.Posts()) - asked; got != 0 {
		t.Errorf("C137 the upstream got %d requests without a key", got)
	}
}

func TestListSearchStaysInItsTenant(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, keyring()+"upstreams:\n"+upstreamYAML("u1", u.URL, "key: none"))
	p.as("KA").chat("quokka-chat", "the QUOKKA-A lives here").want(http.StatusOK)
	for _, q := range []string{"QUOKKA-A", "quokka-chat"} {
		if got := p.as("KA2").call(http.MethodGet, "/api/sessions?q="+q, "").want(http.StatusOK).get("total"); got != 1.0 {
			t.Errorf("C139 carol finds %v sessions for %s, want 1", got, q)
		}
	}
	bob := p.as("KB")
	for _, path := range []string{
		"/api/sessions?q=QUOKKA-A", "/api/sessions?q=quokka-chat", "/api/sessions?q=%25", "/api/sessions?q=_", "/api/sessions?q=", "/api/sessions?tenant_id=acme",
	} {
		r := bob.call(http.MethodGet, path, "", "X-Tenant", "acme", "X-Mooring-Tenant", "acme", "X-Forwarded-User", "alice").want(http.StatusOK)
		if r.get("total") != 0.0 || strings.Contains(strings.ToLower(string(r.body)), "quokka") {
			t.Errorf("C139 bob's GET %s: %s, want nothing", path, r.body)
		}
	}
	bob.call(http.MethodGet, "/api/sessions?q=QUOKKA-A&tenant=acme", "").refused(t, "C139 bob names the tenant", http.StatusForbidden, "operator_required")
	p.as("KROOT").call(http.MethodGet, "/api/sessions?q=QUOKKA-A&tenant=acme", "").refused(t, "C139 the operator without operator_reads", http.StatusNotFound, "not_found")
	for _, path := range []string{"/api/search?q=QUOKKA-A", "/api/sessions/search?q=QUOKKA-A"} {
		if r := bob.call(http.MethodGet, path, ""); strings.Contains(string(r.body), "lives here") {
			t.Errorf("C139 bob's GET %s: %s", path, r.body)
		}
	}
}

// C140: rows that no tenant owns are seen by nobody, and an operator's check finds them.
func TestRowsWithoutATenant(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store string) {
		t.Helper()
		u := upstreamtest.New(t)
		upstreams := "upstreams:\n" + upstreamYAML("u1", u.URL, "key: none")
		p := start(t, store+keyring()+upstreams)
		made := p.as("KA").chat("stray-key", "STRAY words").want(http.StatusOK)
		p.stop() // what it remembers must not stand in for the store
		db := openStore(t, store)
		empty := "''"
		if strings.Contains(store, "sqlite:") {
			empty = "x''"
		}
		for _, table := range []string{"session", "turn", "message", "chain", "alias", "pin", "blob"} {
			mustExec(t, db, "UPDATE "+table+" SET tenant = "+empty)
		}
		sees := func(p *product, who string) {
			t.Helper()
			for _, path := range []string{"/api/sessions", "/api/sessions?q=STRAY"} {
				if got := p.call(http.MethodGet, path, "").want(http.StatusOK).get("total"); got != 0.0 {
					t.Errorf("C140 %s finds %v sessions with %s", who, got, path)
				}
			}
			for _, path := range []string{"/api/sessions/stray-key", "/api/sessions/" + made.session(), "/api/sessions/" + made.session() + "/messages"} {
				p.call(http.MethodGet, path, "").refused(t, "C140 "+who+" reads "+path, http.StatusNotFound, "session_not_found")
			}
			p.call(http.MethodGet, "/api/turns/"+made.header.Get("X-Mooring-Turn"), "").refused(t, "C140 "+who+" reads the turn", http.StatusNotFound, "not_found")
			if r := p.chat("stray-key", "hello").want(http.StatusOK); r.session() == made.session() {
				t.Errorf("C140 %s goes on with a session of nobody's", who)
			}
		}
		p.run()
		sees(p.as("KA"), "alice")
		sees(p.as("KB"), "bob")
		p.stop()
		p.yaml = store + upstreams + "\nlisten: 127.0.0.1:0\n"
		p.run()
		sees(p, "whoever comes without a key")
		found, err := app.CheckStore(t.Context(), p.load())
		if err != nil || found.Stray == 0 {
			t.Errorf("C140 the operator's check finds %d stray rows, %v; want some", found.Stray, err)
		}
	})
}

func TestPagesOfOtherOriginsChangeNothing(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "upstreams:\n"+upstreamYAML("u1", u.URL, "key: none"))
	p.chat("s1", "hello").want(http.StatusOK)
	before, asked := p.texts("s1"), len(u.Posts())
	session, chat := "/api/sessions/s1", "/v1/chat/completions"
	foreign := []string{"Origin", "https://evil.example"}
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code               string
	}{
		"chat":             {http.MethodPost, chat, chatBody("x", ""), foreign, 403, "origin_forbidden"},
		"/new":             {http.MethodPost, chat, chatBody("/new", ""), foreign, 403, "origin_forbidden"},
		"messages":         {http.MethodPost, "/v1/messages", chatBody("x", ""), foreign, 403, "origin_forbidden"},
		"delete":           {http.MethodDelete, session, "", foreign, 403, "origin_forbidden"},
		"rename":           {http.MethodPatch, session, `{"title":"x"}`, foreign, 403, "origin_forbidden"},
		"sandboxed page":   {http.MethodPost, chat, chatBody("x", ""), []string{"Origin", "null"}, 403, "origin_forbidden"},
		"another port":     {http.MethodPost, chat, chatBody("x", ""), []string{"Origin", "http://127.0.0.1:1"}, 403, "origin_forbidden"},
		"no Origin":        {http.MethodPost, chat, chatBody("x", ""), []string{"Sec-Fetch-Site", "cross-site"}, 403, "origin_forbidden"},
		"text/plain":       {http.MethodPost, chat, chatBody("x", ""), []string{"Content-Type", "text/plain"}, 415, "unsupported_media_type"},
		"form":             {http.MethodPost, chat, "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		"multipart":        {http.MethodPost, chat, "--x--", []string{"Content-Type", "multipart/form-data; boundary=x"}, 415, "unsupported_media_type"},
		"form and foreign": {http.MethodPost, chat, "a=b", append([]string{"Content-Type", "application/x-www-form-urlencoded"}, foreign...), 403, "origin_forbidden"},
	} {
		r := p.request(c.method, c.path, c.body, c.header...)
		if kinds := r.Header["Content-Type"]; len(kinds) > 1 {
			r.Header["Content-Type"] = kinds[1:]
		}
		p.send(r).refused(t, "C143 "+name, c.status, c.code)
	}
	if got := len(u.Posts()) - asked; got != 0 {
		t.Errorf("C143 the upstream got %d requests", got)
	}
	if diff := cmp.Diff(before, p.texts("s1")); diff != "" {
		t.Errorf("C143 the session (-before +after):\n%s", diff)
	}
	if got := p.call(http.MethodGet, "/api/sessions", "").get("total"); got != 1.0 {
		t.Errorf("C143 %v sessions, want 1", got)
	}
	withKeys := start(t, keyring()+"upstreams:\n"+upstreamYAML("u1", u.URL, "key: none"))
	withKeys.as("KA").chat("s1", "a program with a key").want(http.StatusOK)
	withKeys.as("KA").chat("s1", "a page with a key", foreign...).refused(t, "C143 a page with a key", http.StatusForbidden, "origin_forbidden")
}

func TestForeignHostIsRefused(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, "hosts: [mooring.lan]\nupstreams:\n"+upstreamYAML("u1", u.URL, "key: none"))
	p.chat("s1", "hello").want(http.StatusOK)
	asked := len(u.Posts())
	_, port, err := net.SplitHostPort(strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"evil.example:8080", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example:" + port, "mooring.lan.evil.example", "10.0.0.1:" + port} {
		for path, r := range map[string]*reply{
			"history":   p.call(http.MethodGet, "/api/sessions/s1/messages", "", "Host", host),
			"chat":      p.chat("s1", "hello", "Host", host),
			"the page":  p.call(http.MethodGet, "/", "", "Host", host),
			"preflight": p.call(http.MethodOptions, "/v1/chat/completions", "", "Host", host),
		} {
			r.refused(t, "C145 "+path+" with Host "+host, http.StatusForbidden, "host_forbidden")
		}
		p.call(http.MethodGet, "/health", "", "Host", host).want(http.StatusOK)
	}
	if got := len(u.Posts()) - asked; got != 0 {
		t.Errorf("C145 the upstream got %d requests", got)
	}
	for _, host := range []string{"localhost", "localhost:" + port, "127.0.0.1", "127.0.0.1:" + port, "[::1]", "[::1]:" + port, "mooring.lan", "MOORING.lan:" + port} {
		p.call(http.MethodGet, "/api/sessions/s1/messages", "", "Host", host).want(http.StatusOK)
		p.chat("s1", "hello", "Host", host).want(http.StatusOK)
	}
}

// C149: no secret is in anything that the program says or keeps.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	const upstreamKey, query = "UPSTREAMSECRET+/=x", "QUERYSECRET 1+/"
	p := prepare(t, keyring()+"upstreams:\n"+upstreamYAML("u1", u.URL, "key: "+upstreamKey, "headers: {X-Extra: HEADERSECRET}"))
	a, err := app.New(p.load(), app.Options{Log: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err = a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.app, p.base = a, "http://"+a.Addr()

	secrets := []string{upstreamKey, query, url.QueryEscape(query), url.QueryEscape(upstreamKey), "HEADERSECRET", "WRONGSECRET", "COOKIESECRET", "CLIENTSECRET", "KA-SECRET"}
	var said []string
	hear := func(r *reply) {
		said = append(said, string(r.body))
		for name, values := range r.header {
			said = append(said, name+": "+strings.Join(values, ","))
		}
	}
	alice := p.as("KA")
	path := "/v1/chat/completions?key=" + url.QueryEscape(query) + "&x=" + query[:11]
	hear(alice.call(http.MethodPost, path, chatBody("hello", ""), "Cookie", "session=COOKIESECRET", "X-Session-Id", "s1").want(http.StatusOK))
	hear(p.call(http.MethodPost, path, chatBody("hello", ""), "X-Mooring-Key", "KA", "Authorization", "Bearer CLIENTSECRET", "X-Api-Key", "CLIENTSECRET").want(http.StatusOK))
	hear(p.call(http.MethodPost, path, chatBody("hello", ""), "Authorization", "Bearer WRONGSECRET").want(http.StatusUnauthorized))
	hear(p.call(http.MethodPost, path, chatBody("hello", ""), "X-Api-Key", "WRONGSECRET").want(http.StatusUnauthorized))
	hear(p.call(http.MethodPost, "/v1/messages", chatBody("hello", ""), "Authorization", "Bearer WRONGSECRET").want(http.StatusUnauthorized))
	hear(alice.call(http.MethodPost, path, `{"model":`, "X-Secret", "CLIENTSECRET").want(http.StatusBadRequest))
	u.Down()
	hear(alice.chat("s2", "nobody there").want(http.StatusServiceUnavailable))
	if err = u.Up(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/sessions", "/api/sessions/s1/turns", "/api/sessions/s1/messages", "/api/upstreams", "/", "/health"} {
		hear(alice.call(http.MethodGet, path, ""))
		hear(p.as("KROOT").call(http.MethodGet, path, ""))
	}
	hear(p.as("KROOT").call(http.MethodGet, "/metrics", "").want(http.StatusOK))
	for _, r := range u.Posts() {
		if got := r.Header.Get("Authorization"); got != "Bearer "+upstreamKey {
			t.Errorf("C149 the upstream got Authorization %q, want its own key", got)
		}
		for _, own := range []string{"CLIENTSECRET", "Bearer KA"} {
			if strings.Contains(string(r.Head), own) {
				t.Errorf("C149 the upstream got %s:\n%s", own, r.Head)
			}
		}
	}
	p.stop()
	said = append(said, p.log.String(), fmt.Sprint(p.load()), fmt.Sprintf("%+v", p.load()), fmt.Sprintf("%#v", p.load()))
	files, err := filepath.Glob(filepath.Join(p.dir, "mooring.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("store files: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, string(data))
	}
	for _, secret := range secrets {
		for _, text := range said {
			if at := strings.Index(text, secret); at >= 0 {
				t.Errorf("C149 %s stands in %.200q", secret, text[max(0, at-80):])
			}
		}
	}
	if !strings.Contains(p.log.String(), "request") {
		t.Errorf("C149 the log holds no access line:\n%s", p.log)
	}
}

// C149: an upstream's error goes to the client as it came, but for Mooring's own key in it, which is kept nowhere either.
func TestUpstreamThatRepeatsItsKey(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	const key = "sk-UPSTREAMSECRET"
	p := start(t, keyring()+"upstreams:\n"+upstreamYAML("u1", u.URL, "key: "+key))
	u.Always(upstreamtest.Reply{Status: http.StatusUnauthorized, Body: []byte(`{"error":{"message":"Incorrect API key provided: ` + key + `"}}`)})
	alice := p.as("KA")
	for _, r := range []*reply{alice.chat("s1", "hello"), alice.stream("s1", "hello")} {
		if got, want := string(r.want(http.StatusUnauthorized).body), `{"error":{"message":"Incorrect API key provided: ***"}}`; got != want {
			t.Errorf("C149 the client gets %s, want %s", got, want)
		}
	}
	for _, path := range []string{"/api/sessions/s1/turns", "/api/sessions/s1/messages"} {
		if r := alice.call(http.MethodGet, path, "").want(http.StatusOK); strings.Contains(string(r.body), key) {
			t.Errorf("C149 GET %s shows the upstream's key: %s", path, r.body)
		}
	}
	if strings.Contains(p.log.String(), key) {
		t.Errorf("C149 the log shows the upstream's key:\n%s", p.log)
	}
}

func TestRotatedKeyGoesOnWithItsTenantsSession(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	upstreams := "upstreams:\n" + upstreamYAML("u1", u.URL, "key: none")
	p := start(t, keysYAML("OLD", "acme")+upstreams)
	first := p.as("OLD").chat("s1", "one").want(http.StatusOK)
	p.reload(keysYAML("OLD", "acme", "NEW", "acme") + upstreams)
	if r := p.as("NEW").chat("s1", "two").want(http.StatusOK); r.session() != first.session() {
		t.Errorf("C172 the new key is in session %s, want %s", r.session(), first.session())
	}

	release := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: "to the end", HoldAt: release, At: 1})
	res, err := http.DefaultTransport.RoundTrip(p.as("OLD").request(http.MethodPost, "/v1/chat/completions", chatBody("three", `"stream":true,`), "X-Session-Id", "s1"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	p.reload(keysYAML("NEW", "acme") + upstreams)
	p.as("OLD").chat("s1", "four").refused(t, "C172 the revoked key", http.StatusUnauthorized, "invalid_api_key")
	close(release)
	want := []string{
		"user: one", "assistant: This is answer 1.", "user: two", "assistant: This is answer 2.", "user: three", "assistant: to the end",
		"user: five", "assistant: This is answer 4.",
	}
	eventually(t, "C172 the end of what ran when its key was revoked", func() bool { return len(p.as("NEW").texts("s1")) == len(want)-2 })
	p.as("NEW").chat("s1", "five").want(http.StatusOK)
	if diff := cmp.Diff(want, p.as("NEW").texts("s1")); diff != "" {
		t.Errorf("C172 the branch (-want +got):\n%s", diff)
	}
}
