package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// noCredential stands where a client insists on a credential and neither it nor the server has one. A server without keys
// asks for none, and an upstream with a key of its own gets that one.
const noCredential = "none"

// client is a row of the table of known client programs.
type client struct {
	name string
	aim  func(*launch, *server) error // points it at the server
}

// clients lists the programs that need more than the usual variables, or less. docs/clients.md says the same by hand.
func clients() []client {
	return []client{
		{"claude", aimClaude},
		{"codex", aimCodex},
		{"opencode", aimOpenCode},
		{"pi", aimPi},
		{"qwen", aimQwen},
	}
}

// clientOf gives the row of a command; any other program gets the variables that most SDKs read.
func clientOf(command string) client {
	name := strings.TrimSuffix(filepath.Base(command), ".exe")
	for _, c := range clients() {
		if c.name == name {
			return c
		}
	}
	return client{name, aimAny}
}

// aimClaude leaves Claude Code's own login alone: the key of the server goes in a header of its own.
func aimClaude(l *launch, s *server) error {
	l.set("ANTHROPIC_BASE_URL", s.url)
	if s.key != "" {
		headers := "X-Mooring-Key: " + s.key.Reveal()
		if own := l.get("ANTHROPIC_CUSTOM_HEADERS"); own != "" {
			headers = own + "\n" + headers
		}
		l.set("ANTHROPIC_CUSTOM_HEADERS", headers)
	}
	if !claudeLoggedIn(l) {
		l.set("ANTHROPIC_AUTH_TOKEN", noCredential)
	}
	if s.model != "" {
		// It asks smaller models by name for titles and the like; the server need not have those.
		for _, name := range []string{"ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL"} {
			l.set(name, s.model)
		}
	}
	return nil
}

// claudeLoggedIn says whether Claude Code has a credential of its own: a token, which would win over its login, is only
// put where there is none.
func claudeLoggedIn(l *launch) bool {
	if l.has("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN") {
		return true
	}
	dir, state := filepath.Join(l.get("HOME"), ".claude"), filepath.Join(l.get("HOME"), ".claude.json")
	if own := l.get("CLAUDE_CONFIG_DIR"); own != "" {
		dir, state = own, filepath.Join(own, ".claude.json")
	}
	if _, err := os.Stat(filepath.Join(dir, ".credentials.json")); err == nil {
		return true
	}
	settings, _ := os.ReadFile(filepath.Join(dir, "settings.json")) //nolint:gosec // the user's own file
	account, _ := os.ReadFile(state)                                //nolint:gosec // the user's own file
	return strings.Contains(string(settings), `"apiKeyHelper"`) || strings.Contains(string(account), `"oauthAccount"`)
}

// aimCodex adds a provider by command-line options, which Codex keeps nowhere.
func aimCodex(l *launch, s *server) error {
	put := func(key, value string) { l.option("-c", key+"="+value) }
	put("model_provider", `"mooring"`)
	provider := "model_providers.mooring."
	put(provider+"name", `"Mooring"`)
	put(provider+"base_url", strconv.Quote(s.url+"/v1"))
	put(provider+"wire_api", `"responses"`)
	if l.has("OPENAI_API_KEY") {
		put(provider+"env_key", `"OPENAI_API_KEY"`)
	}
	if s.key != "" {
		l.set("MOORING_KEY", s.key.Reveal()) // options can be seen by everybody on the machine
		put(provider+"env_http_headers", `{"X-Mooring-Key"="MOORING_KEY"}`)
	}
	if s.model != "" {
		put("model", strconv.Quote(s.model))
	}
	return nil
}

// aimOpenCode adds a provider with the models that the server offers, and points the two vendors' own at it too.
func aimOpenCode(l *launch, s *server) error {
	options := func(extra map[string]any) map[string]any {
		extra["baseURL"] = s.url + "/v1"
		if s.key != "" {
			l.set("MOORING_KEY", s.key.Reveal())
			extra["headers"] = map[string]any{"X-Mooring-Key": "{env:MOORING_KEY}"}
		}
		return extra
	}
	models := map[string]any{}
	for _, m := range s.offered() {
		models[m] = map[string]any{"name": m}
	}
	cfg := map[string]any{"provider": map[string]any{
		"mooring": map[string]any{
			"name": "Mooring", "npm": "@ai-sdk/openai-compatible",
			"options": options(map[string]any{"apiKey": openAIKey(l)}), "models": models,
		},
		"openai":    map[string]any{"options": options(map[string]any{})},
		"anthropic": map[string]any{"options": options(map[string]any{})},
	}}
	if s.model != "" {
		cfg["model"], cfg["small_model"] = "mooring/"+s.model, "mooring/"+s.model
	}
	if own := l.get("OPENCODE_CONFIG_CONTENT"); own != "" {
		var has map[string]any
		if err := json.Unmarshal([]byte(own), &has); err != nil {
			return fmt.Errorf("read OPENCODE_CONFIG_CONTENT: %w", err)
		}
		cfg = merge(has, cfg)
	}
	content, err := json.Marshal(cfg)
	if err != nil {
		return fmt.Errorf("write OPENCODE_CONFIG_CONTENT: %w", err)
	}
	l.set("OPENCODE_CONFIG_CONTENT", string(content))
	return nil
}

