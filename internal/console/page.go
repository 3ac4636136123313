// Package console is what a terminal shows of the session API: tables, a tree, a turn explained in sentences.
//
// What comes from conversations is untrusted. Whatever goes out here has passed Line, Text, Clean or JSON, which leave a
// terminal nothing to obey. It asks no server, decides nothing, and has no goroutines.
package console

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"mooring"
)

// Page is where and for whom something is shown. Now, Zone and Out must be set.
type Page struct {
	Out   io.Writer
	Now   time.Time
	Zone  *time.Location // the reader's
	Style Style
}

// Style says how a terminal marks what matters. The zero value marks nothing.
type Style struct{ heading, bad, busy, faint string }

const reset = "\x1b[0m"

// Coloured marks headings, failures and what still runs.
func Coloured() Style {
	return Style{heading: "\x1b[1m", bad: "\x1b[31m", busy: "\x1b[33m", faint: "\x1b[2m"}
}

// in wraps a line that is otherwise done: a table's columns are aligned by then.
func in(mark, line string) string {
	if mark == "" || line == "" {
		return line
	}
	return mark + line + reset
}

// of gives the mark of a turn's state.
func (s Style) of(state mooring.TurnState) string {
	switch state {
	case mooring.Failed, mooring.Interrupted:
		return s.bad
	case mooring.Running:
		return s.busy
	case mooring.Cancelled:
		return s.faint
	case mooring.Completed:
	}
	return ""
}

// table is rows of cells with a heading above them. The last column is for free text, whose width nothing depends on.
type table struct {
	rows  [][]string
	marks []string
}

func (t *table) row(mark string, cells ...string) {
	t.rows, t.marks = append(t.rows, cells), append(t.marks, mark)
}

func (t *table) write(w io.Writer) error {
	var aligned bytes.Buffer
	columns := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, cells := range t.rows {
		for i, cell := range cells {
			cells[i] = plain(cell)
		}
		if _, err := fmt.Fprintln(columns, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimSuffix(aligned.String(), "\n"), "\n") {
		if _, err := fmt.Fprintln(w, in(t.marks[i], strings.TrimRight(line, " "))); err != nil {
			return err
		}
	}
	return nil
}
