package wiretest

import (
	"strings"
	"unicode/utf8"
)

// edge says whether the ends of a text are the ends of what is said.
type edge int

const (
	tight edge = iota // other texts may stand beside it
	loose
)

// text changes a text.
func (w writer) text(role, text string, where edge) string {
	switch w.IntN(6) {
	case 0:
		return w.form(text)
	case 1:
		return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", w.one("\n", "\r\n"))
	case 2:
		return strings.ReplaceAll(text, "\n", w.one(" ", "\t ", "")+"\n")
	case 3:
		if where == loose {
			return w.one("", " ", "\n", "\r\n", "\t\n ") + text + w.one("", " ", "\n", "\n\n \t")
		}
	case 4:
		if where == loose {
			return strings.TrimSpace(text)
		}
	default:
		if role != "assistant" {
			return w.injected(text, where)
		}
	}
	return text
}

// injected puts a reminder into a text.
func (w writer) injected(text string, where edge) string {
	if strings.TrimSpace(text) == "" {
		return text // a blank part is left out whole
	}
	if where == loose && w.coin() {
		if w.coin() {
			return w.reminder() + w.one("", "\n", " ") + text
		}
		return text + w.one("", "\n", "\n\n") + w.reminder()
	}
	if strings.Contains(text, "system-reminder") || len(text) < 2 {
		return text
	}
	at := 1 + w.IntN(len(text)-1)
	for !utf8.RuneStart(text[at]) {
		at--
	}
	if at == 0 || strings.ContainsRune(" \t", rune(text[at-1])) {
		return text
	}
	return text[:at] + w.one("", "\n") + w.reminder() + w.one("", "\n") + text[at:]
}
