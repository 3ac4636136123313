//nolint:tparallel // the steps of a test share one edge and go one after the other
package edge_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mooring"
	"mooring/internal/edge"
)

// slotOf asks for a person and says which slot saw it, "" for none.
func slotOf(t *testing.T, r *rig, who string) (string, reply) {
	t.Helper()
	r.take()
	a := r.send(as(who, "GET", "/api/x"))
	seen := r.take()
	if len(seen) > 1 {
		t.Fatalf("slots saw %d requests of one", len(seen))
	}
	if len(seen) == 0 {
		return "", a
	}
	return seen[0].slot, a
}

func TestSlotsAreForGood(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	first := map[string]string{}
	t.Run("T-8 everybody gets a slot of their own", func(t *testing.T) {
		for _, who := range []string{"alice", "bob", "carol"} {
			slot, _ := slotOf(t, r, who)
			for other, has := range first {
				if has == slot {
					t.Errorf("%s and %s are both on %s", who, other, slot)
				}
			}
			first[who] = slot
		}
	})
	same := func(t *testing.T) {
		t.Helper()
		for who, want := range first {
			if got, a := slotOf(t, r, who); got != want {
				t.Errorf("%s is on %q with %v, was on %s", who, got, a.Response, want)
			}
		}
	}
	t.Run("T-8 and keeps it", same)
	t.Run("T-9 who comes too late gets none, nobody else's least of all", func(t *testing.T) {
		slot, a := slotOf(t, r, "dave")
		a.refused(t, http.StatusServiceUnavailable, "slots_full")
		if slot != "" || a.Header.Get("Retry-After") != "60" {
			t.Errorf("slot %q, Retry-After %q", slot, a.Header.Get("Retry-After"))
		}
	})
	t.Run("T-8 another process, and one that starts anew, know it", func(t *testing.T) {
		slices.Reverse(r.opts.Slots)
		r.start()
		same(t)
	})
	t.Run("T-10 a slot that is down is its tenant's trouble alone", func(t *testing.T) {
		for _, s := range r.slots {
			if s.name == first["bob"] {
				_ = s.ln.Close()
			}
		}
		slot, a := slotOf(t, r, "bob")
		a.refused(t, http.StatusServiceUnavailable, "upstream_unavailable")
		if slot != "" || a.Header.Get("Retry-After") != "3" {
			t.Errorf("slot %q, Retry-After %q", slot, a.Header.Get("Retry-After"))
		}
		if got, _ := slotOf(t, r, "alice"); got != first["alice"] {
			t.Errorf("alice is on %q", got)
		}
	})
	t.Run("T-11 a slot that is taken off the list keeps its tenant, who gets nothing meanwhile", func(t *testing.T) {
		all := r.opts.Slots
		var left []edge.Slot
		for _, s := range all {
			if string(s.Name) != first["alice"] {
				left = append(left, s)
			}
		}
		if err := r.edge.Replace(left); err != nil {
			t.Fatal(err)
		}
		slot, a := slotOf(t, r, "alice")
		a.refused(t, http.StatusServiceUnavailable, "upstream_unavailable")
		if slot != "" {
			t.Errorf("alice was moved to %s", slot)
		}
		if err := r.edge.Replace(all); err != nil {
			t.Fatal(err)
		}
		if got, _ := slotOf(t, r, "alice"); got != first["alice"] {
			t.Errorf("alice came back to %q", got)
		}
	})
}

// R17: the provider has another name for everybody. Who asks is a stranger, and the slots of those who do not come are not to be filled up.
func TestEverybodyLooksNew(t *testing.T) {
	t.Parallel()
	r := newRig(t, 12)
	ask := func(who string) string {
		t.Helper()
		slot, _ := slotOf(t, r, who)
		return slot
	}
	for i := range 5 {
		if ask(fmt.Sprintf("old%d", i)) == "" {
			t.Fatal("no slot in the beginning")
		}
	}
	r.pass(2 * time.Hour)
	for i := range 4 {
		if ask(fmt.Sprintf("new%d", i)) == "" {
			t.Fatalf("new%d has no slot: they are few yet", i)
		}
	}
	refused := func(who string) {
		t.Helper()
		slot, a := slotOf(t, r, who)
		if a.refused(t, http.StatusServiceUnavailable, "slots_full"); slot != "" {
			t.Errorf("%s has %s", who, slot)
		}
	}
	refused("new4")
	for range 4 {
		r.pass(6 * time.Minute)
		ask("new0") // has a slot, and is no sign that the old ones can come
		refused("new4")
		refused("new5")
	}
	if ask("old0") == "" {
		t.Error("old0 has lost its slot")
	}
	r.pass(6 * time.Minute)
	if ask("new4") == "" {
		t.Error("new4 gets no slot though the old ones come")
	}
}

