//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

func pinTests() []test {
	return []test{
		{"of 50 turns that claim an upstream one wins and all are told which", claimRace},
		{"a bind makes the claim a pin, another one moves it", func(t *testing.T, s Store) {
			begin := newSession(1)
			begin.Claim = pin(1, 1, "north")
			apply(t, s, begin)
			if got := pins(t, s, 1); len(got) != 1 || got[0].Bound {
				t.Fatalf("pins %+v, want one claim", got)
			}
			moved := pin(1, 2, "south")
			apply(t, s, &mooring.Bind{Pin: *begin.Claim}, &mooring.Bind{Pin: *moved})
			moved.Bound = true
			if diff := cmp.Diff([]mooring.Pin{*moved}, pins(t, s, 1)); diff != "" {
				t.Errorf("pins (-want +got):\n%s", diff)
			}
		}},
		{"an end binds in its own commit", func(t *testing.T, s Store) {
			c := ended(1, 1, 0)
			c.Bind = pin(1, 1, "north")
			apply(t, s, newSession(1), c)
			if got := pins(t, s, 1); len(got) != 1 || !got[0].Bound {
				t.Errorf("pins %+v, want a bound one", got)
			}
		}},
		{"an end drops the claim of its own turn alone, and never a pin", func(t *testing.T, s Store) {
			first, second := newSession(1), next(1, 2)
			first.Claim = pin(1, 1, "north")
			drop := func(n int) *mooring.End {
				c := ended(1, n, 0)
				c.DropClaim = true
				return c
			}
			apply(t, s, first, second, drop(2))
			if got := pins(t, s, 1); len(got) != 1 {
				t.Errorf("pins %+v after another turn's end, want the claim", got)
			}
			apply(t, s, drop(1))
			if got := pins(t, s, 1); len(got) != 0 {
				t.Errorf("pins %+v after its own turn's end, want none", got)
			}
			apply(t, s, &mooring.Bind{Pin: *first.Claim}, drop(1))
			if got := pins(t, s, 1); len(got) != 1 {
				t.Errorf("pins %+v, want the bound one", got)
			}
		}},
		{"a claim takes the place of a pin that idled out, and of no other", func(t *testing.T, s Store) {
			first, second, third := newSession(1), next(1, 2), next(1, 3)
			first.Claim = pin(1, 1, "north")
			apply(t, s, first, &mooring.Bind{Pin: *first.Claim})
			second.Claim, second.Stale = pin(1, 2, "south"), first.Claim.UsedAt
			third.Claim, third.Stale = pin(1, 3, "south"), first.Claim.UsedAt.Add(time.Second)
			apply(t, s, second)
			if second.Won == nil || second.Won.Upstream != "north" || !second.Won.Bound {
				t.Errorf("won %+v, want the pin that holds", second.Won)
			}
			apply(t, s, third)
			if third.Won == nil || third.Won.Upstream != "south" || third.Won.Bound {
				t.Errorf("won %+v, want the claim", third.Won)
			}
		}},
		{"a turn that spilled leaves its session where it was", func(t *testing.T, s Store) {
			apply(t, s, newSession(1))
			apart := ended(1, 2, 0) // begun in one commit, ended in another
			apart.Turn.Upstream, apart.Turn.Pin = "south", mooring.PinSpill
			apply(t, s, next(1, 2))
			apply(t, s, apart)
			whole := ended(1, 3, 0)
			whole.Turn.Upstream, whole.Turn.Pin = "south", mooring.PinSpill
			apply(t, s, next(1, 3), whole)
			if got := session(t, s, 1).Upstream; got != "north" {
				t.Errorf("the session is with %q, want north", got)
			}
			if got := turnOf(t, s, 3); got.Upstream != "south" || got.Pin != mooring.PinSpill {
				t.Errorf("the turn was at %q with pin %q, want south and spill", got.Upstream, got.Pin)
			}
		}},
		{"a bind of a deleted session pins nothing", func(t *testing.T, s Store) {
			if got := outcome(t, s, &mooring.Bind{Pin: *pin(1, 1, "north")}); got != mooring.CodeSessionGone {
				t.Errorf("outcome %q, want session_gone", got)
			}
			if got := pins(t, s, 1); len(got) != 0 {
				t.Errorf("pins %+v, want none", got)
			}
		}},
		{"a pin keeps the model of an alias, and where its session began", func(t *testing.T, s Store) {
			first, second := newSession(1), next(1, 2)
			first.Claim = pin(1, 1, "north")
			first.Claim.Model = "model-a"
			apply(t, s, first)
			moved := pin(1, 1, "south")
			moved.Account, moved.Model = "second", "model-b"
			moved.Home = mooring.Spot{Upstream: "north", Account: "first", Model: "model-a"}
			c := ended(1, 1, 0)
			c.Bind = moved
			if got := pins(t, s, 1); got[0].Model != "model-a" || got[0].Home != (mooring.Spot{}) {
				t.Errorf("claim %+v, want its model and no home", got[0])
			}
			apply(t, s, c)
			moved.Bound = true
			if diff := cmp.Diff([]mooring.Pin{*moved}, pins(t, s, 1)); diff != "" {
				t.Errorf("pins (-want +got):\n%s", diff)
			}
			second.Claim = pin(1, 2, "north")
			apply(t, s, second)
			if diff := cmp.Diff(moved, second.Won); diff != "" {
				t.Errorf("the pin that holds (-want +got):\n%s", diff)
			}
			second.Stale = at(5)
			apply(t, s, second)
			if got := pins(t, s, 1); got[0].Upstream != "north" || got[0].Model != "" || got[0].Home != (mooring.Spot{}) {
				t.Errorf("pin %+v, want the claim with nothing of what it took the place of", got[0])
			}
		}},
		{"the time of use goes forward only", func(t *testing.T, s Store) {
			begin := newSession(1)
			begin.Claim = pin(1, 5, "north")
			apply(t, s, begin, &mooring.PinsUsed{Pins: []mooring.Pin{*pin(1, 9, "north"), *pin(1, 3, "north")}})
			if got := pins(t, s, 1); len(got) != 1 || !got[0].UsedAt.Equal(at(9)) {
				t.Errorf("pins %+v, want the latest use", got)
			}
		}},
	}
}

