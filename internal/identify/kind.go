package identify

import (
	"bytes"
	"regexp"
	"strings"

	"mooring"
	"mooring/internal/wire"
)

// hear takes what a value says the request is for. The first that says something decides, but that a session is a sub-agent's holds
// whatever its request is for.
func (r *reading) hear(s *sighting, v string) {
	kind, ok := s.kinds[v]
	shown := v
	if !ok {
		kind = s.kinds[anyValue]
		shown = clipped(v)
	}
	if s.name == "x-claude-1p-request-class" && v == "background-task" && r.agent != "" {
		kind = mooring.KindSubagent // an agent that its session does not wait for
	}
	r.rule(mooring.Evidence{Signal: s.label, Says: string(saysKind), Value: shown}, kind)
}

// rule adds evidence of a kind; an empty one says nothing. A sub-agent's request may be one beside its conversation, or one to sum it up.
func (r *reading) rule(ev mooring.Evidence, kind mooring.Kind) {
	ev.Use, ev.Why = "ignored", "this value says nothing about the kind"
	apart := kind == mooring.KindSide || kind == mooring.KindCompaction
	switch {
	case kind == "":
	case r.kind == "" || r.kind == mooring.KindSubagent && apart:
		ev.Use, ev.Why = "decided", "it marks "+kindWords(kind)
		for i := range r.ignored {
			if old := &r.ignored[i]; old.Says == string(saysKind) && old.Use == "decided" {
				old.Use = "agreed"
			}
		}
		r.kind = kind
	case r.kind == kind:
		ev.Use, ev.Why = "agreed", "it marks "+kindWords(kind)
	case kind == mooring.KindSubagent && r.kind != mooring.KindMain:
		ev.Use, ev.Why = "agreed", "it marks the session as a sub-agent's"
	default:
		ev.Why, kind = "a stronger signal marks "+kindWords(r.kind), ""
	}
	r.sub = r.sub || kind == mooring.KindSubagent
	r.ignored = append(r.ignored, ev)
}

func kindWords(kind mooring.Kind) string {
	switch kind {
	case mooring.KindSide:
		return "a request beside the conversation"
	case mooring.KindCompaction:
		return "a request to sum the conversation up"
	case mooring.KindSubagent:
		return "a sub-agent's request"
	case mooring.KindMain:
	}
	return "a turn of the conversation"
}

// phrase is what one program writes into requests of one kind.
type phrase struct {
	where  textPlace
	starts string // the text begins so, in any case
	only   bool   // the text is nothing else, and is the whole request, for one token of answer
	beside string // it counts only where the request's client is this one, or carries a header whose name begins so; empty for any
	holds  string // the text has to hold this as well where the header is missing
	kind   mooring.Kind
	source string
	seen   string
}

type textPlace int

const (
	inQuestion textPlace = iota // the only user message
	inSystem                    // the system prompt
)

// phrases are the words by which a program's own requests are known, as far as its source shows them.
func phrases() []phrase {
	return []phrase{
		{where: inQuestion, starts: "quota", only: true, kind: mooring.KindSide, source: "Claude Code: asks what is left of a quota", seen: "1.0.128 to 2.1.332, V"},
		{where: inQuestion, starts: "test", only: true, kind: mooring.KindSide, source: "Claude Code: tries a key", seen: "older releases, V"},
		{where: inQuestion, starts: "### Task:", beside: "x-openwebui-", holds: "### Chat History:", kind: mooring.KindSide, source: "Open WebUI: titles, tags, follow-ups, queries", seen: "routers/tasks.py, V"},
		{where: inSystem, starts: "You are a title generator", beside: "opencode", kind: mooring.KindSide, source: "OpenCode: titles", seen: "1.18.34, V"},
		{where: inQuestion, starts: "Generate a title for this conversation", beside: "opencode", kind: mooring.KindSide, source: "OpenCode: titles", seen: "1.18.34, V"},
		{where: inSystem, starts: "You are a name generator", beside: "opencode", kind: mooring.KindSide, source: "OpenCode: names of work spaces", seen: "1.18.34, I"},
		{where: inSystem, starts: "You are a title generator", beside: "kilo-code", kind: mooring.KindSide, source: "Kilo Code: titles", seen: "7.7.9, I"},
		{where: inQuestion, starts: "Generate a concise title for the following content", beside: "crush", kind: mooring.KindSide, source: "Crush: titles", seen: "internal/agent/agent.go, V"},
	}
}

// program is what is known of one client program beyond its signals.
type program struct {
	tools  bool // each turn of its conversations offers tools, so that a request without any is none of them
	source string
}

func programs() map[string]program {
	return map[string]program{
		"claude-code": {tools: true, source: "2.1.332, V"},
		"codex":       {tools: true, source: "0.171.0, V"},
		"opencode":    {tools: true, source: "1.18.34, V"},
		"kilo-code":   {tools: true, source: "7.7.9, V"},
		"crush":       {tools: true, source: "@37f36e938, V"},
	}
}

