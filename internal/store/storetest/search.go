//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func searchTests() []test {
	return []test{
		{"messages wait in the queue until the index has them", func(t *testing.T, s Store) {
			talk(t, s, 1)
			list := queue(t, s)
			if len(list) != 2 || list[0].Message != messageID(10) || list[1].Message != messageID(11) {
				t.Fatalf("queue %v, want the question and the answer", list)
			}
			put(t, s, "acmealight acmeabollard", "acmealight")
			if left := queue(t, s); len(left) != 0 {
				t.Errorf("queue %v afterwards, want none", left)
			}
			if got := hits(t, s, tenant, begins("acmealight")); !cmp.Equal(got, []mooring.MessageID{messageID(11), messageID(10)}) {
				t.Errorf("found %v, want both, the newest first", got)
			}
		}},
		{"all terms have to be there, and only one that may be longer is found by its beginning", func(t *testing.T, s Store) {
			talk(t, s, 1)
			put(t, s, "acmealight acmeabollard acmeu2r9c", "acmealight acmeaquay")
			for _, row := range []struct {
				name  string
				terms []mooring.SearchTerm
				want  int
			}{
				{"one word", terms("acmeabollard"), 1},
				{"all of two", terms("acmealight", "acmeaquay"), 1},
				{"not all of two", terms("acmeabollard", "acmeaquay"), 0},
				{"a beginning", terms("acmeaboll"), 0},
				{"a beginning that may be longer", begins("acmeaboll"), 1},
				{"a word and a beginning", append(terms("acmealight"), begins("acmeaq")...), 1},
				{"another script", terms("acmeu2r9c"), 1},
				{"what no index holds", terms(`'" | * & ! \ (`), 0},
				{"a sign of the query language in a word", append(begins(`nothing"`), begins(`nothing'`)...), 0},
			} {
				if got := hits(t, s, tenant, row.terms); len(got) != row.want {
					t.Errorf("%s: found %v, want %d", row.name, got, row.want)
				}
			}
		}},
		{"a page goes on below a place", func(t *testing.T, s Store) {
			talk(t, s, 1)
			put(t, s, "acmealight", "acmealight")
			first, err := s.Found(t.Context(), tenant, terms("acmealight"), math.MaxInt64, 1)
			if err != nil || len(first) != 1 {
				t.Fatalf("Found: %d, %v; want one", len(first), err)
			}
			second, err := s.Found(t.Context(), tenant, terms("acmealight"), first[0].Place, 1)
			if err != nil || len(second) != 1 || second[0].Message.ID != messageID(10) {
				t.Errorf("Found below it: %v, %v; want the older one", second, err)
			}
		}},
		{"what is found says its session, and nothing of another tenant", func(t *testing.T, s Store) {
			talk(t, s, 1)
			other := newSession(2)
			other.Session.Tenant, other.Turn.Tenant = "globex", "globex"
			other.Messages = []mooring.Message{message(2, 20, "")}
			apply(t, s, other)
			put(t, s, "acmealight", "acmealight", "acmealight")
			list, err := s.Found(t.Context(), tenant, terms("acmealight"), math.MaxInt64, 9)
			if err != nil || len(list) != 2 {
				t.Fatalf("Found: %v, %v; want the tenant's two", list, err)
			}
			want := mooring.Found{
				Place:   list[0].Place,
				Session: mooring.Session{Tenant: tenant, ID: sessionID(1), Key: "key-1"},
				Message: mooring.Message{
					Tenant: tenant, Session: sessionID(1), ID: messageID(11), Role: "assistant", Protocol: mooring.Chat, CreatedAt: at(11),
				},
			}
			if diff := cmp.Diff(want, list[0]); diff != "" {
				t.Errorf("Found (-want +got):\n%s", diff)
			}
			if got := hits(t, s, "", terms("acmealight")); len(got) != 0 {
				t.Errorf("without a tenant: %v, want none", got)
			}
			m, err := s.Content(t.Context(), "globex", messageID(11))
			if err != nil || m.Content != nil {
				t.Errorf("Content of another tenant: %q, %v; want none", m.Content, err)
			}
		}},
		{"the same words put in twice are there once", func(t *testing.T, s Store) {
			talk(t, s, 1)
			c := entries(queue(t, s), "acmealight", "acmealight")
			apply(t, s, c, c)
			if c.Taken != 0 {
				t.Errorf("%d taken the second time, want none", c.Taken)
			}
			if got := hits(t, s, tenant, terms("acmealight")); len(got) != 2 {
				t.Errorf("found %v, want each message once", got)
			}
			again := next(1, 30)
			again.Messages = []mooring.Message{message(1, 30, "")}
			apply(t, s, again)
			apply(t, s, c)
			if left := queue(t, s); len(left) != 1 || left[0].Message != messageID(30) {
				t.Errorf("queue %v, want the new message alone: it is not what was put in before", left)
			}
		}},
		{"nothing without a content is queued, and a side request says what it is", func(t *testing.T, s Store) {
			b := newSession(1)
			b.Turn.Kind = mooring.KindSide
			empty := message(1, 11, "")
			empty.Content, empty.Turn = nil, turnID(1)
			asked := message(1, 12, "")
			asked.Turn = turnID(1)
			b.Messages = []mooring.Message{empty, asked}
			apply(t, s, b)
			list := queue(t, s)
			if len(list) != 1 || list[0].Message != asked.ID || list[0].Kind != mooring.KindSide {
				t.Errorf("queue %v, want the second message alone, of a side request", list)
			}
		}},
		{"C161 a deleted session is in the index no more, nor put in afterwards", func(t *testing.T, s Store) {
			talk(t, s, 1)
			put(t, s, "acmealight", "acmealight")
			late := next(1, 30)
			late.Messages = []mooring.Message{message(1, 30, "")}
			talk(t, s, 2)
			apply(t, s, late)
			c := entries(queue(t, s), "acmealight", "acmealight", "acmealight")
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(1)}, c)
			if got := hits(t, s, tenant, terms("acmealight")); !cmp.Equal(got, []mooring.MessageID{messageID(21), messageID(20)}) {
				t.Errorf("found %v, want the other session's alone", got)
			}
			if left := queue(t, s); len(left) != 0 || c.Taken != 3 {
				t.Errorf("%d taken, queue %v; want all gone", c.Taken, left)
			}
		}},
		{"C161 what retention removes is in the index no more, and its words leave the file", func(t *testing.T, s Store) {
			talk(t, s, 1)
			put(t, s, "acmealight", "acmealight")
			apply(t, s, &mooring.Prune{Before: at(40), Limit: 5})
			if got := hits(t, s, tenant, terms("acmealight")); len(got) != 0 {
				t.Errorf("found %v, want none", got)
			}
			wiped(t, s)
		}},
		{"the newest messages come one by one, without side requests, foreign ones and long contents", func(t *testing.T, s Store) {
			talk(t, s, 1)
			long := next(1, 30)
			long.Messages = []mooring.Message{large(1, 30, 'x')}
			side := next(1, 31)
			side.Turn.Kind = mooring.KindSide
			side.Messages = []mooring.Message{message(1, 31, "")}
			foreign := newSession(2)
			foreign.Session.Tenant = "globex"
			foreign.Messages = []mooring.Message{message(2, 20, "")}
			apply(t, s, long, side, foreign)
			var got []mooring.MessageID
			var contents int
			visit := func(f mooring.Found) bool {
				got = append(got, f.Message.ID)
				contents += len(f.Message.Content)
				return len(got) < 2
			}
			if err := s.Recent(t.Context(), tenant, mooring.RecentPage{MaxBytes: 100, Limit: 9}, visit); err != nil {
				t.Fatal(err)
			}
			if want := []mooring.MessageID{messageID(30), messageID(11)}; !cmp.Equal(got, want) || contents != len(`{"n":11}`) {
				t.Errorf("%v with %d bytes, want %v without the long content", got, contents, want)
			}
			got = nil
			if err := s.Recent(t.Context(), tenant, mooring.RecentPage{Below: messageID(11), MaxBytes: 100, Limit: 9}, visit); err != nil {
				t.Fatal(err)
			}
			if want := []mooring.MessageID{messageID(10)}; !cmp.Equal(got, want) {
				t.Errorf("below the answer: %v, want %v", got, want)
			}
		}},
		{"names are those that sessions have now, the newest activity first", func(t *testing.T, s Store) {
			first := newSession(1)
			first.Session.Title = "Ropes"
			side := newSession(3)
			side.Turn.Kind = mooring.KindSide
			apply(t, s, first, newSession(2), side)
			var got []mooring.Session
			err := s.Names(t.Context(), tenant, 9, func(one mooring.Session) bool {
				got = append(got, one)
				return true
			})
			want := []mooring.Session{
				{Tenant: tenant, ID: sessionID(2), Key: "key-2", CreatedAt: at(2)},
				{Tenant: tenant, ID: sessionID(1), Key: "key-1", Title: "Ropes", CreatedAt: at(1)},
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Names (-want +got):\n%s%v", diff, err)
			}
		}},
	}
}