func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, 8)
	first := r.edge
	addr := r.addr
	r.start()
	addrs := []string{addr, r.addr}
	if first == r.edge {
		t.Fatal("one edge is no two")
	}
	t.Run("T-8 first requests together, at two edges: one slot each, and everybody is served afterwards", func(t *testing.T) {
		var all sync.WaitGroup
		for i := range 32 {
			at := &rig{t: t, addr: addrs[i/8%2], slots: r.slots}
			all.Go(func() { at.send(as(fmt.Sprintf("u%d", i%8), "GET", "/api/x")) })
		}
		all.Wait()
		keys := map[string]string{}
		for _, q := range r.take() {
			key := strings.Join(q.values(identity), ",")
			if has, ok := keys[key]; ok && has != q.slot {
				t.Errorf("%s is on %s and on %s", key, has, q.slot)
			}
			keys[key] = q.slot
		}
		for i := range 8 {
			if slot, a := slotOf(t, r, fmt.Sprintf("u%d", i)); slot == "" {
				t.Errorf("u%d is not served: %d %s", i, a.StatusCode, a.body)
			}
		}
	})
}

// slowStore answers the first of two readers after the second.
type slowStore struct {
	*faulty
	slow chan struct{} // closed once the first may answer; nil for at once
	mu   sync.Mutex
	read chan struct{} // closed once the first has read
}

func (s *slowStore) Slots(ctx context.Context) (mooring.SlotBook, error) {
	book, err := s.faulty.Slots(ctx)
	s.mu.Lock()
	slow, read := s.slow, s.read
	s.slow = nil
	s.mu.Unlock()
	if slow != nil {
		close(read)
		<-slow
	}
	return book, err
}

func TestOlderReadsSayNothing(t *testing.T) {
	t.Parallel()
	var store *slowStore
	r := newRig(t, 3, func(o *edge.Options) {
		store = &slowStore{faulty: o.Store.(*faulty)}
		o.Store = store
	})
	t.Run("T-9 a slow read of the claims is not taken for a store that has lost some", func(t *testing.T) {
		slow, read := make(chan struct{}), make(chan struct{})
		store.mu.Lock()
		store.slow, store.read = slow, read
		store.mu.Unlock()
		var all sync.WaitGroup
		all.Go(func() { r.send(as("alice", "GET", "/api/x")) })
		<-read
		r.send(as("bob", "GET", "/api/x")).want(t, http.StatusOK)
		close(slow)
		all.Wait()
		for _, who := range []string{"alice", "bob", "carol"} {
			r.send(as(who, "GET", "/api/x")).want(t, http.StatusOK)
		}
	})
}