func pins(t *testing.T, s Store, in int) []mooring.Pin {
	t.Helper()
	got, err := s.Pins(t.Context(), tenant, sessionID(in))
	if err != nil {
		t.Fatalf("Pins: %v", err)
	}
	return got
}

func claimRace(t *testing.T, s Store) {
	const callers = 50
	apply(t, s, newSession(1))
	begins := make([]*mooring.Begin, callers)
	var group sync.WaitGroup
	for i := range begins {
		begins[i] = next(1, 100+i)
		begins[i].Claim = pin(1, 100+i, "north")
		group.Go(func() {
			if err := s.Apply(t.Context(), []mooring.Change{begins[i]}); err != nil || begins[i].Err != nil {
				t.Errorf("Apply: %v, %v", err, begins[i].Err)
			}
		})
	}
	group.Wait()
	held := pins(t, s, 1)
	if len(held) != 1 {
		t.Fatalf("%d pins, want 1", len(held))
	}
	for _, c := range begins {
		if c.Won == nil || c.Won.Turn != held[0].Turn {
			t.Errorf("a caller was told %+v, want the claim of turn %s", c.Won, held[0].Turn)
		}
	}
	if got := session(t, s, 1).Turns; got != callers+1 {
		t.Errorf("%d turns counted, want %d", got, callers+1)
	}
}

func remoteTests() []test {
	want := func(id string) *mooring.RemoteSession {
		return &mooring.RemoteSession{Tenant: tenant, Server: "north", ID: id}
	}
	begin := func(n int, id string) *mooring.Begin {
		c := newSession(n)
		c.Remote, c.Mint = want(id), "minted"
		return c
	}
	moved := func(in int, id string) *mooring.Bind {
		r := want(id)
		r.Session = sessionID(in)
		return &mooring.Bind{Pin: *pin(in, in, "north"), Remote: r}
	}
	return []test{
		{"the wanted id holds where it is free, the minted one where another session has it", func(t *testing.T, s Store) {
			first, second, again := begin(1, "r-1"), begin(2, "r-1"), next(1, 3)
			again.Remote = want("r-9")
			apply(t, s, first, second, again)
			if first.RemoteID != "r-1" || second.RemoteID != "minted" || again.RemoteID != "r-1" {
				t.Errorf("ids %q, %q, %q; want r-1, minted, r-1", first.RemoteID, second.RemoteID, again.RemoteID)
			}
			if got := remote(t, s, 2); got != "minted" {
				t.Errorf("Remote = %q, want minted", got)
			}
		}},
		{"another tenant cannot take an id either", func(t *testing.T, s Store) {
			other := begin(2, "r-1")
			other.Session.Tenant = "globex"
			apply(t, s, begin(1, "r-1"), other)
			if other.RemoteID != "minted" {
				t.Errorf("id %q, want minted", other.RemoteID)
			}
		}},
		{"an id that was replaced stays with its session", func(t *testing.T, s Store) {
			late := begin(2, "r-1")
			apply(t, s, begin(1, "r-1"), moved(1, "r-2"), late)
			if got := remote(t, s, 1); got != "r-2" {
				t.Errorf("Remote = %q, want r-2", got)
			}
			if late.RemoteID != "minted" {
				t.Errorf("another session got %q, want minted", late.RemoteID)
			}
			apply(t, s, moved(1, "r-1"))
			if got := remote(t, s, 1); got != "r-1" {
				t.Errorf("Remote = %q after going back, want r-1", got)
			}
		}},
		{"an upstream cannot hand a session the id of another one", func(t *testing.T, s Store) {
			apply(t, s, begin(1, "r-1"), begin(2, "r-2"), moved(2, "r-1"))
			if got := remote(t, s, 2); got != "r-2" {
				t.Errorf("Remote = %q, want r-2", got)
			}
		}},
		{"nobody inherits the id of a deleted session", func(t *testing.T, s Store) {
			late := begin(2, "r-1")
			apply(t, s, begin(1, "r-1"), &mooring.Delete{Tenant: tenant, Session: sessionID(1)}, late)
			if late.RemoteID != "minted" {
				t.Errorf("id %q, want minted", late.RemoteID)
			}
			if got := remote(t, s, 1); got != "" {
				t.Errorf("Remote of the deleted session = %q, want none", got)
			}
		}},
	}
}

func remote(t *testing.T, s Store, in int) string {
	t.Helper()
	got, err := s.Remote(t.Context(), tenant, sessionID(in), "north")
	if err != nil {
		t.Fatalf("Remote: %v", err)
	}
	return got
}
