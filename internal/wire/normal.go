package wire

import (
	"bytes"
	"encoding/binary"
	"errors"

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
	scratch   []byte
	words     []byte // text of several parts that is to be one
	assistant bool
}

// message appends the form of one message.
func (n *normal) message(d dialect, raw []byte) error {
	raw = bytes.TrimSpace(raw)
	if !wellFormed(raw) {
		return errNotMessage
	}
	return d.form(n, d, raw)
}

// object appends the form of a message object. Members are taken in a fixed order, whatever order they were written in.
func (n *normal) object(d dialect, raw []byte) error {
	if kindOf(raw) != '{' {
		return errNotMessage
	}
	var role, content []byte
	for name, v := range members(raw) {
		switch string(name) {
		case "role":
			role = plain(v)
		case "content":
			content = v
		}
	}
	n.assistant = string(role) == "assistant"
	n.put('m', role)
	n.content(d, content)
	d.extras(n, raw)
	return nil
}

// content appends the parts of a message's or tool result's content.
func (n *normal) content(d dialect, content []byte) {
	if kindOf(content) == '"' {
		n.text(content)
		return
	}
	for part := range elements(content) {
		if text, ok := partText(part); ok {
			n.text(text)
			continue
		}
		switch kind := inner(member(part, "type")); string(kind) {
		case "thinking", "redacted_thinking", "reasoning":
		default:
			d.part(n, kind, part)
		}
	}
}

// text appends a cleaned text part; nothing where nothing is left of it.
func (n *normal) text(raw []byte) {
	n.scratch = unquote(n.scratch[:0], raw)
	n.say(n.scratch)
}

// say is text for one that is no JSON any more.
func (n *normal) say(text []byte) {
	if n.assistant {
		text = cutThinking(text)
	} else {
		text = cutReminders(text)
	}
	if text = clean(text); len(text) > 0 {
		n.put('t', text)
	}
}

// id appends a string as it is.
func (n *normal) id(letter byte, raw []byte) { n.put(letter, plain(raw)) }

// call appends a tool call. Arguments are the JSON text of an object.
func (n *normal) call(id, name, arguments []byte) {
	n.id('c', id)
	n.id('n', name)
	if arguments = bytes.TrimSpace(arguments); len(arguments) == 0 {
		arguments = []byte("{}")
	}
	n.canonical('a', arguments)
}

// opaque appends a part that nothing is known of, less its cache mark.
func (n *normal) opaque(part []byte) {
	n.without(part, func(name, _ []byte) bool { return string(name) == "cache_control" })
}

// without appends a part that nothing is known of, less the members that say nothing.
func (n *normal) without(part []byte, silent func(name, value []byte) bool) {
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

// canonical appends a JSON text whose spacing, escapes and order of members do not matter. Another text stays as it is.
func (n *normal) canonical(letter byte, text []byte) {
	if deeper(text, canonicalDepth) {
		n.put(letter, text)
		return
	}
	// An error leaves the text as it was, which is what shall be digested then. Integers stay as written: as floats two long
	// ids could become equal.
	out, err := jsontext.AppendFormat(n.scratch[:0], text, jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawFloats(true),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	n.scratch = out
	if err == nil && !norm.NFC.IsNormal(out) {
		out = norm.NFC.Bytes(out)
	}
	n.put(letter, out)
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
