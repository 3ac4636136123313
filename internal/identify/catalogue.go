package identify

import (
	"slices"

	"mooring"
)

// place is where a signal stands.
type place int

const (
	inHeader place = iota
	inBody
)

// meaning is what a signal says.
type meaning string

const (
	saysSession meaning = "session" // which session
	saysAgent   meaning = "agent"   // which sub-agent of the session that another signal names
	saysParent  meaning = "parent"  // which session is above it
	saysKind    meaning = "kind"    // what the request is for
	saysProject meaning = "project" // what is worked on
	saysClient  meaning = "client"  // which program sent it
	saysNever   meaning = "never"   // nothing: it only looks like an id, or is nobody's business
)

// tier is the rank of a group of ids; lower decides first.
type tier int

const (
	tierExact   tier = iota // Mooring's own id
	tierNative              // ids that the program which owns the conversation sets in a header
	tierBody                // the same inside the body
	tierState               // the protocol's own state
	tierGeneric             // explicit ids chosen by people
	tierVendor              // names that look like a vendor's session header
	tierCache               // the key of a prompt cache, usually one per conversation
	tierTrace               // a run, which may hold many conversations, or be a part of one
	tierUser                // a person's field, in programs that put a session there
	tierLearned             // header names whose values told conversations apart here
)

// scope says which class an id gets whose shape does not make it unguessable.
type scope int

const (
	scopeName    scope = iota // its own name only
	scopeGeneric              // all generic names together
	scopeAlways               // its own name only, whatever its shape: per-process values and cache keys
)

// signal is one row of the catalogue. Adding a client is adding its rows and a sample of its requests.
type signal struct {
	name   string // header: lower case with hyphens, a final "*" standing for any rest; body: the path
	place  place
	inside string // the member, where the value is itself a JSON text
	says   meaning

	tier   tier
	scope  scope
	as     string                               // the name whose alias it shares: another spelling of the same id; empty for its own
	parse  func(in *texts, value string) string // takes what counts out of a longer text; nil where the value is all
	shape  func(value string) bool              // what the value has to look like to count; nil for anything
	beside string                               // counts only where a header is there whose name begins so
	object bool                                 // an upstream made the value: it is its tenant's alone
	hermes bool                                 // the value must also be safe as a file name (hermes-agent refuses it otherwise)
	weak   bool                                 // of a parent: counts only where it names a session that is there
	fork   bool                                 // of a parent: this conversation is a copy of that one

	kinds map[string]mooring.Kind // of a kind: what its values say; "*" for any other
	why   string                  // of what is never used: the reason, as the end of "is never used: "

	client string // the one program that sends it; empty where several do
	source string // who sends it, for people
	seen   string // where that is known from, and how well: V its own source, T a third party, I inferred

	rank  int    // its place in the order; set once
	label string // as X-Mooring-Identity shows it; set once
}

// catalogue lists all signals, those that name a session in the order in which they decide.
func catalogue() []signal {
	return slices.Concat(
		nativeHeaders(), nativeFields(), stateFields(), genericNames(), lastResorts(),
		agentSignals(), parentSignals(), kindSignals(), projectSignals(), clientSignals(),
		perRequest(), machines(), people(), otherThings(), credentials(),
	)
}

func nativeHeaders() []signal {
	const row = saysSession
	return []signal{
		{name: "x-mooring-session", says: row, tier: tierExact, source: "Mooring", seen: "its own header"},
		{name: "x-claude-code-session-id", says: row, tier: tierNative, client: "claude-code", source: "Claude Code, Claude Agent SDK", seen: "2.1.100 to 2.1.332, V"},
		{name: "thread-id", says: row, tier: tierNative, client: "codex", source: "Codex", seen: "0.171.0, V; thread_id in mid 2026, T"},
		{name: "session-id", says: row, tier: tierNative, source: "Codex, pi, Cline, Roo Code, OpenCode", seen: "codex 0.171.0, pi-ai 0.73.1 and 1.6.0, V"},
		{name: "conversation-id", says: row, tier: tierNative, client: "codex", source: "Codex (2025)", seen: "core/src/client.rs of late 2025, V"},
		{name: "x-opencode-session-id", says: row, tier: tierNative, client: "opencode", source: "OpenCode", seen: "1.18.34, V"},
		{name: "x-opencode-session", says: row, tier: tierNative, source: "OpenCode Zen, Goose for OpenCode Go", seen: "1.18.34, V"},
		{name: "x-kilocode-taskid", says: row, tier: tierNative, client: "kilo-code", source: "Kilo Code", seen: "7.7.9, V"},
		{name: "x-roo-task-id", says: row, tier: tierNative, client: "roo-code", source: "Roo Code", seen: "src/api/providers, V"},
		{name: "x-task-id", says: row, tier: tierNative, client: "cline", source: "Cline", seen: "llms 0.0.86, V"},
		{name: "x-amp-thread-id", says: row, tier: tierNative, client: "amp", source: "Amp", seen: "third-party readings, T"},
		{name: "agent-session-id", says: row, tier: tierNative, client: "goose", source: "Goose", seen: "PRs 5165, 6657, 11944, T"},
		{name: "goose-session-id", says: row, tier: tierNative, as: "agent-session-id", client: "goose", source: "Goose (older)", seen: "before the rename, T"},
		{name: "x-hermes-session-id", says: row, tier: tierNative, scope: scopeGeneric, hermes: true, source: "Hermes Workspace, Hermes", seen: "api-server.md, V"},
		{name: "x-openclaw-session-key", says: row, tier: tierNative, client: "openclaw", source: "OpenClaw", seen: "openai-http-api.md, T"},
		{name: "x-openwebui-chat-id", says: row, tier: tierNative, client: "open-webui", source: "Open WebUI", seen: "utils/headers.py, V"},
		{name: "x-grok-conv-id", says: row, tier: tierNative, source: "xAI, Hermes", seen: "@ai-sdk/xai, T; Hermes, V"},
	}
}

