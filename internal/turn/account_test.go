package turn_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/turn"
	"mooring/internal/upstream"
	"mooring/internal/upstreamtest"
)

var accounts = []upstream.Account{{Name: "one", Key: "k-one", Weight: 1}, {Name: "two", Key: "k-two", Weight: 1}}

// shared is a house of one upstream with two accounts.
type shared struct {
	*house
	u *upstreamtest.Server
}

func newShared(t *testing.T, change func(*upstream.Spec)) *shared {
	t.Helper()
	h := &shared{u: upstreamtest.New(t)}
	s := spec("a", h.u)
	s.Accounts = accounts
	if change != nil {
		change(&s)
	}
	rules := moving()
	rules.FailoverOn.Statuses = []int{401, 429}
	h.house = newHouse(t, rules, s)
	return h
}

// accountOf runs a turn and gives the account that answered it.
func (h *shared) accountOf(id string, mark mooring.PinMark) mooring.AccountName {
	h.t.Helper()
	s, err := h.run(h.chat(id, "hi "+string(mark), ""))
	if err != nil || s.head.Status != http.StatusOK || s.about.Pin != mark {
		h.t.Fatalf("%s: status %d, pin=%s, %v; want 200, pin=%s", id, s.head.Status, s.about.Pin, err, mark)
	}
	key := strings.TrimPrefix(h.u.LastPost(h.t).Header.Get("Authorization"), "Bearer k-")
	if got := h.stored(s.about.Turn).Account; string(got) != key {
		h.t.Errorf("%s: stored as answered by %s, was %s", id, got, key)
	}
	return mooring.AccountName(key)
}

func other(a mooring.AccountName) mooring.AccountName {
	if a == "one" {
		return "two"
	}
	return "one"
}

// exhaust has an account of the upstream be answered with a status from now on.
func (h *shared) exhaust(a mooring.AccountName, status int) {
	h.u.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply {
		if r.Header.Get("Authorization") != "Bearer k-"+string(a) {
			return upstreamtest.Reply{}
		}
		reply := upstreamtest.Failure(status)
		reply.Header = http.Header{"Retry-After": {"3600"}}
		return reply
	})
}

func TestExhaustedAccount(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 429} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			h := newShared(t, nil)
			bad := h.accountOf("s", mooring.PinNew)
			h.exhaust(bad, status)
			h.u.Forget()
			if got := h.accountOf("s", mooring.PinMoved); got != other(bad) || len(h.u.Posts()) != 2 {
				t.Errorf("answered by %s after %d requests, want the other account after two", got, len(h.u.Posts()))
			}
			if got := h.accountOf("s", mooring.PinHit); got != other(bad) {
				t.Errorf("the next turn is answered by %s: it stays where it moved to", got)
			}
			h.u.Forget()
			for i := range 8 {
				if got := h.accountOf(fmt.Sprint("new", i), mooring.PinNew); got != other(bad) {
					t.Errorf("a new session is given %s", got)
				}
			}
			if n := len(h.u.Posts()); n != 8 {
				t.Errorf("%d requests of eight new sessions: the account that rests was asked", n)
			}
		})
	}
}

func TestSessionsOfAnAccountThatRestsAreMovedWithoutAsking(t *testing.T) {
	t.Parallel()
	h := newShared(t, nil)
	home := map[mooring.AccountName][]string{}
	for i := 0; len(home["one"]) < 2 || len(home["two"]) < 1; i++ {
		id := fmt.Sprint("s", i)
		a := h.accountOf(id, mooring.PinNew)
		home[a] = append(home[a], id)
	}
	h.exhaust("one", 429)
	h.accountOf(home["one"][0], mooring.PinMoved)
	h.u.Forget()
	if got := h.accountOf(home["one"][1], mooring.PinMoved); got != "two" || len(h.u.Posts()) != 1 {
		t.Errorf("answered by %s after %d requests, want two at once", got, len(h.u.Posts()))
	}
	if got := h.accountOf(home["two"][0], mooring.PinHit); got != "two" {
		t.Errorf("a session of the other account is moved to %s", got)
	}
}

