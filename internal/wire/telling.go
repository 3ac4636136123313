package wire

import (
	"bytes"
	"strings"

	"mooring"
)

// ToldKind says what a piece of an answer is to its reader.
type ToldKind int

// The kinds.
const (
	ToldText ToldKind = iota
	ToldThinking
	ToldTool
)

// Phase is where a tool's call stands.
type Phase string

// The phases, in the words of the pages' events.
const (
	PhaseStart    Phase = "start"   // its name is known
	PhaseCalling  Phase = "calling" // so is what it is called with
	PhaseComplete Phase = "complete"
	PhaseError    Phase = "error"
)

// Told is one thing that an answer tells its reader, whatever protocol it came in.
type Told struct {
	Kind ToldKind
	Text string // of text and thinking: what is added
	Tool ToolTold
}

// ToolTold is what is told of a tool's call.
type ToolTold struct {
	Phase   Phase
	Name    string
	CallID  string
	Args    string // as the model wrote them; empty while they are not whole
	Preview string // what a server that runs the tool says of it
}

// Teller reads an answer as its client is sent it and gives what it tells. The same bytes tell the same, however they are cut: what
// is told can be counted from the start of the answer.
type Teller struct {
	protocol mooring.Protocol
	split    splitter
	buf      []byte // the event that is not whole yet
	joined   []byte
	out      []Told
	calls    []openCall
	half     [2][]byte // of text and thinking: the first half of a pair of escapes whose second is still to come
	failure  *AnswerError
}

// openCall is a tool's call whose arguments are still coming.
type openCall struct {
	index int
	name  string
	id    string
	args  []byte // escaped
	ended bool
}

// longestArgs is how much of a call's arguments is told: pages show them, nobody works with them.
const longestArgs = 64 << 10

// NewTeller makes the teller of one answer.
func NewTeller(p mooring.Protocol) *Teller { return &Teller{protocol: p} }

// Feed takes the next bytes of an event stream and gives what they tell. What it gives is valid until the next call.
func (t *Teller) Feed(chunk []byte) []Told {
	t.out = t.out[:0]
	t.buf = append(t.buf, chunk...)
	for {
		unit, ok := t.split.next(t.buf)
		if !ok {
			break
		}
		t.event(unit)
	}
	done := t.split.start
	t.split.shift(done)
	t.buf = append(t.buf[:0], t.buf[done:]...)
	return t.out
}

// Whole takes an answer that is one JSON body.
func (t *Teller) Whole(body []byte) []Told {
	t.out = t.out[:0]
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte(bom)))
	if !wellFormed(body) {
		return nil
	}
	if failure := member(body, "error"); present(failure) {
		t.failure = answerError(failure)
		return nil
	}
	a, err := DecodeAnswer(t.protocol, body)
	if err != nil {
		return nil
	}
	t.failure = a.Err
	t.message(a.Message)
	return t.out
}

// message tells an assistant message, as it is kept.
func (t *Teller) message(message []byte) {
	switch t.protocol {
	case mooring.Messages:
		t.messagesWhole(message)
	case mooring.Responses:
		t.responsesWhole(message)
	case mooring.Chat, mooring.Completions:
		t.chatWhole(message)
	case mooring.API:
	}
}

// Failure is the error that stood in the answer; nil where none did.
func (t *Teller) Failure() *AnswerError { return t.failure }

func (t *Teller) event(unit []byte) {
	var name, data []byte
	name, data, t.joined = fields(unit, t.joined)
	if kindOf(bytes.TrimSpace(data)) != '{' || !wellFormed(data) {
		return
	}
	switch string(name) {
	case "hermes.tool.progress", "claude.tool.progress":
		t.progress(data)
		return
	}
	switch t.protocol {
	case mooring.Messages:
		t.messagesEvent(name, data)
	case mooring.Responses:
		t.responsesEvent(name, data)
	case mooring.Chat, mooring.Completions:
		t.chatChunk(data)
	case mooring.API:
	}
}

