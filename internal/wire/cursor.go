package wire

import (
	"bytes"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// A cursor finds spans in bytes that are known to be JSON. On other bytes it stops early, it never fails.
type cursor struct {
	b []byte
	i int
}

// members gives the members of an object, names unescaped and values raw; none where it is not an object.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		c := cursor{b: object}
		if !c.open('{') {
			return
		}
		for c.more() {
			name := plain(c.value())
			if !yield(name, c.value()) {
				return
			}
		}
	}
}

// elements gives the raw elements of a list; none where it is not a list.
func elements(list []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) {
		c := cursor{b: list}
		if !c.open('[') {
			return
		}
		for c.more() {
			if !yield(c.value()) {
				return
			}
		}
	}
}

// member gives the raw value of one member, nil where there is none.
func member(object []byte, name string) []byte {
	for n, v := range members(object) {
		if string(n) == name {
			return v
		}
	}
	return nil
}

func (c *cursor) open(bracket byte) bool {
	c.space()
	if c.i >= len(c.b) || c.b[c.i] != bracket {
		return false
	}
	c.i++
	return true
}

// more steps to the next value of a list or object; false at its end.
func (c *cursor) more() bool {
	c.space()
	return c.i < len(c.b) && c.b[c.i] != ']' && c.b[c.i] != '}'
}

// space skips white space and delimiters: where they belong has been checked before.
func (c *cursor) space() {
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			c.i++
		default:
			return
		}
	}
}

// value gives the span of the next value and steps behind it.
func (c *cursor) value() []byte {
	c.space()
	start := c.i
	depth := 0
	for c.i < len(c.b) {
		switch c.b[c.i] {
		case '"':
			c.i = stringEnd(c.b, c.i)
		case '{', '[':
			depth++
			c.i++
		case '}', ']':
			depth--
			c.i++
		default:
			c.scalar(depth)
		}
		if depth <= 0 {
			break
		}
	}
	return c.b[start:c.i]
}

// scalar steps over a number or literal, or over what stands between the values inside a bracket.
func (c *cursor) scalar(depth int) {
	for c.i++; c.i < len(c.b); c.i++ {
		switch c.b[c.i] {
		case '"', '{', '[', '}', ']':
			return
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return
			}
		}
	}
}

// stringEnd gives the index behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	from := i + 1
	for {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return len(b)
		}
		quote := from + n
		slashes := 0
		for quote-1-slashes > i && b[quote-1-slashes] == '\\' {
			slashes++
		}
		from = quote + 1
		if slashes%2 == 0 {
			return from
		}
	}
}

// kindOf gives the first byte of a raw value; 0 where there is none.
func kindOf(raw []byte) byte {
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}

// present says that a member is there and not null.
func present(raw []byte) bool { return len(raw) > 0 && raw[0] != 'n' }

// inner gives what stands between the quotes of a raw string, still escaped; nil for any other value.
func inner(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// plain gives the text of a raw string; bytes of the input themselves where nothing is escaped.
func plain(raw []byte) []byte {
	in := inner(raw)
	if bytes.IndexByte(in, '\\') < 0 {
		return in
	}
	return unquote(nil, raw)
}

// unquote appends the text of a raw string. Half surrogates and bad UTF-8 become U+FFFD; another value adds nothing.
func unquote(dst, raw []byte) []byte {
	if kindOf(raw) != '"' {
		return dst
	}
	out, err := jsontext.AppendUnquote(dst, raw)
	_ = err // what could be read is in out
	return out
}

// wellFormed says whether b is one JSON value. It is lenient where that does no harm: upstreams write half surrogates.
func wellFormed(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// appendEscaped appends a string whose inside is escaped already, repaired where its escapes make no text.
func appendEscaped(dst, escaped []byte) []byte {
	at := len(dst)
	dst = append(dst, '"')
	dst = append(dst, escaped...)
	dst = append(dst, '"')
	if jsontext.Value(dst[at:]).IsValid() {
		return dst
	}
	return appendText(dst[:at], unquote(nil, dst[at:]))
}

// appendText appends text as a JSON string.
func appendText(dst, text []byte) []byte {
	out, err := jsontext.AppendQuote(dst, text)
	_ = err // bad UTF-8 is replaced, which is what a JSON text needs
	return out
}
