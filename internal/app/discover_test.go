package app_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/app"
	"mooring/internal/config"
)

// variables is a fake of os.LookupEnv.
func variables(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// answering is a server with a fixed status and body per path; other paths are unknown to it.
func answering(t *testing.T, bodies map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		if want, guarded := bodies["key"]; guarded && r.Header.Get("Authorization") != "Bearer "+want {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const (
	nowhere = "http://127.0.0.1:1" // nothing listens there
	listing = `{"data":[{"id":"alpha"},{"id":"beta"}]}`
)

func upstream(u config.Upstream) config.Upstream { return config.Complete(u) }

func TestDiscover(t *testing.T) {
	t.Parallel()
	local := answering(t, map[string]string{"/v1/models": listing})
	empty := answering(t, map[string]string{"/v1/models": `{"data":null}`})
	health := answering(t, map[string]string{"/health": "ok"})
	guarded := answering(t, map[string]string{"/v1/models": listing, "key": "sesame"})
	echo := upstream(config.Upstream{Name: "echo", Builtin: "echo"})
	hermes := config.Upstream{Name: "hermes", Protocol: "openai", State: "remote", Health: "/health"}

	for _, row := range []struct {
		rule   string
		vars   map[string]string
		places app.Places
		want   []config.Upstream
	}{
		{
			"nothing there: echo answers for every model", nil,
			app.Places{Hermes: nowhere, Ollama: nowhere},
			[]config.Upstream{upstream(config.Upstream{Name: "echo", Builtin: "echo", Models: []string{"*"}})},
		},
		{
			"vendors are found by their keys",
			map[string]string{"OPENAI_API_KEY": "one", "ANTHROPIC_API_KEY": "two"},
			app.Places{OpenAI: "http://openai", Anthropic: "http://anthropic", Hermes: nowhere, Ollama: nowhere},
			[]config.Upstream{
				upstream(config.Upstream{
					Name: "openai", URL: "http://openai", Protocol: "openai", Key: "one",
					Models: []string{"gpt-*", "chatgpt-*", "codex-*", "o1*", "o3*", "o4*", "text-embedding-*"},
				}),
				upstream(config.Upstream{Name: "anthropic", URL: "http://anthropic", Protocol: "anthropic", Key: "two", Models: []string{"claude-*"}}),
				echo,
			},
		},
		{
			"a vendor's base URL is taken without /v1, an empty key is none",
			map[string]string{"ANTHROPIC_API_KEY": "two", "ANTHROPIC_BASE_URL": "http://proxy/v1/", "OPENAI_API_KEY": ""},
			app.Places{Anthropic: "http://anthropic", Hermes: nowhere, Ollama: nowhere},
			[]config.Upstream{
				upstream(config.Upstream{Name: "anthropic", URL: "http://proxy", Protocol: "anthropic", Key: "two", Models: []string{"claude-*"}}),
				echo,
			},
		},
		{
			"Ollama gives its models and needs no key", nil,
			app.Places{Hermes: nowhere, Ollama: local},
			[]config.Upstream{
				upstream(config.Upstream{Name: "ollama", URL: local, Protocol: "openai", Key: "none", Models: []string{"alpha", "beta"}}),
				echo,
			},
		},
		{
			"an Ollama without models is left out", nil,
			app.Places{Hermes: nowhere, Ollama: empty},
			[]config.Upstream{upstream(config.Upstream{Name: "echo", Builtin: "echo", Models: []string{"*"}})},
		},
		{
			"Hermes keeps the conversation and gets its key",
			map[string]string{"API_SERVER_KEY": "sesame"},
			app.Places{Hermes: guarded, Ollama: nowhere},
			[]config.Upstream{hermesAt(hermes, guarded, "sesame", "alpha", "beta"), echo},
		},
		{
			"Hermes shows by its health alone", nil,
			app.Places{Hermes: health, Ollama: nowhere},
			[]config.Upstream{hermesAt(hermes, health, "none", "hermes-*"), echo},
		},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			got := row.places.Discover(t.Context(), variables(row.vars), &http.Client{})
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("Discover (-want +got):\n%s", diff)
			}
		})
	}
}

func hermesAt(u config.Upstream, url string, key mooring.Secret, models ...string) config.Upstream {
	u.URL, u.Key, u.Models = url, key, models
	return upstream(u)
}

func TestDiscoverDoesNotWaitForAServerThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(func() { close(release); server.Close() })
	start := time.Now()
	got := app.Places{Hermes: server.URL, Ollama: server.URL}.Discover(t.Context(), variables(nil), &http.Client{})
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("Discover took %v", took)
	}
	if len(got) != 1 || got[0].Name != "echo" {
		t.Errorf("Discover = %v, want echo alone", got)
	}
}

func TestKnownPlaces(t *testing.T) {
	t.Parallel()
	want := app.Places{
		OpenAI: "https://api.openai.com", Anthropic: "https://api.anthropic.com",
		Hermes: "http://127.0.0.1:8642", Ollama: "http://127.0.0.1:11434",
	}
	if diff := cmp.Diff(want, app.KnownPlaces()); diff != "" {
		t.Errorf("KnownPlaces (-want +got):\n%s", diff)
	}
}
