package console

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mooring"
	"mooring/internal/apiclient"
)

// Turn explains a turn: where it went and why, who answered and why, and what it cost. The session may be nil, where it is
// gone meanwhile.
func (p Page) Turn(t apiclient.Turn, s *apiclient.Session) error {
	for i, part := range []struct {
		heading string
		lines   []string
	}{
		{"Turn " + string(t.ID), p.course(t)},
		{"Session " + string(t.SessionID), identity(t, s)},
		{"Upstream " + or(string(t.Upstream), "none"), routed(t)},
		{"Cost " + or(strings.Trim(dollars(t.CostUSD), unknown), "unknown"), cost(t)},
	} {
		if err := p.part(i, part.heading, part.lines); err != nil {
			return err
		}
	}
	return nil
}

func (p Page) part(i int, heading string, lines []string) error {
	var out strings.Builder
	if i > 0 {
		out.WriteByte('\n')
	}
	out.WriteString(in(p.Style.heading, plain(heading)) + "\n")
	for _, line := range lines {
		out.WriteString("  " + plain(line) + "\n")
	}
	_, err := p.Out.Write([]byte(out.String()))
	return err
}

// course says what was asked, and when what happened.
func (p Page) course(t apiclient.Turn) []string {
	how := "to be answered in one piece"
	if t.Stream {
		how = "to be streamed"
	}
	lines := []string{fmt.Sprintf("A %s request in the %s protocol for %s, %s.", t.Kind, t.Protocol, or(Line(t.Model), "no model"), how)}
	when := "It began at " + p.clock(t.StartedAt)
	if !t.FirstAt.IsZero() {
		when += ", its answer " + lasted(t.FirstAt.Sub(t.StartedAt)) + " later"
	}
	if !t.EndedAt.IsZero() {
		when += ", and ended after " + lasted(t.EndedAt.Sub(t.StartedAt))
	}
	lines = append(lines, when+".", outcome(t))
	if t.View != nil {
		lines = append(lines, view(*t.View))
	}
	return lines
}

func outcome(t apiclient.Turn) string {
	var said string
	switch t.State {
	case mooring.Running:
		return "It is still running."
	case mooring.Completed:
		said = "It completed"
	case mooring.Failed:
		said = "It failed"
	case mooring.Cancelled:
		said = "It was cancelled"
	case mooring.Interrupted:
		said = "It was interrupted: its server ended before it did"
	default:
		said = "Its state is " + Line(string(t.State))
	}
	if t.Status != 0 {
		said += "; the client got " + status(t.Status)
	}
	if t.ErrorCode != "" {
		said += " with the error " + Line(string(t.ErrorCode)) + ", which Mooring made"
	}
	return said + "."
}

func status(code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + http.StatusText(code))
}

func view(v mooring.View) string {
	if v.From == "" {
		return fmt.Sprintf("The request held %s, and none that the session had before.", count(v.Sent, "message"))
	}
	return fmt.Sprintf("The request held %s of its branch, from %s on; what it left out is kept.", count(v.Sent, "message"), v.From)
}

// identity says what led to the session, and what else the request said about it.
func identity(t apiclient.Turn, s *apiclient.Session) []string {
	var lines []string
	if s == nil {
		lines = append(lines, "The session cannot be read any more.")
	} else {
		lines = append(lines, fmt.Sprintf("It is %q, known to its client as %q.", short(or(s.Title, "untitled"), titleRoom), Line(s.Key)))
	}
	lines = append(lines, decision(t.Identity))
	for _, e := range t.Evidence {
		lines = append(lines, "- "+evidence(e))
	}
	return lines
}

// decision tells the value of X-Mooring-Identity as a sentence.
func decision(identity string) string {
	kind, name, _ := strings.Cut(Line(identity), ":")
	switch kind {
	case "minted":
		return "The request named no session, so a new one was begun for it."
	case "header":
		return "The request's header " + http.CanonicalHeaderKey(name) + " named it."
	case "body":
		return "The field " + name + " of the request's body named it."
	case "response":
		return "The request goes on from an earlier answer (" + name + "), which belongs to it."
	case "learned":
		return "The request's header " + http.CanonicalHeaderKey(name) + " named it, which was learned to name sessions."
	case "content":
		return content(name)
	}
	return "What decided was " + or(Line(identity), "not kept") + "."
}