func nativeFields() []signal {
	const row = saysSession
	return []signal{
		{name: "client_metadata.thread_id", place: inBody, says: row, tier: tierBody, client: "codex", source: "Codex", seen: "0.171.0, V"},
		{name: "client_metadata.session_id", place: inBody, says: row, tier: tierBody, client: "codex", source: "Codex", seen: "0.171.0, V"},
		{name: "x-codex-turn-metadata", inside: "thread_id", says: row, tier: tierBody, client: "codex", source: "Codex", seen: "responses_metadata.rs, V"},
		{name: "client_metadata.x-codex-turn-metadata", place: inBody, says: row, tier: tierBody, parse: codexThread, client: "codex", source: "Codex", seen: "responses_metadata.rs, V"},
		{name: "metadata.user_id", place: inBody, says: row, tier: tierBody, parse: claudeUserID, source: "Claude Code, Claude Agent SDK", seen: "1.0.128 to 2.1.332, V"},
		{name: "metadata.sessionId", place: inBody, says: row, tier: tierBody, client: "qwen-code", source: "Qwen Code", seen: "0.24.4, V"},
		{name: "request.session_id", place: inBody, says: row, tier: tierBody, client: "gemini-cli", source: "Gemini CLI (Code Assist)", seen: "code_assist/converter.ts, V"},
		{name: "requesty.trace_id", place: inBody, says: row, tier: tierBody, client: "roo-code", source: "Roo Code at Requesty", seen: "src/api/providers, V"},
		{name: "unbound_metadata.taskId", place: inBody, says: row, tier: tierBody, client: "roo-code", source: "Roo Code at Unbound", seen: "src/api/providers, V"},
	}
}

func stateFields() []signal {
	const row = saysSession
	return []signal{
		{name: "conversation", place: inBody, says: row, tier: tierState, object: true, source: "OpenAI Responses", seen: "schema, V"},
		{name: fieldPrevious, place: inBody, says: row, tier: tierState, object: true, source: "OpenAI Responses", seen: "schema, V"},
	}
}

func genericNames() []signal {
	const row = saysSession
	return []signal{
		{name: "x-claude-session-id", says: row, tier: tierGeneric, scope: scopeGeneric, source: "proxies, Hermes Workspace", seen: "convention, T"},
		{name: "x-session-id", says: row, tier: tierGeneric, scope: scopeGeneric, source: "OpenCode, Crush, Kilo Code and many more", seen: "V"},
		{name: "x-session-affinity", says: row, tier: tierGeneric, scope: scopeAlways, source: "OpenCode, Crush, pi", seen: "V; in some a value of one process"},
		{name: "x-affinity", says: row, tier: tierGeneric, source: "Mistral, pi", seen: "pi-ai, V"},
		{name: "x-conversation-id", says: row, tier: tierGeneric, scope: scopeGeneric, source: "chat pages, LibreChat by its template", seen: "T"},
		{name: "x-chat-id", says: row, tier: tierGeneric, scope: scopeGeneric, source: "chat pages", seen: "convention, T"},
		{name: "x-thread-id", says: row, tier: tierGeneric, scope: scopeGeneric, source: "chat pages", seen: "convention, T"},
		{name: "x-litellm-session-id", says: row, tier: tierGeneric, source: "LiteLLM, OpenHands", seen: "docs, V"},
		{name: "session_id", place: inBody, says: row, tier: tierGeneric, scope: scopeGeneric, source: "OpenRouter callers, Cline, Hermes", seen: "docs, T; Cline, V"},
		{name: "litellm_session_id", place: inBody, says: row, tier: tierGeneric, as: "x-litellm-session-id", source: "LiteLLM", seen: "docs, T"},
		{name: "metadata.session_id", place: inBody, says: row, tier: tierGeneric, as: "x-litellm-session-id", source: "LiteLLM", seen: "docs, T"},
		{name: "helicone-session-id", says: row, tier: tierGeneric, source: "Helicone", seen: "docs.helicone.ai, V"},
		{name: "langfuse-session-id", says: row, tier: tierGeneric, source: "Langfuse by LiteLLM", seen: "T"},
	}
}

