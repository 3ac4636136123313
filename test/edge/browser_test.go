package edge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mooring/test/edge/house"
)

// TestInABrowser runs the tests of this folder that need a real browser, against a provider with a login page: with direct login, and behind
// oauth2-proxy where that is built.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("../e2e/node_modules/playwright-core"); errors.Is(err, os.ErrNotExist) {
		const what = "the packages are not installed: make browser"
		if os.Getenv("MOORING_TEST_E2E") != "" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	env, files := []string{"EDGE_DIRECT=" + direct(t)}, []string{"direct.test.mjs"}
	if proxyFile, built := proxy(t); built {
		env, files = append(env, "EDGE_PROXY="+behindProxy(t, proxyFile)), append(files, "proxy.test.mjs")
	}
	args := []string{"run.mjs"}
	for _, name := range files {
		file, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir, cmd.Env = "../e2e", append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		if _, failed, found := bytes.Cut(out, []byte("failing tests:")); found {
			out = failed // Node tells those once more at its end
		}
		t.Fatalf("the browser tests (pictures of failures are in test/e2e/out): %v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("✔")); n == 0 {
		t.Fatalf("no browser test ran:\n%s", out)
	}
	t.Logf("%s", out)
}

// direct starts a house behind an edge with direct login, and gives the address where the tests in the browser ask about it.
func direct(t *testing.T) string {
	t.Helper()
	listen := freeAddr(t)
	host := localhost(listen)
	h := open(t, "http://"+host)
	binary.Serve(t, h.Edge(listen, host))
	return control(t, h, "http://"+host)
}

// behindProxy does the same with a login proxy before the edge.
func behindProxy(t *testing.T, file string) string {
	t.Helper()
	front, listen := freeAddr(t), freeAddr(t)
	host := localhost(front)
	h := open(t, "http://"+host)
	binary.Serve(t, h.EdgeBehindProxy(listen, host))
	startProxy(t, file, front, house.ClientSecret, map[string]string{
		"http-address": front, "upstream": "http://" + listen + "/", "oidc-issuer-url": h.Provider.Issuer, "client-id": house.ClientID,
		"redirect-url": "http://" + host + "/oauth2/callback", "backend-logout-url": h.Provider.Issuer + "end_session?id_token_hint={id_token}",
	})
	return control(t, h, "http://"+host)
}

// localhost gives an address the name that a browser needs to keep its cookies without TLS.
func localhost(addr string) string { return "localhost:" + addr[strings.LastIndex(addr, ":")+1:] }

func open(t *testing.T, origin string) *house.House {
	t.Helper()
	h, err := house.Open(t.Context(), house.Options{Origin: origin, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// control lets the tests in the browser ask what a house is, what its web UIs have seen, and for what a provider does.
func control(t *testing.T, h *house.House, origin string) string {
	t.Helper()
	answer := func(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var people []map[string]string
		for _, p := range h.Provider.People {
			people = append(people, map[string]string{"name": p.Name, "password": p.Password, "subject": p.Subject})
		}
		answer(w, map[string]any{"url": origin, "people": people})
	})
	mux.HandleFunc("GET /seen", func(w http.ResponseWriter, _ *http.Request) {
		seen := map[string][]house.Request{}
		for _, ui := range h.WebUIs {
			seen[ui.Name] = ui.Seen()
		}
		answer(w, seen)
	})
	mux.HandleFunc("GET /ended", func(w http.ResponseWriter, _ *http.Request) { answer(w, h.Provider.Ended()) })
	mux.HandleFunc("POST /sign-out", func(w http.ResponseWriter, r *http.Request) {
		if err := h.Provider.SignOut(r.Context(), r.FormValue("subject")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}
