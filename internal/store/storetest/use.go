//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"mooring"
)

// usedTurn is a turn of session 1 that has ended, in all that sums of usage look at.
type usedTurn struct {
	at       time.Time
	key      mooring.KeyName
	model    string
	upstream mooring.UpstreamName
	state    mooring.TurnState
	took     time.Duration
	cost     *float64
}

// used begins session n of a tenant and ends a turn in it for each of those given.
func used(t *testing.T, s Store, of mooring.Tenant, n int, turns ...usedTurn) {
	t.Helper()
	open := newSession(n)
	open.Session.Tenant, open.Turn.Tenant = of, of
	var batch []mooring.Change
	for i, u := range turns {
		begin := next(n, 0)
		if i == 0 {
			begin = open
		}
		var id ulid.ULID
		if err := id.SetTime(ulid.Timestamp(u.at)); err != nil {
			t.Fatal(err)
		}
		id[14], id[15] = byte(n), byte(i) //nolint:gosec // a handful of each
		begin.Session.Tenant = of
		begin.Turn.Tenant, begin.Turn.ID, begin.Turn.StartedAt, begin.Turn.Key, begin.Turn.Model = of, mooring.TurnID("trn_"+id.String()), u.at, u.key, u.model
		batch = append(batch, begin)
		if u.state == mooring.Running {
			continue
		}
		end := &mooring.End{Turn: begin.Turn}
		end.Turn.State, end.Turn.Upstream, end.Turn.CostUSD = u.state, u.upstream, u.cost
		end.Turn.FirstAt, end.Turn.EndedAt = u.at.Add(u.took/10), u.at.Add(u.took)
		end.Turn.Usage = mooring.Usage{Input: mooring.Count(10), Output: mooring.Count(2)}
		batch = append(batch, end)
	}
	apply(t, s, batch...)
}

// hours is the time of the n-th hour and a half of the tests' day.
func hours(n int) time.Time { return at(0).Add(time.Duration(n)*time.Hour + 30*time.Minute) }

func someUse(t *testing.T, s Store) {
	t.Helper()
	cost := 0.25
	used(t, s, tenant, 1,
		usedTurn{hours(0), "alice", "m1", "north", mooring.Completed, time.Second, &cost},
		usedTurn{hours(0), "alice", "m2", "north", mooring.Failed, time.Second, nil},
		usedTurn{hours(1), "bob", "m1", "south", mooring.Completed, 2 * time.Second, &cost},
		usedTurn{hours(1), "bob", "m1", "south", mooring.Running, 0, nil},
		usedTurn{hours(20), "bob", "m1", "south", mooring.Interrupted, time.Second, &cost})
	used(t, s, "globex", 1, usedTurn{hours(0), "carol", "m1", "north", mooring.Completed, time.Second, &cost})
}

func allUse(by mooring.UseBy) mooring.UseQuery {
	return mooring.UseQuery{Tenant: tenant, From: at(0), To: at(0).Add(48 * time.Hour), By: by, Step: time.Hour}
}

func usedRow(name string, turns, failed, unpriced int) mooring.UseRow {
	n := int64(turns)
	return mooring.UseRow{
		Name: name, Turns: turns, Failed: failed, Usage: mooring.Usage{Input: mooring.Count(10 * n), Output: mooring.Count(2 * n)},
		CostUSD: 0.25 * float64(turns-unpriced), Unpriced: unpriced,
	}
}

func wantUse(t *testing.T, s Store, what string, q mooring.UseQuery, want ...mooring.UseRow) {
	t.Helper()
	got, err := s.Use(t.Context(), q)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
	}
}

// sumUp sums up all hours that it can, and gives how many.
func sumUp(t *testing.T, s Store, before time.Time) int {
	t.Helper()
	for n := range 100 {
		c := &mooring.SumUp{Before: before}
		if apply(t, s, c); c.Done {
			return n
		}
	}
	t.Fatal("no end of hours to be summed up")
	return 0
}

