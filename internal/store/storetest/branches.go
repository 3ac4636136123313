//nolint:gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mooring"
)

func branchTests() []test {
	return []test{
		{"the messages beside others come by parent, oldest first, of that session alone", func(t *testing.T, s Store) {
			c, other := branched(), newSession(2)
			other.Messages = []mooring.Message{message(2, 20, ""), message(2, 21, messageID(1))}
			apply(t, s, c, other)
			got, err := s.Siblings(t.Context(), tenant, sessionID(1), []mooring.MessageID{"", messageID(1), messageID(9)})
			want := map[mooring.MessageID][]mooring.MessageID{"": {messageID(1), messageID(5)}, messageID(1): {messageID(2), messageID(4)}}
			if diff := gocmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("Siblings: %v (-want +got):\n%s", err, diff)
			}
			if got, err := s.Siblings(t.Context(), "other", sessionID(1), []mooring.MessageID{""}); err != nil || len(got) != 0 {
				t.Errorf("of another tenant: %v, %v; want none", got, err)
			}
			if got, err := s.Siblings(t.Context(), tenant, sessionID(1), nil); err != nil || len(got) != 0 {
				t.Errorf("of nothing: %v, %v; want none", got, err)
			}
		}},
		{"the newest message below another is found on whichever branch it stands", func(t *testing.T, s Store) {
			apply(t, s, branched())
			for from, want := range map[mooring.MessageID]mooring.MessageID{
				messageID(1): messageID(6), // by way of the older one of two
				messageID(2): messageID(6),
				messageID(4): messageID(4),
				messageID(5): messageID(5),
				messageID(9): "",
			} {
				if got, err := s.Newest(t.Context(), tenant, sessionID(1), from); err != nil || got != want {
					t.Errorf("Newest(%s) = %q, %v; want %q", from, got, err, want)
				}
			}
			for _, tt := range []struct {
				tenant  mooring.Tenant
				session mooring.SessionID
			}{{"other", sessionID(1)}, {tenant, sessionID(2)}} {
				if got, err := s.Newest(t.Context(), tt.tenant, tt.session, messageID(1)); err != nil || got != "" {
					t.Errorf("Newest of %v = %q, %v; want none", tt, got, err)
				}
			}
		}},
		{"a session is found by its friendly id, inside its tenant", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Session.FriendlyID = "abcd1234"
			apply(t, s, c, newSession(2))
			got, err := s.SessionsByFriendlyID(t.Context(), tenant, "abcd1234")
			if err != nil || len(got) != 1 || got[0].ID != sessionID(1) {
				t.Errorf("SessionsByFriendlyID = %v, %v; want the first session", got, err)
			}
			if got, err := s.SessionsByFriendlyID(t.Context(), "other", "abcd1234"); err != nil || len(got) != 0 {
				t.Errorf("of another tenant: %v, %v; want none", got, err)
			}
		}},
	}
}

// branched begins session 1 with the messages 1 and 5 at its root, 2 and 4 below 1, 3 below 2 and 6 below that.
func branched() *mooring.Begin {
	c := newSession(1)
	c.Messages = []mooring.Message{
		message(1, 1, ""), message(1, 2, messageID(1)), message(1, 3, messageID(2)), message(1, 4, messageID(1)), message(1, 5, ""), message(1, 6, messageID(3)),
	}
	return c
}
