//nolint:funlen,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// login is the n-th login of a test, of that person and session of the provider; it ends an hour after it began.
func login(n int, subject, session string) mooring.Login {
	l := mooring.Login{
		Token: fmt.Appendf([]byte{0, 0xff}, "token %d", n), Key: "t1-" + mooring.TenantKey(subject), Subject: []byte(subject), CreatedAt: at(n), SeenAt: at(n),
		Proven: at(n).Add(5 * time.Minute), Ends: at(n).Add(time.Hour), Sealed: fmt.Appendf([]byte{0xfe, 0}, "tokens %d", n),
	}
	if session != "" {
		l.Session = []byte(session)
	}
	return l
}

func wantLogins(t *testing.T, s Store, asked []mooring.Login, want ...mooring.Login) {
	t.Helper()
	var got []mooring.Login
	for _, l := range asked {
		is, found, err := s.Login(t.Context(), l.Token)
		if err != nil {
			t.Fatalf("Login: %v", err)
		}
		if found {
			got = append(got, is)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("logins (-want +got):\n%s", diff)
	}
}

// withLogins adds logins and gives them back.
func withLogins(t *testing.T, s Store, list ...mooring.Login) []mooring.Login {
	t.Helper()
	for i := range list {
		apply(t, s, &mooring.LoginChange{Add: &list[i]})
	}
	return list
}

func loginTests() []test {
	return []test{
		{"a login is found by its token's digest, and by no other", func(t *testing.T, s Store) {
			all := withLogins(t, s, login(1, "alice", "sid-1"), login(2, "alice", ""))
			wantLogins(t, s, append(all, login(3, "alice", ""), mooring.Login{}, mooring.Login{Token: []byte("token 1")}), all...)
		}},
		{"a token that is there already keeps its first person", func(t *testing.T, s Store) {
			all := withLogins(t, s, login(1, "alice", "sid-1"))
			thief := login(1, "mallory", "sid-2")
			apply(t, s, &mooring.LoginChange{Add: &thief})
			wantLogins(t, s, all, login(1, "alice", "sid-1"))
		}},
		{"what counts once is spent once, and what came with it is not done again", func(t *testing.T, s Store) {
			one, two := login(1, "alice", ""), login(2, "alice", "")
			spent := &mooring.Spent{Mark: []byte{0, 1, 0xff}, Until: at(600)}
			apply(t, s, &mooring.LoginChange{Spend: spent, Add: &one})
			again := &mooring.LoginChange{Spend: spent, DropToken: one.Token, Add: &two}
			if got := outcome(t, s, again); got != mooring.CodeSpent || again.Dropped != 0 {
				t.Errorf("outcome %q, dropped %d; want spent and nothing dropped", got, again.Dropped)
			}
			wantLogins(t, s, []mooring.Login{one, two}, one)
			apply(t, s, &mooring.LoginChange{Spend: &mooring.Spent{Mark: []byte{0, 1}, Until: at(600)}})
		}},
		{"what is spent is remembered until it counts for nothing, and no longer", func(t *testing.T, s Store) {
			spent := &mooring.Spent{Mark: []byte("m"), Until: at(600)}
			apply(t, s, &mooring.LoginChange{Spend: spent})
			if got := outcome(t, s, &mooring.LoginChange{Sweep: at(599), Spend: spent}); got != mooring.CodeSpent {
				t.Errorf("outcome %q before its end, want spent", got)
			}
			apply(t, s, &mooring.LoginChange{Sweep: at(600), Spend: spent})
		}},
		{"the sweep takes what has ended, all else stays, and it is no logout", func(t *testing.T, s Store) {
			all := withLogins(t, s, login(1, "alice", ""), login(2, "bob", ""))
			_, before := numbers(t, s)
			c := &mooring.LoginChange{Sweep: all[0].Ends}
			apply(t, s, c)
			wantLogins(t, s, all, all[1])
			if _, after := numbers(t, s); after != before || c.Dropped != 0 {
				t.Errorf("logouts went from %d to %d with %d dropped, want no change", before, after, c.Dropped)
			}
		}},
		{"a sign-out drops one token, a person's all, or those of one session of the provider, and counts them", func(t *testing.T, s Store) {
			all := withLogins(t, s, login(1, "alice", "sid-1"), login(2, "alice", "sid-1"), login(3, "alice", "sid-2"), login(4, "bob", "sid-2"), login(5, "bob", ""), login(6, "carol", ""))
			_, n := numbers(t, s)
			for _, step := range []struct {
				name    string
				change  mooring.LoginChange
				dropped int
				left    []mooring.Login
			}{
				{"one token", mooring.LoginChange{DropToken: all[0].Token}, 1, all[1:]},
				{"the same again", mooring.LoginChange{DropToken: all[0].Token}, 0, all[1:]},
				{"a session of the provider", mooring.LoginChange{DropSession: []byte("sid-2")}, 2, []mooring.Login{all[1], all[4], all[5]}},
				{"a person", mooring.LoginChange{DropSubject: []byte("bob")}, 1, []mooring.Login{all[1], all[5]}},
				{"nobody's session", mooring.LoginChange{DropSession: []byte{}}, 0, []mooring.Login{all[1], all[5]}},
				{"a token with its person", mooring.LoginChange{DropToken: all[1].Token, DropSubject: []byte("alice")}, 1, all[5:]},
			} {
				c := step.change
				apply(t, s, &c)
				_, now := numbers(t, s)
				if c.Dropped != step.dropped || (now > n) != (step.dropped > 0) {
					t.Errorf("%s: dropped %d, logouts from %d to %d; want %d dropped", step.name, c.Dropped, n, now, step.dropped)
				}
				n = now
				wantLogins(t, s, all, step.left...)
			}
		}},
		{"one at a time renews a login, until its lease is over", func(t *testing.T, s Store) {
			all := withLogins(t, s, login(1, "alice", ""))
			lease := func(from, to int) *mooring.LoginChange {
				return &mooring.LoginChange{Lease: &mooring.Login{Token: all[0].Token, SeenAt: at(from), Renewing: at(to)}}
			}
			apply(t, s, lease(10, 25))
			want := all[0]
			want.Renewing = at(25)
			wantLogins(t, s, all, want)
			if got := outcome(t, s, lease(24, 39)); got != mooring.CodeLoginBusy {
				t.Errorf("outcome %q while another is at it, want login_busy", got)
			}
			wantLogins(t, s, all, want)
			apply(t, s, lease(25, 40))
			if got := outcome(t, s, &mooring.LoginChange{Lease: &mooring.Login{Token: []byte("gone"), SeenAt: at(50), Renewing: at(65)}}); got != mooring.CodeLoginBusy {
				t.Errorf("outcome %q for a login that is gone, want login_busy", got)
			}
		}},
		{"a renewal replaces proof and tokens, frees the lease, and revives nothing", func(t *testing.T, s Store) {
			all := withLogins(t, s, login(1, "alice", "sid-1"), login(2, "bob", ""))
			renewed := mooring.Login{Token: all[0].Token, Key: "t1-mallory", Subject: []byte("mallory"), Proven: at(900), Sealed: []byte("new"), Ends: at(9000)}
			apply(t, s, &mooring.LoginChange{Lease: &mooring.Login{Token: all[0].Token, SeenAt: at(10), Renewing: at(25)}}, &mooring.LoginChange{Renew: &renewed})
			want := all[0]
			want.Proven, want.Sealed = at(900), []byte("new")
			wantLogins(t, s, all, want, all[1])
			gone := renewed
			gone.Token = []byte("gone")
			apply(t, s, &mooring.LoginChange{DropToken: all[0].Token})
			got := []mooring.Code{outcome(t, s, &mooring.LoginChange{Renew: &renewed}), outcome(t, s, &mooring.LoginChange{Renew: &gone})}
			if diff := cmp.Diff([]mooring.Code{mooring.CodeLoginBusy, mooring.CodeLoginBusy}, got); diff != "" {
				t.Errorf("outcomes for logins that are gone (-want +got):\n%s", diff)
			}
			wantLogins(t, s, append(all, gone), all[1])
		}},
		{"a login's use moves on, never back, and revives nothing", func(t *testing.T, s Store) {
			all := withLogins(t, s, login(1, "alice", ""))
			seen := func(n int) *mooring.LoginChange {
				return &mooring.LoginChange{Seen: &mooring.Login{Token: all[0].Token, SeenAt: at(n)}}
			}
			apply(t, s, seen(30), seen(20))
			want := all[0]
			want.SeenAt = at(30)
			wantLogins(t, s, all, want)
			apply(t, s, &mooring.LoginChange{DropToken: all[0].Token}, seen(40))
			wantLogins(t, s, all)
		}},
		{"a login without an end of its proof keeps none", func(t *testing.T, s Store) {
			l := login(1, "alice", "")
			l.Proven = time.Time{}
			withLogins(t, s, l)
			wantLogins(t, s, []mooring.Login{l}, l)
		}},
		{"of those who renew at the same time one is let", func(t *testing.T, s Store) { leaseAtOnce(t, s, s) }},
	}
}

// leaseAtOnce lets 12 ask for the right to renew one login, by several ways into one store.
func leaseAtOnce(t *testing.T, ways ...Store) {
	t.Helper()
	l := withLogins(t, ways[0], login(1, "alice", ""))[0]
	var all sync.WaitGroup
	var let atomic.Int32
	for i := range 12 {
		all.Go(func() {
			c := &mooring.LoginChange{Lease: &mooring.Login{Token: bytes.Clone(l.Token), SeenAt: at(10), Renewing: at(25)}}
			switch err := ways[i%len(ways)].Apply(t.Context(), []mooring.Change{c}); {
			case err != nil:
				t.Errorf("lease: %v", err)
			case c.Err == nil:
				let.Add(1)
			case mooring.CodeOf(c.Err) != mooring.CodeLoginBusy:
				t.Errorf("lease: %v", c.Err)
			}
		})
	}
	all.Wait()
	if got := let.Load(); got != 1 {
		t.Errorf("%d of 12 were let renew, want 1", got)
	}
}