func useTests() []test {
	return []test{
		{"usage is told apart, within a span", wantSomeUse},
		{"C111 usage that was summed up is the same", func(t *testing.T, s Store) {
			cost := 0.25
			someUse(t, s)
			used(t, s, tenant, 2, usedTurn{hours(21), "bob", "m1", "south", mooring.Completed, time.Minute, &cost})
			before, err := s.UseTimes(t.Context(), allUse(mooring.ByStep))
			if err != nil || len(before) != 3 {
				t.Fatalf("times %v, %v", before, err)
			}
			if n := sumUp(t, s, hours(30)); n != 1 { // in the second one a turn runs
				t.Errorf("%d hours summed up while a turn runs, want 1", n)
			}
			retire(t, s, "replica-b", hours(2))
			if n := sumUp(t, s, hours(21)); n != 2 {
				t.Errorf("%d hours more summed up, want 2", n)
			}
			total, err := s.Use(t.Context(), allUse(mooring.ByUpstream))
			want := []mooring.UseRow{usedRow("", 1, 1, 0), usedRow("north", 2, 1, 1), usedRow("south", 3, 1, 0)}
			want[0].Usage, want[0].CostUSD = mooring.Usage{}, 0 // it was interrupted
			if diff := cmp.Diff(want, total); diff != "" || err != nil {
				t.Errorf("by upstream: %v (-want +got):\n%s", err, diff)
			}
			after, err := s.UseTimes(t.Context(), allUse(mooring.ByStep))
			if diff := cmp.Diff(before, after); diff != "" || err != nil {
				t.Errorf("times: %v (-want +got):\n%s", err, diff)
			}
		}},
		{"what a deleted session used stays used", func(t *testing.T, s Store) {
			someUse(t, s)
			retire(t, s, "replica-b", hours(2))
			sumUp(t, s, hours(10))
			want, err := s.Use(t.Context(), allUse(mooring.ByStep))
			times, err2 := s.UseTimes(t.Context(), allUse(mooring.ByStep))
			if err != nil || err2 != nil || len(want) != 3 || len(times) != 2 {
				t.Fatal(want, times, err, err2)
			}
			apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(1)})
			for range 2 {
				wantUse(t, s, "after the deletion", allUse(mooring.ByStep), want...)
				after, err := s.UseTimes(t.Context(), allUse(mooring.ByStep))
				if diff := cmp.Diff(times, after); diff != "" || err != nil {
					t.Errorf("times: %v (-want +got):\n%s", err, diff)
				}
				sumUp(t, s, hours(40))
			}
		}},
		{"what a key has spent stays spent, summed up or deleted", func(t *testing.T, s Store) {
			someUse(t, s)
			retire(t, s, "replica-b", hours(2))
			for _, change := range []func(){
				func() {}, func() { sumUp(t, s, hours(10)) }, func() { apply(t, s, &mooring.Delete{Tenant: tenant, Session: sessionID(1)}) }, func() { sumUp(t, s, hours(40)) },
			} {
				change()
				wantKeyUse(t, s, tenant, "bob", mooring.KeyUse{Turns: 3, CostUSD: 0.5})
				wantKeyUse(t, s, tenant, "alice", mooring.KeyUse{Turns: 2, CostUSD: 0.25})
				wantKeyUse(t, s, "globex", "carol", mooring.KeyUse{Turns: 1, CostUSD: 0.25})
				wantKeyUse(t, s, "globex", "bob", mooring.KeyUse{})
				wantKeyUse(t, s, tenant, "", mooring.KeyUse{})
			}
		}},
		{"turns of a key are counted where other replicas run them", func(t *testing.T, s Store) {
			someUse(t, s)
			of := func(tenant mooring.Tenant, key mooring.KeyName, replica string) int {
				n, err := s.RunningElsewhere(t.Context(), tenant, key, replica)
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			if got := of(tenant, "bob", "replica-b"); got != 1 {
				t.Errorf("another replica's count is %d, want 1", got)
			}
			for _, n := range []int{of(tenant, "bob", "replica-a"), of(tenant, "alice", "replica-b"), of("globex", "bob", "replica-b"), of("", "bob", "replica-b")} {
				if n != 0 {
					t.Errorf("%d turns that are the own replica's, ended or another tenant's are counted", n)
				}
			}
		}},
		{"times are counted on a ladder, of completed turns alone", func(t *testing.T, s Store) {
			someUse(t, s)
			got, err := s.UseTimes(t.Context(), allUse(mooring.ByUpstream))
			ms := time.Millisecond
			want := []mooring.UseTimes{
				{Name: "north", First: times(160*ms, 1, 1600*ms, 0), Whole: times(160*ms, 0, 1600*ms, 1)},
				{Name: "south", First: times(250*ms, 1, 2500*ms, 0), Whole: times(250*ms, 0, 2500*ms, 1)},
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("times: %v (-want +got):\n%s", err, diff)
			}
			q := allUse(mooring.ByUpstream)
			q.Everyone = true
			if got, err = s.UseTimes(t.Context(), q); err != nil || got[0].First[0].Turns != 2 {
				t.Errorf("times of all tenants: %v, %v; want two in north", got, err)
			}
		}},
		{"pins are counted by upstream", func(t *testing.T, s Store) {
			apply(t, s, newSession(1), newSession(2), newSession(3), &mooring.Bind{Pin: *pin(1, 5, "north")}, &mooring.Bind{Pin: *pin(2, 9, "north")},
				&mooring.Bind{Pin: *pin(3, 9, "south")})
			got, err := s.Pinned(t.Context(), at(6))
			if diff := cmp.Diff(map[mooring.UpstreamName]int{"north": 1, "south": 1}, got); diff != "" || err != nil {
				t.Errorf("Pinned: %v (-want +got):\n%s", err, diff)
			}
		}},
	}
}

