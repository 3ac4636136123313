//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"bytes"
	"slices"
	"testing"

	"mooring"
)

// source is session 1: a question, an answer that is found by its digests, a large content, and another branch.
func source() *mooring.Begin {
	c := newSession(1)
	answer := found(1, 2, "self", "seen")
	answer.Parent, answer.Role = messageID(1), "assistant"
	big, other := large(1, 3, 'x'), message(1, 4, messageID(2))
	big.Parent = messageID(2)
	c.Messages = []mooring.Message{message(1, 1, ""), answer, big, other}
	return c
}

// forkOf makes session 2 of the first messages of session 1; its own are 100 and more.
func forkOf(upTo int) *mooring.Begin {
	c := newSession(2)
	c.Turn = mooring.Turn{}
	c.Session.Parent, c.Session.Relation = sessionID(1), mooring.RelationFork
	for n := 1; n <= upTo; n++ {
		c.Copies = append(c.Copies, mooring.Copy{From: messageID(n), To: messageID(100 + n)})
	}
	c.Session.Tip = messageID(100 + upTo)
	return c
}

func forkTests() []test {
	return []test{
		{"a fork holds copies of its own, and both go on", func(t *testing.T, s Store) {
			apply(t, s, source(), ended(1, 1, 0))
			before := session(t, s, 1)
			apply(t, s, forkOf(3))
			if got := session(t, s, 1); got.Tip != before.Tip || got.Turns != before.Turns {
				t.Errorf("the source: %+v, want it as it was", got)
			}
			if queue, err := s.Unindexed(t.Context(), 1<<40, 100); err != nil || !slices.ContainsFunc(queue, func(u mooring.Unindexed) bool { return u.Message == messageID(103) }) {
				t.Errorf("the copies are not to be found by their words: %v, %v", queue, err)
			}
			fork := session(t, s, 2)
			if fork.Parent != sessionID(1) || fork.Root != sessionID(1) || fork.State != "" || fork.Turns != 0 || fork.Usage != (mooring.Usage{}) {
				t.Errorf("fork %+v; want no turns and no use, below its source", fork)
			}
			list, _, err := s.Branch(t.Context(), tenant, sessionID(2), mooring.BranchPage{})
			if err != nil || len(list) != 3 {
				t.Fatalf("Branch: %d messages, %v; want 3", len(list), err)
			}
			parent := mooring.MessageID("")
			for i, m := range list {
				if m.ID != messageID(101+i) || m.Parent != parent || m.Turn != "" || m.Session != sessionID(2) || !m.CreatedAt.Equal(at(i+1)) {
					t.Errorf("message %d: %+v", i, m)
				}
				parent = m.ID
			}
			if !bytes.Equal(list[2].Content, large(1, 3, 'x').Content) || list[1].Role != "assistant" {
				t.Error("the copies differ from what they copy")
			}
			apply(t, s, next(2, 7), ended(2, 7, 7))
			if got := session(t, s, 2); got.Turns != 1 || got.Tip != messageID(7) {
				t.Errorf("the fork after a turn: %+v", got)
			}
		}},
		{"copies are found by their digests in the fork", func(t *testing.T, s Store) {
			apply(t, s, source(), forkOf(2))
			for kind, digest := range map[mooring.ChainKind]string{mooring.ByChain: "seen", mooring.BySelf: "self"} {
				hits, err := s.Chain(t.Context(), tenant, [][]byte{[]byte(digest)})
				if err != nil || len(hits) != 2 || hits[0].Message != messageID(102) || hits[0].Kind != kind || hits[0].Session != sessionID(2) {
					t.Errorf("Chain = %+v, %v; want the copy", hits, err)
				}
			}
		}},
		{"C161 a content lives as long as either has it", func(t *testing.T, s Store) {
			apply(t, s, source(), forkOf(3), &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			list, _, err := s.Branch(t.Context(), tenant, sessionID(2), mooring.BranchPage{})
			if err != nil || len(list) != 3 || len(list[2].Content) != 9000 {
				t.Errorf("Branch: %d messages, %v; want the content whole", len(list), err)
			}
			if got := session(t, s, 2); got.Parent != "" || got.Root != sessionID(2) {
				t.Errorf("parent %q, root %q; want the fork on its own", got.Parent, got.Root)
			}
			again := newSession(3)
			again.Messages = []mooring.Message{large(3, 9, 'x')}
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(2)}, again)
			if list, _, err = s.Branch(t.Context(), tenant, sessionID(3), mooring.BranchPage{}); err != nil || len(list[0].Content) != 9000 {
				t.Errorf("the same content later: %v", err)
			}
		}},
		{"the same fork committed twice counts once", func(t *testing.T, s Store) {
			apply(t, s, source(), forkOf(3))
			apply(t, s, forkOf(3))
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(2)})
			list, _, err := s.Branch(t.Context(), tenant, sessionID(1), mooring.BranchPage{Tip: messageID(3)})
			if err != nil || len(list) != 3 || len(list[2].Content) != 9000 {
				t.Errorf("the source after its fork is gone: %d messages, %v", len(list), err)
			}
		}},
		{"nothing is made of a source that is gone, nor of another tenant's", func(t *testing.T, s Store) {
			foreign := forkOf(2)
			foreign.Session.Tenant = "globex"
			apply(t, s, source())
			if got := outcome(t, s, foreign); got != mooring.CodeSessionGone {
				t.Errorf("outcome %q of another tenant's, want session_gone", got)
			}
			late := forkOf(2)
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			if got := outcome(t, s, late); got != mooring.CodeSessionGone {
				t.Errorf("outcome %q, want session_gone", got)
			}
			page, _ := s.Sessions(t.Context(), tenant, mooring.SessionFilter{})
			hits, err := s.AliasHits(t.Context(), tenant, late.Aliases)
			if err != nil || len(page.Sessions)+len(hits) != 0 {
				t.Errorf("%d sessions and %d aliases, %v; want nothing", len(page.Sessions), len(hits), err)
			}
		}},
		{"a trail tells what to copy, without contents", func(t *testing.T, s Store) {
			apply(t, s, source())
			trail, err := s.Trail(t.Context(), tenant, sessionID(1), messageID(3), 10)
			var ids []mooring.MessageID
			for _, m := range trail {
				ids = append(ids, m.ID)
			}
			if err != nil || !slices.Equal(ids, []mooring.MessageID{messageID(3), messageID(2), messageID(1)}) {
				t.Errorf("Trail = %v, %v", ids, err)
			}
		}},
	}
}
