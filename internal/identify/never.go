package identify

// The rows below are recognised so that a person is told why they decide nothing. None of them can name a session, be learned, or
// have its value kept.

func never(why, source, seen string, place place, names ...string) []signal {
	out := make([]signal, len(names))
	for i, name := range names {
		out[i] = signal{name: name, place: place, says: saysNever, why: why, source: source, seen: seen}
	}
	return out
}

func perRequest() []signal {
	const each = "it is another one with each request"
	return concat(
		never(each, "servers and proxies", "V; some by habit, I", inHeader, "x-request-id", "request-id", "x-correlation-id", "correlation-id", "cf-ray", "x-amzn-requestid",
			"x-amzn-trace-id", "x-b3-*", "x-cloud-trace-context", "x-trace-id", "x-span-id", "x-run-id", "x-amz-date"),
		never("in some programs it is another one with each request", "Claude Code; Codex and pi put their id there, and send it elsewhere too", "V", inHeader, "x-client-request-id"),
		never("it is another one with each request, or one for a whole run of many", "W3C trace context", "V", inHeader, "traceparent", "tracestate"),
		never("it belongs to one request and its retries", "SDKs", "V", inHeader, "x-stainless-*", "idempotency-key", "x-idempotency-key"),
		never("it names one message or one question, not the conversation", "OpenCode, Amp, Claude Code, OpenClaw, Open WebUI, Portkey", "V", inHeader,
			"x-opencode-request", "x-amp-message-id", "x-claude-code-prompt-id", "x-openclaw-turn-id", "x-openclaw-turn-attempt", "x-openwebui-message-id", "x-portkey-span-id"),
		never("it names one question, not the conversation", "Gemini CLI, Qwen Code, Codex, callers", "V", inBody,
			"user_prompt_id", "metadata.promptId", "client_metadata.turn_id", "metadata.run_id"),
		never("it names one question or one request", "GitHub Copilot", "V", inHeader, "x-interaction-id", "x-agent-task-id"),
		never("it changes with every compaction", "Codex", "V", inHeader, "x-codex-window-id"),
		never("it changes with every compaction", "Codex", "V", inBody, "client_metadata.x-codex-window-id"),
		never("it belongs to one turn and is good for a credential", "Codex", "V", inHeader, "x-codex-turn-state"),
		never("it says what kind of history is sent, not whose", "Claude Code", "V", inHeader, "x-claude-code-context-compacted", "x-cc-context-compacted"),
	)
}

func machines() []signal {
	const machine = "it names a machine or an installation, which has many conversations"
	return concat(
		never("it names a window, which has many conversations", "VS Code", "V", inHeader, "vscode-sessionid"),
		never(machine, "VS Code, Codex, Kilo Code, Gemini CLI, Claude Code", "V; some by habit, I", inHeader, "vscode-machineid", "x-codex-installation-id", "x-kilocode-machineid",
			"x-gemini-api-privileged-user-id", "x-claude-remote-container-id", "x-device-id", "device-id", "x-machine-id", "x-installation-id"),
		never(machine, "Codex", "V", inBody, "client_metadata.x-codex-installation-id"),
	)
}

func people() []signal {
	const person = "it names a person, who has many conversations"
	return concat(
		never(person, "SDKs and pages", "V; some by habit, I", inHeader, "x-user-id", "x-user", "x-openwebui-user-*", "x-forwarded-user", "x-forwarded-email", "x-auth-request-user", "x-auth-request-email"),
		never(person, "OpenAI API", "V", inBody, fieldUser, "safety_identifier"),
		never("it names an account, which has many conversations", "Codex, OpenAI", "V; some by habit, I", inHeader, "chatgpt-account-id", "openai-organization", "openai-project",
			"x-org-id", "x-organization-id", "x-tenant-id", "x-account-id", "x-team-id", "x-workspace-id"),
		never("it is the memory of a person or a channel, wider than a conversation", "Hermes", "V", inHeader, "x-hermes-session-key"),
		never("it holds who asks, not what is talked about", "Portkey", "V", inHeader, "x-portkey-metadata"),
	)
}

func otherThings() []signal {
	return concat(
		never("it is the session of a tool protocol, not of a chat", "MCP", "V", inHeader, "mcp-session-id"),
		never("it belongs to another protocol", "event streams and WebSockets", "V", inHeader, "last-event-id", "sec-websocket-key"),
		never("it names a thing at the provider, which many conversations may use", "Amazon Bedrock", "V", inHeader, "x-amzn-bedrock-*"),
		never("it names a thing at the provider, which many conversations may use", "Anthropic", "V", inBody, "container"),
		never("it names the agent that is asked, which has many conversations", "OpenClaw, Claude Code, Kilo Code", "V", inHeader,
			"x-openclaw-agent-id", "x-claude-code-agent-type", "x-kilocode-mode", "x-opencode-client"),
		never("it is a name for people and may be given twice", "Helicone", "V", inHeader, "helicone-session-name"),
		never("it says who began the request, not which conversation it belongs to", "GitHub Copilot", "V", inHeader, "x-initiator"),
	)
}

func credentials() []signal {
	return concat(
		never("it is a credential", "clients", "V", inHeader, "authorization", "proxy-authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie", "cookie2", "x-mooring-key",
			"helicone-auth", "x-portkey-api-key", "x-openwebui-user-jwt", "x-amz-security-token", "x-session-api-key", "x-upload-token", "x-trusted-device-token",
			"x-claude-code-ide-authorization", "x-oai-attestation", "anthropic-dispatch-id"),
		never("it names a server that answers, or is a credential", "llm-d", "V", inHeader, "x-session-token"),
	)
}

func concat(groups ...[]signal) []signal {
	var out []signal
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// NeverLearn says whether a header of this name may not come to name sessions, whatever its values do: it carries a credential, a
// user, a device, an organisation or one request, belongs to HTTP itself, or is a name of the catalogue, whose meaning is known
// already.
func (e *Engine) NeverLearn(name string) bool { return e.apart.learnable(name) == "" }

// listed says that the catalogue or the configuration has this name.
func (e *Engine) listed(name []byte) bool {
	_, known := e.byHeader[string(name)]
	return known || e.wildcard(name) != nil
}
