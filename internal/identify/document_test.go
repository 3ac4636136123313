package identify_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/identify"
)

var update = flag.Bool("update", false, "rewrite the tables that are generated from the catalogue")

// The tables of docs/clients.md stand between these lines; what stands around them is written by hand.
const (
	tablesBegin = "<!-- generated from the catalogue by `make docs` -->\n"
	tablesEnd   = "<!-- end of what is generated -->\n"
)

func TestDocumentedSignals(t *testing.T) {
	t.Parallel()
	const path = "../../docs/clients.md"
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(old), tablesBegin)
	_, after, ended := strings.Cut(rest, tablesEnd)
	if !begun || !ended {
		t.Fatalf("%s has not the lines between which the tables stand", path)
	}
	now := before + tablesBegin + tables() + tablesEnd + after
	if *update {
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(old), now); diff != "" {
		t.Errorf("%s is stale, run `make docs` (-file +generated):\n%s", path, diff)
	}
}

// tables are the rows of the catalogue, by what they say.
func tables() string {
	var out strings.Builder
	table := func(heading, intro, head string, says []string, cells func(identify.Row) []string) {
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n| %s |\n|%s\n", heading, intro, head, strings.Repeat("---|", strings.Count(head, "|")+1))
		for _, row := range identify.Rows() {
			if strings.Contains(" "+strings.Join(says, " ")+" ", " "+row.Says+" ") {
				fmt.Fprintf(&out, "| %s |\n", strings.Join(cells(row), " | "))
			}
		}
	}
	group := []string{"0 Mooring's own", "1 native header", "2 native field", "3 protocol state", "4 generic", "5 a vendor's", "6 cache key", "7 trace", "8 user"}
	table("Which session", "The first one with a usable value decides. A `*` stands for any rest of a name; header names are the same in any case, with `-` or `_`.",
		"group | where | name | sent by | known from", []string{"session"}, func(r identify.Row) []string {
			return []string{group[r.Rank], r.Place, named(r), r.Who, r.Seen}
		})
	table("Sub-agents and parents", "A parent that is not known yet is linked when it appears.",
		"says | where | name | sent by | known from", []string{"agent", "parent"}, func(r identify.Row) []string {
			return []string{r.Says, r.Place, named(r), r.Who, r.Seen}
		})
	table("What a request is for", "The first that says something decides; that a session is a sub-agent's holds whatever its request is for. Texts are those that the program of the row writes itself.",
		"where | name | means | sent by | known from", []string{"kind"}, func(r identify.Row) []string {
			return []string{r.Place, named(r), strings.Join(r.Means, ", "), r.Who, r.Seen}
		})
	table("Projects and programs", "Labels of a session, never evidence of identity. A line `Working directory:` of the instructions goes before these; a home folder is no project.",
		"says | where | name | sent by | known from", []string{"project", "client"}, func(r identify.Row) []string {
			return []string{r.Says, r.Place, named(r), r.Who, r.Seen}
		})
	table("Never used", "These look like ids, or travel with them. They are told of in a turn's evidence without their values, and cannot be learned.",
		"where | name | because | sent by", []string{"never"}, func(r identify.Row) []string {
			return []string{r.Place, named(r), r.Why, r.Who}
		})
	return out.String() + "\n"
}

func named(r identify.Row) string {
	name := "`" + r.Name + "`"
	if r.Inside != "" {
		name += ", member `" + r.Inside + "`"
	}
	if r.Alone {
		name += ", under this name only"
	}
	return name
}
