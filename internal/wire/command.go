package wire

import "bytes"

// commandNew is the word that begins a chat anew.
const commandNew = "/new"

// NewCommand reads the command /new from a chat message of a user: its text, trimmed, is the word, or begins with the word and
// one space. What remains is the message without the command; nil where nothing remains. Parts that are no text stand behind
// the command, wherever they are in the list.
func NewCommand(message []byte) (remains []byte, ok bool) {
	if !bytes.Contains(message, []byte("new")) { // as nearly every message; escapes of letters are nobody's
		return nil, false
	}
	start, end := memberSpan(message, "content")
	content := message[start:end]
	if kindOf(content) == '"' {
		text, is := cutCommand(unquote(nil, content))
		if !is || len(text) == 0 {
			return nil, is
		}
		return replaced(message, start, end, appendText(nil, text)), true
	}
	parts, is := commandParts(content)
	if !is || parts == nil {
		return nil, is
	}
	return replaced(message, start, end, parts), true
}

// cutCommand takes the command off a text; false where the text gives none.
func cutCommand(text []byte) (rest []byte, ok bool) {
	text = bytes.TrimSpace(text)
	rest, ok = bytes.CutPrefix(text, []byte(commandNew))
	if !ok || len(rest) > 0 && rest[0] != ' ' {
		return nil, false
	}
	return bytes.TrimSpace(rest), true
}

// commandParts takes the command off a list of parts. Its texts count as lines of one text.
func commandParts(list []byte) (rest []byte, ok bool) {
	var whole []byte
	for part := range elements(list) {
		if text, isText := partText(part); isText {
			whole = append(append(whole, unquote(nil, text)...), '\n')
		}
	}
	if _, is := cutCommand(whole); !is {
		return nil, false
	}
	out := []byte{'['}
	cut := false
	for part := range elements(list) {
		if text, isText := partText(part); isText && !cut {
			line := unquote(nil, text)
			if blankText(line) {
				continue
			}
			cut = true
			line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte(commandNew)))
			if part = partWith(part, line); part == nil {
				continue
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, part...)
	}
	if len(out) == 1 {
		return nil, true
	}
	return append(out, ']'), true
}

// partWith gives a text part with another text; nil where that is empty.
func partWith(part, text []byte) []byte {
	if len(text) == 0 {
		return nil
	}
	if kindOf(part) == '"' {
		return appendText(nil, text)
	}
	start, end := memberSpan(part, "text")
	return replaced(part, start, end, appendText(nil, text))
}

func blankText(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// memberSpan says where the value of a member stands in an object; nowhere, at its start, where there is none.
func memberSpan(object []byte, name string) (start, end int) {
	c := cursor{b: object}
	if !c.open('{') {
		return 0, 0
	}
	for c.more() {
		found := string(plain(c.value())) == name
		c.space()
		at := c.i
		if c.value(); found {
			return at, c.i
		}
	}
	return 0, 0
}

func replaced(whole []byte, start, end int, with []byte) []byte {
	out := make([]byte, 0, len(whole)-(end-start)+len(with))
	out = append(append(out, whole[:start]...), with...)
	return append(out, whole[end:]...)
}
