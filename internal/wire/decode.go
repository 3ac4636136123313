package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// Limits bound what Decode takes.
type Limits struct {
	JSONDepth int // nesting, the outermost object being 1; 0 for no bound but jsontext's own
}

// Request holds the facts of a request body. Its spans lie in the body, which stays as it came.
type Request struct {
	Protocol  mooring.Protocol
	Model     string // empty where it is missing or no text
	Stream    bool   // a stream is asked for
	OddModel  bool   // a member is called model in other letters: some servers do not tell case apart
	OddStream bool   // the member that asks for one is neither a boolean nor null: only the upstream knows what it makes of that
	Messages  []Message
	// TalkAt is where the list of messages or items begins in the body and where it ends, brackets included; zeros where there is none.
	TalkAt    [2]int
	ModelAt   [2]int  // where the value of model does, quotes included
	System    []byte  // raw value of a system prompt that stands beside the messages; nil where there is none
	Fields    []Field // members that may name a session, in document order
	MaxTokens int64   // 0 where unknown
	Tools     int     // how many tools are offered
}

// MayStream says whether the client has to be given a stream where the upstream answers with one.
func (r *Request) MayStream() bool { return r.Stream || r.OddStream }

// Message is an entry of a request's conversation.
type Message struct {
	Role   string
	Raw    []byte // the message as the request has it, mostly an object: a span of the body, or a copy
	At     int    // where that span begins in the body; -1 for a copy, which is what several items of one answer come as
	Result bool   // it is what a tool gave, or holds it

	seen *stretch // what a digester knows of it
}

// Conversational is false for instructions (system, developer), which are no part of the conversation's chain.
func (m Message) Conversational() bool { return m.Role != roleSystem && m.Role != roleDeveloper }

// Decode reads a request body in one validating pass. Its errors are *mooring.Error and hold nothing of the body.
func Decode(p mooring.Protocol, body []byte, lim Limits) (*Request, error) {
	d, ok := dialectOf(p)
	if !ok {
		return nil, unsupported(p)
	}
	if !utf8.Valid(body) {
		return nil, mooring.Errorf(mooring.CodeInvalidJSON, "The body is not UTF-8.")
	}
	r := newReader(body, lim)
	r.dialect, r.req = d, &Request{Protocol: p}
	return r.request()
}

// newReader reads bytes that are UTF-8.
func newReader(text []byte, lim Limits) *reader {
	// Half a surrogate pair, escaped, is JSON by its grammar: JavaScript writes one for half an emoji.
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	return &reader{dec: dec, read: text, body: text, limit: lim.JSONDepth, req: &Request{}}
}

// request reads and judges a request.
func (r *reader) request() (*Request, error) {
	if err := r.document(); err != nil {
		return nil, invalidJSON(err)
	}
	if r.fault != nil {
		return nil, r.fault
	}
	if r.dialect.judge != nil {
		if err := r.dialect.judge(r.req); err != nil {
			return nil, err
		}
	}
	return r.req, nil
}

// needsMessage refuses a request that says nothing.
func needsMessage(r *Request) error {
	if len(r.Messages) == 0 {
		return mooring.Errorf(mooring.CodeMessagesRequired, "The member messages must be a list with at least one message.")
	}
	if last := r.Messages[len(r.Messages)-1]; last.Role == "user" && empty(last.Raw) {
		return mooring.Errorf(mooring.CodeEmptyMessage, "The last message has neither text nor another part; send some text.")
	}
	return nil
}

// Glance reads what a request that makes no turn says of itself: the model and the ids, where it names any.
func Glance(body []byte, lim Limits) (*Request, error) {
	if !utf8.Valid(body) {
		return nil, mooring.Errorf(mooring.CodeInvalidJSON, "The body is not UTF-8.")
	}
	return newReader(body, lim).request()
}

// reader is one pass over a body. A fault is kept until the pass has shown that the body is JSON at all.
type reader struct {
	dec     *jsontext.Decoder
	read    []byte // what is read: the body, or the body with holes
	body    []byte
	limit   int
	dialect dialect
	req     *Request
	fault   *mooring.Error

	pieces []stretch // of the body, in its order; nil where nothing is to be known
	next   int       // the first of them whose hole may come
	found  int       // the first of them that may be what was read last
	ahead  int       // how many bytes the body is ahead of what is read
	took   *stretch  // the one that the last value was
}

var (
	errNotObject = errors.New("the body is no JSON object")
	errTooDeep   = errors.New("the JSON is nested deeper than limits.json_depth allows")
	errTrailing  = errors.New("there is something behind the JSON object")
)

func (r *reader) document() error {
	if kind := r.dec.PeekKind(); kind != '{' && kind != jsontext.KindInvalid {
		return errNotObject
	}
	if _, err := r.object(r.member); err != nil {
		return err
	}
	if _, err := r.dec.ReadToken(); err != io.EOF { //nolint:errorlint // jsontext gives io.EOF itself at a clean end
		return errTrailing
	}
	return nil
}

