//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func endTests() []test {
	return []test{
		{"changes that are refused leave the others of their batch as they are, and say nothing but why", func(t *testing.T, s Store) {
			apply(t, s, newSession(1))
			lost := ended(1, 1, 3)
			lost.Turn.Replica = "another"
			lost.Remote = &mooring.RemoteSession{Tenant: tenant, Session: sessionID(1), Server: "north", ID: "theirs"}
			unknown := newSession(8)
			unknown.New = false
			second := ended(2, 2, 4)
			batch := []mooring.Change{ended(7, 7, 5), newSession(2), lost, unknown, second, ended(8, 8, 6), newSession(3)}
			for range 2 {
				if err := s.Apply(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
				for i, want := range []mooring.Code{mooring.CodeSessionGone, "", mooring.CodeTurnLost, mooring.CodeSessionGone, "", mooring.CodeSessionGone, ""} {
					if err := batch[i].Outcome(); (err == nil) != (want == "") || err != nil && mooring.CodeOf(err) != want {
						t.Errorf("outcome of change %d: %v, want %q", i, err, want)
					}
				}
				if lost.Taken {
					t.Error("the end that is refused says that an id is another session's")
				}
				if one, two := session(t, s, 1), session(t, s, 2); one.State != mooring.Running || two.State != mooring.Completed || two.Usage != second.Turn.Usage {
					t.Errorf("sessions %+v and %+v; want the first one to run, the second one's use once", one, two)
				}
				session(t, s, 3)
				events, err := s.EventsAfter(t.Context(), tenant, 2, 100) // the first two are the first session's
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if e.Session != sessionID(2) && e.Session != sessionID(3) {
						t.Errorf("event %+v of a change that was refused", e)
					}
				}
			}
		}},
		{"an end is stored whole, moves the tip and sums up", func(t *testing.T, s Store) {
			begin := newSession(1)
			begin.Turn.Evidence = []mooring.Evidence{{Signal: "header:x-session-id", Value: "key-1", Use: "decided"}}
			begin.Turn.View = &mooring.View{From: messageID(1), Sent: 3}
			begin.Turn.BodyDigest, begin.Turn.Stream, begin.Turn.Identity = []byte{1, 2}, true, "header:x-session-id"
			begin.Messages = []mooring.Message{message(1, 1, "")}
			c := ended(1, 1, 2)
			c.Answer.Parent = messageID(1)
			c.Turn.Attempts = []mooring.Attempt{{Upstream: "north", State: mooring.Completed, Status: 200, Usage: c.Turn.Usage, StartedAt: at(1), EndedAt: at(1)}}
			c.Turn.FirstAt, c.Turn.Account, c.Turn.Pin = at(1), "second", mooring.PinNew
			apply(t, s, begin, c)

			want := begin.Turn
			want.State, want.Upstream, want.Account, want.Pin, want.Answer = mooring.Completed, "north", "second", mooring.PinNew, messageID(2)
			want.Attempts, want.Usage, want.CostUSD, want.Status = c.Turn.Attempts, c.Turn.Usage, c.Turn.CostUSD, 200
			want.FirstAt, want.EndedAt = at(1), at(1)
			if diff := cmp.Diff(want, turnOf(t, s, 1)); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
			got := session(t, s, 1)
			if got.Tip != messageID(2) || got.State != mooring.Completed || got.Usage != c.Turn.Usage || *got.CostUSD != 0.25 {
				t.Errorf("session %+v, want tip, state, usage and cost of the turn", got)
			}
		}},
		{"an end says which model answered, and which ones the session had", func(t *testing.T, s Store) {
			begin, c := newSession(1), ended(1, 1, 0)
			begin.Session.Models = []string{"model-a"}
			c.Turn.Model, c.Models = "model-b", []string{"model-b"}
			apply(t, s, begin, c)
			if got := turnOf(t, s, 1).Model; got != "model-b" {
				t.Errorf("the turn's model is %q, want model-b", got)
			}
			if diff := cmp.Diff([]string{"model-b"}, session(t, s, 1).Models); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
			apply(t, s, next(1, 2), ended(1, 2, 0))
			if diff := cmp.Diff([]string{"model-b"}, session(t, s, 1).Models); diff != "" {
				t.Errorf("models after an end that says nothing of them (-want +got):\n%s", diff)
			}
		}},
		{"where an answer was made is known of it, and of what was said below it", func(t *testing.T, s Store) {
			begin, end, again := newSession(1), ended(1, 1, 2), next(1, 2)
			begin.Messages = []mooring.Message{message(1, 1, "")}
			end.Answer.Parent = messageID(1)
			end.Turn.Upstream, end.Turn.Account = "south", "second"
			again.Messages = []mooring.Message{message(1, 3, messageID(2)), message(1, 4, messageID(3))}
			apply(t, s, begin, end, again)
			want := mooring.Turn{Tenant: tenant, ID: turnID(1), Upstream: "south", Account: "second", Model: "model-a"}
			for at, want := range map[int]mooring.Turn{1: {Tenant: tenant}, 2: want, 3: want, 4: want, 9: {Tenant: tenant}} {
				got, err := s.MadeAt(t.Context(), tenant, messageID(at))
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("message %d: %v (-want +got):\n%s", at, err, diff)
				}
			}
			if got, err := s.MadeAt(t.Context(), "globex", messageID(2)); got.ID != "" || err != nil {
				t.Errorf("another tenant is told %+v, %v", got, err)
			}
		}},
		{"a second end of the same turn counts the difference", func(t *testing.T, s Store) {
			second := ended(1, 1, 0)
			cost := 1.0
			second.Turn.CostUSD, second.Turn.Usage.Output = &cost, mooring.Count(30)
			apply(t, s, newSession(1), ended(1, 1, 0), next(1, 1), second)
			got := session(t, s, 1)
			if want := (mooring.Usage{Input: mooring.Count(10), Output: mooring.Count(30)}); got.Usage != want || *got.CostUSD != 1 {
				t.Errorf("usage %+v, cost %v; want %+v, 1", got.Usage, *got.CostUSD, want)
			}
		}},
		{"usage that was never told stays unknown, and unknown adds nothing", func(t *testing.T, s Store) {
			silent := ended(1, 2, 0)
			silent.Turn.Usage = mooring.Usage{}
			silent.Turn.CostUSD = nil
			silent.Turn.State = mooring.Failed
			apply(t, s, newSession(1), ended(1, 1, 0), next(1, 2), silent)
			got := session(t, s, 1)
			if got.Usage.CacheRead.Known || got.Usage.Input != mooring.Count(10) || got.CostUSD == nil {
				t.Errorf("usage %+v, cost %v; want 10 input, unknown cache, and the cost of the first turn", got.Usage, got.CostUSD)
			}
		}},
		{"one turn without a price makes the session's cost unknown", func(t *testing.T, s Store) {
			unpriced := ended(1, 2, 0)
			unpriced.Turn.CostUSD = nil
			apply(t, s, newSession(1), ended(1, 1, 0), next(1, 2), unpriced)
			if got := session(t, s, 1).CostUSD; got != nil {
				t.Errorf("cost %v, want none", *got)
			}
			apply(t, s, next(1, 2), ended(1, 2, 0))
			if got := session(t, s, 1).CostUSD; got == nil || *got != 0.5 {
				t.Errorf("cost %v after the price was learnt, want 0.5", got)
			}
		}},
		{"a turn that another one overtook moves neither tip nor state", func(t *testing.T, s Store) {
			second := next(1, 2)
			second.Messages = []mooring.Message{message(1, 2, "")}
			apply(t, s, newSession(1), second, ended(1, 1, 5))
			if got := session(t, s, 1); got.Tip != messageID(2) || got.State != mooring.Running {
				t.Errorf("tip %s, state %s; want the second turn's", got.Tip, got.State)
			}
		}},
		{"an end of a deleted turn writes nothing", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			c := ended(1, 1, 2)
			c.Answer.Digest, c.Answer.Seen = []byte("s"), []byte("d")
			c.Bind = pin(1, 1, "north")
			if got := outcome(t, s, c); got != mooring.CodeSessionGone {
				t.Errorf("outcome %q, want session_gone", got)
			}
			chain, err := s.Chain(t.Context(), tenant, [][]byte{[]byte("d")})
			pins, _ := s.Pins(t.Context(), tenant, sessionID(1))
			if err != nil || len(chain) != 0 || len(pins) != 0 {
				t.Errorf("chain %v, pins %v, %v; want nothing", chain, pins, err)
			}
		}},
		{"turns that a dead replica left running are interrupted, those of the living stay", func(t *testing.T, s Store) {
			mine, theirs := newSession(1), newSession(2)
			mine.Turn.Replica, theirs.Turn.Replica = "living", "dead"
			theirs.Claim = pin(2, 2, "north")
			apply(t, s, mine, theirs)
			if n := retire(t, s, "living", at(500)).Turns; n != 1 {
				t.Errorf("%d turns retired, want 1", n)
			}
			if got := turnOf(t, s, 2); got.State != mooring.Interrupted || !got.EndedAt.Equal(at(500)) && time.Since(got.EndedAt).Abs() > time.Hour {
				t.Errorf("turn of the dead: %s, ended %v; want interrupted at the time of the change, or by the store's clock", got.State, got.EndedAt)
			}
			if got := session(t, s, 2).State; got != mooring.Interrupted {
				t.Errorf("its session is %s, want interrupted", got)
			}
			if got, _ := s.Pins(t.Context(), tenant, sessionID(2)); len(got) != 0 {
				t.Errorf("its claim %v is still there", got)
			}
			if got := turnOf(t, s, 1).State; got != mooring.Running {
				t.Errorf("turn of the living is %s, want running", got)
			}
		}},
	}
}
