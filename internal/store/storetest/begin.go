//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func beginTests() []test {
	return []test{
		{"a new session is stored whole and counts its first turn", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Session.Title, c.Session.Client, c.Session.Project, c.Session.Models = "A title", "a-client", "p", []string{"model-a"}
			c.Messages = []mooring.Message{message(1, 1, ""), message(1, 2, messageID(1))}
			apply(t, s, c)
			want := c.Session
			zero := 0.0
			want.State, want.Turns, want.Tip, want.TipTurn, want.CostUSD = mooring.Running, 1, messageID(2), turnID(1), &zero
			if diff := cmp.Diff(want, session(t, s, 1)); diff != "" {
				t.Errorf("session (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.Turn, turnOf(t, s, 1)); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
		}},
		{"C012 C013 of two sessions with the same first alias the second writes nothing, other bytes are another alias", func(t *testing.T, s Store) {
			first, second, upper := newSession(1), newSession(2), newSession(3)
			second.Aliases = first.Aliases
			second.Messages = []mooring.Message{message(2, 2, "")}
			upper.Aliases = []mooring.Alias{{Class: mooring.ClassAny, Value: "KEY-1"}}
			if err := s.Apply(t.Context(), []mooring.Change{first, second, upper}); err != nil {
				t.Fatalf("Apply: %v", err)
			}
			if first.Err != nil || mooring.CodeOf(second.Err) != mooring.CodeSessionTaken || upper.Err != nil {
				t.Errorf("outcomes %v, %v, %v, want good, session_taken, good", first.Err, second.Err, upper.Err)
			}
			if _, err := s.Session(t.Context(), tenant, sessionID(2)); mooring.CodeOf(err) != mooring.CodeSessionNotFound {
				t.Errorf("Session of the loser: %v, want session_not_found", err)
			}
			if _, err := s.Turn(t.Context(), tenant, turnID(2)); mooring.CodeOf(err) != mooring.CodeNotFound {
				t.Errorf("Turn of the loser: %v, want not_found", err)
			}
		}},
		{"of 50 callers that begin the same session one wins", beginRace},
		{"C084 sessions that begin at once are all there", beginMany},
		{"a known session takes what the turn brings and keeps what it has", func(t *testing.T, s Store) {
			first := newSession(1)
			first.Session.Client = "a-client"
			second := next(1, 2)
			second.Session.Client, second.Session.Project, second.Session.Title = "other", "p", "late"
			second.Session.Models, second.Session.Upstream = []string{"model-a", "model-b"}, "south"
			second.Turn.Question = messageID(9)
			apply(t, s, first, second)
			got := session(t, s, 1)
			want := session(t, s, 1)
			want.Client, want.Project, want.Title, want.Models, want.Upstream = "a-client", "p", "late", []string{"model-a", "model-b"}, "south"
			want.Turns, want.TipTurn, want.Tip, want.UpdatedAt = 2, turnID(2), messageID(9), at(1) // the end moves that one
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("session (-want +got):\n%s", diff)
			}
		}},
		{"a turn of a session that is gone writes nothing", func(t *testing.T, s Store) {
			if got := outcome(t, s, next(1, 1)); got != mooring.CodeSessionGone {
				t.Errorf("outcome %q, want session_gone", got)
			}
			if _, err := s.Turn(t.Context(), tenant, turnID(1)); mooring.CodeOf(err) != mooring.CodeNotFound {
				t.Errorf("Turn: %v, want not_found", err)
			}
		}},
		{"a side turn moves neither tip nor state nor count", func(t *testing.T, s Store) {
			first, side := newSession(1), next(1, 2)
			first.Messages = []mooring.Message{message(1, 1, "")}
			side.Turn.Kind, side.Turn.Question = mooring.KindSide, messageID(8)
			apply(t, s, first, ended(1, 1, 0), side)
			got := session(t, s, 1)
			if got.Tip != messageID(1) || got.TipTurn != turnID(1) || got.State != mooring.Completed || got.Turns != 1 || got.SideOnly {
				t.Errorf("session %+v, want it as the main turn left it", got)
			}
		}},
		{"a session with side turns alone is marked until another comes", func(t *testing.T, s Store) {
			first, second := newSession(1), next(1, 2)
			first.Turn.Kind = mooring.KindSide
			apply(t, s, first)
			if got := session(t, s, 1); !got.SideOnly || got.Turns != 0 || got.State != mooring.Running {
				t.Errorf("after a side turn: %+v, want side only, no turns, running", got)
			}
			apply(t, s, second)
			if got := session(t, s, 1); got.SideOnly || got.Turns != 1 {
				t.Errorf("after a main turn: side only %v, turns %d; want false, 1", got.SideOnly, got.Turns)
			}
		}},
		{"C087 a batch committed twice counts once", func(t *testing.T, s Store) {
			first, second := newSession(1), next(1, 2)
			first.Messages = []mooring.Message{message(1, 1, "")}
			first.Claim, first.Remote = pin(1, 1, "north"), &mooring.RemoteSession{Server: "north", ID: "remote-1"}
			batch := []mooring.Change{first, ended(1, 1, 2), second}
			apply(t, s, batch...)
			want := session(t, s, 1)
			apply(t, s, batch...)
			if diff := cmp.Diff(want, session(t, s, 1)); diff != "" {
				t.Errorf("session after the second time (-want +got):\n%s", diff)
			}
			if got := turnOf(t, s, 1); got.State != mooring.Completed || got.Answer != messageID(2) {
				t.Errorf("turn is %s with answer %s, want completed with its answer", got.State, got.Answer)
			}
			if got, _ := s.Children(t.Context(), tenant, sessionID(1), ""); len(got) != 2 {
				t.Errorf("%d messages, want 2", len(got))
			}
			if first.RemoteID != "remote-1" || first.Won == nil || first.Won.Turn != turnID(1) {
				t.Errorf("second time: remote %q, claim %+v; want the first ones", first.RemoteID, first.Won)
			}
		}},
		{"the next attempt of a failed turn is the same turn running again", func(t *testing.T, s Store) {
			failed := ended(1, 1, 0)
			failed.Turn.State, failed.Turn.Attempts = mooring.Failed, []mooring.Attempt{{Upstream: "north", State: mooring.Failed, StartedAt: at(1), EndedAt: at(1)}}
			again := next(1, 1)
			apply(t, s, newSession(1), failed, again)
			got := turnOf(t, s, 1)
			if got.State != mooring.Running || !got.EndedAt.IsZero() || len(got.Attempts) != 1 {
				t.Errorf("turn %+v, want it running with its first attempt kept", got)
			}
			if got := session(t, s, 1); got.Turns != 1 || got.State != mooring.Running {
				t.Errorf("session: %d turns, %s; want 1, running", got.Turns, got.State)
			}
		}},
		{"a child of a session that is gone stands alone", func(t *testing.T, s Store) {
			child := newSession(1)
			child.Session.Parent, child.Session.Root = sessionID(7), sessionID(7)
			apply(t, s, child)
			if got := session(t, s, 1); got.Parent != "" || got.Root != got.ID {
				t.Errorf("parent %q, root %q; want none and itself", got.Parent, got.Root)
			}
		}},
		{"C140 a change without tenant is refused and spoils no other", func(t *testing.T, s Store) {
			stray := newSession(1)
			stray.Session.Tenant = ""
			good := newSession(2)
			if err := s.Apply(t.Context(), []mooring.Change{stray, good}); err != nil {
				t.Fatalf("Apply: %v", err)
			}
			if stray.Err == nil || good.Err != nil {
				t.Errorf("outcomes %v and %v, want an error and none", stray.Err, good.Err)
			}
		}},
	}
}

