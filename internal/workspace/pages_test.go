package workspace_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/web"
	"mooring/internal/workspace"
)

func page(t *testing.T, o workspace.PagesOptions, key string) *httptest.ResponseRecorder {
	t.Helper()
	o.Version, o.Store = "v9.8.7", "SQLite"
	o.Upstreams = func() []web.Upstream {
		return []web.Upstream{{Name: "harbour", Protocol: "openai", Health: web.Healthy, Models: []string{"echo"}}}
	}
	o.Log = slog.New(slog.DiscardHandler)
	mux := http.NewServeMux()
	workspace.NewPages(o).Mount(mux)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://gate.example:4747/", http.NoBody)
	r.Header.Set("X-Mooring-Key", key)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func TestStartPage(t *testing.T) {
	t.Parallel()
	anybody := func(*http.Request) (mooring.Caller, error) {
		return mooring.Caller{Tenant: mooring.LocalTenant, Role: mooring.RoleOperator}, nil
	}
	needed := func() bool { return true }
	running := []string{"v9.8.7", "harbour", "SQLite", "What runs"}
	for _, row := range []struct {
		name         string
		options      workspace.PagesOptions
		key          string
		shows, hides []string
	}{
		{"open: what runs", workspace.PagesOptions{Caller: anybody, Keys: func() bool { return false }}, "", append(running, "no key is needed"), []string{"YOUR_KEY"}},
		{"keys, with one: what runs", workspace.PagesOptions{Caller: people, Keys: needed}, "alice", append(running, "YOUR_KEY"), []string{"acme", "alice"}},
		{"keys, without one: how to connect and no more", workspace.PagesOptions{Caller: people, Keys: needed}, "", []string{"YOUR_KEY"}, running},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := page(t, row.options, row.key)
			if w.Code != http.StatusOK {
				t.Fatalf("status = %d %s, want 200", w.Code, w.Body)
			}
			for _, s := range append(row.shows, "http://gate.example:4747/v1/chat/completions", "ANTHROPIC_BASE_URL=http://gate.example:4747 claude") {
				if !strings.Contains(w.Body.String(), s) {
					t.Errorf("the page does not show %q", s)
				}
			}
			for _, s := range row.hides {
				if strings.Contains(w.Body.String(), s) {
					t.Errorf("the page shows %q", s)
				}
			}
			if got := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none';") {
				t.Errorf("Content-Security-Policy = %q", got)
			}
		})
	}
}