// judge hears what the request itself says about its kind: what else than headers and fields shows which of a program's requests it is.
func (e *Engine) judge(q Request, r *reading) {
	r.client = clientOf(q.Header, r)
	r.lean = q.Wire.Tools == 0 && e.programs[r.client].tools
	system := systemOf(q)
	if r.agent != "" {
		r.sub = true
	}
	if line := billing(system); strings.Contains(line, "cc_is_subagent=true") {
		r.unplaced = r.agent == "" && r.kind == "" && len(r.ids) > 0
		r.rule(mooring.Evidence{Signal: "body:system.cc_is_subagent", Says: string(saysKind), Value: "true"}, mooring.KindSubagent)
		r.unplaced = r.unplaced && r.kind == mooring.KindSubagent
	}
	if len(r.ids) > 0 && r.ids[0].name == "x-openclaw-session-key" && strings.Contains(r.ids[0].value, ":subagent:") {
		r.rule(mooring.Evidence{Signal: r.ids[0].String(), Says: string(saysKind), Value: r.ids[0].value}, mooring.KindSubagent)
	}
	if q.Wire.Protocol == mooring.Responses && len(q.Wire.Messages) == 0 && len(r.ids) > 0 && (r.ids[0].client == "codex" || r.ids[0].name == "session-id") {
		r.rule(mooring.Evidence{Signal: "body:input", Says: string(saysKind)}, mooring.KindSide)
	}
	e.recall(q, r, system)
}

// recall compares the request with the phrases of the programs, and a lean one with what asks for a title.
func (e *Engine) recall(q Request, r *reading, system []byte) {
	if q.Wire.Tools > 0 { // whoever asks beside a conversation offers none
		return
	}
	ask := question(q)
	prompt := opening(system)
	for i := range e.phrases {
		p := &e.phrases[i]
		text := prompt
		if p.where == inQuestion {
			text = ask
		}
		if p.fits(q, r, text) {
			r.rule(mooring.Evidence{Signal: "content:phrase", Says: string(saysKind), Value: p.starts}, p.kind)
			return
		}
	}
	if r.lean && (e.words.titling(prompt) || prompt == "" && e.words.titling(ask)) {
		r.rule(mooring.Evidence{Signal: "content:title", Says: string(saysKind)}, mooring.KindSide)
	}
}

func (p *phrase) fits(q Request, r *reading, text string) bool {
	switch {
	case len(text) < len(p.starts) || !strings.EqualFold(text[:len(p.starts)], p.starts):
		return false
	case p.only:
		return len(text) == len(p.starts) && q.Wire.MaxTokens == 1 && len(q.Wire.Messages) == 1
	case p.beside == "" || p.beside == r.client || p.holds != "" && strings.Contains(text, p.holds):
		return true
	}
	return strings.HasSuffix(p.beside, "-") && sends(q, p.beside)
}

// sends says whether a header is there whose name begins so.
func sends(q Request, prefix string) bool {
	for name := range q.Header {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}

// titleShape is an order for a title or a name near its verb.
var titleShape = regexp.MustCompile(`(?im)\b(?:generat\w*|write|create|give|provide|suggest|make|choose|produce)\b[^.\n]{0,40}\b(?:titles?|name)\b|\b(?:title|name) generator\b|^name th(?:is|e)\b`)

// titling says whether an instruction asks for a title or a name and nothing else.
func (l *language) titling(text string) bool {
	if len(text) > longestTitling {
		return false
	}
	return l.naming.in([]byte(text)) && titleShape.MatchString(text) || len(text) <= shortTitling && l.title.in([]byte(text))
}

// longestTitling is how long an instruction may be: one for a whole conversation is longer than one for its title.
const longestTitling = 2000

// shortTitling is how long one may be that is only known to speak of a title, in any language.
const shortTitling = 300

// question is the beginning of the text of the only message that is no instruction; empty where there are several.
func question(q Request) string {
	var only *wire.Message
	for i := range q.Wire.Messages {
		switch m := &q.Wire.Messages[i]; {
		case !m.Conversational():
		case only != nil || m.Role != "user" || len(m.Raw) > longestTask:
			return ""
		default:
			only = m
		}
	}
	if only == nil {
		return ""
	}
	return wire.TextOf(only.Raw)
}

// longestTask bounds what is read to recognise a phrase; a task prompt may hold a good part of a chat.
const longestTask = 64 << 10

// systemOf is the raw system prompt: the member beside the conversation, else the instructions that open it.
func systemOf(q Request) []byte {
	if len(q.Wire.System) > 0 {
		return q.Wire.System
	}
	if len(q.Wire.Messages) > 0 && !q.Wire.Messages[0].Conversational() {
		return q.Wire.Messages[0].Raw
	}
	return nil
}

const billingLine = `"x-anthropic-billing-header:`

// billing gives the line that Claude Code puts before its system prompt; empty where there is none.
func billing(system []byte) string {
	at := bytes.Index(system[:min(len(system), longestBilling)], []byte(billingLine))
	if at < 0 {
		return ""
	}
	line := system[at+1:]
	if end := bytes.IndexAny(line, `"\`); end >= 0 {
		line = line[:end]
	}
	return string(line[:min(len(line), longestBilling)])
}

// longestBilling bounds where the line may stand and how long it is.
const longestBilling = 1024

// opening gives a system prompt's text, without the billing line; empty where it is longer than one for a title.
func opening(system []byte) string {
	if len(system) > longestOpening {
		return ""
	}
	return wire.TextOf(system)
}

// longestOpening is how long a system prompt may be to be one for a title.
const longestOpening = 4 << 10

func clipped(v string) string {
	if len(v) > 64 || strings.ContainsFunc(v, isControl) {
		return ""
	}
	return v
}

// kindFor gives a finding the kind of its request: what the route says, else what the request says, else what its session is.
func kindFor(q Request, r *reading, session mooring.Session) mooring.Kind {
	switch {
	case q.Kind != "":
		return q.Kind
	case r.kind == mooring.KindSide || r.kind == mooring.KindCompaction:
		return r.kind
	case r.kind == mooring.KindSubagent || r.sub:
		return mooring.KindSubagent
	}
	return kindOfSession(session)
}
