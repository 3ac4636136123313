package console

import (
	"fmt"
	"strconv"
	"strings"

	"mooring/internal/apiclient"
)

// How much of a free text a row has room for.
const (
	nameRoom    = 24
	titleRoom   = 60
	snippetRoom = 160
)

// Sessions shows a list, a session a row.
func (p Page) Sessions(list apiclient.SessionList) error {
	var t table
	t.row(p.Style.heading, "SESSION", "ACTIVE", "STATE", "TURNS", "IN", "OUT", "COST", "UPSTREAM", "CLIENT", "TITLE")
	for _, s := range list.Sessions {
		t.row(p.Style.of(s.State), s.ID.Short(), p.ago(s.UpdatedAt), or(string(s.State), unknown), strconv.Itoa(s.Turns),
			tokens(prompt(s.Usage)), tokens(s.Usage.Output), dollars(s.Usage.CostUSD),
			short(or(string(s.Upstream), unknown), nameRoom), short(or(s.Client, unknown), nameRoom), title(s))
	}
	return t.write(p.Out)
}

// title is what a row calls a session, with what sets it apart from others.
func title(s apiclient.Session) string {
	parts := []string{short(or(s.Title, s.Key), titleRoom)}
	if s.Pinned {
		parts = append(parts, "[pinned]")
	}
	if s.Archived {
		parts = append(parts, "[archived]")
	}
	return strings.Join(parts, " ")
}

// Session shows all that is known of a session, and the end of its current branch.
func (p Page) Session(s apiclient.Session, end apiclient.MessagePage) error {
	facts := [][2]string{
		{"id", string(s.ID)},
		{"key", s.Key},
		{"title", s.Title},
		{"client", s.Client},
		{"project", s.Project},
		{"relation", relation(s)},
		{"state", string(s.State)},
		{"upstream", string(s.Upstream)},
		{"models", strings.Join(s.Models, ", ")},
		{"turns", strconv.Itoa(s.Turns)},
		{"tokens", spent(s.Usage)},
		{"cost", dollars(s.Usage.CostUSD)},
		{"begun", p.clock(s.CreatedAt)},
		{"active", p.clock(s.UpdatedAt) + ", " + p.ago(s.UpdatedAt)},
	}
	var t table
	for _, fact := range facts {
		if fact[1] != "" {
			t.row("", fact[0], Line(fact[1]))
		}
	}
	if err := t.write(p.Out); err != nil {
		return err
	}
	return p.messages(end)
}

func relation(s apiclient.Session) string {
	if s.ParentID == "" {
		return string(s.Relation)
	}
	return string(s.Relation) + " of " + string(s.ParentID)
}

// spent tells the tokens by what became of them.
func spent(u apiclient.Usage) string {
	parts := []string{tokens(prompt(u)) + " in", tokens(u.Output) + " out"}
	if u.CacheRead != nil && *u.CacheRead > 0 {
		parts[0] += " (" + tokens(u.CacheRead) + " of them read from a cache)"
	}
	return strings.Join(parts, ", ")
}

func (p Page) messages(end apiclient.MessagePage) error {
	if end.Next != "" {
		if _, err := fmt.Fprintf(p.Out, "\n%s\n", in(p.Style.faint, "… earlier messages are not shown")); err != nil {
			return err
		}
	}
	for _, m := range end.Messages {
		head := []string{m.Role, p.clock(m.CreatedAt), string(m.TurnID)}
		if m.Branches > 1 {
			head = append(head, fmt.Sprintf("one of %d branches", m.Branches))
		}
		if m.State != "" && m.State != "completed" {
			head = append(head, string(m.State))
		}
		text := strings.TrimRight(Text(m.Text), "\n ")
		if _, err := fmt.Fprintf(p.Out, "\n%s\n%s\n", in(p.Style.heading, Line(strings.Join(head, " · "))), text); err != nil {
			return err
		}
	}
	return nil
}

// Tree draws a session with its children, and what all of them took together.
func (p Page) Tree(root apiclient.Session) error {
	var t table
	t.row(p.Style.heading, "SESSION", "RELATION", "STATE", "TURNS", "IN", "OUT", "COST", "TITLE")
	turns := p.branch(&t, root, "", "")
	if len(root.Children) > 0 {
		t.row(p.Style.heading, "together", "", "", strconv.Itoa(turns),
			tokens(prompt(root.TreeUsage)), tokens(root.TreeUsage.Output), dollars(root.TreeUsage.CostUSD), "")
	}
	return t.write(p.Out)
}

// branch adds a session's row and those of its children, and counts their turns. The lines are for its own row and for the
// rows below it.
func (p Page) branch(t *table, s apiclient.Session, own, below string) int {
	t.row(p.Style.of(s.State), own+s.ID.Short(), string(s.Relation), or(string(s.State), unknown), strconv.Itoa(s.Turns),
		tokens(prompt(s.Usage)), tokens(s.Usage.Output), dollars(s.Usage.CostUSD), title(s))
	turns := s.Turns
	for i, child := range s.Children {
		if i < len(s.Children)-1 {
			turns += p.branch(t, child, below+"├─ ", below+"│  ")
		} else {
			turns += p.branch(t, child, below+"└─ ", below+"   ")
		}
	}
	return turns
}

// Findings shows what a search found, a message a row; one without a role is a session found by its title.
func (p Page) Findings(f apiclient.Findings) error {
	var t table
	t.row(p.Style.heading, "SESSION", "WHEN", "ROLE", "TITLE: TEXT")
	for _, r := range f.Results {
		t.row("", r.SessionID.Short(), p.ago(r.CreatedAt), or(r.Role, unknown),
			short(or(r.Title, r.Key), nameRoom)+": "+short(r.Snippet, snippetRoom))
	}
	return t.write(p.Out)
}
