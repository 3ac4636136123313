package search

import (
	"slices"
	"strings"

	"mooring"
)

const (
	// maxQuery and maxWords bound what a query asks for; what comes after it is not looked at.
	maxQuery = 1024
	maxWords = 32
)

// outer is what stands around a word in a sentence and is not meant when it is searched for.
const outer = "\"'`“”„‘’«»‹›()[]{}<>,.;:!?…、。！？，；：「」『』（）【】"

// query is a text that somebody searches for.
type query struct {
	whole string                 // folded, without outer white space
	words []string               // folded; a text must hold all of them
	terms [][]mooring.SearchTerm // what the index must have: all of the first list, else of the second; none where no word has a letter, a digit or a sign
}

func parse(t mooring.Tenant, text string) query {
	q := query{whole: strings.TrimSpace(fold(clip(cut(text, maxQuery))))}
	bare := strings.Fields(q.whole)
	bare = bare[:min(len(bare), maxWords)]
	var all []mooring.SearchTerm
	for _, word := range bare {
		word = strings.Trim(word, outer)
		found := termsOf(t, word)
		if len(found) == 0 {
			continue // a dash between two words
		}
		q.words = append(q.words, word)
		all = append(all, found...)
	}
	if len(all) == 0 {
		q.words = bare
		return q
	}
	q.terms = append(q.terms, all)
	if last := len(all) - 1; mayGrow(q.words[len(q.words)-1]) {
		growing := slices.Clone(all)
		growing[last].Begins = true
		q.terms = append(q.terms, growing)
	}
	return q
}
