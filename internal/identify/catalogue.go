package identify

import "mooring"

// tier is the rank of a group of signals (section c of the client survey that the catalogue follows); lower decides first.
type tier int

const (
	tierNative  tier = iota + 1 // ids that the program which owns the conversation sets in a header
	tierBody                    // the same inside the body
	tierState                   // the protocol's own state
	tierGeneric                 // explicit ids chosen by people
)

// scope says which class an id gets whose shape does not make it unguessable.
type scope int

const (
	scopeName    scope = iota // its own name only
	scopeGeneric              // all generic names together
	scopeAlways               // its own name only, whatever its shape: per-process values and cache keys
)

// signal is one row of the catalogue. Adding a client is adding a row.
type signal struct {
	name   string // header: lower case with hyphens; body: the path
	body   bool
	tier   tier
	scope  scope
	parse  func(value string) string // takes the id out of a longer text; nil where the value is the id
	object bool                      // an upstream made the value: it is its tenant's alone
	hermes bool                      // the value must also be safe as a file name (hermes-agent refuses it otherwise)
	source string                    // who sends it
}

// catalogue lists the signals in the order in which they decide.
func catalogue() []signal {
	return []signal{
		{name: "x-claude-code-session-id", tier: tierNative, source: "Claude Code"},
		{name: "thread-id", tier: tierNative, source: "Codex"},
		{name: "session-id", tier: tierNative, source: "Codex, pi, Cline, Roo Code"},
		{name: "conversation-id", tier: tierNative, source: "Codex (2025)"},
		{name: "x-opencode-session-id", tier: tierNative, source: "OpenCode"},
		{name: "x-opencode-session", tier: tierNative, source: "OpenCode Zen"},
		{name: "x-kilocode-taskid", tier: tierNative, source: "Kilo Code"},
		{name: "x-roo-task-id", tier: tierNative, source: "Roo Code"},
		{name: "x-task-id", tier: tierNative, source: "Cline"},
		{name: "x-amp-thread-id", tier: tierNative, source: "Amp"},
		{name: "agent-session-id", tier: tierNative, source: "Goose"},
		{name: "goose-session-id", tier: tierNative, source: "Goose (older)"},
		{name: "x-hermes-session-id", tier: tierNative, scope: scopeGeneric, hermes: true, source: "Hermes Workspace, Hermes"},
		{name: "x-openclaw-session-key", tier: tierNative, source: "OpenClaw"},
		{name: "x-openwebui-chat-id", tier: tierNative, source: "Open WebUI"},
		{name: "x-grok-conv-id", tier: tierNative, source: "xAI, Hermes"},

		{name: "client_metadata.thread_id", body: true, tier: tierBody, source: "Codex"},
		{name: "client_metadata.session_id", body: true, tier: tierBody, source: "Codex"},
		{name: "client_metadata.x-codex-turn-metadata", body: true, tier: tierBody, parse: codexThread, source: "Codex"},
		{name: "metadata.user_id", body: true, tier: tierBody, parse: claudeUserID, source: "Claude Code"},
		{name: "metadata.sessionId", body: true, tier: tierBody, source: "Qwen Code"},
		{name: "request.session_id", body: true, tier: tierBody, source: "Gemini CLI"},

		{name: "conversation", body: true, tier: tierState, object: true, source: "OpenAI Responses"},
		{name: fieldPrevious, body: true, tier: tierState, object: true, source: "OpenAI Responses"},

		{name: "x-claude-session-id", tier: tierGeneric, scope: scopeGeneric, source: "proxies, Hermes Workspace"},
		{name: "x-session-id", tier: tierGeneric, scope: scopeGeneric, source: "OpenCode, Crush, Kilo Code and many more"},
		{name: "x-session-affinity", tier: tierGeneric, scope: scopeAlways, source: "OpenCode, Crush, pi"},
		{name: "x-affinity", tier: tierGeneric, scope: scopeAlways, source: "Mistral, pi"},
		{name: "x-conversation-id", tier: tierGeneric, scope: scopeGeneric, source: "chat pages"},
		{name: "x-chat-id", tier: tierGeneric, scope: scopeGeneric, source: "chat pages"},
		{name: "x-thread-id", tier: tierGeneric, scope: scopeGeneric, source: "chat pages"},
		{name: "x-litellm-session-id", tier: tierGeneric, source: "LiteLLM, OpenHands"},
		{name: "session_id", body: true, tier: tierGeneric, scope: scopeGeneric, source: "OpenRouter callers, Cline"},
		{name: "litellm_session_id", body: true, tier: tierGeneric, source: "LiteLLM"},
		{name: "metadata.session_id", body: true, tier: tierGeneric, source: "LiteLLM"},
		{name: "helicone-session-id", tier: tierGeneric, source: "Helicone"},
	}
}

// fieldPrevious names the answer that a request follows; it is no id of the session.
const fieldPrevious = "previous_response_id"

// Names that travel with an id and say more about it, not ids themselves.
const (
	headerMooring     = "X-Mooring-Session"
	headerAgent       = "x-claude-code-agent-id"
	headerParentAgent = "x-claude-code-parent-agent-id"
)

// parents are the headers that name the parent of the session that a request belongs to.
func parents() []string {
	return []string{"x-opencode-parent-session-id", "x-parent-session-id", "x-codex-parent-thread-id", "x-kilocode-parent-taskid"}
}

// String gives the signal as X-Mooring-Identity shows it.
func (s *signal) String() string {
	if s.name == fieldPrevious {
		return "response:" + s.name
	}
	if s.body {
		return "body:" + s.name
	}
	return "header:" + s.name
}

// alias is what the value names a session by.
func (s *signal) alias(value string) mooring.Alias {
	switch {
	case s.scope != scopeAlways && unguessable(value):
		return mooring.Alias{Class: mooring.ClassAny, Value: value}
	case s.scope == scopeGeneric:
		return mooring.Alias{Class: mooring.ClassGeneric, Value: value}
	}
	return mooring.Alias{Class: mooring.ClassName + mooring.AliasClass(s.name), Value: value}
}

// anew says that programs make the value of a signal anew at each start: another one may name the same conversation.
func (s *signal) anew() bool { return s.name == "x-session-affinity" || s.name == "x-affinity" }

// loose says that a value may name several conversations: what the messages prove counts more.
func (s *signal) loose() bool { return s.scope == scopeAlways }
