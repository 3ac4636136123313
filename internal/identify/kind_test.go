package identify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

const codexMetadata = "X-Codex-Turn-Metadata"

// turnMetadata is what Codex says of a turn in a JSON text.
func turnMetadata(more string) string {
	return fmt.Sprintf(`{"installation_id":"i","thread_id":%q,"turn_id":"t1"%s}`, uuidA, more)
}

func TestKindsThatARequestSays(t *testing.T) {
	t.Parallel()
	claudeAnd := func(pairs ...string) ask {
		return ask{header: header(append([]string{claudeHeader, uuidA}, pairs...)...)}
	}
	codexAnd := func(more string, pairs ...string) ask {
		return ask{header: header(append([]string{"Thread-Id", uuidA, codexMetadata, turnMetadata(more)}, pairs...)...)}
	}
	inField := func(more string) ask {
		return ask{header: header("Thread-Id", uuidA), body: fmt.Sprintf(`"client_metadata":{"x-codex-turn-metadata":%q},`, turnMetadata(more))}
	}
	openWebUI := ask{header: header("X-Openwebui-Chat-Id", uuidA), talk: []string{"u: ### Task:\nSuggest three tags."}}
	for _, tt := range []struct {
		rule string
		ask  ask
		kind mooring.Kind
		by   string // the signal that decided
	}{
		{"Claude Code's main", claudeAnd("X-Claude-Code-Request-Class", "main"), mooring.KindMain, "header:x-claude-code-request-class"},
		{"Claude Code's auxiliary", claudeAnd("X-Claude-Code-Request-Class", "auxiliary"), mooring.KindSide, "header:x-claude-code-request-class"},
		{"Claude Code's side reply", claudeAnd("x_claude_code_request_class", "side_reply"), mooring.KindSide, "header:x-claude-code-request-class"},
		{"Claude Code's compaction", claudeAnd("X-Claude-Code-Request-Class", "compaction"), mooring.KindCompaction, "header:x-claude-code-request-class"},
		{"Claude Code's workflow", claudeAnd("X-Claude-Code-Request-Class", "workflow"), mooring.KindSubagent, "header:x-claude-code-request-class"},
		{"a class that nobody knows", claudeAnd("X-Claude-Code-Request-Class", "what"), mooring.KindMain, ""},
		{"a compaction by its own header", claudeAnd("X-Claude-Code-Compaction", "auto"), mooring.KindCompaction, "header:x-claude-code-compaction"},
		{"a compaction at Anthropic", claudeAnd("X-Cc-Compaction-Request", "1"), mooring.KindCompaction, "header:x-cc-compaction-request"},
		{"a history that was summed up is a turn", claudeAnd("X-Claude-Code-Context-Compacted", "1"), mooring.KindMain, ""},
		{"summaries by the first party's class", claudeAnd("X-Claude-1p-Request-Class", "summary-extraction"), mooring.KindSide, "header:x-claude-1p-request-class"},
		{"a background agent", claudeAnd("X-Claude-1p-Request-Class", "background-task", "X-Claude-Code-Agent-Id", "a1"), mooring.KindSubagent, "header:x-claude-1p-request-class"},
		{"a sub-agent's compaction", claudeAnd("X-Claude-Code-Agent-Id", "a1", "X-Claude-Code-Request-Class", "compaction"), mooring.KindCompaction, "header:x-claude-code-request-class"},
		{"the class decides against the older one", claudeAnd("X-Claude-Code-Request-Class", "main", "X-Claude-1p-Request-Class", "followup-generation"), mooring.KindMain, "header:x-claude-code-request-class"},

		{"Codex's turn", codexAnd(`,"request_kind":"turn"`), mooring.KindMain, "header:x-codex-turn-metadata.request_kind"},
		{"Codex's prewarm", codexAnd(`,"request_kind":"prewarm"`), mooring.KindSide, "header:x-codex-turn-metadata.request_kind"},
		{"Codex's compaction", codexAnd(`,"request_kind":"compaction"`), mooring.KindCompaction, "header:x-codex-turn-metadata.request_kind"},
		{"Codex's memory", codexAnd(`,"request_kind":"memory"`), mooring.KindSide, "header:x-codex-turn-metadata.request_kind"},
		{"Codex's title", codexAnd(`,"request_kind":"turn","thread_source":"thread_title"`), mooring.KindSide, "header:x-codex-turn-metadata.thread_source"},
		{"Codex's sub-agent", codexAnd(`,"subagent_kind":"thread_spawn"`), mooring.KindSubagent, "header:x-codex-turn-metadata.subagent_kind"},
		{"the compaction of Codex's sub-agent", codexAnd(`,"request_kind":"compaction","thread_source":"subagent"`), mooring.KindCompaction, "header:x-codex-turn-metadata.request_kind"},
		{"Codex's metadata in the body", inField(`,"request_kind":"compaction"`), mooring.KindCompaction, "body:client_metadata.x-codex-turn-metadata.request_kind"},
		{"Codex's review", codexAnd("", "X-Openai-Subagent", "review"), mooring.KindSubagent, "header:x-openai-subagent"},
		{"a label that nobody knows", codexAnd("", "X-Openai-Subagent", "my-agent"), mooring.KindSubagent, "header:x-openai-subagent"},
		{"Codex's compact", codexAnd("", "X-Openai-Subagent", "compact"), mooring.KindCompaction, "header:x-openai-subagent"},
		{"Codex's memories", codexAnd("", "X-Openai-Subagent", "memory_consolidation"), mooring.KindSide, "header:x-openai-subagent"},
		{"metadata that is no JSON", ask{header: header("Thread-Id", uuidA, codexMetadata, "{broken")}, mooring.KindMain, ""},

		{"Copilot's agent", ask{header: header("X-Interaction-Type", "conversation-agent")}, mooring.KindMain, "header:x-interaction-type"},
		{"Copilot's sub-agent", ask{header: header("X-Interaction-Type", "conversation-subagent")}, mooring.KindSubagent, "header:x-interaction-type"},
		{"Copilot's background", ask{header: header("X-Interaction-Type", "conversation-background")}, mooring.KindSide, "header:x-interaction-type"},
		{"Amp's chat", ask{header: header("X-Amp-Thread-Id", "T-"+uuidA, "X-Amp-Feature", "amp.chat")}, mooring.KindMain, "header:x-amp-feature"},
		{"Amp's review", ask{header: header("X-Amp-Thread-Id", "T-"+uuidA, "X-Amp-Feature", "amp.review")}, mooring.KindSide, "header:x-amp-feature"},
		{"OpenClaw's sub-agent", ask{header: header("X-Openclaw-Session-Key", "agent:main:subagent:"+uuidA)}, mooring.KindSubagent, "header:x-openclaw-session-key"},

		{"a question about the quota", ask{body: `"max_tokens":1,`, talk: []string{"u: quota"}}, mooring.KindSide, "content:phrase"},
		{"the word alone", ask{talk: []string{"u: quota"}}, mooring.KindMain, ""},
		{"a longer question for one token", ask{body: `"max_tokens":1,`, talk: []string{"u: quota?"}}, mooring.KindMain, ""},
		{"a key that is tried", ask{body: `"max_tokens":1,`, talk: []string{"u: test"}}, mooring.KindSide, "content:phrase"},
		{"a task of Open WebUI", openWebUI, mooring.KindSide, "content:phrase"},
		{"a task of Open WebUI without its headers", ask{talk: []string{"u: ### Task:\nSuggest.\n### Chat History:\n<chat_history>"}}, mooring.KindSide, "content:phrase"},
		{"somebody's own task", ask{talk: []string{"u: ### Task:\nSort my books."}}, mooring.KindMain, ""},
		{"such a task in a conversation", ask{header: header("X-Openwebui-Chat-Id", uuidA), talk: []string{"u: hi", "a: yes", "u: ### Task:\nSuggest three tags."}}, mooring.KindMain, ""},
		{"OpenCode's title", ask{header: header("User-Agent", "opencode/1.18.34", "X-Session-Id", uuidA), talk: []string{"s: You are a title generator. Be brief.", "u: hi"}}, mooring.KindSide, "content:phrase"},
		{"the same words of another program", ask{header: header("X-Session-Id", uuidA), talk: []string{"s: You are a title generator. Be brief.", "u: hi"}}, mooring.KindMain, ""},
		{"Crush's title", ask{header: header("User-Agent", "Charm-Crush/0.96.1", "X-Session-Id", uuidA), talk: []string{"s: Be brief.", "u: Generate a concise title for the following content:\nx"}}, mooring.KindSide, "content:phrase"},
		{"a title in other words, without tools", ask{header: header("User-Agent", "claude-cli/2.1", claudeHeader, uuidA), talk: []string{"s: Write a short title for this conversation.", "u: hi"}}, mooring.KindSide, "content:title"},
		{"with tools it is a turn", ask{
			header: header("User-Agent", "claude-cli/2.1", claudeHeader, uuidA), body: `"tools":[{"name":"a"}],`,
			talk: []string{"s: Write a short title for this conversation.", "u: hi"},
		}, mooring.KindMain, ""},
		{"without tools and without such words it is a turn", ask{header: header("User-Agent", "claude-cli/2.1", claudeHeader, uuidA), talk: []string{"s: You are a coding assistant.", "u: hi"}}, mooring.KindMain, ""},
		{"a program that need not offer tools", ask{header: header("User-Agent", "python/3"), talk: []string{"s: Write a short title for this conversation.", "u: hi"}}, mooring.KindMain, ""},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			f := h.turn(tt.ask)
			if f.Kind != tt.kind {
				t.Errorf("kind = %s, want %s; evidence %+v", f.Kind, tt.kind, f.Evidence)
			}
			by := ""
			for _, ev := range f.Evidence {
				if ev.Says == "kind" && ev.Use == "decided" {
					by += ev.Signal
				}
			}
			if by != tt.by {
				t.Errorf("decided by %q, want %q", by, tt.by)
			}
		})
	}
}

