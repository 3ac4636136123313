package search

import (
	"crypto/sha256"
	"encoding/base32"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mooring"
)

// A term is what the index holds of a word: the mark of its tenant, its class, and its runes written in letters and digits of
// ASCII. So no tokenizer of a database has a say in what a letter is, new scripts work as old ones do, and one tenant's words
// stand together.

// maxRunes is how much of a word is in its term; what is longer is no word that anybody types.
const maxRunes = 40

// Classes keep words of other scripts apart from Latin ones that look like what they are written as.
const (
	classLatin = 'a'
	classOther = 'u'
)

// mark begins all terms of a tenant. Two tenants may have the same one: it saves work, and keeps nothing apart.
func mark(t mooring.Tenant) string {
	const length = 4
	sum := sha256.Sum256([]byte(t))
	return strings.ToLower(base32.HexEncoding.EncodeToString(sum[:]))[:length]
}

// token is a word of a folded text, or a part of one in a script that puts no spaces between words.
type token struct {
	runes []rune
	dense bool
}

// firstDense begins the Thai block; what comes before it has spaces.
const firstDense = 0x0E00

// Scripts without spaces between words, or with words that are searched by their parts.
func dense(r rune) bool {
	if plainDense(r) {
		return true
	}
	return r >= firstDense && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese, unicode.Balinese)
}

// kind is what a rune is to a word.
type kind int

const (
	gap    kind = iota // between words
	letter             // of a word with spaces around it
	packed             // of a run of words without spaces
	sign               // a word by itself
)

func kindOf(r rune) kind {
	switch {
	case r < 0x80:
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return letter
		}
		return gap
	case dense(r) && !unicode.IsPunct(r):
		return packed
	case unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.Co):
		return letter
	case unicode.IsSymbol(r):
		return sign
	}
	return gap
}

// tokens cuts a folded text into runs of one kind.
func tokens(folded string) iter.Seq[token] {
	return func(yield func(token) bool) {
		var run []rune
		was := gap
		end := func() bool {
			ok := len(run) == 0 || yield(token{runes: run, dense: was != letter})
			run = run[:0]
			return ok
		}
		for _, r := range folded {
			k := kindOf(r)
			if (k != was || k == sign) && !end() {
				return
			}
			if was = k; k != gap {
				run = append(run, r)
			}
		}
		end()
	}
}

// terms gives the words of a folded text as the index has them, each once, separated by spaces.
func terms(t mooring.Tenant, folded string) string {
	begin := mark(t)
	seen := map[string]bool{}
	var out strings.Builder
	var term []byte
	add := func(runes []rune) {
		term = encode(append(term[:0], begin...), runes)
		if seen[string(term)] {
			return
		}
		seen[string(term)] = true
		if out.Len() > 0 {
			out.WriteByte(' ')
		}
		out.Write(term)
	}
	for tok := range tokens(folded) {
		if !tok.dense {
			add(tok.runes)
			continue
		}
		// Pairs, and the last rune alone: with those before it in the pairs, every rune begins a term.
		for i := range tok.runes {
			add(tok.runes[i:min(i+2, len(tok.runes))])
		}
	}
	return out.String()
}

// termsOf gives what the index must have for a word to be in a text; nothing for a word without letters, digits and signs.
func termsOf(t mooring.Tenant, word string) []mooring.SearchTerm {
	begin := mark(t)
	term := func(runes []rune) string { return string(encode([]byte(begin), runes)) }
	var out []mooring.SearchTerm
	for tok := range tokens(word) {
		runes := tok.runes
		if !tok.dense || len(runes) == 1 {
			out = append(out, mooring.SearchTerm{Text: term(runes), Begins: tok.dense})
			continue
		}
		for i := range len(runes) - 1 {
			out = append(out, mooring.SearchTerm{Text: term(runes[i : i+2])})
		}
	}
	return out
}

// mayGrow says whether somebody may still be typing at a word: it ends in a letter or a digit of a script with spaces.
func mayGrow(word string) bool {
	last, _ := utf8.DecodeLastRuneInString(word)
	return kindOf(last) == letter
}

// encode appends the class and the runes of a word to the mark of its tenant.
func encode(out []byte, runes []rune) []byte {
	const base = 36
	if runes[0] < 0x80 {
		out = append(out, classLatin)
	} else {
		out = append(out, classOther)
	}
	for _, r := range runes[:min(len(runes), maxRunes)] {
		if r < 0x80 {
			out = utf8.AppendRune(out, r)
			continue
		}
		out = strconv.AppendInt(out, int64(r), base)
	}
	return out
}
