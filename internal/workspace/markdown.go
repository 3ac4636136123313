package workspace

import (
	"bufio"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// writeFacts begins a session that people are to read: its title and what is known of it.
func writeFacts(out *bufio.Writer, s sessionView) error {
	title := oneLine(s.Title)
	if title == "" {
		title = "Session " + string(s.ID)
	}
	facts := []string{"# " + escaped(title), "", "- Session: `" + string(s.ID) + "`", "- Key: " + quoted(s.Key)}
	for _, fact := range []struct {
		name  string
		value *string
	}{{"Client", s.Client}, {"Project", s.Project}, {"Upstream", (*string)(s.Upstream)}} {
		if fact.value != nil {
			facts = append(facts, "- "+fact.name+": "+quoted(*fact.value))
		}
	}
	if len(s.Models) > 0 {
		facts = append(facts, "- Models: "+quoted(strings.Join(s.Models, ", ")))
	}
	facts = append(facts, "- Turns: "+strconv.Itoa(s.Turns), "- Created: "+written(s.CreatedAt), "- Last activity: "+written(s.UpdatedAt), "")
	_, err := out.WriteString(strings.Join(facts, "\n"))
	return err
}

// writeMessage writes a message below a heading of its own. Its text stays as it is, code and all.
func writeMessage(out *bufio.Writer, m messageView) error {
	text := strings.TrimRight(m.Text, "\n")
	if text == "" {
		text = "*no text*"
	}
	_, err := out.WriteString("\n## " + escaped(oneLine(m.Role)) + ", " + written(m.CreatedAt) + "\n\n" + text + "\n")
	return err
}

func written(at instant) string { return time.Time(at).UTC().Format(time.RFC3339) }

// oneLine makes words fit for a heading: no line breaks, no control characters.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// escaped takes the meaning off what Markdown would read as a mark.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]<>()#!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// quoted is a value as code, fenced by more backticks than it holds in a row.
func quoted(s string) string {
	s = oneLine(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}
