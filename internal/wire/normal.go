package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"
)

var errNotMessage = errors.New("not a message object")

// canonicalDepth is how deep a value may nest to be put into canonical order: jsontext recurses there.
const canonicalDepth = 128

// normal is the normalised form of a message: role, then its parts, each a letter, a length and bytes. Two forms are equal
// where the messages mean the same.
type normal struct {
	form      []byte
	words     []byte // of text parts that stand beside each other: they are one text
	scratch   []byte
	results   []byte // forms of the tool results so far, one behind the other
	ends      []int  // where each of them ends
	assistant bool
}

// checked makes the form of one message, which is JSON and has no outer white space.
func (n *normal) checked(d dialect, raw []byte) error {
	n.form, n.words, n.results, n.ends = n.form[:0], n.words[:0], n.results[:0], n.ends[:0]
	if err := d.form(n, d, raw); err != nil {
		return err
	}
	n.spoken(0)
	n.ordered()
	return nil
}

// held is what a message object holds that means something in one protocol or another; raw values.
type held struct {
	role, content, calls, function, refusal, result []byte
}

// object appends the form of a message object. Members are taken in a fixed order, whatever order they were written in.
func (n *normal) object(d dialect, raw []byte) error {
	if kindOf(raw) != '{' {
		return errNotMessage
	}
	var h held
	for name, v := range members(raw) {
		switch string(name) {
		case "role":
			h.role = v
		case "content":
			h.content = v
		case "tool_calls":
			h.calls = v
		case "function_call":
			h.function = v
		case "refusal":
			h.refusal = v
		case "tool_call_id":
			h.result = v
		}
	}
	n.role(roleOf(plain(h.role)))
	n.content(h.content, d.part)
	if d.extras != nil {
		n.spoken(0)
		d.extras(n, &h)
	}
	return nil
}

// role begins a message. Both names for instructions are one.
func (n *normal) role(role string) {
	if role == "developer" {
		role = "system"
	}
	n.assistant = role == roleAssistant
	n.put('m', []byte(role))
}

// partForm appends the form of a part that is neither text nor thinking.
type partForm func(n *normal, kind, part []byte)

// content appends the parts of a message's or tool result's content. The texts among them are left in words until another part
// or the end comes.
func (n *normal) content(content []byte, other partForm) {
	if kindOf(content) == '"' {
		n.text(content)
		return
	}
	before := len(n.words)
	for part := range elements(content) {
		kind, text, isText := readPart(part)
		if isText {
			n.text(text)
			continue
		}
		if n.silent(kind) {
			continue
		}
		n.spoken(before)
		other(n, kind, part)
	}
}

// silent says that a part is no part of what is said: clients drop it, or another model cannot read it. Of an answer that is also
// what the server did on its own.
func (n *normal) silent(kind []byte) bool {
	switch string(kind) {
	case "thinking", "redacted_thinking", "reasoning", "reasoning_text", "summary_text":
		return true
	case "server_tool_use", "mcp_tool_use":
		return n.assistant
	}
	return n.assistant && bytes.HasSuffix(kind, []byte("_tool_result"))
}

// text adds a text part to the words. One that is blank, or nothing but something injected, is none.
func (n *normal) text(raw []byte) {
	at := len(n.words)
	n.words = unquote(n.words, raw)
	text := withoutBilling(n.words[at:])
	if blankText(text) || !n.assistant && n.injected(text) {
		text = nil
	}
	n.words = append(n.words[:at], text...)
}

// injected says that a part is injected blocks and nothing else.
func (n *normal) injected(text []byte) bool {
	if !bytes.Contains(text, []byte(reminderClose)) {
		return false
	}
	n.scratch = append(n.scratch[:0], text...)
	return blankText(withoutReminders(n.scratch))
}

// spoken appends the words from a place on as one text: clients join parts, and split them.
func (n *normal) spoken(from int) {
	if len(n.words) > from {
		n.say('t', n.words[from:])
		n.words = n.words[:from]
	}
}

// say appends a text that is no JSON any more, and may change it; nothing where it means nothing.
func (n *normal) say(letter byte, text []byte) {
	if text = n.meaning(text); len(text) > 0 {
		n.put(letter, text)
	}
}

// id appends a string as it is.
func (n *normal) id(letter byte, raw []byte) { n.put(letter, plain(raw)) }

// refusal appends the words of a refusal; null is none.
func (n *normal) refusal(raw []byte) {
	n.scratch = unquote(n.scratch[:0], raw)
	n.say('f', n.scratch)
}