func beginRace(t *testing.T, s Store) {
	const callers = 50
	begins := make([]*mooring.Begin, callers)
	var group sync.WaitGroup
	for i := range begins {
		begins[i] = newSession(i)
		begins[i].Aliases = []mooring.Alias{{Class: mooring.ClassAny, Value: "wanted by all"}}
		group.Go(func() {
			if err := s.Apply(t.Context(), []mooring.Change{begins[i]}); err != nil {
				t.Errorf("Apply: %v", err)
			}
		})
	}
	group.Wait()
	winner := mooring.SessionID("")
	for _, c := range begins {
		switch {
		case c.Err == nil && winner != "":
			t.Errorf("%s and %s have both won", winner, c.Session.ID)
		case c.Err == nil:
			winner = c.Session.ID
		case mooring.CodeOf(c.Err) != mooring.CodeSessionTaken:
			t.Errorf("a loser got %v, want session_taken", c.Err)
		}
	}
	hits, err := s.AliasHits(t.Context(), tenant, begins[0].Aliases)
	if err != nil || len(hits) != 1 || hits[0].Session != winner || winner == "" {
		t.Errorf("AliasHits = %v, %v; want the winner %q", hits, err, winner)
	}
}

func beginMany(t *testing.T, s Store) {
	const callers = 20
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			batch := []mooring.Change{newSession(i), ended(i, i, 100+i), next(i, 200+i), ended(i, 200+i, 300+i)}
			if err := s.Apply(t.Context(), batch); err != nil {
				t.Errorf("Apply: %v", err)
			}
		})
	}
	group.Wait()
	page, err := s.Sessions(t.Context(), tenant, mooring.SessionFilter{})
	if err != nil || page.Total != callers {
		t.Fatalf("Sessions: total %d, %v; want %d", page.Total, err, callers)
	}
	for _, got := range page.Sessions {
		if got.Turns != 2 || got.State != mooring.Completed || got.Usage.Input != mooring.Count(20) {
			t.Errorf("session %+v, want two completed turns", got)
		}
	}
}
