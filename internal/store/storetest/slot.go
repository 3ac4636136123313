//nolint:funlen,gocognit,thelper // tables of rules: each row is a test of its own
package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// claimOf asks for a slot at second n.
func claimOf(key mooring.TenantKey, n int, order ...mooring.SlotName) *mooring.ClaimSlot {
	return &mooring.ClaimSlot{Key: key, KeyID: "salt-1", Order: order, At: at(n)}
}

// claimed is the claim that a tenant gets who is the slot's first one.
func claimed(slot mooring.SlotName, key mooring.TenantKey, n int) mooring.Claim {
	return mooring.Claim{Slot: slot, State: mooring.SlotClaimed, Key: key, KeyID: "salt-1", Epoch: 1, ClaimedAt: at(n), SeenAt: at(n)}
}

func slots(t *testing.T, s Store) mooring.SlotBook {
	t.Helper()
	book, err := s.Slots(t.Context())
	if err != nil {
		t.Fatalf("Slots: %v", err)
	}
	return book
}

func wantSlots(t *testing.T, s Store, want ...mooring.Claim) {
	t.Helper()
	if diff := cmp.Diff(want, slots(t, s).Claims); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
}

func wantWon(t *testing.T, c *mooring.ClaimSlot, want mooring.Claim) {
	t.Helper()
	if diff := cmp.Diff(want, c.Won); diff != "" {
		t.Errorf("claim of %s (-want +got):\n%s", c.Key, diff)
	}
}

// numbers gives how often slots and logins have changed.
func numbers(t *testing.T, s Store) (slots, logouts int64) {
	t.Helper()
	slots, logouts, err := s.EdgeNumbers(t.Context())
	if err != nil {
		t.Fatalf("EdgeNumbers: %v", err)
	}
	return slots, logouts
}

