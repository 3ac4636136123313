//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// told are a tenant's events after a number, in words.
func told(t *testing.T, s Store, who mooring.Tenant, after int64) []string {
	t.Helper()
	list, err := s.EventsAfter(t.Context(), who, after, 1<<20)
	if err != nil {
		t.Fatalf("EventsAfter: %v", err)
	}
	names := map[mooring.EventKind]string{
		mooring.SessionUpdated: "updated", mooring.SessionDeleted: "deleted", mooring.TurnStarted: "started", mooring.TurnFinished: "finished",
	}
	var out []string
	for _, e := range list {
		if e.Tenant != who {
			t.Errorf("event of %q in the log of %q", e.Tenant, who)
		}
		out = append(out, fmt.Sprintf("%d %s %s", e.Number, names[e.Kind], e.Session[len(e.Session)-2:]))
		if e.Turn != "" {
			out[len(out)-1] += "/" + string(e.Turn[len(e.Turn)-2:])
		}
	}
	return out
}

// foreign gives a change to another tenant.
func foreign[C mooring.Change](c C) C { //nolint:ireturn // what it was given
	as("globex", []mooring.Change{c})
	return c
}

func eventTests() []test {
	return []test{
		{"C-4 a turn's begin and end are events, each in its commit, whether written at once or one by one", func(t *testing.T, s Store) {
			side := next(1, 4)
			side.Turn.Kind = mooring.KindSide
			for _, step := range []struct {
				batch []mooring.Change
				want  []string
			}{
				{[]mooring.Change{newSession(1)}, []string{"1 updated 01", "2 started 01/01"}},
				{[]mooring.Change{ended(1, 1, 2)}, []string{"3 finished 01/01"}},
				{[]mooring.Change{next(1, 2), ended(1, 2, 3)}, []string{"4 started 01/02", "5 finished 01/02"}},
				{[]mooring.Change{side, next(1, 5), ended(1, 4, 0)}, []string{"6 started 01/04", "7 started 01/05", "8 finished 01/04"}},
				{[]mooring.Change{&mooring.PinsUsed{}, &mooring.Bind{Pin: *pin(1, 1, "north")}, &mooring.Applied{Seq: 1}}, nil},
			} {
				_, before, err := s.EventNumbers(t.Context(), tenant)
				if err != nil {
					t.Fatal(err)
				}
				apply(t, s, step.batch...)
				if diff := cmp.Diff(step.want, told(t, s, tenant, before)); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			}
		}},
		{"C-4 what changes a session without a turn is an event", func(t *testing.T, s Store) {
			made, attached, fork := newSession(2), next(2, 2), newSession(3)
			made.Turn = mooring.Turn{}
			attached.Attach, attached.Session.Parent, attached.Session.Relation = true, sessionID(1), mooring.RelationSubagent
			fork.Turn, fork.Session.Parent, fork.Session.Relation = mooring.Turn{}, sessionID(1), mooring.RelationFork
			fresh := newSession(4)
			fresh.Turn, fresh.Session.Key, fresh.Aliases = mooring.Turn{}, "key-1", []mooring.Alias{{Class: mooring.ClassAny, Value: "key-1"}}
			fresh.Reset = &mooring.Reset{Key: "old", Alias: mooring.Alias{Class: mooring.ClassAny, Value: "old"}}
			apply(t, s, newSession(1), made, &mooring.Patch{Tenant: tenant, Session: sessionID(1), Title: new("x")}, attached, fork, fresh)
			apply(t, s, attached)
			want := []string{
				"1 updated 01", "2 started 01/01", "3 updated 02", "4 updated 01", "5 updated 02", "6 started 02/02", "7 updated 03",
				"8 updated 01", "9 updated 04", "10 started 02/02",
			}
			if diff := cmp.Diff(want, told(t, s, tenant, 0)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		}},
		{"C-4 what came to nothing is no event", func(t *testing.T, s Store) {
			taken := newSession(2)
			apply(t, s, newSession(1))
			taken.Aliases = newSession(1).Aliases
			for _, c := range []mooring.Change{
				taken, next(7, 7), ended(7, 7, 1), &mooring.Patch{Tenant: tenant, Session: sessionID(7), Title: new("x")},
				&mooring.Delete{Tenant: tenant, Session: sessionID(7)}, &mooring.Patch{Tenant: tenant, Session: sessionID(1), Tip: messageID(9)},
			} {
				if outcome(t, s, c) == "" {
					t.Errorf("%T went through", c)
				}
			}
			if got := told(t, s, tenant, 2); got != nil {
				t.Errorf("events %v, want none", got)
			}
		}},
		{"C-4 deletion takes a session's events along and is one; its children are told", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), childOf(2, 1), newSession(3))
			apply(t, s, next(1, 9), &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			want := []string{"3 updated 02", "4 started 02/02", "5 updated 03", "6 started 03/03", "7 started 01/09", "8 deleted 01", "9 updated 02"}
			if diff := cmp.Diff(want, told(t, s, tenant, 0)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		}},
		{"C-4 a pruned tree is told session by session, to its tenant", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), childOf(2, 1), ended(1, 1, 0), ended(2, 2, 0))
			apply(t, s, foreign(newSession(1)), foreign(ended(1, 1, 0)))
			apply(t, s, &mooring.Prune{Before: at(30), Limit: 10})
			got := told(t, s, tenant, 0)
			slices.Sort(got)
			if diff := cmp.Diff([]string{"7 deleted 02", "8 deleted 01"}, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"4 deleted 01"}, told(t, s, "globex", 0)); diff != "" {
				t.Errorf("the other tenant's (-want +got):\n%s", diff)
			}
		}},
		{"C-4 a turn of a dead replica ends as an event", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), foreign(newSession(1)), newSession(2), ended(2, 2, 0))
			retire(t, s, "replica-b", at(60))
			if diff := cmp.Diff([]string{"6 finished 01/01"}, told(t, s, tenant, 5)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"3 finished 01/01"}, told(t, s, "globex", 2)); diff != "" {
				t.Errorf("the other tenant's (-want +got):\n%s", diff)
			}
		}},
		{"C-4 events are numbered per tenant, and read up to a limit", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), foreign(newSession(1)), newSession(2), foreign(ended(1, 1, 0)))
			if diff := cmp.Diff([]string{"1 updated 01", "2 started 01/01", "3 finished 01/01"}, told(t, s, "globex", 0)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			list, err := s.EventsAfter(t.Context(), tenant, 1, 2)
			if err != nil || len(list) != 2 || list[0].Number != 2 || list[1].Number != 3 {
				t.Errorf("EventsAfter = %v, %v; want the second and the third", list, err)
			}
			for who, want := range map[mooring.Tenant]int64{tenant: 4, "globex": 3, "nobody": 0, "": 0} {
				if dropped, newest, err := s.EventNumbers(t.Context(), who); dropped != 0 || newest != want || err != nil {
					t.Errorf("EventNumbers(%q) = %d, %d, %v; want 0, %d", who, dropped, newest, err, want)
				}
			}
		}},
		{"C-4 old events are dropped, the newest stay", dropEvents},
		{"C-4 of 50 who write at once the numbers have no gap, and none shows after a higher one", numberRace},
	}
}

