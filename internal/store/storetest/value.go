//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func valueTests() []test {
	return []test{
		{"C012 C088 tenants, keys, aliases and contents are any bytes", func(t *testing.T, s Store) {
			const odd = "Team-A/\xff\x00 ü"
			c := newSession(1)
			c.Session.Tenant, c.Session.Key = odd, odd
			c.Aliases = []mooring.Alias{{Class: "name:x-session-affinity", Value: odd}}
			c.Messages = []mooring.Message{message(1, 1, ""), message(1, 2, messageID(1))}
			c.Messages[0].Content, c.Messages[1].Content = []byte(odd), bytes.Repeat([]byte(odd), 1000)
			c.Remote = &mooring.RemoteSession{Server: "north", ID: odd}
			apply(t, s, c)
			list, err := s.SessionsByKey(t.Context(), odd, odd)
			if err != nil || len(list) != 1 || list[0].Key != odd || list[0].Tenant != odd {
				t.Errorf("SessionsByKey = %+v, %v; want the session with its key", list, err)
			}
			hits, err := s.AliasHits(t.Context(), odd, []mooring.Alias{{Class: "any", Value: "no"}, c.Aliases[0], {Class: "any", Value: odd}})
			if diff := cmp.Diff([]mooring.AliasHit{{Alias: c.Aliases[0], Session: sessionID(1)}}, hits); diff != "" || err != nil {
				t.Errorf("AliasHits: %v (-want +got):\n%s", err, diff)
			}
			branch, _, err := s.Branch(t.Context(), odd, sessionID(1), mooring.BranchPage{})
			if err != nil || len(branch) != 2 || !bytes.Equal(branch[0].Content, c.Messages[0].Content) || !bytes.Equal(branch[1].Content, c.Messages[1].Content) {
				t.Errorf("Branch: %d messages, %v; want both contents as they came", len(branch), err)
			}
			if c.RemoteID != odd {
				t.Errorf("remote id %q, want %q", c.RemoteID, odd)
			}
		}},
		{"C088 NUL becomes U+2400 in words, broken UTF-8 U+FFFD", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Session.Title, c.Session.Client = "a\x00b\xffc", "\x00"
			c.Turn.Model = "m\x00"
			c.Turn.Evidence = []mooring.Evidence{{Signal: "body:user", Value: "v\x00w", Use: "alias"}}
			c.Messages = []mooring.Message{message(1, 1, "")}
			c.Messages[0].Role = "us\x00er"
			apply(t, s, c)
			got := session(t, s, 1)
			if got.Title != "a\u2400b\uFFFDc" || got.Client != "\u2400" {
				t.Errorf("title %q, client %q; want signs in place of what cannot be kept", got.Title, got.Client)
			}
			if got := turnOf(t, s, 1); got.Model != "m\u2400" || got.Evidence[0].Value != "v\x00w" {
				t.Errorf("model %q, evidence %q", got.Model, got.Evidence[0].Value)
			}
			page, err := s.Sessions(t.Context(), tenant, mooring.SessionFilter{Query: "a\x00b"})
			if err != nil || len(page.Sessions) != 1 {
				t.Errorf("Sessions by such a title: %d, %v; want 1", len(page.Sessions), err)
			}
		}},
		{"C088 an id that no row can have is one that is not there", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Messages = []mooring.Message{message(1, 1, "")}
			apply(t, s, c)
			for _, odd := range []string{"\x00", "\xff", string(sessionID(1)) + "\x00"} {
				ctx := t.Context()
				session, turn, message := mooring.SessionID(odd), mooring.TurnID(odd), mooring.MessageID(odd)
				_, noSession := s.Session(ctx, tenant, session)
				_, noTurn := s.Turn(ctx, tenant, turn)
				if mooring.CodeOf(noSession) != mooring.CodeSessionNotFound || mooring.CodeOf(noTurn) != mooring.CodeNotFound {
					t.Errorf("%q: %v and %v", odd, noSession, noTurn)
				}
				page, err := s.Sessions(ctx, tenant, mooring.SessionFilter{Parent: session})
				if err != nil || len(page.Sessions) != 0 {
					t.Errorf("children of %q: %v, %v", odd, page, err)
				}
				branch, _, err := s.Branch(ctx, tenant, sessionID(1), mooring.BranchPage{Tip: message})
				if err != nil || len(branch) != 0 {
					t.Errorf("branch to %q: %v, %v", odd, branch, err)
				}
				if _, _, err = s.Branch(ctx, tenant, sessionID(1), mooring.BranchPage{Before: message}); err != nil && mooring.KindOf(err) != mooring.KindNotFound {
					t.Errorf("branch before %q: %v", odd, err)
				}
				if tip, err := s.Newest(ctx, tenant, sessionID(1), message); tip != "" || err != nil {
					t.Errorf("newest below %q: %q, %v", odd, tip, err)
				}
				if code := outcome(t, s, &mooring.Patch{Tenant: tenant, Session: sessionID(1), Tip: message}); code == "" {
					t.Errorf("%q became a tip", odd)
				}
			}
		}},
		{"C013 ids and keys are compared byte for byte", func(t *testing.T, s Store) {
			lower, upper := newSession(1), newSession(2)
			lower.Session.Key, upper.Session.Key = "ab-cd", "AB-CD"
			apply(t, s, lower, upper)
			list, err := s.SessionsByKey(t.Context(), tenant, "AB-CD")
			if err != nil || len(list) != 1 || list[0].ID != sessionID(2) {
				t.Errorf("SessionsByKey = %+v, %v; want the second session alone", list, err)
			}
		}},
		{"the place of a journal is noted with the changes that came from it", func(t *testing.T, s Store) {
			if seq, err := s.Applied(t.Context()); seq != 0 || err != nil {
				t.Errorf("Applied = %d, %v; want 0 in a new store", seq, err)
			}
			apply(t, s, newSession(1), &mooring.Applied{Seq: 7})
			if seq, err := s.Applied(t.Context()); seq != 7 || err != nil {
				t.Errorf("Applied = %d, %v; want 7", seq, err)
			}
		}},
		{"C140 without a tenant nothing is seen, nor with another one", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Messages = []mooring.Message{found(1, 1, "s", "d")}
			apply(t, s, c)
			for _, who := range []mooring.Tenant{"", "globex"} {
				ctx := t.Context()
				if _, err := s.Session(ctx, who, sessionID(1)); mooring.CodeOf(err) != mooring.CodeSessionNotFound {
					t.Errorf("Session as %q: %v, want session_not_found", who, err)
				}
				if _, err := s.Turn(ctx, who, turnID(1)); mooring.CodeOf(err) != mooring.CodeNotFound {
					t.Errorf("Turn as %q: %v, want not_found", who, err)
				}
				if _, _, err := s.Branch(ctx, who, sessionID(1), mooring.BranchPage{Tip: messageID(1)}); mooring.CodeOf(err) != mooring.CodeSessionNotFound {
					t.Errorf("Branch as %q: %v, want session_not_found", who, err)
				}
				page, _ := s.Sessions(ctx, who, mooring.SessionFilter{})
				keyed, _ := s.SessionsByKey(ctx, who, "key-1")
				hits, _ := s.AliasHits(ctx, who, c.Aliases)
				chain, _ := s.Chain(ctx, who, [][]byte{[]byte("d")})
				if len(page.Sessions)+page.Total+len(keyed)+len(hits)+len(chain) != 0 {
					t.Errorf("as %q: %v %v %v %v, want nothing", who, page, keyed, hits, chain)
				}
			}
		}},
	}
}
