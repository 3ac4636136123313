package config

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"mooring"
)

// The file is a person's: keys are put in and taken out as whole lines of text, so that comments, order and spacing of
// the rest stay. The syntax tree only says where.

// insertKey gives the file's text with one more key.
func insertKey(text []byte, key Key) ([]byte, error) {
	entry, err := keysEntry(text)
	if err != nil {
		return nil, err
	}
	lines := splitLines(text)
	if entry == nil {
		if len(lines) > 0 && lines[len(lines)-1] != "" && !strings.HasSuffix(lines[len(lines)-1], "\n") {
			lines[len(lines)-1] += "\n"
		}
		return joined(append(lines, "\nkeys:\n", "  - "+KeyLine(key)+"\n")), nil
	}
	at := entry.Key.GetToken().Position.Line // lines are counted from 1: this is the one below
	indent := "  "
	list, isList := entry.Value.(*ast.SequenceNode)
	switch {
	case isList && !list.IsFlowStyle:
		indent = strings.Repeat(" ", list.Start.Position.Column-1)
	case isNull(entry.Value) || isList && len(list.Values) == 0:
		lines[at-1] = emptyList.ReplaceAllString(lines[at-1], "keys:${1}")
	default:
		return nil, wrong("keys", "stands in [brackets] or behind an anchor; add the line by hand: - %s", KeyLine(key))
	}
	return joined(slices.Insert(lines, at, indent+"- "+KeyLine(key)+"\n")), nil
}

// cutKey gives the file's text without the key of a name.
func cutKey(text []byte, name mooring.KeyName) ([]byte, error) {
	entry, err := keysEntry(text)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return nil, wrong("keys", "none are configured")
	}
	list, ok := entry.Value.(*ast.SequenceNode)
	if !ok || list.IsFlowStyle {
		return nil, wrong("keys", "stands in [brackets] or behind an anchor; take %q out by hand", name)
	}
	lines := splitLines(text)
	for i, item := range list.Values {
		if nameOf(item) != string(name) {
			continue
		}
		from, to := span(list.Entries[i].Start, item)
		if len(list.Values) == 1 {
			at := entry.Key.GetToken().Position.Line - 1
			lines[at] = strings.Replace(lines[at], "keys:", "keys: []", 1)
		}
		return joined(slices.Delete(lines, from-1, to)), nil
	}
	return nil, wrong("keys", "no key is named %q", name)
}

// emptyList finds the empty value of keys; what follows on the line stays.
var emptyList = regexp.MustCompile(`^keys[ \t]*:[ \t]*(?:\[[ \t]*\]|~|null)?(.*)`)

// keysEntry finds the entry of `keys`, nil where there is none.
func keysEntry(text []byte) (*ast.MappingValueNode, error) {
	body, err := tree(text)
	if err != nil {
		return nil, err
	}
	entries, ok := entriesOf(body)
	if !ok && !isNull(body) {
		return nil, &Error{Msg: "the configuration needs keys of its own", Line: lineOf(body)}
	}
	for _, entry := range entries {
		if entry.Key.GetToken().Value == "keys" {
			return entry, nil
		}
	}
	return nil, nil //nolint:nilnil // an absent entry is an answer, not an error
}

func nameOf(item ast.Node) string {
	entries, _ := entriesOf(item)
	for _, entry := range entries {
		if entry.Key.GetToken().Value == "name" {
			text, _ := textOf(entry.Value)
			return text
		}
	}
	return ""
}

// span gives the first and the last line of a list's entry, its dash included.
func span(dash *token.Token, item ast.Node) (from, to int) {
	seen := extent{}
	seen.note(dash)
	ast.Walk(&seen, item)
	return seen.from, seen.to
}

// extent is a visitor that notes which lines the tokens of a node stand on.
type extent struct{ from, to int }

// Visit notes the lines of one node.
func (l *extent) Visit(node ast.Node) ast.Visitor { //nolint:ireturn // the library wants it so
	l.note(node.GetToken())
	if m, ok := node.(*ast.MappingNode); ok {
		l.note(m.Start)
		l.note(m.End)
	}
	if s, ok := node.(*ast.SequenceNode); ok {
		l.note(s.Start)
		l.note(s.End)
	}
	return l
}

func (l *extent) note(t *token.Token) {
	if t == nil || t.Position == nil {
		return
	}
	if l.from == 0 || t.Position.Line < l.from {
		l.from = t.Position.Line
	}
	l.to = max(l.to, t.Position.Line)
}

func splitLines(text []byte) []string {
	var out []string
	for line := range bytes.Lines(text) {
		out = append(out, string(line))
	}
	return out
}

func joined(lines []string) []byte { return []byte(strings.Join(lines, "")) }

// plain is a text that means the same with and without quotes.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.@-]*$`)

func scalarText(text string) string {
	if plain.MatchString(text) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}
