package console_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/apiclient"
	"mooring/internal/console"
)

var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// shown runs what shows something on a page of a reader two hours east.
func shown(t *testing.T, style console.Style, show func(console.Page) error) string {
	t.Helper()
	var out bytes.Buffer
	p := console.Page{Out: &out, Now: now, Zone: time.FixedZone("EET", 2*60*60), Style: style}
	if err := show(p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func same(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

func usage(in, read, out int64, usd float64) apiclient.Usage {
	return apiclient.Usage{Input: &in, CacheRead: &read, Output: &out, CostUSD: &usd}
}

func few() []apiclient.Session {
	return []apiclient.Session{
		{
			ID: "ses_01J00000000000000000000001", Key: "talk", Title: "A title\n\x1b[31mwith tricks", Client: "curl", Upstream: "demo",
			State: mooring.Completed, Turns: 3, Usage: usage(1234567, 1000, 56, 1234.5), UpdatedAt: now.Add(-90 * time.Second), Pinned: true,
		},
		{ID: "ses_01J00000000000000000000002", Key: "api-1", State: mooring.Failed, UpdatedAt: now.Add(-49 * time.Hour)},
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	got := shown(t, console.Style{}, func(p console.Page) error { return p.Sessions(apiclient.SessionList{Sessions: few()}) })
	same(t, `
SESSION       ACTIVE  STATE      TURNS  IN         OUT  COST       UPSTREAM  CLIENT  TITLE
ses_00000001  1m ago  completed  3      1,235,567  56   $1,234.50  demo      curl    A title ␛[31mwith tricks [pinned]
ses_00000002  2d ago  failed     0      –          –    –          –         –       api-1
`, got)
}

func TestSessionsInColourStayAligned(t *testing.T) {
	t.Parallel()
	show := func(p console.Page) error { return p.Sessions(apiclient.SessionList{Sessions: few()}) }
	got := shown(t, console.Coloured(), show)
	lines := strings.Split(got, "\n")
	if !strings.HasPrefix(lines[0], "\x1b[1mSESSION") || !strings.HasPrefix(lines[1], "ses_") || !strings.HasPrefix(lines[2], "\x1b[31mses_") {
		t.Errorf("marks: %q", got)
	}
	plain := strings.NewReplacer("\x1b[1m", "", "\x1b[31m", "", "\x1b[0m", "").Replace(got)
	same(t, shown(t, console.Style{}, show), plain)
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule string
		past time.Duration
		usd  float64
		want []string
	}{
		{"seconds, nothing spent", 12 * time.Second, 0, []string{"12s ago", "$0 "}},
		{"another clock is ahead", -time.Hour, 0.00001, []string{"now", "under $0.0001"}},
		{"hours, parts of a cent", 3*time.Hour + time.Minute, 0.00492, []string{"3h ago", "$0.0049"}},
		{"a date in the reader's zone", 31*24*time.Hour - 11*time.Hour, 999.999, []string{"2026-10-30", "$1,000.00"}},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			s := apiclient.Session{UpdatedAt: now.Add(-row.past), Usage: apiclient.Usage{CostUSD: &row.usd}}
			got := shown(t, console.Style{}, func(p console.Page) error {
				return p.Sessions(apiclient.SessionList{Sessions: []apiclient.Session{s}})
			})
			for _, want := range row.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
		})
	}
}

func TestSession(t *testing.T) {
	t.Parallel()
	s := few()[0]
	s.CreatedAt, s.Models, s.Relation, s.ParentID = now.Add(-time.Hour), []string{"echo", "other"}, mooring.RelationSubagent, "ses_0"
	end := apiclient.MessagePage{Next: "msg_1", Messages: []apiclient.Message{
		{Role: "user", Text: "first line\r\nsecond\x1b[2J\n\n", TurnID: "trn_1", CreatedAt: now, Branches: 2, State: mooring.Completed},
		{Role: "assistant\n", Text: "", TurnID: "trn_1", CreatedAt: now, Branches: 1, State: mooring.Cancelled},
	}}
	got := shown(t, console.Style{}, func(p console.Page) error { return p.Session(s, end) })
	same(t, `
id        ses_01J00000000000000000000001
key       talk
title     A title ␛[31mwith tricks
client    curl
relation  subagent of ses_0
state     completed
upstream  demo
models    echo, other
turns     3
tokens    1,235,567 in (1,000 of them read from a cache), 56 out
cost      $1,234.50
begun     2026-11-29 13:00:00 EET
active    2026-11-29 13:58:30 EET, 1m ago

… earlier messages are not shown

user · 2026-11-29 14:00:00 EET · trn_1 · one of 2 branches
first line
second␛[2J

assistant · 2026-11-29 14:00:00 EET · trn_1 · cancelled

`, got)
}

func TestTree(t *testing.T) {
	t.Parallel()
	node := func(id, title string, children ...apiclient.Session) apiclient.Session {
		return apiclient.Session{
			ID: mooring.SessionID("ses_01J000000000000000" + id), Title: title, Relation: mooring.RelationSubagent, State: mooring.Completed,
			Turns: 1, Usage: usage(10, 0, 2, 0.5), Children: children,
		}
	}
	root := node("00000001", "root", node("00000002", "first", node("00000003", "below")), node("00000004", "last", node("00000005", "end")))
	root.TreeUsage = usage(50, 0, 10, 2.5)
	got := shown(t, console.Style{}, func(p console.Page) error { return p.Tree(root) })
	same(t, `
SESSION             RELATION  STATE      TURNS  IN  OUT  COST     TITLE
ses_00000001        subagent  completed  1      10  2    $0.5000  root
├─ ses_00000002     subagent  completed  1      10  2    $0.5000  first
│  └─ ses_00000003  subagent  completed  1      10  2    $0.5000  below
└─ ses_00000004     subagent  completed  1      10  2    $0.5000  last
   └─ ses_00000005  subagent  completed  1      10  2    $0.5000  end
together                                 5      50  10   $2.50
`, got)
}

func TestFindings(t *testing.T) {
	t.Parallel()
	got := shown(t, console.Style{}, func(p console.Page) error {
		return p.Findings(apiclient.Findings{Results: []apiclient.Result{{
			SessionID: "ses_01J00000000000000000000001", Key: "talk", Title: strings.Repeat("long ", 20), Role: "user",
			Snippet: "two\nlines \x1b[2J", CreatedAt: now.Add(-time.Minute),
		}, {SessionID: "ses_01J00000000000000000000002", Key: "日本", Snippet: "of a title", CreatedAt: now}}})
	})
	same(t, `
SESSION       WHEN    ROLE  TITLE: TEXT
ses_00000001  1m ago  user  long long long long lon…: two lines ␛[2J
ses_00000002  now     –     日本: of a title
`, got)
}