// object reads an object, hands each name to take, which reads the value, and gives the span of the whole.
func (r *reader) object(take func(name []byte) error) ([]byte, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	start := r.offset() - 1
	if r.limit > 0 && r.dec.StackDepth() > r.limit {
		return nil, errTooDeep
	}
	for r.dec.PeekKind() != '}' {
		name, err := r.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if err := take(plain(name)); err != nil {
			return nil, err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	return r.body[start:r.offset()], nil
}

// value reads a value whole and gives its span of the body.
func (r *reader) value() ([]byte, error) {
	if r.took = r.known(); r.took != nil && r.took.known.facts&factValue != 0 {
		return r.took.raw, r.take(r.took)
	}
	r.took = nil
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	if r.limit > 0 && deeper(v, r.limit-r.dec.StackDepth()) {
		return nil, errTooDeep
	}
	end := r.offset()
	return r.body[end-len(v) : end], nil
}

// elements counts those of the value that was read last, which may be known.
func (r *reader) elements(value []byte) int {
	if r.took != nil {
		return int(r.took.known.count)
	}
	n := 0
	for range elements(value) {
		n++
	}
	if p := r.fresh(r.offset()-len(value), value); p != nil {
		p.known.count = uint32(n)
	}
	return n
}

// learnValue notes that a member's value is JSON, where it is worth knowing.
func (r *reader) learnValue(value []byte) {
	if len(value) < pieceSize || r.took != nil {
		return
	}
	if p := r.fresh(r.offset()-len(value), value); p != nil {
		p.learn(factValue, "")
	}
}

func (r *reader) member(name []byte) error {
	if r.dialect.read != nil && string(name) == r.dialect.talk {
		return r.dialect.read(r)
	}
	key := string(name)
	v, err := r.value()
	if err != nil {
		return err
	}
	r.learnValue(v)
	switch key {
	case "model":
		r.req.Model, r.req.ModelAt = string(plain(v)), [2]int{r.offset() - len(v), r.offset()}
	case "stream":
		switch kindOf(v) {
		case 't':
			r.req.Stream = true
		case 'f', 'n':
		default:
			r.req.OddStream = true
		}
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && n > 0 {
			r.req.MaxTokens = n
		}
	case "tools":
		r.req.Tools = r.elements(v)
	default:
		if key != "" && key == r.dialect.system {
			r.req.System = v
		}
		r.req.OddModel = r.req.OddModel || len(key) == len("model") && strings.EqualFold(key, "model")
		r.req.Fields = appendFields(r.req.Fields, key, v)
	}
	return nil
}

// messages reads the list of chat and of messages; the judge refuses what is none.
func (r *reader) messages() error {
	if r.dec.PeekKind() != '[' {
		_, err := r.value()
		return err
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	start := r.offset() - 1
	for kind := r.dec.PeekKind(); kind != ']'; kind = r.dec.PeekKind() {
		if p := r.known(); p != nil && p.known.facts&factMessage != 0 {
			if err := r.take(p); err != nil {
				return err
			}
			r.req.Messages = append(r.req.Messages, Message{Role: p.known.role.name(), Raw: p.raw, At: p.at, Result: p.known.facts&factResult != 0, seen: p})
			continue
		}
		if kind == '{' {
			if err := r.message(); err != nil {
				return err
			}
			continue
		}
		if _, err := r.value(); err != nil {
			return err
		}
		r.invalidContent("Message %d must be an object.", len(r.req.Messages))
		r.req.Messages = append(r.req.Messages, Message{})
	}
	_, err := r.dec.ReadToken()
	r.req.TalkAt = [2]int{start, r.offset()}
	return err
}

// offset is how far the body has been read.
func (r *reader) offset() int { return int(r.dec.InputOffset()) + r.ahead }

func (r *reader) message() error {
	var role string
	result := false
	span, err := r.object(func(name []byte) error {
		isRole, isContent := string(name) == "role", string(name) == "content"
		v, err := r.value()
		if err != nil {
			return err
		}
		if isRole {
			role = roleOf(plain(v))
		}
		if kind := kindOf(v); isContent && kind != '"' && kind != '[' && kind != 'n' {
			r.invalidContent("The content of message %d must be text, a list of parts or null.", len(r.req.Messages))
		}
		result = result || isContent && r.dialect.holdsResult != nil && r.dialect.holdsResult(v)
		return nil
	})
	if err != nil {
		return err
	}
	m := Message{Role: role, Raw: span, At: r.offset() - len(span), Result: result || role == roleTool || role == "function"}
	if m.seen = r.fresh(m.At, span); m.seen != nil {
		facts := factMessage
		if m.Result {
			facts |= factResult
		}
		m.seen.learn(facts, role)
	}
	r.req.Messages = append(r.req.Messages, m)
	return nil
}

// roleOf gives the usual roles without an allocation for each message.
func roleOf(text []byte) string {
	switch string(text) {
	case roleUser:
		return roleUser
	case roleAssistant:
		return roleAssistant
	case roleTool:
		return roleTool
	case roleSystem:
		return roleSystem
	}
	return string(text)
}

func (r *reader) invalidContent(format string, index int) {
	if r.fault == nil {
		r.fault = mooring.Errorf(mooring.CodeInvalidContent, format, index)
	}
}

// invalidJSON words a syntax error for the client: where it is, never what stands there.
func invalidJSON(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF) && !errors.As(err, &syntactic):
		return mooring.Errorf(mooring.CodeInvalidJSON, "The body is empty; it must be a JSON object.")
	case errors.Is(err, jsontext.ErrDuplicateName):
		errors.As(err, &syntactic)
		return mooring.Errorf(mooring.CodeInvalidJSON, "A member name is given twice near byte %d; give each once.", syntactic.ByteOffset)
	case errors.As(err, &syntactic):
		return mooring.Errorf(mooring.CodeInvalidJSON, "The body is not valid JSON near byte %d.", syntactic.ByteOffset)
	}
	return mooring.Errorf(mooring.CodeInvalidJSON, "The request cannot be read: %s.", err)
}

// deeper says whether a value holds more than room levels of nesting.
func deeper(value []byte, room int) bool {
	if bytes.Count(value, []byte{'['})+bytes.Count(value, []byte{'{'}) <= room {
		return false // the cheap bound settles nearly every value
	}
	depth := 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i = stringEnd(value, i) - 1
		case '[', '{':
			if depth++; depth > room {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}
