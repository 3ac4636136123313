package console

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
)

// harmless gives a visible sign for a character that a terminal would obey: controls, among them the escape that begins a
// sequence and its forms of one character (C1), and the marks that turn the direction of what follows.
func harmless(r rune) rune {
	const pictures, pictureOfDelete = 0x2400, 0x2421
	switch {
	case r < ' ':
		return pictures + r
	case r == 0x7f:
		return pictureOfDelete
	case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0x2028, r == 0x2029:
		return unicode.ReplacementChar
	}
	return r
}

// Line makes an untrusted text one line that no terminal obeys.
func Line(text string) string { return plain(strings.Join(strings.Fields(text), " ")) }

// plain leaves nothing of an untrusted text that a terminal would obey, line breaks and tabs included.
func plain(text string) string {
	return strings.Map(harmless, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// short is Line, cut to so many characters.
func short(text string, most int) string {
	all := []rune(Line(text))
	if len(all) <= most {
		return string(all)
	}
	return strings.TrimSpace(string(all[:most-1])) + "…"
}

// harmlessText leaves the line breaks and tabs of a text of several lines.
func harmlessText(r rune) rune {
	if r == '\n' || r == '\t' {
		return r
	}
	return harmless(r)
}

// Text makes an untrusted text of several lines one that no terminal obeys.
func Text(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(harmlessText, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// Clean gives a writer that does the same with what comes in pieces. Its Close writes what is left, and leaves w open.
func Clean(w io.Writer) io.WriteCloser {
	return transform.NewWriter(w, runes.Map(harmlessText))
}