// content says which likeness of its messages led a request to its session.
func content(name string) string {
	switch name {
	case "prefix":
		return "The request's messages extend this conversation, up to an answer that came through here."
	case "reply":
		return "The request holds an answer that came through here in this conversation."
	case "summary":
		return "The request opens with a summary that was an answer in this conversation."
	case "spawn":
		return "The request opens with the task that an answer gave to a sub-agent."
	case "retry":
		return "The request is the same as one that failed here shortly before."
	}
	return "The request's content led to it (" + name + ")."
}

func evidence(e mooring.Evidence) string {
	words := map[string]string{
		"decided": "decided", "agreed": "agreed with it", "alias": "names it from now on", "ignored": "was ignored", "never": "is never used",
	}
	line := Line(e.Signal)
	if e.Says != "" && e.Says != "session" && e.Says != "never" {
		line += " (" + Line(e.Says) + ")"
	}
	if e.Value != "" {
		line += " = " + strconv.Quote(Line(e.Value))
	}
	switch e.Points {
	case "":
	case "new":
		line += ", new here,"
	default:
		line += ", which names " + Line(e.Points) + ","
	}
	line += " " + or(words[e.Use], Line(e.Use))
	if e.Why != "" {
		line += ": " + Line(e.Why)
	}
	return line + "."
}

// routed says why that upstream, and how each try went.
func routed(t apiclient.Turn) []string {
	lines := []string{pin(t)}
	if t.Account != "" {
		lines = append(lines, "Its account there is "+Line(string(t.Account))+".")
	}
	for i, a := range t.Attempts {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, attempt(a)))
	}
	return lines
}

func pin(t apiclient.Turn) string {
	if said := reason(t); said != "" {
		return said
	}
	switch t.Pin {
	case mooring.PinNew:
		return "The session had no upstream yet for this model: the policy chose, and the session stays there."
	case mooring.PinHit:
		return "The session was there before, and stayed."
	case mooring.PinMoved:
		return "The session was at another upstream, which could not answer: it moved, and stays here."
	case mooring.PinSpill:
		return "The session's own upstream was full: this one answered the turn, and the session stays where it is."
	}
	if t.Upstream == "" {
		return "No upstream was asked."
	}
	return "The session does not stay with it: no upstream is kept until one has answered well."
}

// reason says what sent the turn where it went, where that is more than its session's upstream or the policy.
func reason(t apiclient.Turn) string {
	if len(t.Attempts) == 0 {
		return ""
	}
	switch t.Attempts[len(t.Attempts)-1].Why {
	case mooring.WhyInherited:
		return "The session had no upstream yet: it began where the session is that it comes from."
	case mooring.WhyOrigin:
		return "The request holds what only the upstream that made it can read: it went back there."
	case mooring.WhyReturned:
		return "The session had to leave this upstream before. It is well again, and the session went back."
	case mooring.WhySpilled:
		return "The session's own upstream took no more requests: this turn alone went elsewhere, and the session stays where it is."
	case mooring.WhyRemoved:
		return "The session's upstream is not in the configuration any more: it moved, and stays here."
	case mooring.WhyPolicy, mooring.WhyPin, mooring.WhyFailover:
	}
	return ""
}

func attempt(a apiclient.Attempt) string {
	line := or(Line(string(a.Upstream)), "no upstream")
	if a.Account != "" {
		line += " (account " + Line(string(a.Account)) + ")"
	}
	if a.Alias != "" {
		line += ", asked for " + or(Line(a.Model), "a model") + " in the place of " + Line(a.Alias)
	}
	if a.Tries > 1 {
		line += fmt.Sprintf(", %d times while it was waited for", a.Tries)
	}
	line += ": " + or(Line(string(a.State)), "not ended")
	if a.Status != 0 {
		line += ", " + status(a.Status)
	}
	if a.DurationMS != nil {
		line += ", after " + lasted(time.Duration(*a.DurationMS)*time.Millisecond)
	}
	if a.Reason != "" {
		line += ": " + strings.TrimSuffix(Line(a.Reason), ".")
	}
	return line + "."
}

// cost says what was counted, and what is not known of it.
func cost(t apiclient.Turn) []string {
	if prompt(t.Usage) == nil && t.Usage.Output == nil {
		return []string{"The upstream has told no number of tokens."}
	}
	lines := []string{"Tokens: " + spent(t.Usage) + "."}
	if t.CostUSD == nil {
		lines = append(lines, "What that costs is not known: there is no price for this model (`prices` in the configuration).")
	}
	return lines
}
