package replay_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
	"mooring/test/product"
)

// situation is what is true of a capture: the conversation it belongs to, as a path below those that it came from.
type situation struct {
	capture
	conversation string // "x/agent" was begun by x; "-" is no request that Mooring takes
	copied       string // the conversation that it copies under a new id; empty for none
	again        bool   // the client's own retry of the request before it, which failed
}

// situations reads what the index says of the captures.
func situations(t *testing.T) []situation {
	t.Helper()
	text, err := os.ReadFile("testdata/situations.txt")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(text)) {
		file, conversation, _ := strings.Cut(strings.TrimSpace(line), " ")
		said[file+".json"] = strings.TrimSpace(conversation)
	}
	var all []situation
	for _, c := range captures(t) {
		name, again := strings.CutSuffix(said[c.file], "=")
		if name == "" {
			t.Fatalf("situations.txt says nothing of %s", c.file)
		}
		name, copied, _ := strings.Cut(name, "<")
		all = append(all, situation{c, name, copied, again})
		delete(said, c.file)
	}
	if len(said) > 0 {
		t.Fatalf("situations.txt names captures that are not there: %v", said)
	}
	return all
}

// TestEveryRequestLands replays all captures in their order, each answered as its client was answered then: first turns,
// turns of a new process, forks, sub-agents, title calls, compactions and retries each land where they belong.
func TestEveryRequestLands(t *testing.T) {
	t.Parallel()
	t.Run("one server", func(t *testing.T) {
		t.Parallel()
		land(t, func(s *product.Server, _ string) *product.Server { return s })
	})
	t.Run("restarted within conversations", func(t *testing.T) {
		t.Parallel()
		begun := map[string]bool{}
		land(t, func(s *product.Server, conversation string) *product.Server {
			if known := begun[conversation]; !known {
				begun[conversation] = true
				return s
			}
			return s.Restart(t)
		})
	})
}

func land(t *testing.T, before func(*product.Server, string) *product.Server) {
	t.Helper()
	upstream := upstreamtest.New(t)
	s := binary.Serve(t, product.Upstream(upstream.URL))
	all := situations(t)
	p := places{sessions: map[string]string{}, owners: map[string]string{}}
	for i, at := range all {
		if at.conversation == "-" {
			at.refused(t, s.URL)
			continue
		}
		s = before(s, at.conversation)
		want := http.StatusOK
		if i+1 < len(all) && all[i+1].again {
			want = http.StatusServiceUnavailable
			upstream.Queue(upstreamtest.Failure(want))
		} else {
			upstream.Queue(at.reply(all[i+1:]))
		}
		header := at.send(t, s.URL, want)
		if problem := p.check(at, header); problem != "" {
			t.Errorf("%s (%s): %s", at.file, at.Case, problem)
		}
		if at.copied != "" {
			p.checkCopy(t, s, at)
		}
	}
}

// checkCopy wants that a copy's session says which one it was copied from; its answer names no parent.
func (p *places) checkCopy(t *testing.T, s *product.Server, at situation) {
	t.Helper()
	var got struct {
		Parent   string `json:"parent_id"`
		Relation string `json:"relation"`
	}
	s.Get(t, "/api/sessions/"+p.sessions[at.conversation], &got)
	if got.Parent != p.sessions[at.copied] || got.Relation != "fork" {
		t.Errorf("%s (%s): a %q of %q, want a fork of %s", at.file, at.Case, got.Relation, got.Parent, p.sessions[at.copied])
	}
}

// places is where conversations have been seen so far.
type places struct {
	sessions map[string]string // conversation -> session
	owners   map[string]string // session -> conversation
	turn     string            // of the last answer
}

// check says what is wrong with the place of an answer.
func (p *places) check(at situation, header http.Header) string {
	session, turn, parent := header.Get("X-Mooring-Session"), header.Get("X-Mooring-Turn"), header.Get("X-Mooring-Parent")
	last := p.turn
	p.turn = turn
	if known := p.sessions[at.conversation]; known != "" && session != known {
		return "session " + session + ", want " + known + " as before"
	}
	if owner := p.owners[session]; owner != "" && owner != at.conversation {
		return "session " + session + " is that of " + owner + ", want one of its own"
	}
	p.sessions[at.conversation], p.owners[session] = session, at.conversation
	above, kind := "", header.Get("X-Mooring-Kind")
	end := strings.LastIndex(at.conversation, "/")
	if end >= 0 {
		above = p.sessions[at.conversation[:end]]
	}
	switch {
	case parent != above:
		return "parent " + parent + ", want " + above
	case (kind == "subagent") != (end >= 0):
		return "kind " + kind
	case at.again && turn != last:
		return "turn " + turn + ", want the next attempt of " + last
	case !at.again && turn == last:
		return "the turn before, want one of its own"
	}
	return ""
}

// refused sends a request of a protocol that Mooring does not speak.
func (c capture) refused(t *testing.T, url string) {
	t.Helper()
	if header := c.send(t, url, http.StatusNotFound); header.Get("X-Mooring-Error") != "not_found" {
		t.Errorf("%s: X-Mooring-Error = %q, want not_found", c.file, header.Get("X-Mooring-Error"))
	}
}

// reply is what the client was answered then, as the next request of the conversation that holds it says.
func (at situation) reply(later []situation) upstreamtest.Reply {
	n := len(at.messages())
	for _, next := range later {
		if next.conversation != at.conversation {
			continue
		}
		messages := next.messages()
		if len(messages) <= n {
			continue
		}
		if r, ok := messages[n].reply(); ok {
			return r
		}
	}
	return upstreamtest.Reply{}
}

// message is one of a request in any of the protocols, as far as an answer is made from it.
type message struct {
	Type      string
	Role      string
	Content   json.RawMessage
	ToolCalls []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	CallID    string `json:"call_id"`
	Name      string
	Namespace string
	Arguments string
}

func (c capture) messages() []message {
	var body struct {
		Messages []message
		Input    json.RawMessage
	}
	if json.Unmarshal(c.Body, &body) != nil {
		return nil
	}
	if body.Messages == nil {
		_ = json.Unmarshal(body.Input, &body.Messages) // a text in its place is one question
	}
	return body.Messages
}

// reply gives an assistant's message back as the answer that it was.
func (m message) reply() (r upstreamtest.Reply, ok bool) {
	var text string
	var blocks []struct {
		Type, Text, ID, Name string
		Input                json.RawMessage
	}
	switch {
	case m.Type == "function_call":
		return upstreamtest.Reply{Tool: &upstreamtest.ToolCall{ID: m.CallID, Name: m.Name, Namespace: m.Namespace, Arguments: m.Arguments}}, true
	case m.Role != "assistant":
		return r, false
	case len(m.ToolCalls) > 0:
		call := m.ToolCalls[0]
		return upstreamtest.Reply{Tool: &upstreamtest.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments}}, true
	case json.Unmarshal(m.Content, &text) == nil:
		return upstreamtest.Reply{Text: text}, true
	case json.Unmarshal(m.Content, &blocks) != nil:
		return r, false
	}
	for _, b := range blocks {
		if b.Type == "tool_use" {
			r.Tool = &upstreamtest.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)}
		}
		r.Text += b.Text
	}
	return r, true
}