// openAIKey is the user's own credential, as OpenCode reads it from its environment.
func openAIKey(l *launch) string {
	if l.has("OPENAI_API_KEY") {
		return "{env:OPENAI_API_KEY}"
	}
	return noCredential
}

// merge puts the members of over into those of base, objects member by member.
func merge(base, over map[string]any) map[string]any {
	for name, value := range over {
		below, isObject := base[name].(map[string]any)
		if above, ok := value.(map[string]any); ok && isObject {
			value = merge(below, above)
		}
		base[name] = value
	}
	return base
}

// piExtension is loaded by pi beside the user's own: its folder with settings, logins and sessions stays the one it is.
const piExtension = `// Written by mooring run for one run of pi.
const at = %s
export default function (pi) {
  const headers = process.env.MOORING_KEY ? { 'X-Mooring-Key': '$MOORING_KEY' } : undefined
  pi.registerProvider('anthropic', { baseUrl: at.url, headers })
  pi.registerProvider('openai', { baseUrl: at.url + '/v1', headers })
  if (at.models.length === 0) return
  pi.registerProvider('mooring', {
    name: 'Mooring', baseUrl: at.url + '/v1', api: 'openai-completions', headers,
    apiKey: process.env.OPENAI_API_KEY ? '$OPENAI_API_KEY' : at.credential,
    models: at.models.map((id) => ({
      id, name: id, reasoning: false, input: ['text', 'image'],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 128000, maxTokens: 16384,
      compat: { sendSessionAffinityHeaders: true },
    })),
  })
}
`

// aimPi loads an extension that registers the server; pi has no variable for a base URL.
func aimPi(l *launch, s *server) error {
	models := s.offered()
	if models == nil {
		models = []string{}
	}
	at, err := json.Marshal(map[string]any{"url": s.url, "models": models, "credential": noCredential})
	if err != nil {
		return fmt.Errorf("write pi's extension: %w", err)
	}
	path, err := l.file("mooring.js", fmt.Appendf(nil, piExtension, at))
	if err != nil {
		return err
	}
	if s.key != "" {
		l.set("MOORING_KEY", s.key.Reveal())
	}
	l.option("--extension", path)
	if s.model != "" {
		l.option("--provider", "mooring", "--model", s.model)
	}
	return nil
}

// aimQwen uses Qwen Code's OpenAI mode; it sends no header of ours, so a key takes the place of its credential.
func aimQwen(l *launch, s *server) error {
	l.set("OPENAI_BASE_URL", s.url+"/v1")
	l.credential("OPENAI_API_KEY", s)
	if s.model != "" {
		l.set("OPENAI_MODEL", s.model)
	}
	l.option("--auth-type", "openai")
	return nil
}

// aimAny sets what the SDKs of both vendors, LiteLLM and most programs upon them read.
func aimAny(l *launch, s *server) error {
	l.set("OPENAI_BASE_URL", s.url+"/v1")
	l.set("OPENAI_API_BASE", s.url+"/v1") // older SDKs, aider
	l.set("ANTHROPIC_BASE_URL", s.url)
	l.credential("OPENAI_API_KEY", s)
	l.credential("ANTHROPIC_API_KEY", s)
	if s.model != "" {
		l.fill("OPENAI_MODEL", s.model)
		l.fill("ANTHROPIC_MODEL", s.model)
	}
	return nil
}

// credential puts the server's key where a client can send nothing but an API key, else a placeholder where it has none.
func (l *launch) credential(name string, s *server) {
	if s.key != "" {
		l.set(name, s.key.Reveal())
		return
	}
	l.fill(name, noCredential)
}

// spareProxy keeps a proxy of the environment out of the way to a server on this machine.
func (l *launch) spareProxy(at string) {
	u, err := url.Parse(at)
	if err != nil || !l.has("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy") {
		return
	}
	if host := u.Hostname(); host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1" {
		for _, name := range []string{"NO_PROXY", "no_proxy"} {
			l.set(name, strings.TrimPrefix(l.get(name)+","+host, ","))
		}
	}
}
