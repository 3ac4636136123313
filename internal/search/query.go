package search

import (
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
	whole string               // folded, without outer white space
	words []string             // folded; a text must hold all of them
	terms []mooring.SearchTerm // what the index must have; none where no word has a letter, a digit or a sign
}

func parse(t mooring.Tenant, text string) query {
	q := query{whole: strings.TrimSpace(fold(clip(cut(text, maxQuery))))}
	bare := strings.Fields(q.whole)
	bare = bare[:min(len(bare), maxWords)]
	for i, word := range bare {
		at := innerWord
		if i == len(bare)-1 {
			at = lastWord
		}
		word = strings.Trim(word, outer)
		found := termsOf(t, word, at)
		if len(found) == 0 {
			continue // a dash between two words
		}
		q.words = append(q.words, word)
		q.terms = append(q.terms, found...)
	}
	if len(q.terms) == 0 {
		q.words = bare
	}
	return q
}
