package wire

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/dchest/siphash"
)

// gramWords is how many words in a row one digest of a sketch stands for: few enough to be found in a part of a text, too many to be
// said twice by chance.
const gramWords = 6

// longestSketched bounds how much of a text is sketched, in bytes: what is longer is known by its beginning.
const longestSketched = 32 << 10

// Grams are keyed digests of each run of words of a text, in its order, by which a part of it is found again, whatever stands around
// it. A text of fewer words has none. Where a script does not part words each character is one; case, punctuation and white space do
// not count.
func (d *Digester) Grams(text []byte) []uint64 {
	return d.runs(d.words(text, everyWord), gramWords)
}

// Passage gives the grams of the longest part of a text that no mark such as "</summary>" divides: of an answer that has marks programs
// use what stands between two of them.
func (d *Digester) Passage(text []byte) []uint64 {
	var longest []uint64
	for rest := d.words(text, everyWord); rest != nil; {
		part := rest
		if at := slices.Index(rest, tag); at >= 0 {
			part, rest = rest[:at], rest[at+1:]
		} else {
			rest = nil
		}
		if len(part) > len(longest) {
			longest = part
		}
	}
	return d.runs(longest, gramWords)
}

// mannerWords is how many words in a row one digest of a manner stands for.
const mannerWords = 3

// Manner are keyed digests of how a text speaks: of short runs of its words, less those that hold a figure, which stand for clocks,
// dates and counts.
func (d *Digester) Manner(text []byte) []uint64 {
	return d.runs(d.words(text, wordWithoutFigure), mannerWords)
}

// runs digests each run of n words.
func (d *Digester) runs(words []uint64, n int) []uint64 {
	if len(words) < n {
		return nil
	}
	out := make([]uint64, 0, len(words)-n+1)
	run := make([]byte, 8*n)
	for i := n; i <= len(words); i++ {
		if slices.Contains(words[i-n:i], tag) {
			continue
		}
		for k, w := range words[i-n : i] {
			binary.LittleEndian.PutUint64(run[8*k:], w)
		}
		out = append(out, siphash.Hash(d.sketch[0], d.sketch[1], run))
	}
	return out
}

func everyWord([]byte) bool { return true }

func wordWithoutFigure(word []byte) bool { return bytes.IndexFunc(word, unicode.IsDigit) < 0 }

// Wording is a keyed digest of all words of a text, and how many there are. It is 0 where there are none.
func (d *Digester) Wording(text []byte) (digest uint64, count int) {
	words := d.words(text, everyWord)
	all := make([]byte, 0, 8*len(words)+1)
	for _, w := range words {
		if w == tag {
			continue
		}
		all = binary.LittleEndian.AppendUint64(all, w)
	}
	if len(all) == 0 {
		return 0, 0
	}
	return siphash.Hash(d.sketch[0], d.sketch[1], append(all, 'w')), len(all) / 8
}

// words are the keyed digests of the words of a text that count.
func (d *Digester) words(text []byte, counts func(word []byte) bool) []uint64 {
	text = text[:min(len(text), longestSketched)]
	out := make([]uint64, 0, len(text)/6+1)
	var word []byte
	end := func() {
		if len(word) > 0 && counts(word) {
			out = append(out, siphash.Hash(d.sketch[0], d.sketch[1], word))
		}
		word = word[:0]
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '<' && tagLength(text[i:]) > 0:
			end()
			out = append(out, tag)
			size = tagLength(text[i:])
		case Unspaced(r):
			end()
			word = append(word, text[i:i+size]...)
			end()
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			word = utf8.AppendRune(word, unicode.ToLower(r))
		default:
			end()
		}
		i += size
	}
	end()
	return out
}

// tag stands for a mark such as "</summary>" between words: programs take out what stands between two, and no run goes across one.
const tag = 0

// longestTag is how many bytes such a mark has at most.
const longestTag = 32

// tagLength is the length of the mark that a text begins with; 0 where it begins with none.
func tagLength(text []byte) int {
	end := bytes.IndexByte(text[:min(len(text), longestTag)], '>')
	if end < 2 {
		return 0
	}
	for i, c := range text[1:end] {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || i > 0 && (c == '_' || c == '-' || c >= '0' && c <= '9')
		if !letter && (i > 0 || c != '/') {
			return 0
		}
	}
	return end + 1
}

// Unspaced says that a character belongs to a script that writes words without a space between them.
func Unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Text gives what a message or an answer says in words, less injected blocks and reasoning; parts and items on lines of their own.
func Text(message []byte) []byte {
	message = bytes.TrimSpace(message)
	if kindOf(message) != '[' {
		return cutThinking(spoken(message))
	}
	var out []byte
	for item := range elements(message) {
		out = joinLine(out, cutThinking(spoken(item)))
	}
	return out
}

// cutThinking takes off the reasoning that some servers put before the answer's text.
func cutThinking(text []byte) []byte {
	if !bytes.HasPrefix(text, []byte(thinkOpen)) {
		return text
	}
	if _, rest, ok := bytes.Cut(text, []byte(thinkClose)); ok {
		return rest
	}
	return text
}

// Handed gives the texts that an answer hands to tools and that may be tasks: the strings in the arguments of its calls, each with the
// ones below it, less those that a tool works on.
func Handed(answer []byte) [][]byte {
	var out [][]byte
	take := func(arguments []byte) {
		if kindOf(arguments) == '"' {
			text := unquote(nil, arguments)
			inside := bytes.TrimSpace(text)
			if kindOf(inside) != '{' || !wellFormed(inside) {
				out = append(out, text)
				return
			}
			arguments = inside
		}
		out = appendStrings(out, arguments)
	}
	answer = bytes.TrimSpace(answer)
	if kindOf(answer) == '[' {
		for item := range elements(answer) {
			takeCall(item, take)
		}
		return out
	}
	if present(member(answer, "call_id")) { // an answer of one item
		takeCall(answer, take)
		return out
	}
	for call := range elements(member(answer, "tool_calls")) {
		for _, v := range members(call) {
			takeCall(v, take)
		}
	}
	for part := range elements(member(answer, "content")) {
		if string(inner(member(part, "type"))) == "tool_use" {
			takeCall(part, take)
		}
	}
	return out
}

// takeCall hands over the arguments of a call, by whatever name its protocol calls them.
func takeCall(call []byte, take func(arguments []byte)) {
	for name, v := range members(call) {
		switch string(name) {
		case "arguments", "input":
			take(v)
		}
	}
}

// worksOn says that an argument of this name holds what a tool runs, writes or looks for, and no task for somebody else: people say and
// paste such texts too.
func worksOn(name string) bool {
	switch name {
	case "command", "cmd", "script", "code", "query", "pattern", "regex", "glob", "path", "file_path", "filePath", "file", "url", "content", "contents", "file_text",
		"new_string", "old_string", "newString", "oldString", "new_str", "old_str", "new", "old", "patch", "diff", "insert_text":
		return true
	}
	return false
}

// appendStrings appends the strings of a JSON value, the nearest first.
func appendStrings(out [][]byte, value []byte) [][]byte {
	for level := [][]byte{value}; len(level) > 0; {
		var below [][]byte
		for _, v := range level {
			switch kindOf(v) {
			case '"':
				out = append(out, unquote(nil, v))
			case '{':
				for name, m := range members(v) {
					if !worksOn(string(name)) {
						below = append(below, m)
					}
				}
			case '[':
				below = slices.AppendSeq(below, elements(v))
			}
		}
		level = below
	}
	return out
}
