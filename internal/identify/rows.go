package identify

import (
	"slices"
	"strings"
)

// Row is a signal of the catalogue as documents show it.
type Row struct {
	Says   string   // session, agent, parent, kind, project, client or never
	Place  string   // header, body, or text for what a program's own words say
	Name   string   // a header in lower case, a path in the body, or the beginning of a text
	Inside string   // the member, where the value is a JSON text
	Means  []string // of a kind: "value: kind"
	Rank   int      // of a session's id: the group in which it decides, the lowest first; 0 otherwise
	Alone  bool     // of a session's id: it is never joined with the same value under another name
	Why    string   // of what is never used: the reason
	Who    string   // who sends it
	Seen   string   // where that is known from
}

// Rows are the signals of the catalogue, those that name sessions in the order in which they decide.
func Rows() []Row {
	all := catalogue()
	out := make([]Row, 0, len(all))
	for i := range all {
		s := &all[i]
		row := Row{Says: string(s.says), Place: "header", Name: s.name, Inside: s.inside, Why: s.why, Who: s.source, Seen: s.seen}
		if s.place == inBody {
			row.Place = "body"
		}
		if s.says == saysSession {
			row.Rank, row.Alone = int(s.tier), s.scope == scopeAlways
		}
		for value, kind := range s.kinds {
			row.Means = append(row.Means, value+": "+string(kind))
		}
		slices.SortFunc(row.Means, func(x, y string) int {
			return strings.Compare(strings.ReplaceAll(x, anyValue, "~"), strings.ReplaceAll(y, anyValue, "~"))
		})
		out = append(out, row)
	}
	for _, p := range phrases() {
		out = append(out, Row{Says: string(saysKind), Place: "text", Name: p.starts, Means: []string{string(p.kind)}, Who: p.source, Seen: p.seen})
	}
	return append(out, derived()...)
}

// derived are the rows of what is read out of longer texts, or out of what is missing.
func derived() []Row {
	return []Row{
		{Says: string(saysKind), Place: "text", Name: "x-anthropic-billing-header:", Inside: "cc_is_subagent", Means: []string{"true: subagent"}, Who: "Claude Code: the first line of its system prompt", Seen: "2.1.332, V"},
		{Says: string(saysKind), Place: "text", Name: ":subagent:", Means: []string{"subagent"}, Who: "OpenClaw: within its session key", Seen: "I"},
		{Says: string(saysKind), Place: "body", Name: "input", Means: []string{"empty: side"}, Who: "Codex: warms a connection, under its ids", Seen: "V"},
		{Says: string(saysKind), Place: "text", Name: "title", Means: []string{"side"}, Who: "Claude Code, Codex, OpenCode, Kilo Code, Crush: asks for a title or a name and offers no tools, which each of their turns does", Seen: "V for the tools, I for the words"},
		{Says: string(saysProject), Place: "text", Name: "x-anthropic-billing-header:", Inside: "cc_project", Who: "Claude Code at Anthropic", Seen: "2.1.332, V"},
		{Says: string(saysProject), Place: "text", Name: "Working directory:", Who: "coding agents, in their instructions", Seen: "I"},
		{Says: string(saysProject), Place: "text", Name: "<cwd>", Who: "Codex, in its first message", Seen: "I"},
	}
}