func slotTests() []test {
	return []test{
		{"who comes first gets the preferred slot, the next one the next", func(t *testing.T, s Store) {
			one, two := claimOf("t1-a", 1, "left", "right"), claimOf("t1-b", 2, "left", "right")
			apply(t, s, one, two)
			wantWon(t, one, claimed("left", "t1-a", 1))
			wantWon(t, two, claimed("right", "t1-b", 2))
			wantSlots(t, s, one.Won, two.Won)
		}},
		{"a tenant keeps its slot, whatever it would prefer now", func(t *testing.T, s Store) {
			again, gone := claimOf("t1-a", 9, "right", "left"), claimOf("t1-a", 9, "right")
			apply(t, s, claimOf("t1-a", 1, "left", "right"), again, gone)
			wantWon(t, again, claimed("left", "t1-a", 1))
			wantWon(t, gone, claimed("left", "t1-a", 1))
			wantSlots(t, s, again.Won)
		}},
		{"where all are taken nobody gets one, and those who have one keep it", func(t *testing.T, s Store) {
			apply(t, s, claimOf("t1-a", 1, "left"))
			late := claimOf("t1-b", 2, "left")
			before, _, err := s.EdgeNumbers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := outcome(t, s, late); got != mooring.CodeSlotsFull || late.Won != (mooring.Claim{}) {
				t.Errorf("outcome %q with %+v, want slots_full with nothing", got, late.Won)
			}
			if after, _, err := s.EdgeNumbers(t.Context()); err != nil || after != before {
				t.Errorf("who got nothing counts as a change: %d, was %d (%v)", after, before, err)
			}
			if got := outcome(t, s, claimOf("t1-c", 3)); got != mooring.CodeSlotsFull {
				t.Errorf("outcome %q where there are no slots, want slots_full", got)
			}
			wantSlots(t, s, claimed("left", "t1-a", 1))
		}},
		{"a claim that is refused spoils no other of its batch", func(t *testing.T, s Store) {
			apply(t, s, claimOf("t1-a", 1, "left"))
			late, good := claimOf("t1-b", 2, "left"), claimOf("t1-c", 3, "right")
			if err := s.Apply(t.Context(), []mooring.Change{late, good}); err != nil {
				t.Fatal(err)
			}
			if mooring.CodeOf(late.Err) != mooring.CodeSlotsFull || good.Err != nil {
				t.Errorf("outcomes %v and %v, want slots_full and none", late.Err, good.Err)
			}
			wantSlots(t, s, claimed("left", "t1-a", 1), claimed("right", "t1-c", 3))
		}},
		{"a tenant who comes back finds its quarantined slot, and nobody else gets it", func(t *testing.T, s Store) {
			was := claimed("left", "t1-a", 1)
			resting := was
			resting.State, resting.Note = mooring.SlotQuarantined, "on leave"
			apply(t, s, claimOf("t1-a", 1, "left"), &mooring.SlotChange{Was: []mooring.Claim{was}, Now: []mooring.Claim{resting}})
			if got := outcome(t, s, claimOf("t1-b", 2, "left")); got != mooring.CodeSlotsFull {
				t.Errorf("outcome %q for a stranger, want slots_full", got)
			}
			back := claimOf("t1-a", 5, "right", "left")
			apply(t, s, back)
			want := resting
			want.State, want.SeenAt = mooring.SlotClaimed, at(5)
			wantWon(t, back, want)
			wantSlots(t, s, want)
		}},
		{"a draining slot is neither served nor given to anybody", func(t *testing.T, s Store) {
			was := claimed("left", "t1-a", 1)
			draining := was
			draining.State = mooring.SlotDraining
			apply(t, s, claimOf("t1-a", 1, "left"), &mooring.SlotChange{Was: []mooring.Claim{was}, Now: []mooring.Claim{draining}})
			own := claimOf("t1-a", 2, "left", "right")
			apply(t, s, own)
			wantWon(t, own, draining)
			if got := outcome(t, s, claimOf("t1-b", 3, "left")); got != mooring.CodeSlotsFull {
				t.Errorf("outcome %q for a stranger, want slots_full", got)
			}
		}},
		{"a quarantined slot whose tenant has moved is nobody's until it is wiped, and then starts a new epoch", func(t *testing.T, s Store) {
			was := claimed("left", "t1-a", 1)
			empty, moved := was, was
			empty.State, empty.Key = mooring.SlotQuarantined, ""
			moved.Slot = "right"
			apply(t, s, claimOf("t1-a", 1, "left"), &mooring.SlotChange{Was: []mooring.Claim{was, {Slot: "right", State: mooring.SlotFree}}, Now: []mooring.Claim{empty, moved}})
			wantSlots(t, s, empty, moved)
			if got := outcome(t, s, claimOf("t1-b", 2, "left", "right")); got != mooring.CodeSlotsFull {
				t.Errorf("outcome %q before the slot is wiped, want slots_full", got)
			}
			wiped := mooring.Claim{Slot: "left", State: mooring.SlotFree, Epoch: 2, ClaimedAt: at(0), SeenAt: at(0), Note: "wiped"}
			next := claimOf("t1-b", 4, "left")
			apply(t, s, &mooring.SlotChange{Was: []mooring.Claim{empty}, Now: []mooring.Claim{wiped}}, next)
			want := claimed("left", "t1-b", 4)
			want.Epoch, want.Note = 3, "wiped"
			wantWon(t, next, want)
		}},
		{"two tenants change places in one step", func(t *testing.T, s Store) {
			a, b := claimed("left", "t1-a", 1), claimed("right", "t1-b", 2)
			left, right := b, a
			left.Slot, right.Slot = "left", "right"
			left.Epoch, right.Epoch = 2, 2
			apply(t, s, claimOf("t1-a", 1, "left"), claimOf("t1-b", 2, "right"), &mooring.SlotChange{Was: []mooring.Claim{a, b}, Now: []mooring.Claim{left, right}})
			wantSlots(t, s, left, right)
		}},
		{"an operator's act on slots that have changed meanwhile does nothing at all", func(t *testing.T, s Store) {
			a, b := claimed("left", "t1-a", 1), claimed("right", "t1-b", 2)
			apply(t, s, claimOf("t1-a", 1, "left"), claimOf("t1-b", 2, "right"))
			for what, stale := range map[string]mooring.Claim{
				"state": {Slot: "right", State: mooring.SlotDraining, Key: "t1-b", Epoch: 1},
				"key":   {Slot: "right", State: mooring.SlotClaimed, Key: "t1-c", Epoch: 1},
				"epoch": {Slot: "right", State: mooring.SlotClaimed, Key: "t1-b", Epoch: 2},
				"slot":  {Slot: "third", State: mooring.SlotClaimed, Key: "t1-b", Epoch: 1},
			} {
				free := mooring.Claim{Slot: "left", State: mooring.SlotFree, Epoch: 1}
				if got := outcome(t, s, &mooring.SlotChange{Was: []mooring.Claim{a, stale}, Now: []mooring.Claim{free, free}}); got != mooring.CodeSlotChanged {
					t.Errorf("outcome %q where the %s is another, want slot_changed", got, what)
				}
			}
			wantSlots(t, s, a, b)
		}},
		{"an act leaves alone the slots that it does not name, and may name ones that nobody has had", func(t *testing.T, s Store) {
			a := claimed("left", "t1-a", 1)
			fresh := mooring.Claim{Slot: "third", State: mooring.SlotQuarantined, ClaimedAt: at(3), SeenAt: at(3), Note: "held back"}
			apply(t, s, claimOf("t1-a", 1, "left"), &mooring.SlotChange{Was: []mooring.Claim{{Slot: "third", State: mooring.SlotFree}}, Now: []mooring.Claim{fresh}})
			wantSlots(t, s, a, fresh)
		}},
		{"a tenant's visit moves on, never back, and touches nobody else", func(t *testing.T, s Store) {
			b := claimed("right", "t1-b", 2)
			seen := claimed("left", "t1-a", 1)
			seen.SeenAt = at(30)
			apply(t, s, claimOf("t1-a", 1, "left"), claimOf("t1-b", 2, "right"))
			apply(t, s, &mooring.SlotSeen{Key: "t1-a", At: at(30)}, &mooring.SlotSeen{Key: "t1-a", At: at(20)}, &mooring.SlotSeen{Key: "t1-x", At: at(40)}, &mooring.SlotSeen{At: at(40)})
			wantSlots(t, s, seen, b)
		}},
		{"every change of a slot is counted, a mere visit is not", func(t *testing.T, s Store) {
			n0, logouts := numbers(t, s)
			apply(t, s, claimOf("t1-a", 1, "left"))
			n1, _ := numbers(t, s)
			was := claimed("left", "t1-a", 1)
			draining := was
			draining.State = mooring.SlotDraining
			apply(t, s, &mooring.SlotChange{Was: []mooring.Claim{was}, Now: []mooring.Claim{draining}})
			n2, _ := numbers(t, s)
			apply(t, s, &mooring.SlotSeen{Key: "t1-a", At: at(9)})
			n3, after := numbers(t, s)
			if n0 != 0 || n1 <= n0 || n2 <= n1 || n3 != n2 || after != logouts {
				t.Errorf("numbers %d, %d, %d, %d and logouts %d, %d; want 0, two steps up, and nothing else", n0, n1, n2, n3, logouts, after)
			}
			if got := slots(t, s).Changes; got != n3 {
				t.Errorf("the book says %d changes, want %d", got, n3)
			}
		}},
		{"who asks at the same time gets one slot each, and one tenant gets one", func(t *testing.T, s Store) { claimAtOnce(t, s, s) }},
	}
}