// talk begins session n with a question, and ends its turn with an answer: messages 10n and 10n+1.
func talk(t *testing.T, s Store, n int) {
	t.Helper()
	b := newSession(n)
	asked := message(n, 10*n, "")
	asked.Turn = turnID(n)
	b.Messages = []mooring.Message{asked}
	apply(t, s, b, ended(n, n, 10*n+1))
}

func queue(t *testing.T, s Store) []mooring.Unindexed {
	t.Helper()
	b, err := s.Backlog(t.Context())
	if err != nil {
		t.Fatalf("Backlog: %v", err)
	}
	list, err := s.Unindexed(t.Context(), b.Last, 100)
	if err != nil {
		t.Fatalf("Unindexed: %v", err)
	}
	return list
}

func entries(list []mooring.Unindexed, words ...string) *mooring.Index {
	c := &mooring.Index{}
	for i, u := range list {
		c.Entries = append(c.Entries, mooring.IndexEntry{Unindexed: u, Terms: words[i]})
	}
	return c
}

// put indexes what is in the queue under these words.
func put(t *testing.T, s Store, words ...string) {
	t.Helper()
	list := queue(t, s)
	if len(list) != len(words) {
		t.Fatalf("queue %v, want %d entries", list, len(words))
	}
	c := entries(list, words...)
	apply(t, s, c)
	if c.Taken != len(words) {
		t.Fatalf("%d taken, want %d", c.Taken, len(words))
	}
}

func terms(words ...string) []mooring.SearchTerm {
	var out []mooring.SearchTerm
	for _, w := range words {
		out = append(out, mooring.SearchTerm{Text: w})
	}
	return out
}

func begins(word string) []mooring.SearchTerm {
	return []mooring.SearchTerm{{Text: word, Begins: true}}
}

func hits(t *testing.T, s Store, of mooring.Tenant, all []mooring.SearchTerm) []mooring.MessageID {
	t.Helper()
	list, err := s.Found(t.Context(), of, all, math.MaxInt64, 50)
	if err != nil {
		t.Fatalf("Found %v: %v", all, err)
	}
	var ids []mooring.MessageID
	for i := range list {
		ids = append(ids, list[i].Message.ID)
	}
	return ids
}

// wiped compacts the index until nothing of what was deleted is left in it.
func wiped(t *testing.T, s Store) {
	t.Helper()
	for range 100 {
		b, err := s.Backlog(t.Context())
		if err != nil {
			t.Fatalf("Backlog: %v", err)
		}
		if b.Deleted == b.Wiped {
			return
		}
		apply(t, s, &mooring.Compact{Pages: 100, UpTo: b.Deleted})
	}
	t.Error("the index is never wiped")
}