func TestPrewarm(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]mooring.Kind{`"input":[]`: mooring.KindSide, `"input":"hi"`: mooring.KindMain} {
		h := newHouse(t)
		w, err := wire.Decode(mooring.Responses, []byte(`{"model":"m",`+body+`}`), wire.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		q := identify.Request{Tenant: "acme", Header: header("Thread-Id", uuidA), Wire: w, Messages: w.Messages}
		if f, err := h.engine.Resolve(t.Context(), q); err != nil || f.Kind != want {
			t.Errorf("%s: %+v, %v, want %s", body, f, err, want)
		}
		q.Header = header("X-Session-Id", "s1")
		if f, err := h.engine.Resolve(t.Context(), q); err != nil || f.Kind != mooring.KindMain {
			t.Errorf("%s of another program: %+v, %v", body, f, err)
		}
	}
}

func TestSubAgentsByTheBillingLine(t *testing.T) {
	t.Parallel()
	system := func(first string) string {
		return fmt.Sprintf(`{"model":"m","max_tokens":9,"tools":[{"name":"a"}],"system":[{"type":"text","text":%q},{"type":"text","text":"You find files."}],`+
			`"messages":[{"role":"user","content":"hi"}]}`, first)
	}
	for _, tt := range []struct {
		rule, first string
		more        []string
		kind        mooring.Kind
	}{
		{"marked", "x-anthropic-billing-header: cc_version=2.1; cc_is_subagent=true; cc_project=p1;", nil, mooring.KindSubagent},
		{"not marked", "x-anthropic-billing-header: cc_version=2.1;", nil, mooring.KindMain},
		{"not at the beginning", "About x-anthropic-billing-header: cc_is_subagent=true;", nil, mooring.KindMain},
		{"marked, beside its conversation", "x-anthropic-billing-header: cc_is_subagent=true;", []string{"X-Claude-Code-Request-Class", "auxiliary"}, mooring.KindSide},
		{"marked, with its own id", "x-anthropic-billing-header: cc_is_subagent=true;", []string{"X-Claude-Code-Agent-Id", "a1"}, mooring.KindSubagent},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			w, err := wire.Decode(mooring.Messages, []byte(system(tt.first)), wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			q := identify.Request{Tenant: "acme", Header: header(append([]string{claudeHeader, uuidA}, tt.more...)...), Wire: w, Messages: w.Messages}
			f, err := h.engine.Resolve(t.Context(), q)
			if err != nil || f.Kind != tt.kind {
				t.Fatalf("kind = %s (%v), want %s; %+v", f.Kind, err, tt.kind, f.Evidence)
			}
			if strings.Contains(tt.first, "cc_project") && f.Known.Project != "p1" {
				t.Errorf("project = %q", f.Known.Project)
			}
		})
	}
}

func TestSideRequestsLeaveTheirSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	side := []string{claudeHeader, uuidA, "X-Claude-Code-Request-Class", "auxiliary"}
	first := h.turn(ask{header: header(side...), talk: []string{"u: quota"}})
	if !first.New || first.Kind != mooring.KindSide || first.Known.Relation != mooring.RelationMain || len(first.stored) != 0 {
		t.Errorf("first = %+v, stored %q", first.Finding, first.stored)
	}
	turn := h.turn(ask{header: header(claudeHeader, uuidA), talk: []string{"u: fix it"}, answer: "Done."})
	if turn.Known.ID != first.Known.ID || turn.Kind != mooring.KindMain || len(turn.stored) != 1 {
		t.Errorf("turn = %+v, stored %q", turn.Finding, turn.stored)
	}
	again := h.turn(ask{header: header(append(side, "X-Claude-Code-Agent-Id", "a1")...), talk: []string{"u: name it"}})
	if again.Known.Relation != mooring.RelationSubagent || again.Known.Parent != turn.Known.ID || again.Kind != mooring.KindSide {
		t.Errorf("beside a sub-agent = %+v", again.Finding)
	}
}

func TestParentsThatComeLater(t *testing.T) {
	t.Parallel()
	claudeChild := ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1")}
	teammate := ask{
		header: header(claudeHeader, uuidB, "X-Claude-Code-Agent-Id", "worker@team1"),
		body:   fmt.Sprintf(`"metadata":{"user_id":%q},`, fmt.Sprintf(`{"session_id":%q,"parent_session_id":%q}`, uuidB, uuidA)),
	}
	thread := ask{header: header("Thread-Id", uuidB, codexMetadata, fmt.Sprintf(`{"thread_id":%q,"parent_thread_id":%q}`, uuidB, uuidA))}
	for _, tt := range []struct {
		rule          string
		child, parent ask
	}{
		{"L-21 an agent of a shared id", claudeChild, carries("x-claude-code-session-id", uuidA)},
		{"a teammate", teammate, carries("x-claude-code-session-id", uuidA)},
		{"an id of its own", ask{header: header("X-Session-Id", uuidB, "X-Parent-Session-Id", uuidA)}, carries("x-session-id", uuidA)},
		{"a vendor's parent", ask{header: header("X-Acme-Session-Id", "child-0001", "X-Acme-Parent-Session-Id", "parent-0001")}, carries("x-acme-session-id", "parent-0001")},
		{"a thread", thread, carries("thread-id", uuidA)},
		{"the root of a tree of threads", ask{header: header("Thread-Id", uuidB, "Session-Id", uuidA)}, carries("thread-id", uuidA)},
		{"a path", ask{header: header("Helicone-Session-Id", uuidA, "Helicone-Session-Path", "/plan/outline")}, ask{header: header("Helicone-Session-Id", uuidA, "Helicone-Session-Path", "/plan")}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			child := h.turn(tt.child)
			if child.Kind != mooring.KindSubagent || child.Known.Parent != "" || child.Known.Relation != mooring.RelationSubagent {
				t.Fatalf("before: %+v", child.Finding)
			}
			parent := h.turn(tt.parent)
			if parent.Known.ID == child.Known.ID || parent.Kind != mooring.KindMain {
				t.Fatalf("parent: %+v", parent.Finding)
			}
			later := h.turn(tt.child)
			if later.Known.ID != child.Known.ID || later.Known.Parent != parent.Known.ID || later.Known.Root != parent.Known.ID || !later.Attach {
				t.Errorf("later: parent = %q, root = %q, want %s; attach = %v", later.Known.Parent, later.Known.Root, parent.Known.ID, later.Attach)
			}
			h.cold()
			if last := h.turn(tt.child); last.Known.Parent != parent.Known.ID || last.Known.Root != parent.Known.ID || last.Attach {
				t.Errorf("after a restart: parent = %q, attach = %v", last.Known.Parent, last.Attach)
			}
		})
	}
}

