//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mooring"
)

func readTests() []test {
	return []test{
		{"a branch is read in pages from its tip upwards", func(t *testing.T, s Store) {
			c := newSession(1)
			parent := mooring.MessageID("")
			for n := 1; n <= 7; n++ {
				c.Messages = append(c.Messages, message(1, n, parent))
				parent = messageID(n)
			}
			apply(t, s, c)
			var pages [][]mooring.MessageID
			for before, more := mooring.MessageID(""), true; more; {
				var ids []mooring.MessageID
				ids, more = branchIDs(t, s, mooring.BranchPage{Before: before, Limit: 3})
				pages, before = append(pages, ids), ids[0]
			}
			want := [][]mooring.MessageID{{messageID(5), messageID(6), messageID(7)}, {messageID(2), messageID(3), messageID(4)}, {messageID(1)}}
			if diff := gocmp.Diff(want, pages); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
			if ids, more := branchIDs(t, s, mooring.BranchPage{Before: messageID(1)}); len(ids) != 0 || more {
				t.Errorf("above the root: %v, %v; want nothing", ids, more)
			}
		}},
		{"branches part where messages have the same parent", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Messages = []mooring.Message{message(1, 1, ""), message(1, 2, messageID(1)), message(1, 3, messageID(1)), message(1, 4, messageID(3))}
			apply(t, s, c)
			if ids, _ := branchIDs(t, s, mooring.BranchPage{Tip: messageID(2)}); !slices.Equal(ids, []mooring.MessageID{messageID(1), messageID(2)}) {
				t.Errorf("branch of message 2: %v", ids)
			}
			list, _, err := s.Branch(t.Context(), tenant, sessionID(1), mooring.BranchPage{})
			if err != nil || len(list) != 3 || list[0].Branches != 1 || list[1].Branches != 2 || list[2].Branches != 1 {
				t.Errorf("current branch %+v, %v; want 3 messages with 1, 2, 1 branches", list, err)
			}
			children, err := s.Children(t.Context(), tenant, sessionID(1), messageID(1))
			if err != nil || len(children) != 2 || children[0].ID != messageID(2) || children[0].Content != nil || children[1].Branches != 2 {
				t.Errorf("Children = %+v, %v; want both without content", children, err)
			}
		}},
		{"a branch of a session that is not there is an error, a tip of another session reads nothing", func(t *testing.T, s Store) {
			other := newSession(2)
			other.Messages = []mooring.Message{message(2, 2, "")}
			apply(t, s, newSession(1), other)
			if _, _, err := s.Branch(t.Context(), tenant, sessionID(9), mooring.BranchPage{}); mooring.CodeOf(err) != mooring.CodeSessionNotFound {
				t.Errorf("Branch: %v, want session_not_found", err)
			}
			if ids, _ := branchIDs(t, s, mooring.BranchPage{Tip: messageID(2)}); len(ids) != 0 {
				t.Errorf("branch %v, want nothing", ids)
			}
		}},
		{"C163 messages of the same moment are all kept, in order", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Messages = []mooring.Message{message(1, 1, ""), message(1, 2, messageID(1)), message(1, 3, messageID(2))}
			for i := range c.Messages {
				c.Messages[i].CreatedAt, c.Messages[i].Content = at(1), []byte(`"same"`)
			}
			apply(t, s, c)
			if ids, _ := branchIDs(t, s, mooring.BranchPage{}); !slices.Equal(ids, []mooring.MessageID{messageID(1), messageID(2), messageID(3)}) {
				t.Errorf("branch %v, want all three in order", ids)
			}
		}},
		{"lists walk every session once, the newest activity first", listPages},
		{"lists are narrowed by each field of the filter", listFilters},
		{"turns are the last ones, oldest first, and paged from there", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), next(1, 2), next(1, 3))
			list, more, err := s.Turns(t.Context(), tenant, sessionID(1), mooring.TurnPage{Limit: 2})
			if err != nil || !more || len(list) != 2 || list[0].ID != turnID(2) || list[1].ID != turnID(3) {
				t.Errorf("Turns = %+v, %v, %v; want the second and the third, and more", list, more, err)
			}
			list, more, err = s.Turns(t.Context(), tenant, sessionID(1), mooring.TurnPage{Limit: 2, Before: turnID(2)})
			if err != nil || more || len(list) != 1 || list[0].ID != turnID(1) {
				t.Errorf("Turns before = %+v, %v, %v; want the first and no more", list, more, err)
			}
		}},
		{"a page ends early with the message that fills it", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Messages = []mooring.Message{large(1, 1, 'x'), large(1, 2, 'y'), large(1, 3, 'z')}
			c.Messages[1].Parent, c.Messages[2].Parent = messageID(1), messageID(2)
			apply(t, s, c)
			for bound, want := range map[int][]mooring.MessageID{
				1: {messageID(3)}, 9000: {messageID(2), messageID(3)}, 18000: {messageID(1), messageID(2), messageID(3)},
			} {
				ids, more := branchIDs(t, s, mooring.BranchPage{Bytes: bound})
				if !slices.Equal(ids, want) || more != (len(want) < 3) {
					t.Errorf("page of %d bytes: %v, %v; want %v", bound, ids, more, want)
				}
			}
		}},
		{"a page above a message that is not there is an error", func(t *testing.T, s Store) {
			other := newSession(2)
			other.Messages = []mooring.Message{message(2, 2, "")}
			apply(t, s, newSession(1), other)
			for _, id := range []mooring.MessageID{messageID(2), messageID(9)} {
				if _, _, err := s.Branch(t.Context(), tenant, sessionID(1), mooring.BranchPage{Before: id}); mooring.CodeOf(err) != mooring.CodeNotFound {
					t.Errorf("Branch before %s: %v, want not_found", id, err)
				}
			}
		}},
		{"messages are found by digests of any kind, the newest first", func(t *testing.T, s Store) {
			first, second := newSession(1), newSession(2)
			first.Messages = []mooring.Message{found(1, 1, "a", "y")}
			marked := found(2, 3, "b", "c")
			marked.Marks = append(marked.Marks, mooring.Mark{Kind: mooring.ByText, Digest: []byte("t"), Sketch: []byte("rest")})
			second.Messages = []mooring.Message{found(2, 2, "a", "x"), marked, message(2, 4, "")}
			apply(t, s, first, second)
			list, err := s.Chain(t.Context(), tenant, [][]byte{[]byte("a"), []byte("c"), []byte("t"), []byte("none")})
			want := []mooring.ChainEntry{
				{Mark: mooring.Mark{Kind: mooring.ByChain, Digest: []byte("c")}, Session: sessionID(2), Message: messageID(3)},
				{Mark: mooring.Mark{Kind: mooring.ByText, Digest: []byte("t"), Sketch: []byte("rest")}, Session: sessionID(2), Message: messageID(3)},
				{Mark: mooring.Mark{Kind: mooring.BySelf, Digest: []byte("a")}, Session: sessionID(2), Message: messageID(2)},
				{Mark: mooring.Mark{Kind: mooring.BySelf, Digest: []byte("a")}, Session: sessionID(1), Message: messageID(1)},
			}
			order := cmpopts.SortSlices(func(x, y mooring.ChainEntry) bool {
				return x.Message > y.Message || x.Message == y.Message && x.Kind < y.Kind
			})
			if diff := gocmp.Diff(want, list, order); diff != "" || err != nil {
				t.Errorf("Chain, %v (-want +got):\n%s", err, diff)
			}
			if !slices.IsSortedFunc(list, func(x, y mooring.ChainEntry) int { return cmp.Compare(y.Message, x.Message) }) {
				t.Errorf("Chain = %v, want the newest first", list)
			}
		}},
		{"of what many messages have in common the newest are found, of each kind by itself", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Messages = []mooring.Message{message(1, 1, "")}
			c.Messages[0].Marks = []mooring.Mark{{Kind: mooring.ByText, Digest: []byte("a")}}
			for i := 2; i <= 100; i++ {
				c.Messages = append(c.Messages, found(1, i, "a", fmt.Sprint("c", i)))
			}
			apply(t, s, c)
			list, err := s.Chain(t.Context(), tenant, [][]byte{[]byte("a")})
			if n := len(list); err != nil || n < 33 || n > 99 || list[0].Message != messageID(100) || list[n-1].Message != messageID(1) || list[n-1].Kind != mooring.ByText {
				t.Errorf("Chain = %d entries, %v; want the newest, and the only one of its kind", n, err)
			}
		}},
		{"what a session is named by and like is kept, and stays where a turn says nothing of it", func(t *testing.T, s Store) {
			c := newSession(1)
			c.Session.Named, c.Session.Traits = []string{"x-a", "x-b"}, []byte{1, 0, 2}
			apply(t, s, c, ended(1, 1, 2), next(1, 3))
			got, err := s.SessionsOf(t.Context(), tenant, []mooring.SessionID{sessionID(1), sessionID(9)})
			if err != nil || len(got) != 1 || !slices.Equal(got[0].Named, c.Session.Named) || !bytes.Equal(got[0].Traits, c.Session.Traits) {
				t.Errorf("SessionsOf = %+v, %v", got, err)
			}
			more := next(1, 5)
			more.Session.Named, more.Session.Traits = []string{"x-a", "x-b", "x-c"}, []byte{9}
			apply(t, s, more)
			if after := session(t, s, 1); len(after.Named) != 3 || !bytes.Equal(after.Traits, []byte{9}) {
				t.Errorf("after a change: %v %v", after.Named, after.Traits)
			}
			if others, err := s.SessionsOf(t.Context(), "other", []mooring.SessionID{sessionID(1)}); err != nil || len(others) != 0 {
				t.Errorf("another tenant got %v, %v", others, err)
			}
		}},
		{"what stands around messages is given level by level, of the tenant alone", func(t *testing.T, s Store) {
			c, other := newSession(1), newSession(2)
			c.Messages = []mooring.Message{message(1, 1, ""), message(1, 2, messageID(1)), message(1, 3, messageID(2)), message(1, 4, messageID(2)), message(1, 5, messageID(4))}
			other.Messages = []mooring.Message{message(2, 6, ""), message(2, 7, messageID(6))}
			apply(t, s, c, other)
			around := func(who mooring.Tenant, up, down int, ids ...mooring.MessageID) []string {
				list, err := s.Around(t.Context(), who, ids, up, down)
				if err != nil {
					t.Fatal(err)
				}
				out := []string{}
				for _, n := range list {
					out = append(out, fmt.Sprint(n.Of, " ", n.Depth, " ", n.ID, " ", n.Session))
				}
				slices.Sort(out)
				return out
			}
			line := func(of, depth, id, in int) string {
				return fmt.Sprint(messageID(of), " ", depth, " ", messageID(id), " ", sessionID(in))
			}
			want := []string{
				line(2, -1, 1, 1), line(2, 0, 2, 1), line(2, 1, 3, 1), line(2, 1, 4, 1), line(7, 0, 7, 2), line(7, -1, 6, 2),
			}
			slices.Sort(want)
			if diff := gocmp.Diff(want, around(tenant, 5, 1, messageID(2), messageID(7), messageID(99))); diff != "" {
				t.Errorf("around (-want +got):\n%s", diff)
			}
			if got := around(tenant, 1, 0, messageID(5)); len(got) != 2 {
				t.Errorf("one level up: %v", got)
			}
			if got := around("other", 5, 5, messageID(2)); len(got) != 0 {
				t.Errorf("another tenant got %v", got)
			}
		}},
		{"the use of a key counts its turns of the span", func(t *testing.T, s Store) {
			other := next(1, 4)
			other.Turn.Key = "desktop"
			apply(t, s, newSession(1), ended(1, 1, 0), next(1, 2), ended(1, 2, 0), next(1, 3), other)
			got, err := s.KeyUse(t.Context(), tenant, "laptop", at(2), at(4))
			if want := (mooring.KeyUse{Turns: 2, CostUSD: 0.25}); err != nil || got != want {
				t.Errorf("KeyUse = %+v, %v; want %+v", got, err, want)
			}
		}},
		{"the store can be written and put in order", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			if err := errors.Join(s.Ping(t.Context()), s.Idle(t.Context()), s.Ping(t.Context())); err != nil {
				t.Error(err)
			}
			if n, err := s.Stray(t.Context()); n != 0 || err != nil {
				t.Errorf("Stray = %d, %v; want 0", n, err)
			}
		}},
		{"a caller that goes away is no fault of the store", func(t *testing.T, s Store) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Session(ctx, tenant, sessionID(1)); !errors.Is(err, context.Canceled) {
				t.Errorf("Session: %v, want context.Canceled", err)
			}
		}},
		{"a closed store says that it is unavailable", func(t *testing.T, s Store) {
			apply(t, s, newSession(1))
			if err := s.Close(); err != nil {
				t.Fatalf("Close: %v", err)
			}
			if _, err := s.Session(t.Context(), tenant, sessionID(1)); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
				t.Errorf("Session: %v, want store_unavailable", err)
			}
		}},
	}
}

