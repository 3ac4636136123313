//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// resetTo begins session n in the place of session 1, which has these aliases.
func resetTo(n int, aliases ...mooring.Alias) *mooring.Begin {
	c := newSession(n)
	c.Session.Key, c.Session.Relation, c.Session.ResetOf, c.Session.Cut = aliases[0].Value, mooring.RelationReset, sessionID(1), []byte("cut")
	c.Aliases = aliases
	c.Reset = &mooring.Reset{Key: "next-" + string(sessionID(n)), Alias: mooring.Alias{Class: mooring.ClassAny, Value: "next-" + string(sessionID(n))}}
	return c
}

func chatTests() []test {
	chat := mooring.Alias{Class: mooring.ClassGeneric, Value: "key-1"}
	other := mooring.Alias{Class: "name:x-other", Value: "key-1"}
	holder := func(t *testing.T, s Store, a mooring.Alias) mooring.SessionID {
		t.Helper()
		hits, err := s.AliasHits(t.Context(), tenant, []mooring.Alias{a})
		if err != nil || len(hits) != 1 {
			t.Fatalf("AliasHits of %v = %v, %v; want one", a, hits, err)
		}
		return hits[0].Session
	}
	return []test{
		{"a reset takes the chat's aliases, and the session before gets a key of its own", func(t *testing.T, s Store) {
			first := newSession(1)
			first.Aliases = []mooring.Alias{chat, other}
			reset := resetTo(2, chat)
			apply(t, s, first, reset)
			if got := holder(t, s, chat); got != sessionID(2) {
				t.Errorf("the chat is on %s, want the new session", got)
			}
			if got := holder(t, s, other); got != sessionID(1) {
				t.Errorf("another alias is on %s, want the old session", got)
			}
			before, after := session(t, s, 1), session(t, s, 2)
			if before.Key != reset.Reset.Key || after.Key != "key-1" || holder(t, s, reset.Reset.Alias) != sessionID(1) {
				t.Errorf("keys %q and %q, want the minted one and the chat's", before.Key, after.Key)
			}
			if after.ResetOf != sessionID(1) || string(after.Cut) != "cut" || after.Relation != mooring.RelationReset || after.Root != after.ID {
				t.Errorf("new session %+v, want it to know what it was reset from", after)
			}
		}},
		{"of two resets at once both are made, and each key means one session", func(t *testing.T, s Store) {
			first := newSession(1)
			first.Aliases = []mooring.Alias{chat}
			apply(t, s, first, resetTo(2, chat), resetTo(3, chat))
			if got := holder(t, s, chat); got != sessionID(3) {
				t.Errorf("the chat is on %s, want the last one", got)
			}
			list, err := s.SessionsByKey(t.Context(), tenant, "key-1")
			if err != nil || len(list) != 1 || list[0].ID != sessionID(3) {
				t.Errorf("SessionsByKey = %v, %v; want the last one alone", list, err)
			}
		}},
		{"a reset committed twice is one", func(t *testing.T, s Store) {
			first := newSession(1)
			first.Aliases = []mooring.Alias{chat}
			reset := resetTo(2, chat)
			reset.Turn, reset.Ack = mooring.Turn{}, []byte("ack")
			batch := []mooring.Change{first, reset}
			apply(t, s, batch...)
			want := session(t, s, 2)
			apply(t, s, reset)
			if diff := cmp.Diff(want, session(t, s, 2)); diff != "" || holder(t, s, chat) != sessionID(2) {
				t.Errorf("the second time (-want +got):\n%s", diff)
			}
		}},
		{"C161 a session is found by the answer that opened it, until it is deleted", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Turn, c.Ack = mooring.Turn{}, []byte("ack")
			apply(t, s, c)
			find := func() []mooring.ChainEntry {
				list, err := s.Chain(t.Context(), tenant, [][]byte{[]byte("ack")})
				if err != nil {
					t.Fatal(err)
				}
				return list
			}
			want := []mooring.ChainEntry{{Mark: mooring.Mark{Kind: mooring.BySelf, Digest: []byte("ack")}, Session: sessionID(1)}}
			if diff := cmp.Diff(want, find()); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			if got := find(); len(got) != 0 {
				t.Errorf("found %v, want nothing of a deleted session", got)
			}
		}},
		{"what an upstream made is its tenant's, also once the session is gone", func(t *testing.T, s Store) {
			first := newSession(1)
			end := ended(1, 1, 2)
			end.Objects = []mooring.Object{{Tenant: tenant, ID: "resp_1", Session: sessionID(1), Message: messageID(2), Upstream: "north", Account: "a"}}
			apply(t, s, first, end)
			owners := func(who mooring.Tenant) []mooring.Object {
				list, err := s.Owners(t.Context(), who, "resp_1")
				if err != nil {
					t.Fatal(err)
				}
				return list
			}
			for _, who := range []mooring.Tenant{tenant, "globex"} {
				if diff := cmp.Diff(end.Objects, owners(who)); diff != "" {
					t.Errorf("owners asked by %s (-want +got):\n%s", who, diff)
				}
			}
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			want := []mooring.Object{{Tenant: tenant, ID: "resp_1", Upstream: "north", Account: "a"}}
			if diff := cmp.Diff(want, owners("globex")); diff != "" {
				t.Errorf("after the session's end (-want +got):\n%s", diff)
			}
			if got, err := s.Owners(t.Context(), tenant, "resp_2"); len(got) != 0 || err != nil {
				t.Errorf("owners of an id nobody has = %v, %v", got, err)
			}
		}},
		{"of two tenants with the same id each sees its own first", func(t *testing.T, s Store) {
			for n, who := range []mooring.Tenant{"acme", "globex"} {
				c, end := newSession(n), ended(n, n, 0)
				c.Session.Tenant, c.Turn.Tenant, end.Turn.Tenant = who, who, who
				end.Objects = []mooring.Object{{Tenant: who, ID: "conv_1", Session: sessionID(n), Upstream: "north"}}
				apply(t, s, c, end)
			}
			for n, who := range []mooring.Tenant{"acme", "globex"} {
				if got, err := s.Owners(t.Context(), who, "conv_1"); err != nil || len(got) != 2 || got[0].Session != sessionID(n) {
					t.Errorf("owners asked by %s = %v, %v; want its own first", who, got, err)
				}
			}
		}},
		{"failed turns are found by their bodies, the newest first, within the time", func(t *testing.T, s Store) {
			for n, state := range []mooring.TurnState{mooring.Failed, mooring.Completed, mooring.Cancelled, mooring.Failed} {
				c, end := newSession(n), ended(n, n, 0)
				c.Turn.BodyDigest, end.Turn.State = []byte("body"), state
				apply(t, s, c, end)
			}
			list, err := s.FailedTurns(t.Context(), tenant, []byte("body"), at(1))
			var got []mooring.TurnID
			for i := range list {
				got = append(got, list[i].ID)
			}
			if diff := cmp.Diff([]mooring.TurnID{turnID(3), turnID(2)}, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			apply(t, s, next(3, 3))
			if list, err = s.FailedTurns(t.Context(), tenant, []byte("body"), at(3)); len(list) != 0 || err != nil {
				t.Errorf("a turn that runs again is found: %v, %v", list, err)
			}
			if list, err = s.FailedTurns(t.Context(), "globex", []byte("body"), at(0)); len(list) != 0 || err != nil {
				t.Errorf("another tenant finds %v, %v", list, err)
			}
		}},
	}
}