func TestWhoMayClaim(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, raw string
		claims    bool
	}{
		{"T-11 a page that is opened", as("a", "GET", "/", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"), true},
		{"T-11 a page by an old browser", as("a", "GET", "/session/abc"), true},
		{"T-11 a question of the API", as("a", "GET", "/api/session?session_id=s", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"), true},
		{"T-11 a page ahead of time", as("a", "GET", "/", "Sec-Purpose: prefetch"), false},
		{"T-11 a page ahead of time, as once", as("a", "GET", "/", "Purpose: prefetch"), false},
		{"T-11 a frame", as("a", "GET", "/", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"), false},
		{"T-11 the service worker", as("a", "GET", "/sw.js"), false},
		{"T-11 a file", as("a", "GET", "/static/app.js"), false},
		{"T-11 the head of a page", as("a", "HEAD", "/"), false},
		{"T-11 a beacon", withBody("a", "POST", "/api/beacon", "{}"), false},
		{"T-11 a denied path", as("a", "GET", "/api/shutdown"), false},
		{"T-11 a path of the edge's own", as("a", "GET", "/.mooring/x"), false},
		{"T-11 an error", as("a", "GET", "/api/x;y"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1)
			r.send(row.raw)
			r.take()
			book, err := r.store.Store.Slots(t.Context())
			if err != nil || (len(book.Claims) == 1) != row.claims {
				t.Errorf("claims %+v, %v; want one: %v", book.Claims, err, row.claims)
			}
		})
	}
}

func TestStoreAway(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.claimed(t, "alice")
	r.store.away.Store(true)
	t.Run("T-9 2.5-40 a stranger is not let in without the store", func(t *testing.T) {
		slot, a := slotOf(t, r, "bob")
		a.refused(t, http.StatusServiceUnavailable, "store_unavailable")
		if slot != "" {
			t.Errorf("bob was let to %s", slot)
		}
	})
	t.Run("T-9 who has a slot goes on for a moment", func(t *testing.T) {
		if slot, _ := slotOf(t, r, "alice"); slot == "" {
			t.Error("alice was cut off at once")
		}
	})
	t.Run("T-9 and no longer", func(t *testing.T) {
		r.pass(time.Minute)
		slot, a := slotOf(t, r, "alice")
		a.refused(t, http.StatusServiceUnavailable, "store_unavailable")
		if slot != "" {
			t.Errorf("alice was let to %s", slot)
		}
	})
	t.Run("T-9 until the store is back", func(t *testing.T) {
		r.store.away.Store(false)
		eventually(t, "alice is served", func() bool { slot, _ := slotOf(t, r, "alice"); return slot != "" })
	})
}

func TestStoreThatHasLostItsClaims(t *testing.T) {
	t.Parallel()
	witness := filepath.Join(t.TempDir(), "store.slots")
	with := func(o *edge.Options) { o.Witness = witness }
	r := newRig(t, 2, with)
	r.claimed(t, "alice")
	t.Run("T-9 how far the store had come is written beside it, for its owner alone", func(t *testing.T) {
		raw, err := os.ReadFile(witness)
		if err != nil || strings.TrimSpace(string(raw)) != "1" {
			t.Errorf("the file holds %q, %v; want 1", raw, err)
		}
		if info, err := os.Stat(witness); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("its rights are %v, %v", info.Mode(), err)
		}
	})
	t.Run("T-9 T-12 an empty store in its place gives nothing away", func(t *testing.T) {
		empty := newRig(t, 2, with)
		for _, who := range []string{"alice", "bob"} {
			slot, a := slotOf(t, empty, who)
			a.refused(t, http.StatusServiceUnavailable, "store_unavailable")
			if slot != "" {
				t.Errorf("%s was let to %s", who, slot)
			}
		}
		if list, err := empty.edge.Places(t.Context()); mooring.CodeOf(err) != mooring.CodeStoreUnavailable {
			t.Errorf("operators are told %+v, %v: that all slots are free", list, err)
		}
		if book, err := empty.store.Store.Slots(t.Context()); err != nil || len(book.Claims) > 0 {
			t.Errorf("the store holds %+v, %v", book, err)
		}
	})
}

// twoOfOne is a store in which one tenant has two slots.
type twoOfOne struct{ *faulty }

func (twoOfOne) Slots(context.Context) (mooring.SlotBook, error) {
	return mooring.SlotBook{Changes: 2, Claims: []mooring.Claim{{Slot: "a", State: mooring.SlotClaimed, Key: "t1-x"}, {Slot: "b", State: mooring.SlotClaimed, Key: "t1-x"}}}, nil
}

func TestBrokenBook(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	t.Run("T-12 a store in which one tenant has two slots is refused at the start", func(t *testing.T) {
		o := r.opts
		o.Store = twoOfOne{r.store}
		e, err := edge.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		if _, err = e.Listen(t.Context(), "127.0.0.1:0"); err == nil || !strings.Contains(err.Error(), "a and b belong to one tenant") {
			t.Errorf("Listen: %v", err)
		}
	})
}

func TestDrainingSlot(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	s := r.claimed(t, "alice")
	book, err := r.store.Store.Slots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	change := func(state mooring.SlotState) {
		was := book.Claims[0]
		book.Claims[0].State = state
		if err := r.store.commit(t.Context(), &mooring.SlotChange{Was: []mooring.Claim{was}, Now: book.Claims}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("T-21 a stream ends within seconds when its slot is drained, and T-11 nothing new begins", func(t *testing.T) {
		gone := make(chan struct{})
		s.does(func(_ request, c net.Conn) {
			streamHead(c)
			<-gone
		})
		c := r.dial("")
		defer c.Close()
		write(c, as("alice", "GET", "/api/sessions/events", "Accept: text/event-stream"))
		eventually(t, "the slot is asked", func() bool { return len(r.take()) == 1 })
		change(mooring.SlotDraining)
		begin := time.Now()
		a := readReply(c, "GET")
		close(gone)
		a.want(t, http.StatusOK)
		if a.err != nil || time.Since(begin) > wait {
			t.Errorf("the stream ended by %v after %v, want a clean end soon", a.err, time.Since(begin))
		}
		s.says("")
		slot, refused := slotOf(t, r, "alice")
		refused.refused(t, http.StatusServiceUnavailable, "upstream_unavailable")
		if slot != "" {
			t.Error("a draining slot was asked")
		}
	})
	t.Run("T2.3-9 T-8 who comes back out of quarantine is at home", func(t *testing.T) {
		change(mooring.SlotQuarantined)
		eventually(t, "alice is served", func() bool { slot, _ := slotOf(t, r, "alice"); return slot != "" })
	})
}

// TestKeys looks at what slots are told of people.
func TestKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, 4)
	key := func(t *testing.T, r *rig, who string) string {
		t.Helper()
		r.take()
		r.send(as(who, "GET", "/api/x")).want(t, http.StatusOK)
		lines := r.one(t).values(identity)
		if len(lines) != 1 || len(lines[0]) != 35 || !strings.HasPrefix(lines[0], "t1-") || strings.Trim(lines[0][3:], "abcdefghijklmnopqrstuvwxyz234567") != "" {
			t.Fatalf("identity %q", lines)
		}
		return lines[0]
	}
	t.Run("T-6 a key says nothing of the person, and is theirs alone", func(t *testing.T) {
		a, b := key(t, r, "alice"), key(t, r, "bob")
		if a == b || strings.Contains(a, "alice") || a != key(t, r, "alice") {
			t.Errorf("keys %s and %s", a, b)
		}
	})
	with := func(issuer, salt string) *rig {
		return newRig(t, 1, func(o *edge.Options) { o.Issuer, o.Salt = issuer, []byte(salt) })
	}
	t.Run("T2.3-4 2.5-42 issuer and subject do not run together", func(t *testing.T) {
		if a, b := key(t, with("a", "salt"), "bc"), key(t, with("ab", "salt"), "c"); a == b {
			t.Errorf("both are %s", a)
		}
	})
	t.Run("T-6 another salt makes other keys", func(t *testing.T) {
		if a, b := key(t, with("a", "one"), "x"), key(t, with("a", "two"), "x"); a == b {
			t.Errorf("both are %s", a)
		}
	})
}

func TestLogs(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.slots[0].says(answerOf("500 Oh", `{"error":"`+poison+`"}`, "Content-Type: application/json"))
	session := goodSession("a")
	who := "subject-" + poison
	r.send(as(who, "GET", "/api/session?session_id="+poison, "Cookie: hermes_chat_session="+session+"; x="+poison, "X-Forwarded-Email: "+poison+"@x.org"))
	r.send(as(who, "GET", "/session/"+poison+"?q="+poison, "Cookie: hermes_chat_session="+session))
	r.send(as(who+"@", "GET", "/session/"+poison))
	r.send(as(who, "GET", "/session/"+poison+";x"))
	r.slots[0].says("garbage " + poison + "\r\n\r\n")
	r.send(as(who, "GET", "/api/"+poison))
	r.slots[0].says(answerOf("200 OK", strings.Repeat(poison, 300<<10), "Content-Type: application/json"))
	r.send(as(who, "GET", "/api/session?session_id="+poison)).refused(t, http.StatusBadGateway, "upstream_error")
	t.Run("T-31 the log says which slot, class, status, bytes and time", func(t *testing.T) {
		eventually(t, "the lines are written", func() bool { return strings.Count(r.log.String(), "msg=edge ") == 6 })
		for _, want := range []string{"slot=tenant-0", "route=api", "route=page", "status=500", "status=401", "status=400", "status=502", "bytes=", "duration_ms="} {
			if !strings.Contains(r.log.String(), want) {
				t.Errorf("no %s in\n%s", want, r.log)
			}
		}
	})
	t.Run("T-31 T-6 and neither who, which session, cookies nor queries", func(t *testing.T) {
		for _, secret := range []string{poison, session, "hermes_chat_session", "subject-"} {
			if strings.Contains(r.log.String(), secret) {
				t.Errorf("%s is in the log:\n%s", secret, r.log)
			}
		}
	})
}
