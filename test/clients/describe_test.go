//go:build linux

package clients_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mooring/test/product"
)

// session is what is read of one.
type session struct {
	ID       string
	ParentID string `json:"parent_id"`
	Relation string
	Client   string
	Turns    int
}

func sessions(t *testing.T, s *product.Server) []session {
	t.Helper()
	var page struct{ Sessions []session }
	s.Get(t, "/api/sessions?limit=200", &page)
	return page.Sessions
}

// describe writes what Mooring made of the requests: sessions below their parents, and their turns by kind. Nothing in it
// depends on ids, on time, or on the order in which requests at the same time came.
func describe(t *testing.T, s *product.Server) string {
	t.Helper()
	below := map[string][]session{}
	for _, one := range sessions(t, s) {
		below[one.ParentID] = append(below[one.ParentID], one)
	}
	var out strings.Builder
	var write func(parent, indent string)
	write = func(parent, indent string) {
		var texts []string
		trees := map[string][]string{}
		for _, one := range below[parent] {
			text := indent + one.Relation + " session of " + cmp.Or(one.Client, "an unknown client") + "\n" + turns(t, s, one.ID, indent+"  ")
			texts = append(texts, text)
			trees[text] = append(trees[text], one.ID)
		}
		slices.Sort(texts)
		for _, text := range slices.Compact(texts) {
			for _, id := range trees[text] {
				out.WriteString(text)
				write(id, indent+"    ")
			}
		}
	}
	write("", "")
	return out.String()
}

// turns counts a session's turns that are alike.
func turns(t *testing.T, s *product.Server, id, indent string) string {
	t.Helper()
	var page struct {
		Turns []struct{ Kind, Protocol, State, Identity string }
	}
	s.Get(t, "/api/sessions/"+id+"/turns?limit=200", &page)
	counts := map[string]int{}
	for _, turn := range page.Turns {
		counts[fmt.Sprintf("%s %s %s by %s", turn.Kind, turn.Protocol, turn.State, turn.Identity)]++
	}
	lines := make([]string, 0, len(counts))
	for line, n := range counts {
		lines = append(lines, fmt.Sprintf("%s%d × %s\n", indent, n, line))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
