package app

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"mooring"
	"mooring/internal/config"
)

const (
	// probeTimeout is how long a server on this machine may take to show that it is there; the start waits for it.
	probeTimeout = 300 * time.Millisecond
	// maxProbeBody bounds the list of models that a probe reads.
	maxProbeBody = 1 << 20
)

// Places are the addresses where Discover looks.
type Places struct {
	OpenAI, Anthropic, Hermes, Ollama string
}

// KnownPlaces are the addresses of the vendors, and those that local servers have unless told otherwise.
func KnownPlaces() Places {
	return Places{
		OpenAI:    "https://api.openai.com",
		Anthropic: "https://api.anthropic.com",
		Hermes:    "http://127.0.0.1:8642",
		Ollama:    "http://127.0.0.1:11434",
	}
}

// Discover finds upstreams where none are configured: vendors by their keys in the environment, local servers by asking.
// The built-in echo model comes last; where nothing else is found it answers for every model.
func Discover(ctx context.Context, env func(string) (string, bool), client *http.Client) []config.Upstream {
	return KnownPlaces().Discover(ctx, env, client)
}

// Discover is the function of that name for other addresses.
func (p Places) Discover(ctx context.Context, env func(string) (string, bool), client *http.Client) []config.Upstream {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	look := finder{env: env, client: client}
	seekers := []func() *config.Upstream{
		func() *config.Upstream { return look.openai(p.OpenAI) },
		func() *config.Upstream { return look.anthropic(p.Anthropic) },
		func() *config.Upstream { return look.hermes(ctx, p.Hermes) },
		func() *config.Upstream { return look.ollama(ctx, p.Ollama) },
	}
	found := make([]*config.Upstream, len(seekers))
	var wg sync.WaitGroup
	for i, seek := range seekers {
		wg.Go(func() { found[i] = seek() })
	}
	wg.Wait()

	var out []config.Upstream
	for _, u := range found {
		if u != nil {
			out = append(out, config.Complete(*u))
		}
	}
	echo := config.Upstream{Name: "echo", Builtin: config.BuiltinEcho}
	if len(out) == 0 {
		echo.Models = []string{"*"}
	}
	return append(out, config.Complete(echo))
}

// finder looks for one upstream at a time.
type finder struct {
	env    func(string) (string, bool)
	client *http.Client
}

func (f finder) openai(base string) *config.Upstream {
	key := f.first("OPENAI_API_KEY")
	if key == "" {
		return nil
	}
	return &config.Upstream{
		Name: "openai", URL: f.base("OPENAI_BASE_URL", base), Protocol: config.ProtocolOpenAI, Key: mooring.Secret(key),
		Models: []string{"gpt-*", "chatgpt-*", "codex-*", "o1*", "o3*", "o4*", "text-embedding-*"},
	}
}

func (f finder) anthropic(base string) *config.Upstream {
	key := f.first("ANTHROPIC_API_KEY")
	if key == "" {
		return nil
	}
	return &config.Upstream{
		Name: "anthropic", URL: f.base("ANTHROPIC_BASE_URL", base), Protocol: config.ProtocolAnthropic, Key: mooring.Secret(key),
		Models: []string{"claude-*"},
	}
}

func (f finder) hermes(ctx context.Context, base string) *config.Upstream {
	key := mooring.Secret(f.first("API_SERVER_KEY", "HERMES_API_KEY"))
	if key == "" {
		key = config.KeyNone
	}
	models, ok := f.models(ctx, base, key)
	if !ok && !f.healthy(ctx, base) {
		return nil
	}
	if len(models) == 0 {
		models = []string{"hermes-*"}
	}
	return &config.Upstream{
		Name: "hermes", URL: base, Protocol: config.ProtocolOpenAI, Key: key, State: config.StateRemote, Models: models, Health: "/health",
	}
}

func (f finder) ollama(ctx context.Context, base string) *config.Upstream {
	models, ok := f.models(ctx, base, config.KeyNone)
	if !ok || len(models) == 0 {
		return nil
	}
	return &config.Upstream{Name: "ollama", URL: base, Protocol: config.ProtocolOpenAI, Key: config.KeyNone, Models: models}
}

// first gives the first variable that is set and not empty.
func (f finder) first(names ...string) string {
	for _, name := range names {
		if value, ok := f.env(name); ok && value != "" {
			return value
		}
	}
	return ""
}

// base gives the address that a vendor's own programs would use; they write it with or without /v1.
func (f finder) base(name, otherwise string) string {
	value := strings.TrimRight(f.first(name), "/")
	if value == "" {
		return otherwise
	}
	return strings.TrimSuffix(value, "/v1")
}

func (f finder) healthy(ctx context.Context, base string) bool {
	resp, err := get(ctx, f.client, base+"/health", config.Upstream{}, "")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

func (f finder) models(ctx context.Context, base string, key mooring.Secret) ([]string, bool) {
	u := config.Upstream{Protocol: config.ProtocolOpenAI}
	if key == config.KeyNone {
		key = ""
	}
	resp, err := get(ctx, f.client, base+"/v1/models", u, key)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if resp.StatusCode != http.StatusOK {
		return nil, false
	}
	return modelIDs(resp.Body)
}

// modelIDs reads a list of models as both protocols give it.
func modelIDs(body io.Reader) ([]string, bool) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(body, maxProbeBody)).Decode(&list); err != nil {
		return nil, false
	}
	var ids []string
	for _, m := range list.Data {
		if m.ID != "" {
			ids = append(ids, m.ID)
		}
	}
	return ids, true
}

// get asks an upstream with a credential in the way of its protocol; an empty one is not sent.
func get(ctx context.Context, client *http.Client, url string, u config.Upstream, key mooring.Secret) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	for name, value := range u.Headers {
		req.Header.Set(name, value.Reveal())
	}
	if key != "" && u.Protocol != config.ProtocolAnthropic {
		req.Header.Set("Authorization", "Bearer "+key.Reveal())
	}
	if u.Protocol != config.ProtocolOpenAI {
		req.Header.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			req.Header.Set("X-Api-Key", key.Reveal())
		}
	}
	return client.Do(req)
}