func listPages(t *testing.T, s Store) {
	var batch []mooring.Change
	for n := range 25 {
		c := newSession(n)
		c.Turn.StartedAt = at(n / 2) // so that two share each moment
		batch = append(batch, c)
	}
	apply(t, s, batch...)
	var got []mooring.SessionID
	f := mooring.SessionFilter{Limit: 10}
	for more := true; more; {
		page, err := s.Sessions(t.Context(), tenant, f)
		if err != nil || page.Total != 25 {
			t.Fatalf("Sessions: total %d, %v; want 25", page.Total, err)
		}
		for _, one := range page.Sessions {
			got = append(got, one.ID)
		}
		last := page.Sessions[len(page.Sessions)-1]
		f.After, more = mooring.SessionCursor{UpdatedAt: last.UpdatedAt, ID: last.ID}, page.More
	}
	var want []mooring.SessionID
	for n := 24; n >= 0; n-- {
		want = append(want, sessionID(n))
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

func listFilters(t *testing.T, s Store) {
	special, child, side := newSession(1), childOf(2, 1), newSession(3)
	special.Session.Title, special.Session.Client, special.Session.Project = "100% Walrus_tusk", "a-client", "p"
	special.Session.Upstream, special.Session.Pinned = "south", true
	child.Session.Archived = true
	side.Turn.Kind = mooring.KindSide
	foreign := newSession(9)
	foreign.Session.Tenant = "globex"
	apply(t, s, special, child, side, newSession(4), ended(4, 4, 0), foreign)
	for name, tt := range map[string]struct {
		filter mooring.SessionFilter
		want   []int
	}{
		"no field leaves out side-only sessions": {mooring.SessionFilter{}, []int{4, 2, 1}},
		"title in any case":                      {mooring.SessionFilter{Query: "walrus"}, []int{1}},
		"a wildcard is itself":                   {mooring.SessionFilter{Query: "0% W"}, []int{1}},
		"an underscore is itself":                {mooring.SessionFilter{Query: "100_"}, nil},
		"key":                                    {mooring.SessionFilter{Query: "ey-2"}, []int{2}},
		"client":                                 {mooring.SessionFilter{Client: "a-client"}, []int{1}},
		"project":                                {mooring.SessionFilter{Project: "p"}, []int{1}},
		"upstream":                               {mooring.SessionFilter{Upstream: "north"}, []int{4, 2}},
		"state":                                  {mooring.SessionFilter{State: mooring.Completed}, []int{4}},
		"parent":                                 {mooring.SessionFilter{Parent: sessionID(1)}, []int{2}},
		"sub-agents":                             {mooring.SessionFilter{Kind: mooring.KindSubagent}, []int{2}},
		"side":                                   {mooring.SessionFilter{Kind: mooring.KindSide}, []int{3}},
		"pinned":                                 {mooring.SessionFilter{Pinned: new(true)}, []int{1}},
		"not pinned":                             {mooring.SessionFilter{Pinned: new(false)}, []int{4, 2}},
		"archived":                               {mooring.SessionFilter{Archived: new(true)}, []int{2}},
		"not archived":                           {mooring.SessionFilter{Archived: new(false)}, []int{4, 1}},
		"two fields":                             {mooring.SessionFilter{Query: "key", Upstream: "south"}, []int{1}},
	} {
		page, err := s.Sessions(t.Context(), tenant, tt.filter)
		var got []mooring.SessionID
		for _, one := range page.Sessions {
			got = append(got, one.ID)
		}
		var want []mooring.SessionID
		for _, n := range tt.want {
			want = append(want, sessionID(n))
		}
		if diff := gocmp.Diff(fmt.Sprint(want, len(want), nil), fmt.Sprint(got, page.Total, err)); diff != "" {
			t.Errorf("%s: sessions, total, error (-want +got):\n%s", name, diff)
		}
	}
}

// found is a message that is found by its digests: its own and that of the conversation up to it.
func found(in, n int, self, seen string) mooring.Message {
	m := message(in, n, "")
	m.Digest, m.Seen, m.Marks = []byte(self), []byte(seen), []mooring.Mark{{Kind: mooring.BySelf, Digest: []byte(self)}}
	return m
}
