package eval

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"mooring"
	"mooring/internal/wire"
)

// FillReplies gives the requests of a log their answers back where it does not hold them: a later request that goes on with
// the same messages shows what was said. What no request shows is made up, different for each.
func FillReplies(t *Trace) {
	digester := wire.NewDigester([]byte("the replies of a log"), nil)
	talks := map[*Line]said{}
	shown := map[string][]continuation{}
	for _, l := range t.Requests() {
		talk := saidIn(l, digester)
		talks[l] = talk
		for at, m := range talk.messages {
			if m.byModel {
				key := talk.prefixes[at]
				shown[key] = append(shown[key], continuation{l.N, talk.messages[at:]})
			}
		}
	}
	taken := map[string]bool{}
	for _, l := range t.Requests() {
		if l.Reply == nil {
			l.Reply = shownReply(l, talks[l].whole(), shown, taken)
		}
	}
}

// said are the messages of a request's conversation, without what the program says to the model.
type said struct {
	messages []entry
	prefixes []string // digests of the first n messages, for all n
}

func (s said) whole() string { return s.prefixes[len(s.prefixes)-1] }

// saidIn reads a conversation as identification does: what clients change without meaning it makes no difference.
func saidIn(l *Line, digester *wire.Digester) said {
	h := sha256.New()
	_, _ = h.Write([]byte(l.Tenant))
	out := said{prefixes: []string{string(h.Sum(nil))}}
	p := l.protocol()
	request, err := wire.Decode(p, l.Body, wire.Limits{})
	if err != nil {
		return out
	}
	digests, err := digester.Messages(p, request.Messages)
	if err != nil {
		return out
	}
	for i, d := range digests {
		if d.Zero() {
			continue
		}
		m := &request.Messages[i]
		out.messages = append(out.messages, entry{m.Role == "assistant", itemsOf(m.Raw), string(d[:]), len(m.Raw)})
		_, _ = h.Write(d[:])
		out.prefixes = append(out.prefixes, string(h.Sum(nil)))
	}
	return out
}

func (l *Line) protocol() mooring.Protocol {
	path, _, _ := strings.Cut(l.Path, "?")
	switch {
	case strings.Contains(path, "/messages"):
		return mooring.Messages
	case strings.Contains(path, "/responses"):
		return mooring.Responses
	case strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions"):
		return mooring.Completions
	}
	return mooring.Chat
}

// continuation is how a later request goes on.
type continuation struct {
	line int
	rest []entry
}

// entry is one message, of one item or of several.
type entry struct {
	byModel bool
	items   []map[string]any
	digest  string
	size    int // in bytes, as it was sent
}

func itemsOf(raw []byte) []map[string]any {
	var one map[string]any
	if json.Unmarshal(raw, &one) == nil {
		return []map[string]any{one}
	}
	var many []map[string]any
	_ = json.Unmarshal(raw, &many) // a text alone is no answer
	return many
}

// shownReply is the first answer behind the line's messages that no earlier line was given.
func shownReply(l *Line, whole string, shown map[string][]continuation, taken map[string]bool) *Reply {
	for _, c := range shown[whole] {
		if c.line <= l.N {
			continue
		}
		r := replyIn(c.rest)
		key := whole + string(encode(r))
		if !taken[key] {
			taken[key] = true
			return r
		}
	}
	return &Reply{Text: fmt.Sprintf("The log does not hold the answer of line %d.", l.N), Status: ok}
}

// replyIn reads an answer off the messages that begin with it.
func replyIn(rest []entry) *Reply {
	r := &Reply{Status: ok}
	for _, e := range rest {
		if !e.byModel {
			break
		}
		for _, m := range e.items {
			r.Text += textIn(m["content"])
			r.ToolCalls = append(r.ToolCalls, callsIn(m)...)
		}
	}
	return r
}

func callsIn(m map[string]any) []Call {
	var out []Call
	text := func(of map[string]any, name string) string {
		s, _ := of[name].(string)
		return s
	}
	if m["type"] == "function_call" {
		return []Call{{ID: text(m, "call_id"), Name: text(m, "name"), Arguments: text(m, "arguments")}}
	}
	calls, _ := m["tool_calls"].([]any)
	for _, c := range calls {
		call, _ := c.(map[string]any)
		f, _ := call["function"].(map[string]any)
		out = append(out, Call{ID: text(call, "id"), Name: text(f, "name"), Arguments: text(f, "arguments")})
	}
	blocks, _ := m["content"].([]any)
	for _, b := range blocks {
		if block, _ := b.(map[string]any); block["type"] == "tool_use" {
			out = append(out, Call{ID: text(block, "id"), Name: text(block, "name"), Arguments: string(encode(block["input"]))})
		}
	}
	return out
}
