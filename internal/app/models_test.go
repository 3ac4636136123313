package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

func TestModelsAreMerged(t *testing.T) {
	t.Parallel()
	one := upstreamtest.NewWith(t, upstreamtest.Options{Models: []string{"a-1", "both", "hidden"}})
	two := upstreamtest.NewWith(t, upstreamtest.Options{Models: []string{"b-1", "both"}})
	gone := upstreamtest.New(t)
	gone.Down()
	p := start(t, "upstreams:\n"+
		upstreamYAML("one", one.URL, `models: ["a-*", both]`, "key: none")+
		upstreamYAML("two", two.URL, `models: ["b-*", both]`, "key: none")+
		upstreamYAML("gone", gone.URL, `models: ["c-*"]`, "key: none"))
	for _, path := range []string{"/v1/models", "/openai/v1/models", "/anthropic/v1/models", "/api/models"} {
		r := p.call(http.MethodGet, path, "").want(http.StatusOK)
		var ids []string
		list, _ := r.get("data").([]any)
		for i := range list {
			ids = append(ids, fmt.Sprint(r.get("data", i, "id")))
		}
		slices.Sort(ids)
		if want := []string{"a-1", "b-1", "both"}; !slices.Equal(ids, want) {
			t.Errorf("GET %s lists %v, want %v: each once, and only where its upstream serves it", path, ids, want)
		}
		if got := r.header.Get("X-Mooring-Session"); got != "" {
			t.Errorf("GET %s names the session %s, want none", path, got)
		}
	}
	one.Down()
	two.Down()
	if r := p.call(http.MethodGet, "/v1/models", ""); r.status != http.StatusServiceUnavailable || r.get("error", "code") != "upstream_unavailable" {
		t.Errorf("with all upstreams gone: status %d, %.200s; want 503 upstream_unavailable", r.status, r.body)
	}
}

// A client's own credential is for servers of its own protocol, also where all upstreams take the client's.
func TestModelsAreAskedForInTheClientsProtocol(t *testing.T) {
	t.Parallel()
	openai, anthropic := upstreamtest.New(t), upstreamtest.New(t)
	p := start(t, fmt.Sprintf("upstreams:\n  - {name: u1, url: %q, protocol: openai, key: client}\n  - {name: u2, url: %q, protocol: anthropic, key: client}\n", openai.URL, anthropic.URL))
	p.call(http.MethodGet, "/v1/models", "", "Authorization", "Bearer sk-openai").want(http.StatusOK)
	p.call(http.MethodGet, "/v1/models", "", "X-Api-Key", "sk-ant", "Anthropic-Version", "2023-06-01").want(http.StatusOK)
	for name, s := range map[string]*upstreamtest.Server{"openai": openai, "anthropic": anthropic} {
		if got := len(s.Requests()); got != 1 {
			t.Errorf("%s was asked %d times, want once", name, got)
		}
	}
}

// A key sees the names that it may use, though not the models that they stand for, and though one upstream is gone.
func TestAliasesOfAKey(t *testing.T) {
	t.Parallel()
	u, gone := upstreamtest.New(t), upstreamtest.New(t)
	gone.Down()
	p := start(t, limited(u, "models: [fast]")+upstreamYAML("u2", gone.URL, `models: ["other-*"]`, "key: none")+
		"models: {fast: [fake-1], slow: [fake-1], nothing: [nobody-has-it]}\n")
	listed := func(key string) (ids []string) {
		r := p.as(key).call(http.MethodGet, "/v1/models", "").want(http.StatusOK)
		list, _ := r.get("data").([]any)
		for i := range list {
			ids = append(ids, fmt.Sprint(r.get("data", i, "id")))
		}
		return ids
	}
	if got := listed("KA"); !slices.Equal(got, []string{"fast"}) {
		t.Errorf("a key that may use fast sees %v", got)
	}
	if got := listed("KB"); !slices.Contains(got, "fast") || !slices.Contains(got, "slow") || !slices.Contains(got, "fake-1") {
		t.Errorf("a key that may use all sees %v", got)
	}
	p.as("KA").page("new", "which model?", "model", "").want(http.StatusOK)
	if body := string(u.LastPost(t).Body()); !strings.Contains(body, `"fake-1"`) {
		t.Errorf("a page that names no model asks %s, want what fast stands for", body)
	}
}
