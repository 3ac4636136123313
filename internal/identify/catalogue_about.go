package identify

import "mooring"

// The rows below name no session of their own: they say more about the one that another signal names.

func agentSignals() []signal {
	const row = saysAgent
	return []signal{
		{name: headerAgent, says: row, client: "claude-code", source: "Claude Code", seen: "2.1.332, V"},
		{name: "helicone-session-path", says: row, source: "Helicone: a path below the first step is a step of its own", seen: "docs.helicone.ai, V"},
	}
}

func parentSignals() []signal {
	const row = saysParent
	return []signal{
		{name: headerParentAgent, says: row, client: "claude-code", source: "Claude Code: the agent that started this one", seen: "2.1.332, V"},
		{name: "metadata.user_id", place: inBody, inside: "parent_session_id", says: row, client: "claude-code", source: "Claude Code teammates", seen: "2.1.84 to 2.1.332, V"},
		{name: "x-opencode-parent-session-id", says: row, client: "opencode", source: "OpenCode", seen: "1.18.34, V"},
		{name: "x-parent-session-id", says: row, source: "OpenCode, Kilo Code", seen: "V"},
		{name: "x-codex-parent-thread-id", says: row, client: "codex", source: "Codex", seen: "0.171.0, V"},
		{name: "client_metadata.x-codex-parent-thread-id", place: inBody, says: row, client: "codex", source: "Codex", seen: "0.171.0, I"},
		{name: codexHeader, inside: "parent_thread_id", says: row, client: "codex", source: "Codex", seen: "responses_metadata.rs, V"},
		{name: codexField, place: inBody, inside: "parent_thread_id", says: row, client: "codex", source: "Codex", seen: "responses_metadata.rs, V"},
		{name: codexHeader, inside: "forked_from_thread_id", says: row, fork: true, client: "codex", source: "Codex: the thread that this one is a copy of", seen: "responses_metadata.rs, V"},
		{name: codexField, place: inBody, inside: "forked_from_thread_id", says: row, fork: true, client: "codex", source: "Codex: the thread that this one is a copy of", seen: "responses_metadata.rs, V"},
		{name: "x-kilocode-parent-taskid", says: row, client: "kilo-code", source: "Kilo Code", seen: "7.7.9, V"},
		{name: parentName, says: row, shape: vendorValue, source: "clients that are not known by name", seen: "pattern, I"},
		{name: "x-portkey-parent-span-id", says: row, weak: true, source: "Portkey", seen: "portkey.ai/docs, V; mostly a step of the same session"},
	}
}

const (
	codexHeader = "x-codex-turn-metadata"
	codexField  = "client_metadata.x-codex-turn-metadata"
	parentName  = "x-*-parent-session-id" // the row of every header that looks like it
	anyValue    = "*"
)

func kindSignals() []signal {
	const row = saysKind
	one := func(kind mooring.Kind, values ...string) map[string]mooring.Kind {
		out := map[string]mooring.Kind{}
		for _, v := range values {
			out[v] = kind
		}
		return out
	}
	classes := map[string]mooring.Kind{
		"main": mooring.KindMain, "subagent": mooring.KindSubagent, "workflow": mooring.KindSubagent, "compaction": mooring.KindCompaction,
		"auxiliary": mooring.KindSide, "side_reply": mooring.KindSide,
	}
	firstParty := map[string]mooring.Kind{
		"main": mooring.KindMain, "blocking-subagent": mooring.KindSubagent, "background-task": mooring.KindSide, "summary-extraction": mooring.KindSide,
		"followup-generation": mooring.KindSide,
	}
	requests := map[string]mooring.Kind{
		"turn": mooring.KindMain, "compaction": mooring.KindCompaction, "prewarm": mooring.KindSide, "memory": mooring.KindSide,
	}
	threads := map[string]mooring.Kind{"subagent": mooring.KindSubagent, "thread_title": mooring.KindSide}
	labels := map[string]mooring.Kind{"compact": mooring.KindCompaction, "memory_consolidation": mooring.KindSide, anyValue: mooring.KindSubagent}
	interactions := map[string]mooring.Kind{
		"conversation-agent": mooring.KindMain, "conversation-subagent": mooring.KindSubagent, "conversation-background": mooring.KindSide,
	}
	features := map[string]mooring.Kind{"amp.chat": mooring.KindMain, anyValue: mooring.KindSide}
	return []signal{
		{name: "x-claude-code-request-class", says: row, kinds: classes, source: "Claude Code", seen: "2.1.332, V"},
		{name: "x-claude-code-compaction", says: row, kinds: one(mooring.KindCompaction, anyValue), source: "Claude Code", seen: "2.1.332, V"},
		{name: "x-cc-compaction-request", says: row, kinds: one(mooring.KindCompaction, anyValue), source: "Claude Code", seen: "2.1.332, V"},
		{name: "x-claude-1p-request-class", says: row, kinds: firstParty, source: "Claude Code", seen: "2.1.332, V"},
		{name: "x-openai-subagent", says: row, kinds: labels, source: "Codex", seen: "0.171.0, V"},
		{name: "client_metadata.x-openai-subagent", place: inBody, says: row, kinds: labels, source: "Codex", seen: "0.171.0, V"},
		{name: "x-openai-memgen-request", says: row, kinds: one(mooring.KindSide, "true"), source: "Codex", seen: "0.171.0, T"},
		{name: codexHeader, inside: "thread_source", says: row, kinds: threads, source: "Codex", seen: "V; thread_title, T"},
		{name: codexField, place: inBody, inside: "thread_source", says: row, kinds: threads, source: "Codex", seen: "V; thread_title, T"},
		{name: codexHeader, inside: "subagent_kind", says: row, kinds: one(mooring.KindSubagent, anyValue), source: "Codex", seen: "responses_metadata.rs, V"},
		{name: codexField, place: inBody, inside: "subagent_kind", says: row, kinds: one(mooring.KindSubagent, anyValue), source: "Codex", seen: "responses_metadata.rs, V"},
		{name: codexHeader, inside: "request_kind", says: row, kinds: requests, source: "Codex", seen: "responses_metadata.rs, V"},
		{name: codexField, place: inBody, inside: "request_kind", says: row, kinds: requests, source: "Codex", seen: "responses_metadata.rs, V"},
		{name: "x-interaction-type", says: row, kinds: interactions, source: "GitHub Copilot", seen: "interactionService.ts, V"},
		{name: "x-amp-feature", says: row, kinds: features, source: "Amp", seen: "third-party readings, T"},
	}
}

func projectSignals() []signal {
	const row = saysProject
	return []signal{
		{name: "x-opencode-project", says: row, source: "OpenCode", seen: "1.18.34, V"},
		{name: "x-kilocode-projectid", says: row, source: "Kilo Code", seen: "7.7.9, V"},
		{name: codexHeader, inside: "workspaces", says: row, source: "Codex", seen: "responses_metadata.rs, V; a git remote is kept as a keyed digest"},
		{name: codexField, place: inBody, inside: "workspaces", says: row, source: "Codex", seen: "responses_metadata.rs, V; a git remote is kept as a keyed digest"},
	}
}

func clientSignals() []signal {
	const row = saysClient
	return []signal{
		{name: "originator", says: row, source: "Codex, OpenCode, Cline, Roo Code", seen: "V"},
		{name: "user-agent", says: row, source: "most programs", seen: "V"},
	}
}