func TestASessionIsNotPutBelowItsOwnChild(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	parent := h.turn(carries("x-session-id", uuidA))
	h.turn(ask{header: header("X-Session-Id", uuidB, "X-Parent-Session-Id", uuidA)})
	f := h.turn(ask{header: header("X-Session-Id", uuidA, "X-Parent-Session-Id", uuidB)})
	if f.Known.ID != parent.Known.ID || f.Known.Parent != "" || f.Attach {
		t.Errorf("parent = %q, attach = %v, want none", f.Known.Parent, f.Attach)
	}
}

func TestASpanOfTheSameTraceIsNoParent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	q := ask{header: header("X-Portkey-Trace-Id", "conv-9", "X-Portkey-Parent-Span-Id", "sp1", "X-Portkey-Span-Id", "sp2")}
	if f := h.turn(q); f.Kind != mooring.KindMain || f.Known.Relation != mooring.RelationMain {
		t.Errorf("kind = %s, relation = %s", f.Kind, f.Known.Relation)
	}
}

func TestAForkOfAThread(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.turn(carries("thread-id", uuidA))
	q := ask{header: header("Thread-Id", uuidB, codexMetadata, fmt.Sprintf(`{"thread_id":%q,"forked_from_thread_id":%q}`, uuidB, uuidA))}
	if f := h.turn(q); !f.New || f.Known.Parent != first.Known.ID || f.Known.Relation != mooring.RelationFork || f.Kind != mooring.KindMain {
		t.Errorf("fork: parent = %q, relation = %s, kind = %s", f.Known.Parent, f.Known.Relation, f.Kind)
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	const path = "/home/ann/src/shop"
	workspaces := func(remote string) string {
		return fmt.Sprintf(`{"thread_id":%q,"workspaces":{%q:{"associated_remote_urls":{"origin":%q}}}}`, uuidA, path, remote)
	}
	project := func(q ask) string { return newHouse(t).resolve(q).Known.Project }
	for rule, tt := range map[string]struct {
		ask  ask
		want string
	}{
		"OpenCode's":                       {ask{header: header("X-Opencode-Project", "p1")}, "p1"},
		"Kilo's":                           {ask{header: header("X-Kilocode-Projectid", "p2")}, "p2"},
		"a line of the instructions":       {ask{talk: []string{"s: You code.\nWorking directory: " + path + "/\nPlatform: linux", "u: hi"}}, path},
		"a line before a header":           {ask{header: header("X-Opencode-Project", "p1"), talk: []string{"s: Working directory: " + path, "u: hi"}}, path},
		"a home folder is no evidence":     {ask{header: header("X-Opencode-Project", "p1"), talk: []string{"s: Working directory: /home/ann", "u: hi"}}, "p1"},
		"nor another one":                  {ask{talk: []string{"s: Working directory: /Users/ann/", "u: hi"}}, ""},
		"nor a drive":                      {ask{talk: []string{`s: Working directory: C:\Users\ann`, "u: hi"}}, ""},
		"a folder of Windows":              {ask{talk: []string{"s: Working directory: C:\\src\\notes\nx", "u: hi"}}, `C:\src\notes`},
		"no path":                          {ask{talk: []string{"s: Working directory: the one above", "u: hi"}}, ""},
		"what a user says is no evidence":  {ask{talk: []string{"u: Working directory: " + path}}, ""},
		"an environment, as Codex says it": {ask{talk: []string{"u: <environment_context>\n<cwd>" + path + "</cwd>\n</environment_context>", "u: hi"}}, path},
		"a placeholder":                    {ask{header: header("X-Opencode-Project", "{{project}}")}, ""},
		"a workspace without a remote":     {ask{header: header(codexMetadata, strings.Replace(workspaces(""), `{"origin":""}`, "{}", 1))}, path},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			if got := newHouse(t).resolve(tt.ask).Known.Project; got != tt.want {
				t.Errorf("project = %q, want %q", got, tt.want)
			}
		})
	}
	one := project(ask{header: header(codexMetadata, workspaces("git@github.com:ann/shop.git"))})
	same := project(ask{header: header(codexMetadata, workspaces("https://ann:pw@GitHub.com/ann/shop"))})
	other := project(ask{header: header(codexMetadata, workspaces("git@github.com:ann/other.git"))})
	foreign := project(ask{tenant: "globex", header: header(codexMetadata, workspaces("git@github.com:ann/shop.git"))})
	if !strings.HasPrefix(one, "git-") || one != same || one == other || one == foreign || strings.Contains(one, "shop") {
		t.Errorf("projects %q, %q, %q, %q: want a digest, the same for one remote of one tenant", one, same, other, foreign)
	}
}

func TestClientsByTheirOwnNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		header []string
		want   string
	}{
		{[]string{"User-Agent", "OpenAI/JS 6", "Originator", "cline"}, "cline"},
		{[]string{"User-Agent", "node-fetch", "X-Roo-Task-Id", uuidA}, "roo-code"},
		{[]string{"User-Agent", "codex_cli_rs/0.171.0", "X-Kilocode-Taskid", uuidA}, "codex"},
		{[]string{"X-Openwebui-Chat-Id", uuidA}, "open-webui"},
		{[]string{"User-Agent", "Charm-Crush/0.96.1 (https://charm.land/crush)"}, "crush"},
		{[]string{"User-Agent", "python-httpx/0.28", "X-Session-Id", uuidA}, "python-httpx"},
	} {
		if f := newHouse(t).resolve(ask{header: header(tt.header...)}); f.Known.Client != tt.want {
			t.Errorf("%q: client = %q, want %q", tt.header, f.Known.Client, tt.want)
		}
	}
}

func TestEvidenceOfAgentsAndParents(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	parent := h.turn(carries("x-session-id", uuidA))
	f := h.turn(ask{header: header("X-Session-Id", uuidB, "X-Parent-Session-Id", uuidA)})
	if !slices.ContainsFunc(f.Evidence, func(ev mooring.Evidence) bool {
		return ev.Signal == "header:x-parent-session-id" && ev.Says == "parent" && ev.Use == "decided" && ev.Points == string(parent.Known.ID)
	}) {
		t.Errorf("evidence = %+v, want the parent", f.Evidence)
	}
	agent := h.turn(ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1")})
	if !slices.ContainsFunc(agent.Evidence, func(ev mooring.Evidence) bool {
		return ev.Signal == "header:x-claude-code-agent-id" && ev.Says == "agent" && ev.Use == "decided" && ev.Value == "a1"
	}) {
		t.Errorf("evidence = %+v, want the agent", agent.Evidence)
	}
	alone := h.turn(ask{header: header("X-Claude-Code-Agent-Id", "a1", "X-Parent-Session-Id", uuidA)})
	for _, ev := range alone.Evidence {
		if ev.Use != "ignored" {
			t.Errorf("without an id: %+v", ev)
		}
	}
}
