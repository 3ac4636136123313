package wire

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	titleRunes    = 200 // how much of a message UserText gives: enough for a title
	billingPrefix = "x-anthropic-billing-header:"
	reminderOpen  = "<system-reminder>"
	reminderClose = "</system-reminder>"
	thinkOpen     = "<think>"
	thinkClose    = "</think>"
)

// clean takes out of a text what carries no meaning in it: outer white space, billing lines, Unicode form.
func clean(text []byte) []byte {
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte(billingPrefix)) {
		_, text, _ = bytes.Cut(text, []byte{'\n'})
		text = bytes.TrimSpace(text)
	}
	if norm.NFC.IsNormal(text) {
		return text
	}
	return bytes.TrimSpace(norm.NFC.Bytes(text))
}

// cutReminders takes injected blocks out; what stood around one is joined by a line break.
func cutReminders(text []byte) []byte {
	if !bytes.Contains(text, []byte(reminderOpen)) {
		return text
	}
	var out []byte
	for {
		before, after, ok := bytes.Cut(text, []byte(reminderOpen))
		_, rest, closed := bytes.Cut(after, []byte(reminderClose))
		if !ok || !closed {
			return joinLine(out, text)
		}
		out = joinLine(out, before)
		text = rest
	}
}

// joinLine appends text, less its outer white space, as a line of its own; nothing where there is none.
func joinLine(dst, text []byte) []byte {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, '\n')
	}
	return append(dst, text...)
}

// UserText gives the beginning of the final user message's text, less injected blocks, for a title.
func UserText(messages []Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == "user" {
			return firstRunes(spoken(m.Raw), titleRunes)
		}
	}
	return ""
}

// spoken gives the cleaned text parts of a message, a line or more each.
func spoken(message []byte) []byte {
	content := message
	if kindOf(message) == '{' {
		content = member(message, "content")
	}
	if kindOf(content) == '"' {
		return clean(cutReminders(unquote(nil, content)))
	}
	var out []byte
	for part := range elements(content) {
		if text, ok := partText(part); ok {
			out = joinLine(out, clean(cutReminders(unquote(nil, text))))
		}
	}
	return out
}

// partText gives the raw text of a part, false where the part is of another kind.
func partText(part []byte) ([]byte, bool) {
	_, text, ok := readPart(part)
	return text, ok
}

// readPart gives the kind of a part, and its raw text where it is one.
func readPart(part []byte) (kind, text []byte, isText bool) {
	if kindOf(part) == '"' {
		return nil, part, true
	}
	for name, v := range members(part) {
		switch string(name) {
		case "type":
			kind = inner(v)
		case "text":
			text = v
		}
	}
	switch string(kind) {
	case "text", "input_text", "output_text":
		return kind, text, true
	case "":
		return kind, text, text != nil
	}
	return kind, nil, false
}

// empty says that a message holds neither text nor another part.
func empty(message []byte) bool {
	content := member(message, "content")
	if kindOf(content) == '"' {
		return blank(content)
	}
	for part := range elements(content) {
		if text, ok := partText(part); !ok || !blank(text) {
			return false
		}
	}
	return true
}

func blank(raw []byte) bool { return len(bytes.TrimSpace(plain(raw))) == 0 }

// readable makes a string that every store takes: NUL becomes U+2400, the sign for it.
func readable(text []byte) string {
	if bytes.IndexByte(text, 0) < 0 {
		return string(text)
	}
	return string(bytes.ReplaceAll(text, []byte{0}, []byte("\u2400")))
}

func firstRunes(text []byte, n int) string {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return readable(text[:at])
}