func dropEvents(t *testing.T, s Store) {
	apply(t, s, newSession(1), foreign(newSession(1)))
	for range 10 {
		batch := make([]mooring.Change, 999)
		for i := range batch {
			batch[i] = &mooring.Patch{Tenant: tenant, Session: sessionID(1), Pinned: new(true)}
		}
		apply(t, s, batch...)
		dropped, newest, err := s.EventNumbers(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.EventsAfter(t.Context(), tenant, 0, 1<<20)
		if err != nil || len(list) == 0 || list[0].Number != dropped+1 || list[len(list)-1].Number != newest || int64(len(list)) != newest-dropped {
			t.Fatalf("%d events, %v; want those from %d to %d", len(list), err, dropped+1, newest)
		}
		if kept := newest - dropped; kept < min(newest, 4096) || kept > 4096+256 {
			t.Errorf("%d of %d events kept", kept, newest)
		}
	}
	if got := told(t, s, "globex", 0); len(got) != 2 {
		t.Errorf("the other tenant has events %v, want its two", got)
	}
}

// numberRace reads on from the last number seen while 50 write: nothing may be missing between two numbers, ever.
func numberRace(t *testing.T, s Store) {
	const callers, each = 50, 4
	var writers sync.WaitGroup
	for i := range callers {
		writers.Go(func() {
			for n := range each {
				turn := 1000 + i*each + n
				who := mooring.Tenant([]string{"acme", "globex"}[n%2])
				batch := as(who, []mooring.Change{newSession(turn), ended(turn, turn, 0)})
				batch = append(batch, as("globex", []mooring.Change{newSession(9000 + turn)})...)
				if err := s.Apply(t.Context(), batch); err != nil {
					t.Errorf("Apply: %v", err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() {
		writers.Wait()
		close(written)
	}()
	seen := map[mooring.Tenant]int64{"acme": 0, "globex": 0}
	look := func() {
		for who := range seen {
			list, err := s.EventsAfter(t.Context(), who, seen[who], 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				if e.Number != seen[who]+1 {
					t.Fatalf("%s: number %d came after %d", who, e.Number, seen[who])
				}
				seen[who] = e.Number
			}
		}
	}
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		look()
	}
	for range callers * each {
		look()
	}
	if want := int64(callers * each / 2 * 3); seen["acme"] != want || seen["globex"] != want+callers*each*2 {
		t.Errorf("%d and %d events seen, want %d and %d", seen["acme"], seen["globex"], want, want+callers*each*2)
	}
}