// say tells a piece of text or thinking, a raw string. Where it ends in the first half of a pair of escapes that half waits.
func (t *Teller) say(kind ToldKind, raw []byte) {
	more := inner(raw)
	if len(more) == 0 {
		return
	}
	if half := t.half[kind]; half != nil {
		more = append(half, more...)
		t.half[kind] = nil
	}
	if cut := len(more) - escapeLength; cut >= 0 && highHalf(more, cut) {
		t.half[kind] = bytes.Clone(more[cut:])
		more = more[:cut]
	}
	if len(more) > 0 {
		t.out = append(t.out, Told{Kind: kind, Text: readable(unquote(nil, quoted(more)))})
	}
}

const escapeLength = len(`\ud83d`)

// highHalf says that a text ends in an escape that is the first half of a pair. Behind another backslash it is none, but text.
func highHalf(escaped []byte, at int) bool {
	e := escaped[at:]
	if e[0] != '\\' || e[1] != 'u' || e[2]|0x20 != 'd' || !strings.ContainsRune("89abAB", rune(e[3])) {
		return false
	}
	before := len(bytes.TrimRight(escaped[:at], `\`))
	return (at-before)%2 == 0
}

// saying tells a text that is whole already, raw: one string or a list of parts.
func (t *Teller) saying(kind ToldKind, content []byte) {
	if kindOf(content) == '"' {
		t.say(kind, content)
		return
	}
	for part := range elements(content) {
		if text, ok := partText(part); ok {
			t.say(kind, text)
		}
	}
}

// open begins a call.
func (t *Teller) open(index int, id, name []byte) *openCall {
	t.calls = append(t.calls, openCall{index: index, id: readable(plain(id)), name: readable(plain(name))})
	c := &t.calls[len(t.calls)-1]
	t.tool(c, PhaseStart)
	return c
}

// call gives the latest call of an index that is still open; nil for none.
func (t *Teller) call(index int) *openCall {
	for i := len(t.calls) - 1; i >= 0; i-- {
		if c := &t.calls[i]; c.index == index && !c.ended {
			return c
		}
	}
	return nil
}

func (c *openCall) more(escaped []byte) {
	if len(c.args)+len(escaped) <= longestArgs {
		c.args = append(c.args, escaped...)
	}
}

// close tells with what a call was made.
func (t *Teller) close(c *openCall) {
	if c != nil && !c.ended {
		c.ended = true
		t.tool(c, PhaseCalling)
	}
}

func (t *Teller) closeAll() {
	for i := range t.calls {
		t.close(&t.calls[i])
	}
	t.calls = t.calls[:0]
}

func (t *Teller) tool(c *openCall, p Phase) {
	told := ToolTold{Phase: p, Name: c.name, CallID: c.id}
	if p != PhaseStart {
		told.Args = readable(unquote(nil, quoted(c.args)))
	}
	t.out = append(t.out, Told{Kind: ToldTool, Tool: told})
}

// progress tells what a server says of the tools that it runs itself.
func (t *Teller) progress(data []byte) {
	told := ToolTold{Phase: PhaseCalling}
	var emoji, label string
	for name, v := range members(data) {
		text := readable(plain(v))
		switch string(name) {
		case "tool":
			told.Name = text
		case "name":
			if told.Name == "" {
				told.Name = text
			}
		case "toolCallId", "tool_call_id":
			told.CallID = text
		case "emoji":
			emoji = text
		case "label":
			label = text
		case "status":
			told.Phase = phaseOf(text)
		}
	}
	if told.Preview = label; emoji != "" && label != "" {
		told.Preview = emoji + " " + label
	}
	t.out = append(t.out, Told{Kind: ToldTool, Tool: told})
}

func phaseOf(status string) Phase {
	switch status {
	case "completed", "complete", "done", "success":
		return PhaseComplete
	case "failed", "error":
		return PhaseError
	case "started", "start":
		return PhaseStart
	}
	return PhaseCalling
}