func wantKeyUse(t *testing.T, s Store, of mooring.Tenant, key mooring.KeyName, want mooring.KeyUse) {
	t.Helper()
	got, err := s.KeyUse(t.Context(), of, key, at(0), at(0).Add(48*time.Hour))
	if err != nil || got != want {
		t.Errorf("use of %q at %q = %+v, %v; want %+v", key, of, got, err, want)
	}
}

func times(below time.Duration, turns int, below2 time.Duration, turns2 int) mooring.Times {
	return mooring.Times{{Below: below, Turns: turns}, {Below: below2, Turns: turns2}}
}

func wantSomeUse(t *testing.T, s Store) {
	someUse(t, s)
	wantUse(t, s, "by key", allUse(mooring.ByKey), usedRow("alice", 2, 1, 1), usedRow("bob", 2, 1, 0))
	wantUse(t, s, "by model", allUse(mooring.ByModel), usedRow("m1", 3, 1, 0), usedRow("m2", 1, 1, 1))
	wantUse(t, s, "by upstream", allUse(mooring.ByUpstream), usedRow("north", 2, 1, 1), usedRow("south", 2, 1, 0))
	wantUse(t, s, "by day", allUse(mooring.ByDay), usedRow("20513", 3, 1, 1), usedRow("20514", 1, 1, 0)) // 2026-03-01 and the day after
	wantUse(t, s, "by step", allUse(mooring.ByStep), usedRow("0", 2, 1, 1), usedRow("1", 1, 0, 0), usedRow("20", 1, 1, 0))
	q := allUse(mooring.ByStep)
	q.Upstream = "south"
	wantUse(t, s, "of one upstream", q, usedRow("1", 1, 0, 0), usedRow("20", 1, 1, 0))
	q = allUse(mooring.ByKey)
	q.From, q.To = hours(1), hours(20)
	wantUse(t, s, "from the first to before the last", q, usedRow("bob", 1, 0, 0))
	q = allUse(mooring.ByKey)
	q.Everyone = true
	wantUse(t, s, "of all tenants", q, usedRow("alice", 2, 1, 1), usedRow("bob", 2, 1, 0), usedRow("carol", 1, 0, 0))
	sumUp(t, s, hours(1)) // one hour of each
	wantUse(t, s, "of all tenants, summed up", q, usedRow("alice", 2, 1, 1), usedRow("bob", 2, 1, 0), usedRow("carol", 1, 0, 0))
	q = allUse(mooring.ByKey)
	q.Tenant = "nobody"
	wantUse(t, s, "of nobody", q)
	q.Tenant = ""
	wantUse(t, s, "of no tenant", q)
}
