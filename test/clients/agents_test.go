//go:build linux

package clients_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
	"mooring/test/product"
)

const (
	taskPrompt   = "Let somebody else name a falcon."
	childPrompt  = "Say kestrel and nothing else."
	childAnswer  = "Kestrel."
	parentAnswer = "The other one was asked."
)

// delegating asks for the client's tool that starts an agent, and answers what comes of it.
func delegating(t *testing.T, tool upstreamtest.ToolCall) *upstreamtest.Server {
	t.Helper()
	tool.ID = "call_child"
	upstream := upstreamtest.New(t)
	answered := make(chan struct{})
	var once sync.Once
	upstream.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		holds := func(text string) bool { return bytes.Contains(r.Body(), []byte(text)) }
		switch {
		case holds(tool.ID): // the call and its result are part of the conversation from here on
			// Some start the agent beside them, and would end before it has asked anything.
			return upstreamtest.Reply{Text: parentAnswer, Hold: answered}
		case holds(childPrompt):
			go func() {
				<-r.Done()
				once.Do(func() { close(answered) })
			}()
			return upstreamtest.Reply{Text: childAnswer}
		case holds(taskPrompt) && holds(`"tools"`):
			return upstreamtest.Reply{Tool: &tool}
		}
		return upstreamtest.Reply{Text: "A falcon"} // a title
	})
	return upstream
}

// TestAgents writes down what Mooring makes of sub-agents and of the calls that clients make for themselves. The golden
// files are what it does, not all of what it should do.
func TestAgents(t *testing.T) {
	tests := []struct {
		name    string
		command []string
		tool    upstreamtest.ToolCall
	}{
		{
			"claude",
			[]string{"claude", "--allowedTools", "Agent", "-p"},
			upstreamtest.ToolCall{Name: "Agent", Arguments: `{"description":"falcon","prompt":"` + childPrompt + `","subagent_type":"general-purpose"}`},
		},
		{
			"codex",
			[]string{"codex", "exec", "--skip-git-repo-check"},
			upstreamtest.ToolCall{Name: "spawn_agent", Namespace: "multi_agent_v1", Arguments: `{"message":"` + childPrompt + `","agent_type":"default"}`},
		},
		{
			"opencode",
			[]string{"opencode", "run"},
			upstreamtest.ToolCall{Name: "task", Arguments: `{"description":"falcon","prompt":"` + childPrompt + `","subagent_type":"general"}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			need(t)
			upstream, r := delegating(t, tt.tool), newRoom(t)
			s := binary.Serve(t, product.Upstream(upstream.URL))
			r.run(t, s, way{}, with(tt.command, taskPrompt)...)
			golden(t, "agents-"+tt.name, describe(t, s))
		})
	}
}

// TestFork: a fork in a new process is a conversation of its own.
func TestFork(t *testing.T) {
	tests := []struct {
		name    string
		command []string
	}{
		{"claude", []string{"claude", "-c", "--fork-session", "-p"}},
		{"opencode", []string{"opencode", "run", "-c", "--fork"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			need(t)
			upstream, r := knowing(t), newRoom(t)
			s := binary.Serve(t, product.Upstream(upstream.URL))
			turns := conversation()
			first := map[string][]string{"claude": {"claude", "-p"}, "opencode": {"opencode", "run"}}[tt.name]
			r.run(t, s, way{}, with(first, turns[0].prompt)...)
			r.run(t, s, way{}, with(tt.command, turns[1].prompt)...)
			golden(t, "fork-"+tt.name, describe(t, s))
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
