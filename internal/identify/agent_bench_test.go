package identify_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/identify"
	"mooring/internal/wire"
)

// agent is a coding agent late in its work: 200 messages and 200 KB, long instructions, tools, and the headers of its SDK.
type agent struct {
	protocol mooring.Protocol
	header   func(turn int) http.Header
	body     func(turn int, messages string) string
	message  func(role, text string) string
}

const (
	agentID       = "00000001-1111-4222-8333-000000000001"
	agentMessages = 200
)

// agents are Claude Code and Codex, each with its ids and without any.
func agents() map[string]agent {
	out := map[string]agent{}
	for name, ids := range map[string]bool{"ids": true, "headerless": false} {
		out["claude-code/"+name] = claudeCode(ids)
		out["codex/"+name] = codex(ids)
	}
	return out
}

func lines(of string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s %d: keep the harbour in sight, and say what you do before you do it.\n", of, i)
	}
	return b.String()
}

func quoted(v any) string {
	out, _ := json.Marshal(v)
	return string(out)
}

func agentTools() string {
	list := make([]string, 20)
	for i := range list {
		list[i] = fmt.Sprintf(`{"name":"Tool%d","description":%s,"input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}`, i, quoted(lines("tool", 12)))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func sdkHeaders(more ...string) http.Header {
	h := http.Header{}
	pairs := append(more,
		"Accept", "application/json", "Accept-Encoding", "gzip, deflate, br", "Accept-Language", "*", "Authorization", "Bearer FAKE", "Connection", "keep-alive",
		"Content-Type", "application/json", "Content-Length", "223456", "Host", "localhost:8080", "Sec-Fetch-Mode", "cors", "X-Forwarded-For", "10.0.0.1",
		"X-Forwarded-Proto", "https", "X-Stainless-Arch", "x64", "X-Stainless-Helper-Method", "stream", "X-Stainless-Lang", "js", "X-Stainless-Os", "Linux",
		"X-Stainless-Package-Version", "0.60.0", "X-Stainless-Retry-Count", "0", "X-Stainless-Runtime", "node", "X-Stainless-Runtime-Version", "v24.3.0",
		"X-Stainless-Timeout", "600", "X-Team-Lane", "blue-harbour-1", "X-Build-Channel", "stable-channel")
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func claudeCode(ids bool) agent {
	system, tools, metadata := quoted(lines("rule", 190)), agentTools(), ""
	if ids {
		metadata = `,"metadata":{"user_id":` + quoted(`{"device_id":"dddd00000000000000000000000000000000000000000000000000000000beef","account_uuid":"00000070-1111-4222-8333-000000000070","session_id":"`+agentID+`"}`) + `}`
	}
	return agent{
		protocol: mooring.Messages,
		header: func(turn int) http.Header {
			h := sdkHeaders("User-Agent", "claude-cli/2.1.332 (external, cli)", "X-App", "cli", "Anthropic-Version", "2023-06-01", "Anthropic-Beta", "claude-code-20250219",
				"Anthropic-Dangerous-Direct-Browser-Access", "true", "X-Client-Request-Id", fmt.Sprintf("00000902-1111-4222-8333-%012d", turn))
			if ids {
				h.Set("X-Claude-Code-Session-Id", agentID)
				h.Set("X-Claude-Code-Request-Class", "main")
			}
			return h
		},
		body: func(turn int, messages string) string {
			return fmt.Sprintf(`{"model":"claude-sonnet-4-5","max_tokens":32000,"stream":true,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.332.022; cc_entrypoint=cli; cc_prev_req=req_%d;"},{"type":"text","text":"You are a coding assistant."},{"type":"text","text":%s,"cache_control":{"type":"ephemeral"}}],"tools":%s,"messages":[%s]%s}`, turn, system, tools, messages, metadata)
		},
		message: func(role, text string) string {
			return fmt.Sprintf(`{"role":%q,"content":[{"type":"text","text":%s}]}`, role, quoted(text))
		},
	}
}

func codex(ids bool) agent {
	system, tools := quoted(lines("rule", 190)), agentTools()
	turnMetadata := func(turn int) string {
		return fmt.Sprintf(`{"installation_id":"00000060-1111-4222-8333-000000000060","session_id":%q,"thread_id":%q,"turn_id":"01900051-aaaa-7bbb-8ccc-%012d","window_id":"%s:0","request_kind":"turn","thread_source":"user","workspaces":{"/home/me/src/mooring":{"associated_remote_urls":{"origin":"git@example.com:me/mooring.git"},"latest_git_commit_hash":"0123456789abcdef0123456789abcdef01234567","has_changes":true}},"turn_started_at_unix_ms":179000000%04d}`, agentID, agentID, turn, agentID, turn)
	}
	return agent{
		protocol: mooring.Responses,
		header: func(turn int) http.Header {
			h := sdkHeaders("User-Agent", "codex_cli_rs/0.171.0 (Linux 6.8; x86_64) xterm", "Originator", "codex_cli_rs", "Chatgpt-Account-Id", "acct-fake")
			if ids {
				for _, name := range []string{"Session-Id", "Thread-Id", "X-Client-Request-Id"} {
					h.Set(name, agentID)
				}
				h.Set("X-Codex-Window-Id", agentID+":0")
				h.Set("X-Codex-Turn-Metadata", turnMetadata(turn))
			}
			return h
		},
		body: func(turn int, messages string) string {
			more := ""
			if ids {
				more = fmt.Sprintf(`,"prompt_cache_key":%q,"client_metadata":{"session_id":%q,"thread_id":%q,"turn_id":"01900051-aaaa-7bbb-8ccc-%012d","x-codex-window-id":"%s:0","x-codex-installation-id":"00000060-1111-4222-8333-000000000060","x-codex-turn-metadata":%s}`,
					agentID, agentID, agentID, turn, agentID, quoted(turnMetadata(turn)))
			}
			return fmt.Sprintf(`{"model":"gpt-5.2-codex","instructions":%s,"input":[%s],"tools":%s,"tool_choice":"auto","store":false,"stream":true%s}`, system, messages, tools, more)
		},
		message: func(role, text string) string {
			part := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
			return fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":%q,"text":%s}]}`, role, part, quoted(text))
		},
	}
}

// request is the agent's request of a turn that shows n messages, decoded as a route does it.
func (p agent) request(tb testing.TB, h *house, turn, n int) identify.Request {
	tb.Helper()
	list := make([]string, n)
	for i := range list {
		role, says := "user", lines(fmt.Sprint("message ", i), 12)
		if i%2 == 1 {
			role = "assistant"
		}
		if i == n-1 && turn > 0 {
			says = lines(fmt.Sprint("message ", i, " of turn ", turn), 12)
		}
		list[i] = p.message(role, says)
	}
	w, err := h.engine.Digester("acme").Decode(p.protocol, []byte(p.body(turn, strings.Join(list, ","))), wire.Limits{JSONDepth: 128})
	if err != nil {
		tb.Fatal(err)
	}
	return identify.Request{Tenant: "acme", Header: p.header(turn), Wire: w, Messages: w.Messages, Content: true, Learn: true, Key: "key"}
}

// begun is a house with a session of the agent that has come so far: the request of turn 1 is its next one.
func (p agent) begun(tb testing.TB) *house {
	tb.Helper()
	h := newHouse(tb)
	q := p.request(tb, h, 0, agentMessages-1)
	f, err := h.engine.Resolve(tb.Context(), q)
	if err != nil || !f.New {
		tb.Fatal(f, err)
	}
	turn, at := h.began(q, f)
	h.replied(&turn, at, []byte(p.message("assistant", lines(fmt.Sprint("message ", agentMessages-1), 12))), "")
	return h
}

// BenchmarkAgents is what identification adds to a turn of a coding agent whose session is in memory, given the decoded request. Each
// request is a turn of its own: what programs change with each of theirs is another in each.
func BenchmarkAgents(b *testing.B) {
	for _, name := range []string{"claude-code/ids", "claude-code/headerless", "codex/ids", "codex/headerless"} {
		p := agents()[name]
		b.Run(name, func(b *testing.B) {
			h := p.begun(b)
			requests := make([]identify.Request, 200)
			for i := range requests {
				requests[i] = p.request(b, h, i+1, agentMessages+1)
			}
			before, i := h.store.reads.Load(), 0
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				q := requests[i%len(requests)]
				i++
				start := time.Now()
				f, err := h.engine.Resolve(b.Context(), q)
				if err != nil || f.New {
					b.Fatal(f, err)
				}
				at, err := h.engine.Locate(b.Context(), f, q)
				if err != nil || len(at.New) != 1 {
					b.Fatal(at, err)
				}
				took = append(took, time.Since(start))
			}
			if reads := h.store.reads.Load() - before; reads > 1 { // of learned headers
				b.Errorf("%d reads of the store, want none", reads)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-us")
		})
	}
}
