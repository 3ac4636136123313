package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	snippetRunes = 160
	// before is how many runes stand before the word that was found.
	before = 50
	// aside is how far the beginning may move to that of a word.
	aside = 15
)

// snippet cuts the part of a text around the first of the words; its beginning where there is none of them. Line breaks become
// spaces, and a cut is shown.
func snippet(text, folded string, words []string) string {
	first := -1
	for _, w := range words {
		if at := strings.Index(folded, w); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	at := 0
	if first >= 0 {
		at = place(text, first)
	}
	start := back(text, at)
	end, n := start, 0
	for i := range text[start:] {
		if n == snippetRunes {
			break
		}
		end, n = start+i, n+1
	}
	if n < snippetRunes {
		end = len(text)
	}
	out := strings.Join(strings.Fields(text[start:end]), " ")
	if start > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return out
}

// back gives where a snippet begins that shows the place: some runes before it, at the beginning of a word where one is near.
func back(text string, at int) int {
	var starts []int // of the last runes before the place, and of the place
	for i := range text[:at] {
		if starts = append(starts, i); len(starts) > before {
			starts = starts[1:]
		}
	}
	if len(starts) == 0 || starts[0] == 0 {
		return 0
	}
	for i, s := range starts[:min(len(starts)-1, aside)] {
		if r, _ := utf8.DecodeRuneInString(text[s:]); unicode.IsSpace(r) {
			return starts[i+1]
		}
	}
	return starts[0]
}