// claimAtOnce lets 5 tenants ask 6 times each, by two ways into one store that holds 4 slots.
func claimAtOnce(t *testing.T, ways ...Store) {
	t.Helper()
	const tenants, times = 5, 6
	order := []mooring.SlotName{"a", "b", "c", "d"}
	var all sync.WaitGroup
	var mu sync.Mutex
	won := map[mooring.TenantKey]map[mooring.SlotName]bool{}
	for i := range tenants * times {
		key := mooring.TenantKey(fmt.Sprintf("t1-%d", i%tenants))
		c := claimOf(key, i, order[i%len(order)], order[(i+1)%len(order)], order[(i+2)%len(order)], order[(i+3)%len(order)])
		all.Go(func() {
			err := ways[i/tenants%len(ways)].Apply(t.Context(), []mooring.Change{c})
			mu.Lock()
			defer mu.Unlock()
			if won[key] == nil {
				won[key] = map[mooring.SlotName]bool{}
			}
			switch {
			case err != nil:
				t.Errorf("claim of %s: %v", key, err)
			case c.Err == nil:
				won[key][c.Won.Slot] = true
			case mooring.CodeOf(c.Err) != mooring.CodeSlotsFull:
				t.Errorf("claim of %s: %v", key, c.Err)
			}
		})
	}
	all.Wait()
	taken, without := map[mooring.SlotName]mooring.TenantKey{}, 0
	for key, slots := range won {
		if len(slots) > 1 {
			t.Errorf("%s was given %v", key, slots)
		}
		if len(slots) == 0 {
			without++
		}
		for slot := range slots {
			if taken[slot] != "" {
				t.Errorf("%s was given to %s and %s", slot, key, taken[slot])
			}
			taken[slot] = key
		}
	}
	if len(taken) != len(order) || without != tenants-len(order) {
		t.Errorf("%d slots were given away and %d tenants got none, want %d and %d", len(taken), without, len(order), tenants-len(order))
	}
	for _, c := range slots(t, ways[0]).Claims {
		if taken[c.Slot] != c.Key || c.Epoch != 1 {
			t.Errorf("the store holds %+v, but %s was told that it has the slot", c, taken[c.Slot])
		}
	}
}

// RunTwo tests what two processes do with one store: ways lead into the same one, which is empty.
func RunTwo(t *testing.T, ways ...Store) {
	t.Helper()
	t.Run("claims at once", func(t *testing.T) { claimAtOnce(t, ways...) })
	t.Run("a lease at once", func(t *testing.T) { leaseAtOnce(t, ways...) })
	t.Run("what one did the other sees", func(t *testing.T) {
		before, _ := numbers(t, ways[1])
		apply(t, ways[0], claimOf("t1-late", 1, "late"))
		after, _ := numbers(t, ways[1])
		if after <= before {
			t.Errorf("the number went from %d to %d, want it higher", before, after)
		}
	})
}
