package upstream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mooring"
	"mooring/internal/upstream"
)

// patient is a visitor that waits for up to a minute, behind nine others of its tenant.
func patient(tenant mooring.Tenant) upstream.Visitor {
	return upstream.Visitor{Tenant: tenant, Wait: time.Minute, Depth: 10}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	u := server(t, upstream.Spec{MaxInFlight: 2})
	first := enter(t, u)
	if u.Full() {
		t.Error("full with one of two")
	}
	enter(t, u)
	if !u.Full() || u.InFlight() != 2 {
		t.Errorf("full = %v with %d in flight of two", u.Full(), u.InFlight())
	}
	if _, err := u.Enter(t.Context(), upstream.Visitor{}, time.Now); !errors.Is(err, upstream.ErrFull) {
		t.Errorf("a third one: %v, want ErrFull", err)
	}
	if all, failed := u.Requests(); all != 2 || failed != 0 {
		t.Errorf("%d requests, %d failed; who did not get in is neither", all, failed)
	}
	first.Leave()
	if u.Full() {
		t.Error("full after one has left")
	}
	if free := server(t, upstream.Spec{}); free.Full() {
		t.Error("full without a limit")
	}
}

func TestLimitHoldsUnderLoad(t *testing.T) {
	t.Parallel()
	const limit, callers = 3, 60
	u := server(t, upstream.Spec{MaxInFlight: limit})
	var in, most atomic.Int64
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			v, err := u.Enter(t.Context(), upstream.Visitor{Wait: time.Minute, Depth: callers}, time.Now)
			if err != nil {
				t.Errorf("Enter: %v", err)
				return
			}
			n := in.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			in.Add(-1)
			v.Leave()
		})
	}
	group.Wait()
	if most.Load() > limit || u.InFlight() != 0 || u.Waiting() != 0 {
		t.Errorf("%d at once of %d, then %d in flight and %d waiting", most.Load(), limit, u.InFlight(), u.Waiting())
	}
}

func TestTenantsWaitInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := server(t, upstream.Spec{MaxInFlight: 1})
		last := enter(t, u)
		var mu sync.Mutex
		var served []string
		var group sync.WaitGroup
		for _, who := range []string{"a1", "a2", "a3", "b1", "c1", "b2"} {
			group.Go(func() {
				v, err := u.Enter(t.Context(), patient(mooring.Tenant(who[:1])), time.Now)
				if err != nil {
					t.Errorf("%s: %v", who, err)
					return
				}
				mu.Lock()
				served = append(served, who)
				mu.Unlock()
				v.Leave()
			})
			synctest.Wait() // each stands in line before the next one comes
		}
		last.Leave()
		group.Wait()
		if got, want := strings.Join(served, " "), "a1 b1 c1 a2 b2 a3"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		wait time.Duration
		want error
		took time.Duration
	}{
		{"with the time that it may take", func(c context.Context) (context.Context, context.CancelFunc) { return c, func() {} }, time.Minute, upstream.ErrFull, time.Minute},
		{"with its client", func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(c, time.Second)
		}, time.Minute, context.DeadlineExceeded, time.Second},
		{"at once where it may take none", func(c context.Context) (context.Context, context.CancelFunc) { return c, func() {} }, 0, upstream.ErrFull, 0},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := server(t, upstream.Spec{MaxInFlight: 1})
				held := enter(t, u)
				ctx, cancel := row.ctx(t.Context())
				defer cancel()
				began := time.Now()
				_, err := u.Enter(ctx, upstream.Visitor{Wait: row.wait, Depth: 1}, time.Now)
				if took := time.Since(began); !errors.Is(err, row.want) || took != row.took {
					t.Errorf("%v after %v, want %v after %v", err, took, row.want, row.took)
				}
				if u.Waiting() != 0 {
					t.Errorf("%d wait still", u.Waiting())
				}
				held.Leave()
				if u.InFlight() != 0 {
					t.Errorf("%d in flight: who gave up has kept a place", u.InFlight())
				}
			})
		})
	}
}

func TestLineIsBoundedForEachTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := server(t, upstream.Spec{MaxInFlight: 2})
		held := []*upstream.Visit{enter(t, u), enter(t, u)}
		short := upstream.Visitor{Tenant: "flood", Wait: time.Minute, Depth: 3}
		var let atomic.Int64
		var group sync.WaitGroup
		line := func(v upstream.Visitor) {
			group.Go(func() {
				if in, err := u.Enter(t.Context(), v, time.Now); err == nil {
					let.Add(1)
					in.Leave()
				}
			})
		}
		for range 6 { // three for each place
			line(short)
		}
		synctest.Wait()
		if _, err := u.Enter(t.Context(), short, time.Now); !errors.Is(err, upstream.ErrFull) {
			t.Errorf("a seventh of the tenant: %v, want ErrFull", err)
		}
		other := short
		other.Tenant = "quiet"
		line(other)
		synctest.Wait()
		if u.Waiting() != 7 {
			t.Errorf("%d wait, want 7: another tenant has a line of its own", u.Waiting())
		}
		for _, v := range held {
			v.Leave()
		}
		group.Wait()
		if let.Load() != 7 {
			t.Errorf("%d were let in, want 7", let.Load())
		}
	})
}

func TestAReloadCountsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	spec := upstream.Spec{Name: "u1", URL: "http://127.0.0.1:1", MaxInFlight: 1, Weight: 1}
	old := server(t, spec)
	f := upstream.NewFleet([]*upstream.Upstream{old})
	t.Cleanup(f.Close)
	held := enter(t, old)
	let := make(chan *upstream.Visit)
	go func() {
		v, _ := old.Enter(t.Context(), patient("a"), time.Now)
		let <- v
	}()
	eventually(t, "one waits", func() bool { return old.Waiting() == 1 })
	spec.MaxInFlight = 2
	f.Replace([]*upstream.Upstream{server(t, spec)})
	now := f.Get("u1")
	second := <-let // a wider limit lets it in
	if second == nil || now.InFlight() != 2 || !now.Full() {
		t.Errorf("%d in flight, full = %v; want the two that began before", now.InFlight(), now.Full())
	}
	held.Leave()
	second.Leave()
	if now.InFlight() != 0 {
		t.Errorf("%d in flight after all have left", now.InFlight())
	}
	if all, _ := now.Requests(); all != 2 {
		t.Errorf("%d requests, want the two of before", all)
	}
}

func TestReloadKeepsWhatIsKnownOfAServer(t *testing.T) {
	t.Parallel()
	spec := upstream.Spec{Name: "u1", URL: "http://127.0.0.1:1", Weight: 1, Accounts: []upstream.Account{{Name: "a", Key: "1"}, {Name: "b", Key: "2"}}}
	for _, row := range []struct {
		rule   string
		change func(*upstream.Spec)
		up     bool
		rests  []mooring.AccountName
	}{
		{"nothing changes", func(*upstream.Spec) {}, false, []mooring.AccountName{"a", "b"}},
		{"the weight changes", func(s *upstream.Spec) { s.Weight = 2 }, false, []mooring.AccountName{"a", "b"}},
		{"an account has another credential", func(s *upstream.Spec) { s.Accounts[0].Key = "new" }, false, []mooring.AccountName{"b"}},
		{"the address changes", func(s *upstream.Spec) { s.URL = "http://127.0.0.1:2" }, true, nil},
		{"another one takes the name", func(s *upstream.Spec) { s.URL, s.Builtin = "", builtin{} }, true, nil},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			old := server(t, spec)
			f := upstream.NewFleet([]*upstream.Upstream{old})
			t.Cleanup(f.Close)
			silent(t, old, noon)
			for _, a := range []mooring.AccountName{"a", "b"} {
				refused(t, old, a, 429, "60")
			}
			silent(t, old, noon)
			next := spec
			next.Accounts = slices.Clone(spec.Accounts)
			row.change(&next)
			f.Replace([]*upstream.Upstream{server(t, next)})
			now := f.Get("u1")
			var rests []mooring.AccountName
			for _, a := range []mooring.AccountName{"a", "b"} {
				if now.Rest(a, noon) != (upstream.Rest{}) {
					rests = append(rests, a)
				}
			}
			if now.Up(noon) != row.up || !slices.Equal(rests, row.rests) {
				t.Errorf("up = %v, resting %v; want %v, %v", now.Up(noon), rests, row.up, row.rests)
			}
		})
	}
}

func BenchmarkVisit(b *testing.B) {
	for name, limit := range map[string]int{"without a limit": 0, "with one": 100} {
		b.Run(name, func(b *testing.B) {
			u, err := upstream.New(upstream.Spec{Name: "u1", MaxInFlight: limit})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				v, err := u.Enter(b.Context(), upstream.Visitor{Tenant: "acme"}, time.Now)
				if err != nil {
					b.Fatal(err)
				}
				v.Answered(200, nil, noon)
				v.Began()
				v.Leave()
			}
		})
	}
}
