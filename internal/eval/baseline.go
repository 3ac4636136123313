package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Way is a simple way of telling conversations apart, as others have it. It says nothing of kinds and parents.
type Way struct {
	Name string
	Does string
	make func() placer
}

// placer gives each request of a trace a session.
type placer func(*Line, *sent) string

// Ways are the simple ways, small readings of the ideas and of nobody's code.
func Ways() []Way {
	return []Way{
		{"a", "system prompt and first user message", func() placer { return byOpener }},
		{"b", "first user message and key; the nearest count of messages", byCount},
		{"c", "model and first 512 bytes of the messages", func() placer { return byFirstBytes }},
		{"d", "all messages but the last two are an earlier request", byParentList},
		{"e", "known id names, else a", func() placer { return byNames }},
	}
}

// Predict places the requests of a trace.
func (w Way) Predict(t *Trace) []Prediction {
	place := w.make()
	var out []Prediction
	for _, l := range t.Requests() {
		out = append(out, Prediction{Line: l.N, Session: place(l, readSent(l.Body))})
	}
	return out
}

// sent is what the simple ways read of a body.
type sent struct {
	fields   map[string]any
	messages []map[string]any
	raw      []byte // the list of messages as it was sent
	system   string
	opener   string // the first user message
}

func readSent(body []byte) *sent {
	s := &sent{}
	_ = json.Unmarshal(body, &s.fields) // the trace has checked it
	var lists struct {
		Messages json.RawMessage `json:"messages"`
		Input    json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(body, &lists)
	if s.raw = lists.Messages; s.raw == nil {
		s.raw = lists.Input
	}
	var alone string
	if json.Unmarshal(s.raw, &alone) == nil && s.raw != nil {
		s.messages = []map[string]any{{"role": "user", "content": alone}}
	} else {
		_ = json.Unmarshal(s.raw, &s.messages)
	}
	s.system = textIn(s.fields["system"])
	if s.system == "" {
		s.system, _ = s.fields["instructions"].(string)
	}
	found := false
	for _, m := range s.messages {
		switch m["role"] {
		case "system", "developer":
			s.system += textIn(m["content"])
		case "user":
			if !found {
				s.opener, found = textIn(m["content"]), true
			}
		}
	}
	return s
}

func textIn(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var out strings.Builder
		for _, part := range c {
			if p, ok := part.(map[string]any); ok {
				text, _ := p["text"].(string)
				out.WriteString(text)
			}
		}
		return out.String()
	}
	return ""
}

func digest(parts ...any) string {
	sum := sha256.Sum256(encode(parts))
	return hex.EncodeToString(sum[:8])
}

func byOpener(_ *Line, s *sent) string { return "a-" + digest(s.system, s.opener) }

// farBelow is how many messages fewer a request may have than the last one of a session for byCount.
const farBelow = 20

func byCount() placer {
	type session struct {
		name  string
		count int
	}
	known := map[string][]*session{}
	return func(l *Line, s *sent) string {
		key, n := digest(l.Tenant, s.opener), len(s.messages)
		var best *session
		for _, k := range known[key] {
			if n-k.count >= -farBelow && (best == nil || distance(n, k.count) < distance(n, best.count)) {
				best = k
			}
		}
		if best == nil {
			best = &session{name: fmt.Sprintf("b-%d", l.N)}
			known[key] = append(known[key], best)
		}
		best.count = n
		return best.name
	}
}

func distance(a, b int) int { return max(a-b, b-a) }

// firstBytes is how much byFirstBytes reads.
const firstBytes = 512

func byFirstBytes(l *Line, s *sent) string {
	return "c-" + digest(l.model(), string(s.raw[:min(firstBytes, len(s.raw))]))
}

func byParentList() placer {
	lists := map[string]string{}
	return func(l *Line, s *sent) string {
		var talk []any
		for _, m := range s.messages {
			if m["role"] == "system" || m["role"] == "developer" {
				continue
			}
			m = maps.Clone(m)
			delete(m, "cache_control")
			talk = append(talk, m)
		}
		found := ""
		if len(talk) > 2 {
			found = lists[digest(l.Tenant, talk[:len(talk)-2])]
		}
		if found == "" {
			found = fmt.Sprintf("d-%d", l.N)
		}
		lists[digest(l.Tenant, talk)] = found
		return found
	}
}

var claudeTail = regexp.MustCompile(`_session_([0-9a-f-]{36})$`)

// byNames takes the first id that is there, headers before body.
func byNames(l *Line, s *sent) string {
	field := func(in map[string]any, name string) string {
		text, _ := in[name].(string)
		return text
	}
	metadata, _ := s.fields["metadata"].(map[string]any)
	user := field(metadata, "user_id")
	var inUser struct {
		Session string `json:"session_id"`
	}
	if strings.HasPrefix(user, "{") {
		_ = json.Unmarshal([]byte(user), &inUser)
	} else if tail := claudeTail.FindStringSubmatch(user); tail != nil {
		inUser.Session = tail[1]
	}
	conversation := field(s.fields, "conversation")
	if c, ok := s.fields["conversation"].(map[string]any); ok {
		conversation = field(c, "id")
	}
	ids := []string{l.Headers.Get("x-claude-code-session-id"), inUser.Session}
	for _, name := range []string{"session-id", "session_id", "x-session-id", "x-session-affinity", "x-client-request-id"} {
		ids = append(ids, l.Headers.Get(name))
	}
	ids = append(ids, field(s.fields, "session_id"), field(s.fields, "sessionId"), conversation, field(s.fields, "prompt_cache_key"), user,
		field(s.fields, "conversation_id"))
	const longest = 256
	if i := slices.IndexFunc(ids, func(id string) bool { return id != "" && len(id) <= longest }); i >= 0 {
		return "e-" + ids[i]
	}
	return byOpener(l, s)
}
