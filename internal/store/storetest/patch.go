//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func patchTests() []test {
	return []test{
		{"C167 a patch changes what it names and nothing else, and is no activity", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Session.Title = "from the first question"
			apply(t, s, c, ended(1, 1, 0))
			want := session(t, s, 1)
			for _, step := range []struct {
				patch mooring.Patch
				do    func(*mooring.Session)
			}{
				{mooring.Patch{Title: new("Ropes \x00 \xff")}, func(s *mooring.Session) { s.Title = "Ropes \u2400 \uFFFD" }},
				{mooring.Patch{Pinned: new(true)}, func(s *mooring.Session) { s.Pinned = true }},
				{mooring.Patch{Archived: new(true), Pinned: new(false)}, func(s *mooring.Session) { s.Archived, s.Pinned = true, false }},
				{mooring.Patch{Title: new("")}, func(s *mooring.Session) { s.Title = "" }},
				{mooring.Patch{}, func(*mooring.Session) {}},
			} {
				step.patch.Tenant, step.patch.Session = tenant, sessionID(1)
				apply(t, s, &step.patch)
				step.do(&want)
				if diff := cmp.Diff(want, session(t, s, 1)); diff != "" {
					t.Errorf("session (-want +got):\n%s", diff)
				}
			}
		}},
		{"C167 an automatic title comes only where there is none", func(t *testing.T, s Store) {
			named, unnamed := newSession(1), newSession(2)
			apply(t, s, named, unnamed, &mooring.Patch{Tenant: tenant, Session: sessionID(1), Title: new("by hand")})
			for n := 1; n <= 2; n++ {
				c := next(n, n+2)
				c.Session.Title = "automatic"
				apply(t, s, c, ended(n, n+2, 0))
			}
			if one, two := session(t, s, 1).Title, session(t, s, 2).Title; one != "by hand" || two != "automatic" {
				t.Errorf("titles %q and %q; want the one by hand to stay", one, two)
			}
		}},
		{"C121 a tip moves to any message of the session, and a turn goes on from there", func(t *testing.T, s Store) {
			c, other := newSession(1), newSession(2)
			c.Messages = []mooring.Message{message(1, 1, ""), message(1, 2, messageID(1)), message(1, 3, messageID(1))}
			other.Messages = []mooring.Message{message(2, 9, "")}
			apply(t, s, c, other, &mooring.Patch{Tenant: tenant, Session: sessionID(1), Tip: messageID(2)})
			if got := session(t, s, 1).Tip; got != messageID(2) {
				t.Errorf("tip %s, want the second message", got)
			}
			for _, row := range []struct {
				patch mooring.Patch
				want  mooring.Code
			}{
				{mooring.Patch{Tenant: tenant, Session: sessionID(1), Tip: messageID(9), Title: new("no")}, mooring.CodeNotFound},
				{mooring.Patch{Tenant: tenant, Session: sessionID(1), Tip: messageID(7)}, mooring.CodeNotFound},
				{mooring.Patch{Tenant: tenant, Session: sessionID(7), Tip: messageID(1)}, mooring.CodeSessionNotFound},
				{mooring.Patch{Tenant: tenant, Session: sessionID(7), Title: new("no")}, mooring.CodeSessionNotFound},
				{mooring.Patch{Tenant: "globex", Session: sessionID(1), Title: new("no")}, mooring.CodeSessionNotFound},
			} {
				if got := outcome(t, s, &row.patch); got != row.want {
					t.Errorf("outcome of %+v: %q, want %q", row.patch, got, row.want)
				}
			}
			if got := session(t, s, 1); got.Tip != messageID(2) || got.Title != "" {
				t.Errorf("tip %s, title %q; want what was refused to have changed nothing", got.Tip, got.Title)
			}
		}},
		{"a session without a turn is listed, and its first turn is an ordinary one", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Turn, c.Session.Upstream = mooring.Turn{}, ""
			apply(t, s, c)
			got := session(t, s, 1)
			if got.State != "" || got.Turns != 0 || !got.UpdatedAt.Equal(at(1)) || got.SideOnly {
				t.Errorf("session %+v; want no state, no turns, updated when it was made", got)
			}
			page, err := s.Sessions(t.Context(), tenant, mooring.SessionFilter{})
			if err != nil || len(page.Sessions) != 1 || page.Total != 1 {
				t.Errorf("Sessions = %+v, %v; want the one", page, err)
			}
			apply(t, s, next(1, 5), ended(1, 5, 5))
			got = session(t, s, 1)
			if got.State != mooring.Completed || got.Turns != 1 || !got.UpdatedAt.Equal(at(5)) {
				t.Errorf("session %+v; want one completed turn", got)
			}
		}},
	}
}