// call appends a tool call. Arguments are a JSON value, or a string that holds one; none, null and an empty text are no arguments.
func (n *normal) call(id, name, arguments []byte) {
	n.id('c', id)
	n.id('n', name)
	if kindOf(arguments) == '"' {
		arguments = unquote(nil, arguments)
	}
	arguments = bytes.TrimSpace(arguments)
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = []byte("{}")
	}
	n.canonical('a', arguments)
}

// custom appends a call whose input is a text and no JSON.
func (n *normal) custom(id, name, input []byte) {
	n.id('c', id)
	n.id('n', name)
	n.put('y', plain(input))
}

// result appends what a tool gave, and whether that is an error, less its place among the others: parallel results come in any order.
func (n *normal) result(id, content, failed []byte, other partForm) {
	form, words := len(n.form), len(n.words)
	n.id('r', id)
	n.content(content, other)
	n.spoken(words)
	if string(failed) == "true" {
		n.put('e')
	}
	n.results = append(n.results, n.form[form:]...)
	n.ends = append(n.ends, len(n.results))
	n.form = n.form[:form]
}

// ordered appends the results in the order of their ids.
func (n *normal) ordered() {
	if len(n.ends) < 2 {
		n.form = append(n.form, n.results...)
		return
	}
	list := make([][]byte, 0, len(n.ends))
	start := 0
	for _, end := range n.ends {
		list = append(list, n.results[start:end])
		start = end
	}
	slices.SortStableFunc(list, bytes.Compare)
	for _, r := range list {
		n.form = append(n.form, r...)
	}
}

// opaque appends a part that nothing is known of, less cache marks and members that are null.
func (n *normal) opaque(part []byte) {
	n.without(part, func(_, value []byte) bool { return !present(value) })
}

// without appends a part that nothing is known of, less its cache marks and the members that say nothing.
func (n *normal) without(part []byte, silent func(name, value []byte) bool) {
	part = unmarked(part)
	if kindOf(part) != '{' {
		n.canonical('x', part)
		return
	}
	object := []byte{'{'}
	for name, v := range members(part) {
		if silent(name, v) {
			continue
		}
		if len(object) > 1 {
			object = append(object, ',')
		}
		object = appendText(object, name)
		object = append(object, ':')
		object = append(object, v...)
	}
	n.canonical('x', append(object, '}'))
}

const cacheMark = "cache_control"

// unmarked gives a value without the cache marks in it, however deep they are.
func unmarked(value []byte) []byte {
	if !bytes.Contains(value, []byte(cacheMark)) {
		return value
	}
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	var out bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(value), lenient...), jsontext.NewEncoder(&out, lenient...)
	for {
		token, err := dec.ReadToken()
		if err != nil {
			break // at the end; what is no JSON does not come here
		}
		kind, members := dec.StackIndex(dec.StackDepth())
		if isName := kind == '{' && members%2 == 1 && token.Kind() == '"'; isName && token.String() == cacheMark {
			if err = dec.SkipValue(); err != nil {
				break
			}
			continue
		}
		if err := enc.WriteToken(token); err != nil {
			return value
		}
	}
	return out.Bytes()
}

// canonical appends a JSON text whose spacing, escapes and order of members do not matter. Another text stays as it is.
func (n *normal) canonical(letter byte, text []byte) {
	if deeper(text, canonicalDepth) {
		n.put(letter, text)
		return
	}
	out, err := appendCanonical(n.scratch[:0], text)
	n.scratch = out
	if err == nil && !composed(out) {
		// Names sort by their composed form.
		if again, err := appendCanonical(nil, norm.NFC.Bytes(out)); err == nil {
			out = again
		}
	}
	n.put(letter, out)
}

// appendCanonical appends a JSON text in canonical form. An error leaves the text as it was, which is what shall be digested then.
// Integers stay as written: as floats two long ids could become equal.
func appendCanonical(dst, text []byte) ([]byte, error) {
	return jsontext.AppendFormat(dst, text, jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawFloats(true),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// put appends an item made of pieces.
func (n *normal) put(letter byte, pieces ...[]byte) {
	size := 0
	for _, p := range pieces {
		size += len(p)
	}
	n.form = append(n.form, letter)
	n.form = binary.AppendUvarint(n.form, uint64(size))
	for _, p := range pieces {
		n.form = append(n.form, p...)
	}
}
