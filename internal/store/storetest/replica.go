//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// shared is a store that several replicas share: a test can let time pass since all of them were heard of.
type shared interface {
	Pass(t *testing.T, by time.Duration)
}

// retire gives up the turns of all replicas but one, which has been there for long.
func retire(t *testing.T, s Store, living string, when time.Time) *mooring.Retire {
	t.Helper()
	if several, ok := s.(shared); ok {
		if _, err := s.Beat(t.Context(), living); err != nil {
			t.Fatal(err)
		}
		several.Pass(t, time.Minute)
	}
	c := &mooring.Retire{Replica: living, At: when}
	apply(t, s, c)
	return c
}

// other lets another replica begin a turn.
func other(c *mooring.Begin) *mooring.Begin {
	c.Turn.Replica = "replica-b"
	return c
}

func fenceOf(n int, why mooring.FenceReason) *mooring.Fence {
	return &mooring.Fence{Tenant: tenant, Turn: turnID(n), Replica: "replica-b", Why: why}
}

func replicaTests() []test {
	return []test{
		{"a turn that another replica fences ends as cancelled, and no other way", func(t *testing.T, s Store) {
			c := fenceOf(1, mooring.FencedByHand)
			apply(t, s, newSession(1), c)
			if len(c.Turns) != 1 || c.Turns[0].ID != turnID(1) || c.Turns[0].Replica != "replica-a" || c.Turns[0].Session != sessionID(1) {
				t.Errorf("fenced %+v, want the turn with who runs it", c.Turns)
			}
			end := ended(1, 1, 2)
			if got := outcome(t, s, end); got != mooring.CodeTurnFenced || end.Fenced != mooring.FencedByHand {
				t.Errorf("outcome %q (%s), want turn_fenced by hand", got, end.Fenced)
			}
			if got := turnOf(t, s, 1); got.State != mooring.Running || got.Fence != mooring.FencedByHand || got.Answer != "" {
				t.Errorf("turn %+v, want it running and fenced, without an answer", got)
			}
			if got := session(t, s, 1); got.Usage.Input.Known || got.State != mooring.Running {
				t.Errorf("session %+v, want nothing of the end that was refused", got)
			}
			end.Turn.State, end.Answer.State = mooring.Cancelled, mooring.Cancelled
			apply(t, s, end)
			if got := turnOf(t, s, 1); got.State != mooring.Cancelled || got.Answer != messageID(2) {
				t.Errorf("turn %+v, want it cancelled with what had arrived", got)
			}
		}},
		{"an end that is refused spoils no other of its batch", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), newSession(2), newSession(3), fenceOf(1, mooring.FencedByReset), fenceOf(2, mooring.FencedByHand))
			batch := []mooring.Change{ended(1, 1, 0), ended(3, 3, 0), ended(2, 2, 0), newSession(4)}
			if err := s.Apply(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			var got []mooring.Code
			for _, c := range batch {
				code := mooring.Code("")
				if c.Outcome() != nil {
					code = mooring.CodeOf(c.Outcome())
				}
				got = append(got, code)
			}
			if diff := cmp.Diff([]mooring.Code{mooring.CodeTurnFenced, "", mooring.CodeTurnFenced, ""}, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if got := session(t, s, 3); got.State != mooring.Completed || got.Usage.Input != mooring.Count(10) {
				t.Errorf("session of the good one %+v, want it counted once", got)
			}
		}},
		{"a fence of a session takes all turns that others run in it, and leaves those that have ended and those of its own", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), ended(1, 1, 0), next(1, 2), next(1, 3), other(next(1, 4)), newSession(5))
			c := &mooring.Fence{Tenant: tenant, Session: sessionID(1), Replica: "replica-b", Why: mooring.FencedByReset}
			apply(t, s, c)
			if len(c.Turns) != 2 {
				t.Errorf("fenced %+v, want turns 2 and 3", c.Turns)
			}
			list, err := s.FencedTurns(t.Context(), "replica-a")
			if err != nil || len(list) != 2 || list[0].Fence != mooring.FencedByReset || list[0].Tenant != tenant || list[0].ID == list[1].ID {
				t.Errorf("FencedTurns = %+v, %v; want turns 2 and 3 with the reason", list, err)
			}
			if list, err := s.FencedTurns(t.Context(), "replica-b"); err != nil || len(list) != 0 {
				t.Errorf("FencedTurns of the other replica = %+v, %v", list, err)
			}
			foreign := &mooring.Fence{Tenant: "globex", Session: sessionID(5), Replica: "replica-b", Why: mooring.FencedByReset}
			if apply(t, s, foreign); len(foreign.Turns) != 0 {
				t.Errorf("another tenant fenced %+v", foreign.Turns)
			}
		}},
		{"the first reason of a fence stays, and goes with the next attempt", func(t *testing.T, s Store) {
			failed := ended(1, 1, 0)
			failed.Turn.State = mooring.Cancelled
			apply(t, s, newSession(1), fenceOf(1, mooring.FencedByHand), fenceOf(1, mooring.FencedByReset))
			if got := turnOf(t, s, 1).Fence; got != mooring.FencedByHand {
				t.Errorf("fence %q, want the first one", got)
			}
			apply(t, s, failed, next(1, 1))
			if got := turnOf(t, s, 1); got.Fence != "" || got.State != mooring.Running {
				t.Errorf("next attempt %+v, want it running without a fence", got)
			}
			apply(t, s, ended(1, 1, 0))
		}},
		{"a fenced turn whose replica does not end it is ended for it", func(t *testing.T, s Store) {
			begin := newSession(1)
			begin.Claim = pin(1, 1, "north")
			final := fenceOf(1, mooring.FencedByHand)
			final.Final, final.At = true, at(90)
			apply(t, s, begin, next(1, 2), fenceOf(1, mooring.FencedByHand), final)
			if got := turnOf(t, s, 1); len(final.Turns) != 1 || got.State != mooring.Cancelled || got.ErrorCode != mooring.CodeTurnCancelled || got.EndedAt.IsZero() {
				t.Errorf("turn %+v, want it cancelled", got)
			}
			if got, _ := s.Pins(t.Context(), tenant, sessionID(1)); len(got) != 0 {
				t.Errorf("its claim %v is still there", got)
			}
			if got := session(t, s, 1).State; got != mooring.Running {
				t.Errorf("session is %s, want its later turn's state", got)
			}
			late := ended(1, 1, 2)
			if got := outcome(t, s, late); got != mooring.CodeTurnFenced {
				t.Errorf("its own end afterwards: %q, want turn_fenced", got)
			}
			late.Turn.State = mooring.Cancelled
			if got := outcome(t, s, late); got != mooring.CodeTurnFenced {
				t.Errorf("its own end as cancelled afterwards: %q, want turn_fenced", got)
			}
			if got := turnOf(t, s, 1); got.Answer != "" || !got.EndedAt.Equal(got.EndedAt) {
				t.Errorf("turn %+v, want it as it was ended", got)
			}
			second := fenceOf(2, mooring.FencedByHand)
			second.Final = true
			if apply(t, s, second); len(second.Turns) != 0 {
				t.Errorf("a turn without a fence was ended")
			}
		}},
		{"a turn that was given up as a dead replica's is not its to end any more, nor once it runs again elsewhere", func(t *testing.T, s Store) {
			apply(t, s, newSession(1))
			retire(t, s, "replica-b", at(60))
			if got := outcome(t, s, ended(1, 1, 2)); got != mooring.CodeTurnLost {
				t.Errorf("outcome %q, want turn_lost", got)
			}
			if got := turnOf(t, s, 1).State; got != mooring.Interrupted {
				t.Errorf("turn is %s, want interrupted", got)
			}
			apply(t, s, other(next(1, 1)))
			if got := outcome(t, s, ended(1, 1, 2)); got != mooring.CodeTurnLost {
				t.Errorf("outcome while it runs again %q, want turn_lost", got)
			}
			again := ended(1, 1, 3)
			again.Turn.Replica = "replica-b"
			apply(t, s, again)
			if got := turnOf(t, s, 1); got.State != mooring.Completed || got.Answer != messageID(3) {
				t.Errorf("turn %+v, want the second attempt's end", got)
			}
		}},
		{"of two requests that take up one failed turn one may", func(t *testing.T, s Store) {
			failed := ended(1, 1, 0)
			failed.Turn.State = mooring.Failed
			apply(t, s, newSession(1), failed)
			first, second := next(1, 1), next(1, 1)
			first.Resumes, second.Resumes = true, true
			apply(t, s, other(first))
			second.Messages = []mooring.Message{message(1, 8, "")}
			if got := outcome(t, s, second); got != mooring.CodeSessionTaken {
				t.Errorf("outcome %q, want session_taken", got)
			}
			if list, _ := s.Children(t.Context(), tenant, sessionID(1), ""); len(list) != 0 {
				t.Errorf("messages %v were written", list)
			}
			apply(t, s, first) // once more: its commit's reply was lost
			if got := turnOf(t, s, 1); got.Replica != "replica-b" || got.State != mooring.Running {
				t.Errorf("turn %+v, want the first one's", got)
			}
		}},
		{"a turn that is not the last of its session is not taken up", func(t *testing.T, s Store) {
			failed, again := ended(1, 1, 0), next(1, 1)
			failed.Turn.State, again.Resumes = mooring.Failed, true
			apply(t, s, newSession(1), failed, next(1, 2))
			if got := outcome(t, s, again); got != mooring.CodeSessionTaken {
				t.Errorf("outcome %q, want session_taken", got)
			}
		}},
		{"C074 a turn that is to be the only one waits for those of other replicas", func(t *testing.T, s Store) {
			sole := func(n int) *mooring.Begin {
				c := next(1, n)
				c.Sole, c.Turn.Replica = true, "replica-b"
				return c
			}
			side := next(1, 4)
			side.Turn.Kind = mooring.KindSide
			apply(t, s, newSession(1), other(next(1, 2)))
			c := sole(3)
			if got := outcome(t, s, c); got != mooring.CodeSessionBusy || c.Busy == nil || c.Busy.ID != turnID(1) || c.Busy.Replica != "replica-a" {
				t.Errorf("outcome %q, busy with %+v; want session_busy with the other replica's turn", got, c.Busy)
			}
			if _, err := s.Turn(t.Context(), tenant, turnID(3)); mooring.CodeOf(err) != mooring.CodeNotFound {
				t.Errorf("Turn of the refused: %v, want not_found", err)
			}
			apply(t, s, ended(1, 1, 0), side, c)
			if c.Busy != nil {
				t.Errorf("busy with %+v afterwards", c.Busy)
			}
			apply(t, s, next(1, 5), c) // once more: its commit's reply was lost
		}},
		{"a turn that was built on what has changed since writes nothing", func(t *testing.T, s Store) {
			seen := func(n int, change func(*mooring.Standing)) *mooring.Begin {
				c := next(1, n)
				c.Turn.Replica = "replica-b"
				c.Seen = &mooring.Standing{Tip: messageID(2), TipTurn: turnID(1), State: mooring.Completed}
				change(c.Seen)
				return c
			}
			begin, end := newSession(1), ended(1, 1, 2)
			begin.Messages = []mooring.Message{message(1, 1, "")}
			begin.Remote = &mooring.RemoteSession{Server: "north", ID: "remote-1"}
			end.Bind = pin(1, 1, "north")
			apply(t, s, begin, end)
			for what, change := range map[string]func(*mooring.Standing){
				"another turn":           func(s *mooring.Standing) { s.TipTurn = turnID(7) },
				"another tip":            func(s *mooring.Standing) { s.Tip = messageID(1) },
				"another state":          func(s *mooring.Standing) { s.State = mooring.Running },
				"a pin that moved":       func(s *mooring.Standing) { s.Pin = pin(1, 1, "south") },
				"another account":        func(s *mooring.Standing) { s.Pin = pin(1, 1, "north"); s.Pin.Account = "second" },
				"a pin that is gone":     func(s *mooring.Standing) { s.Pin = pin(1, 1, "north"); s.Pin.Set = "north" },
				"a remote id that moved": func(s *mooring.Standing) { s.Remote = &mooring.RemoteSession{Server: "north", ID: "remote-0"} },
			} {
				c := seen(9, change)
				c.Messages = []mooring.Message{message(1, 9, messageID(2))}
				if got := outcome(t, s, c); got != mooring.CodeSessionTaken {
					t.Errorf("%s: outcome %q, want session_taken", what, got)
				}
			}
			if _, err := s.Turn(t.Context(), tenant, turnID(9)); mooring.CodeOf(err) != mooring.CodeNotFound {
				t.Errorf("Turn: %v, want not_found", err)
			}
			good := seen(3, func(s *mooring.Standing) {
				s.Pin, s.Remote = pin(1, 1, "north"), &mooring.RemoteSession{Server: "north", ID: "remote-1"}
			})
			apply(t, s, good)
			apply(t, s, good) // once more: its commit's reply was lost
			mine := seen(4, func(*mooring.Standing) {})
			if apply(t, s, mine); turnOf(t, s, 4).State != mooring.Running {
				t.Error("a replica is surprised by a turn of its own")
			}
			gone := seen(5, func(*mooring.Standing) {})
			gone.Session.ID = sessionID(6)
			if got := outcome(t, s, gone); got != mooring.CodeSessionGone {
				t.Errorf("outcome in a session that is gone %q, want session_gone", got)
			}
		}},
		{"a running turn is found by its request's body", func(t *testing.T, s Store) {
			first, second, third := newSession(1), newSession(2), newSession(3)
			first.Turn.BodyDigest, second.Turn.BodyDigest, third.Turn.BodyDigest = []byte("b"), []byte("b"), []byte("c")
			first.Turn.RetryKey = []byte("key")
			apply(t, s, first, second, third, ended(2, 2, 0))
			list, err := s.RunningTurns(t.Context(), tenant, []byte("b"))
			if err != nil || len(list) != 1 || list[0].ID != turnID(1) || string(list[0].RetryKey) != "key" {
				t.Errorf("RunningTurns = %+v, %v; want turn 1 with its key", list, err)
			}
			if list, _ := s.RunningTurns(t.Context(), "globex", []byte("b")); len(list) != 0 {
				t.Errorf("another tenant found %+v", list)
			}
		}},
		{"a chat that begins anew fences what other replicas run in it", func(t *testing.T, s Store) {
			if s.Local() {
				return // one process knows its own
			}
			reset := newSession(2)
			reset.Aliases, reset.Session.Key, reset.Turn.Replica = newSession(1).Aliases, "key-1", "replica-b"
			reset.Reset = &mooring.Reset{Key: "old", Alias: mooring.Alias{Class: mooring.ClassAny, Value: "old"}}
			apply(t, s, newSession(1), reset)
			if len(reset.Fenced) != 1 || reset.Fenced[0].ID != turnID(1) || reset.Fenced[0].Replica != "replica-a" {
				t.Errorf("fenced %+v, want the turn that ran", reset.Fenced)
			}
			if got := turnOf(t, s, 1).Fence; got != mooring.FencedByReset {
				t.Errorf("fence %q, want reset", got)
			}
			late := next(1, 3)
			late.Named = newSession(1).Aliases[0]
			if got := outcome(t, s, late); got != mooring.CodeSessionTaken {
				t.Errorf("a turn under the chat's name in the old session: %q, want session_taken", got)
			}
			if got := session(t, s, 1); got.TipTurn != turnID(1) || got.Turns != 1 {
				t.Errorf("old session %+v, want nothing of the late turn", got)
			}
		}},
	}
}
