package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxText is how much of a message's text is searched: beyond it stand logs and files that tools have read.
const maxText = 128 << 10

// clip takes the part of a text that is searched, in the one form that letters with marks have.
func clip(text string) string { return norm.NFC.String(cut(text, maxText)) }

// cut shortens a text to at most n bytes, between two runes.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// fold gives a text as it is compared: case, marks above and below Latin, Greek, Cyrillic, Hebrew and Arabic letters, forms of
// width and what is not seen are gone.
func fold(text string) string {
	out := make([]byte, 0, len(text))
	for _, r := range text {
		out = foldRune(out, r)
	}
	return string(out)
}

func foldRune(out []byte, r rune) []byte {
	switch {
	case r == 0:
		return append(out, "\u2400"...) // as wire writes it
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return utf8.AppendRune(out, r)
	case plainDense(r):
		return utf8.AppendRune(out, r)
	}
	var encoded [utf8.UTFMax]byte
	whole := norm.NFKD.Properties(utf8.AppendRune(encoded[:0], r)).Decomposition()
	if whole == nil {
		if ignored(r) {
			return out
		}
		return utf8.AppendRune(out, lower(r))
	}
	kept := make([]byte, 0, len(whole))
	for len(whole) > 0 {
		part, size := utf8.DecodeRune(whole)
		if whole = whole[size:]; !ignored(part) {
			kept = utf8.AppendRune(kept, lower(part))
		}
	}
	return append(out, norm.NFC.Bytes(kept)...)
}

// plainDense are the scripts that make up long texts without having case, marks or other forms.
func plainDense(r rune) bool {
	return (0x3041 <= r && r <= 0x30FE && r != 0x3099 && r != 0x309A) || (0x4E00 <= r && r <= 0x9FFF) || (0xAC00 <= r && r <= 0xD7A3)
}

func lower(r rune) rune {
	if r == 'ς' {
		return 'σ'
	}
	return unicode.ToLower(r)
}

// ignored are marks that people leave out when they type, and signs that are not seen: joiners, variation selectors, directions.
func ignored(r rune) bool {
	switch {
	case 0x0300 <= r && r <= 0x036F, 0x0483 <= r && r <= 0x0489, 0x0591 <= r && r <= 0x05C7 && unicode.Is(unicode.Mn, r),
		0x0610 <= r && r <= 0x061A, 0x064B <= r && r <= 0x065F, r == 0x0670, 0x1AB0 <= r && r <= 0x1AFF,
		0x1DC0 <= r && r <= 0x1DFF, 0x20D0 <= r && r <= 0x20FF, 0xFE20 <= r && r <= 0xFE2F:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector)
}

// place gives where in a text the byte of its folded form comes from.
func place(text string, folded int) int {
	var buf []byte
	n := 0
	for at, r := range text {
		buf = foldRune(buf[:0], r)
		n += len(buf)
		if n > folded {
			return at
		}
	}
	return len(text)
}

// holdsAll says whether a folded text holds every word.
func holdsAll(folded string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(folded, w) {
			return false
		}
	}
	return true
}