func TestAccountIsKept(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule   string
		change func(*upstream.Spec)
		rules  func(*turn.Rules)
		status int
	}{
		{"where the status is not listed", nil, func(r *turn.Rules) { r.FailoverOn.Statuses = nil }, 429},
		{"where the server keeps the conversation", func(s *upstream.Spec) { s.Remote = true }, nil, 429},
		{"where nothing may move", func(s *upstream.Spec) { s.Failover = "fail" }, nil, 429},
		{"after an error that is not the account's", nil, nil, 500},
		{"where the other one rests too", nil, nil, 0},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			h := newShared(t, row.change)
			if row.rules != nil {
				row.rules(&h.rules)
			}
			h.accountOf("s", mooring.PinNew)
			reply := upstreamtest.Failure(row.status)
			if row.status == 0 {
				reply = upstreamtest.TooManyRequests(time.Hour)
				_, _ = h.run(h.chat("another", "hi", "")) // both are asked, and rest from now on
				h.u.Always(reply)
				_, _ = h.run(h.chat("another", "hi", ""))
			}
			h.u.Always(reply)
			h.u.Forget()
			s, err := h.run(h.chat("s", "again", ""))
			if err != nil || s.head.Status < 400 || len(h.u.Posts()) != 1 {
				t.Errorf("status %d after %d requests, %v; want the one of its own account", s.head.Status, len(h.u.Posts()), err)
			}
			h.u.Always(upstreamtest.Reply{})
			h.accountOf("s", mooring.PinHit)
		})
	}
}

func TestEachAccountIsAskedOnce(t *testing.T) {
	t.Parallel()
	h := newShared(t, nil)
	h.accountOf("s", mooring.PinNew)
	h.u.Always(upstreamtest.Failure(429)) // without a time to wait
	h.u.Forget()
	s, err := h.run(h.chat("s", "again", ""))
	if err != nil || s.head.Status != 429 || len(h.u.Posts()) != 2 {
		t.Errorf("status %d after %d requests, %v; want the 429 after one with each", s.head.Status, len(h.u.Posts()), err)
	}
}

func TestRemovedAccount(t *testing.T) {
	t.Parallel()
	h := newShared(t, nil)
	at := map[string]mooring.AccountName{}
	for i := range 12 {
		id := fmt.Sprint("s", i)
		at[id] = h.accountOf(id, mooring.PinNew)
	}
	more := []upstream.Account{accounts[1], {Name: "three", Key: "k-three", Weight: 1}, {Name: "four", Key: "k-four", Weight: 1}}
	changed := h.Fleet.Get("a").Spec
	changed.Accounts = more
	u, err := upstream.New(changed)
	if err != nil {
		t.Fatal(err)
	}
	h.Fleet.Replace([]*upstream.Upstream{u})
	var moved []mooring.AccountName
	for id, was := range at {
		if was == "two" {
			h.accountOf(id, mooring.PinHit)
			continue
		}
		now := h.accountOf(id, mooring.PinMoved)
		moved = append(moved, now)
		if again := h.accountOf(id, mooring.PinHit); again != now {
			t.Errorf("%s: moved to %s, then to %s", id, now, again)
		}
	}
	slices.Sort(moved)
	if len(slices.Compact(moved)) < 2 {
		t.Errorf("all sessions of the account went to %v, want them spread", moved)
	}
}

// What makes no session has no pin: it keeps to its tenant's account, and leaves one that rests where nothing is kept there.
func TestAccountOfRequestsWithoutASession(t *testing.T) {
	t.Parallel()
	h := newShared(t, nil)
	pass := func(tenant mooring.Tenant, model string) string {
		t.Helper()
		s := &sink{}
		err := h.Pass(t.Context(), turn.Pass{
			Caller: mooring.Caller{Tenant: tenant}, Protocol: mooring.Chat, Method: http.MethodPost, Path: "/v1/embeddings", Header: http.Header{}, Body: bytes(`{}`), Model: model,
		}, s)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimPrefix(h.u.LastPost(t).Header.Get("Authorization"), "Bearer k-")
	}
	used := map[string]mooring.Tenant{}
	for i := range 20 {
		tenant := mooring.Tenant(fmt.Sprint("t", i))
		of := pass(tenant, "fake-1")
		used[of] = tenant
		if again := pass(tenant, ""); again != of {
			t.Errorf("%s: with %s, then with %s", tenant, of, again)
		}
	}
	if len(used) != 2 {
		t.Errorf("20 tenants used %d accounts, want both", len(used))
	}
	tenant := used["one"]
	h.exhaust("one", 429)
	pass(tenant, "fake-1")
	if got := pass(tenant, "fake-1"); got != "two" {
		t.Errorf("asked with %s, which rests", got)
	}
	if got := pass(tenant, ""); got != "one" {
		t.Errorf("what is kept is looked for with %s", got)
	}
}