// vendorName is the row of every header that looks like a vendor's session header.
const vendorName = "x-*-session-id"

func lastResorts() []signal {
	const row = saysSession
	return []signal{
		{name: vendorName, says: row, tier: tierVendor, shape: vendorValue, source: "clients that are not known by name", seen: "the pattern of LiteLLM, T"},
		{name: "prompt_cache_key", place: inBody, says: row, tier: tierCache, scope: scopeAlways, shape: cacheKey, source: "OpenCode, Codex, Zed, pi, OpenHands", seen: "V; may be shared by many conversations"},
		{name: "x-litellm-trace-id", says: row, tier: tierTrace, source: "LiteLLM", seen: "docs, T"},
		{name: "litellm_trace_id", place: inBody, says: row, tier: tierTrace, as: "x-litellm-trace-id", source: "LiteLLM", seen: "docs, T"},
		{name: "x-portkey-trace-id", says: row, tier: tierTrace, source: "Portkey", seen: "portkey.ai/docs, V"},
		{name: "baggage", says: row, tier: tierTrace, parse: baggageSession, source: "W3C baggage (session.id)", seen: "specification, V"},
		{name: "x-claude-remote-session-id", says: row, tier: tierTrace, scope: scopeAlways, source: "Claude Code in a hosted run", seen: "2.1.332, V"},
		{name: "x-claude-remote-chat-conversation-uuid", says: row, tier: tierTrace, scope: scopeAlways, source: "Claude Code in a hosted run", seen: "2.1.332, V"},
		{name: fieldUser, place: inBody, says: row, tier: tierUser, as: "agent-session-id", shape: gooseDate, source: "Goose at OpenRouter", seen: "PR 11066, T"},
		{name: fieldUser, place: inBody, says: row, tier: tierUser, beside: "x-openclaw-", source: "OpenClaw", seen: "openai-http-api.md, T"},
	}
}

const (
	fieldPrevious = "previous_response_id" // names the answer that a request follows; it is no id of the session
	fieldUser     = "user"                 // a person, but for the programs that put a session there
)

// Names that are asked for by name.
const (
	headerMooring     = "X-Mooring-Session"
	headerAgent       = "x-claude-code-agent-id"
	headerParentAgent = "x-claude-code-parent-agent-id"
	headerHelicone    = "helicone-session-id"
)

// String gives the signal as X-Mooring-Identity shows it.
func (s *signal) String() string {
	if s.label != "" {
		return s.label
	}
	return s.labelled(s.name)
}

// labelled is String for a row that stands for many names.
func (s *signal) labelled(name string) string {
	if s.inside != "" && s.says != saysSession {
		name += "." + s.inside
	}
	switch {
	case name == fieldPrevious:
		return "response:" + name
	case s.place == inBody:
		return "body:" + name
	case s.tier == tierLearned:
		return "learned:" + name
	}
	return "header:" + name
}

// alias is what the value names a session by.
func (s *signal) alias(value string) mooring.Alias {
	switch {
	case s.scope != scopeAlways && unguessable(value):
		return mooring.Alias{Class: mooring.ClassAny, Value: value}
	case s.scope == scopeGeneric:
		return mooring.Alias{Class: mooring.ClassGeneric, Value: value}
	case s.as != "":
		return mooring.Alias{Class: mooring.ClassName + mooring.AliasClass(s.as), Value: value}
	}
	return mooring.Alias{Class: mooring.ClassName + mooring.AliasClass(s.name), Value: value}
}

// anew says that programs make the value of a signal anew at each start: another one may name the same conversation.
func (s *signal) anew() bool { return s.name == "x-session-affinity" || s.name == "x-affinity" }

// loose says that a value may name several conversations: what the messages prove counts more.
func (s *signal) loose() bool { return s.scope == scopeAlways }
