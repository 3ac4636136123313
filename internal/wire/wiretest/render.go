package wiretest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// render writes a value with spacing, escapes and an order of members of its own.
func (w writer) render(dst []byte, v any) []byte {
	space := func() { dst = append(dst, w.one("", "", "", " ", "\n\t")...) }
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sortThenShuffle(w.Rand, names)
		dst = append(dst, '{')
		for i, name := range names {
			if i > 0 {
				dst = append(dst, ',')
			}
			space()
			dst = append(w.quote(dst, name), ':')
			space()
			dst = w.render(dst, v[name])
			space()
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, each := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			space()
			dst = w.render(dst, each)
		}
		space()
		return append(dst, ']')
	case string:
		return w.quote(dst, v)
	case json.Number:
		return append(dst, v...)
	case bool:
		return fmt.Append(dst, v)
	}
	return append(dst, "null"...)
}

// quote writes a text with the escapes that one library or another uses though they are not needed: for what is not ASCII, for
// what means something to HTML, for a slash.
func (w writer) quote(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '\n' && w.coin():
			dst = append(dst, `\n`...)
		case c == '/' && w.coin():
			dst = append(dst, `\/`...)
		case c < 0x20 || (c >= 0x80 && c < 0x10000 || strings.ContainsRune("<>&'+`", c)) && w.coin():
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = utf8.AppendRune(dst, c)
		}
	}
	return append(dst, '"')
}
