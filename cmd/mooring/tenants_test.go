package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Moving somebody takes three acts, with something to do at the web UIs between them; each says what comes next.
func TestActsOnTenantsSayWhatIsNext(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	for route, body := range map[string]string{
		"POST /api/tenants/old/move":    `{"slot":"old","state":"draining","tenant":"t1-x","note":"moving to new"}`,
		"POST /api/tenants/t1-x/move":   `{"slot":"new","state":"claimed","tenant":"t1-x","note":"moved from old; and more"}`,
		"POST /api/tenants/back/move":   `{"slot":"back","state":"claimed","tenant":"t1-x","note":""}`,
		"POST /api/tenants/old/release": `{"slot":"old","state":"quarantined","tenant":"t1-x","note":"released"}`,
		"POST /api/tenants/new/release": `{"slot":"new","state":"free","tenant":"","note":""}`,
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	h := &harbour{url: server.URL}
	for _, row := range []struct {
		args string
		want []string
	}{
		{"tenants move old new", []string{"stop its web UI", "to new", "run this again with --copied"}},
		{"tenants move t1-x new --copied", []string{"new serves its tenant now", "old still holds", "`mooring tenants release old --wiped`"}},
		{"tenants move back back", nil},
		{"tenants release old", []string{"container and volume", "with --wiped"}},
		{"tenants release new --wiped", nil},
	} {
		got := h.run(t, "", strings.Fields(row.args)...)
		if got.code != 0 || len(row.want) == 0 && got.errors != "" {
			t.Errorf("%s = %d %q", row.args, got.code, got.errors)
		}
		for _, want := range row.want {
			if !strings.Contains(got.errors, want) {
				t.Errorf("%s says %q, want %q", row.args, got.errors, want)
			}
		}
	}
}
