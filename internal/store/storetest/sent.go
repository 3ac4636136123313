//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"fmt"
	"sync"
	"testing"

	"mooring"
)

// sends is a turn that a message of a client begins.
func sends(in, n int, clientMessage string) *mooring.Begin {
	c := next(in, n)
	c.Turn.ClientMessage = clientMessage
	c.Messages = []mooring.Message{message(in, n, "")}
	return c
}

// sent gives the number of the turn that a message began in session in; 0 for none.
func sent(t *testing.T, s Store, in int, clientMessage string) mooring.TurnID {
	t.Helper()
	got, err := s.SentTurn(t.Context(), tenant, sessionID(in), clientMessage)
	if mooring.CodeOf(err) == mooring.CodeNotFound {
		return ""
	}
	if err != nil || got.ClientMessage != clientMessage {
		t.Fatalf("SentTurn(%q) = %+v, %v", clientMessage, got, err)
	}
	return got.ID
}

func sentTests() []test {
	return []test{
		{"a message sent again is the same turn of its session, and of no other", func(t *testing.T, s Store) {
			first := newSession(1)
			first.Turn.ClientMessage = "m-1"
			apply(t, s, first, newSession(2), sends(1, 3, "m-2"), sends(2, 4, "m-1"), ended(1, 3, 0))
			if got := outcome(t, s, sends(1, 5, "m-2")); got != mooring.CodeSessionTaken {
				t.Errorf("sent again: %q, want %s", got, mooring.CodeSessionTaken)
			}
			if _, err := s.Turn(t.Context(), tenant, turnID(5)); mooring.CodeOf(err) != mooring.CodeNotFound {
				t.Errorf("its turn was written: %v", err)
			}
			if got := session(t, s, 1); got.Turns != 2 || got.TipTurn != turnID(3) {
				t.Errorf("the session has moved on: %d turns, the last one %s", got.Turns, got.TipTurn)
			}
			for _, row := range []struct {
				in   int
				send string
				want mooring.TurnID
			}{{1, "m-1", turnID(1)}, {1, "m-2", turnID(3)}, {2, "m-1", turnID(4)}, {2, "m-2", ""}, {1, "", ""}} {
				if got := sent(t, s, row.in, row.send); got != row.want {
					t.Errorf("session %d, %q: turn %q, want %q", row.in, row.send, got, row.want)
				}
			}
			if _, err := s.SentTurn(t.Context(), "rival", sessionID(1), "m-1"); mooring.CodeOf(err) != mooring.CodeNotFound {
				t.Errorf("another tenant finds it: %v", err)
			}
		}},
		{"the same begin once more is no other turn", func(t *testing.T, s Store) {
			c := sends(1, 2, "m-1")
			apply(t, s, newSession(1), c)
			apply(t, s, c)
			if c.Err != nil || session(t, s, 1).Turns != 2 {
				t.Errorf("%v, %d turns; want none more", c.Err, session(t, s, 1).Turns)
			}
		}},
		{"written whole it is found too", func(t *testing.T, s Store) {
			apply(t, s, newSession(1))
			apply(t, s, sends(1, 2, "m-1"), ended(1, 2, 0))
			if got := sent(t, s, 1, "m-1"); got != turnID(2) {
				t.Errorf("turn %q, want %q", got, turnID(2))
			}
		}},
		{"of many at the same moment one is written", func(t *testing.T, s Store) {
			apply(t, s, newSession(1))
			all := make([]*mooring.Begin, 20)
			var group sync.WaitGroup
			errs := make([]error, len(all))
			for i := range all {
				all[i] = sends(1, 2+i, "m-1")
				group.Go(func() { errs[i] = s.Apply(t.Context(), []mooring.Change{all[i]}) })
			}
			group.Wait()
			won := 0
			for i, c := range all {
				if errs[i] != nil {
					t.Fatal(fmt.Errorf("apply %d: %w", i, errs[i]))
				}
				if c.Err == nil {
					won++
				}
			}
			if won != 1 || session(t, s, 1).Turns != 2 {
				t.Errorf("%d were written, the session has %d turns; want one", won, session(t, s, 1).Turns)
			}
		}},
	}
}
