package main

import (
	"fmt"
	"io"
)

// million is for how many sessions a day the model speaks.
const million = 1_000_000

const secondsOfDay = 24 * 60 * 60

func tell(out io.Writer, bills []bill) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	say("\n| | sessions | turns | bytes of text a turn | bytes kept a session | a turn | a message | times the text | bytes logged a turn | of them whole pages | commits a turn |\n")
	say("|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, b := range bills {
		say("| %s, %s | %d | %d | %d | %d | %d | %d | %.2f | %d | %d | %.2f |\n", b.kind, b.store, b.sessions, b.turns, b.heard/int64(b.turns), b.kept/int64(b.sessions),
			b.each(b.kept), b.kept/int64(b.messages), float64(b.kept)/float64(b.heard), b.each(b.written), b.each(b.pages), float64(b.commits)/float64(b.turns))
	}
	say("\nRows a turn, on PostgreSQL:\n\n| | inserted | updated | deleted |\n|---|---|---|---|\n")
	for _, b := range bills {
		if b.tables != nil {
			say("| %s | %.1f | %.1f | %.1f |\n", b.kind, b.rows(b.inserted), b.rows(b.updated), b.rows(b.deleted))
		}
	}
	for _, b := range bills {
		if b.tables == nil {
			continue
		}
		say("\nTables of %s on PostgreSQL:\n\n| table | rows a turn | bytes a turn | of indexes |\n|---|---|---|---|\n", b.kind)
		for _, t := range b.tables {
			say("| `%s` | %.2f | %d | %d |\n", t.name, b.rows(t.rows), b.each(t.bytes), b.each(t.pieces))
		}
	}
	say("\nA million sessions a day:\n\n| | turns a second, mean | GB kept a day | MB logged a second, mean | commits a second, mean | rows a second, mean |\n|---|---|---|---|---|---|\n")
	for _, b := range bills {
		turns := float64(b.turns) / float64(b.sessions) * million
		second := turns / secondsOfDay
		rows := ""
		if b.tables != nil {
			rows = fmt.Sprintf("%.0f", second*b.rows(b.inserted+b.updated+b.deleted))
		}
		say("| %s, %s | %.0f | %.1f | %.2f | %.0f | %s |\n", b.kind, b.store, second, turns*float64(b.each(b.kept))/1e9, second*float64(b.each(b.written))/1e6,
			second*float64(b.commits)/float64(b.turns), rows)
	}
}

func (b *bill) each(bytes int64) int64 { return bytes / int64(b.turns) }

func (b *bill) rows(n int64) float64 { return float64(n) / float64(b.turns) }
