package wire

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/text/unicode/norm"
)

// meaning takes out of a text what clients and servers change without meaning it, and may change the text:
//
//   - outer white space;
//   - line breaks, with the blanks before them: CRLF or LF, and what joins two parts, are a client's habit. Two texts that differ
//     only in where their lines end are one; blanks within and at the start of a line count, as they do in code;
//   - blocks injected into what a user or a tool says, and reasoning put before an answer;
//   - billing lines, and the Unicode form.
//
// What it gives is its own meaning.
func (n *normal) meaning(text []byte) []byte {
	for {
		before := len(text)
		text = unbroken(withoutBilling(text))
		same := composed(text)
		if !same {
			text = norm.NFC.Bytes(text)
		}
		if n.assistant {
			text = withoutThinking(text)
		} else {
			text = withoutReminders(text)
		}
		text = bytes.TrimSpace(text)
		// Taking out can put together: one more look where something was taken.
		if same && len(text) == before {
			return text
		}
	}
}

// composed says that a text is in the Unicode form that digests are made of.
func composed(text []byte) bool { return isASCII(text) || norm.NFC.IsNormal(text) }

func isASCII(b []byte) bool {
	const high = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&high != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// unbroken takes out line breaks and the blanks before each, in place.
func unbroken(text []byte) []byte {
	return withoutBreaks(withoutBreaks(text, '\n'), '\r')
}

func withoutBreaks(text []byte, sign byte) []byte {
	at := bytes.IndexByte(text, sign)
	if at < 0 {
		return text
	}
	out := text[:0]
	for ; at >= 0; at = bytes.IndexByte(text, sign) {
		out = append(out, text[:at]...)
		for n := len(out); n > 0 && (isBlank(out[n-1]) || out[n-1] == '\r'); n-- {
			out = out[:n-1]
		}
		text = text[at+1:]
	}
	return append(out, text...)
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// withoutBilling takes off lines that bill a request, where a text begins with them.
func withoutBilling(text []byte) []byte {
	for {
		trimmed := bytes.TrimSpace(text)
		if !bytes.HasPrefix(trimmed, []byte(billingPrefix)) {
			return text
		}
		_, text, _ = bytes.Cut(trimmed, []byte{'\n'})
	}
}

// withoutThinking takes off the reasoning that some servers put before the answer's text.
func withoutThinking(text []byte) []byte {
	for {
		trimmed := bytes.TrimSpace(text)
		if !bytes.HasPrefix(trimmed, []byte(thinkOpen)) {
			return text
		}
		_, rest, ok := bytes.Cut(trimmed, []byte(thinkClose))
		if !ok {
			return text
		}
		text = rest
	}
}

// withoutReminders takes injected blocks out, in place and in one pass: what stands around one can make up another. Of the
// blanks on both sides of a block those before it stay.
func withoutReminders(text []byte) []byte {
	if !bytes.Contains(text, []byte(reminderClose)) {
		return text
	}
	out := text[:0]
	open := -1 // where the first block that is open begins in out
	for {
		end := bytes.IndexByte(text, '>') + 1
		if end == 0 {
			return append(out, text...)
		}
		out = append(out, text[:end]...)
		text = text[end:]
		switch {
		case open < 0 && bytes.HasSuffix(out, []byte(reminderOpen)):
			open = len(out) - len(reminderOpen)
		case open >= 0 && bytes.HasSuffix(out[open:], []byte(reminderClose)):
			out, open = out[:open], -1
			if n := len(out); n == 0 || isBlank(out[n-1]) {
				text = bytes.TrimLeft(text, " \t")
			}
		}
	}
}
