package edge_test

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/edge"
)

// stateOf is how an operator sees a slot.
func stateOf(t *testing.T, r *rig, slot string) mooring.Claim {
	t.Helper()
	p, err := r.edge.Find(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	return p.Claim
}

// freeOf is a slot that nobody has.
func freeOf(t *testing.T, r *rig) string {
	t.Helper()
	all, err := r.edge.Places(t.Context())
	i := slices.IndexFunc(all, func(p edge.Place) bool { return p.State == mooring.SlotFree })
	if err != nil || i < 0 {
		t.Fatalf("no slot is free: %v %v", all, err)
	}
	return string(all[i].Slot)
}

func TestMove(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	from, _ := slotOf(t, r, "alice")
	bobs, _ := slotOf(t, r, "bob")
	to := mooring.SlotName(freeOf(t, r))
	for _, s := range r.slots {
		s.does(func(q request, c net.Conn) {
			if strings.Contains(q.line(), "/events") {
				streamHead(c)
				_, _ = c.Read(make([]byte, 1))
				return
			}
			write(c, answerOf("200 OK", "{}", "Content-Type: application/json"))
		})
	}
	c := r.dial("")
	defer func() { _ = c.Close() }()
	write(c, as("alice", "GET", "/api/sessions/events", "Accept: text/event-stream"))
	eventually(t, "the stream is open", func() bool { return len(r.take()) > 0 })

	for _, row := range []struct {
		rule   string
		to     mooring.SlotName
		copied bool
	}{
		{"copied before it drains", to, true},
		{"to a slot that is somebody's", mooring.SlotName(bobs), false},
		{"to a slot that is none", "nowhere", false},
	} {
		if p, err := r.edge.Move(t.Context(), from, row.to, row.copied); err == nil {
			t.Errorf("%s: moved, %+v", row.rule, p)
		}
	}
	if p, err := r.edge.Move(t.Context(), from, to, false); err != nil || p.State != mooring.SlotDraining {
		t.Fatalf("Move = %+v, %v; want it to drain", p, err)
	}
	_ = c.SetReadDeadline(time.Now().Add(wait))
	if got := readReply(c, "GET"); got.Response == nil || got.err != nil {
		t.Errorf("the stream ended with %v, want its own end", got.err)
	}
	if slot, a := slotOf(t, r, "alice"); slot != "" || a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("while it drains: %q, %d; want 503", slot, a.StatusCode)
	}
	if slot, _ := slotOf(t, r, "bob"); slot != bobs {
		t.Errorf("bob is on %q, was on %s", slot, bobs)
	}
	if p, err := r.edge.Move(t.Context(), from, to, true); err != nil || p.Slot != to || p.State != mooring.SlotClaimed {
		t.Fatalf("Move = %+v, %v; want the new slot", p, err)
	}
	if slot, _ := slotOf(t, r, "alice"); slot != string(to) {
		t.Errorf("alice is on %q, want %s", slot, to)
	}
	if left := stateOf(t, r, from); left.State != mooring.SlotQuarantined || left.Key != "" {
		t.Errorf("the old slot is %+v, want it held and nobody's", left)
	}
	if slot, a := slotOf(t, r, "carol"); slot != "" {
		t.Errorf("carol got %q with %d: what alice left there is not wiped", slot, a.StatusCode)
	}
}

func TestMoveIsCalledOff(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	from, _ := slotOf(t, r, "alice")
	if _, err := r.edge.Move(t.Context(), from, mooring.SlotName(freeOf(t, r)), false); err != nil {
		t.Fatal(err)
	}
	if _, err := r.edge.Move(t.Context(), from, mooring.SlotName(from), false); err != nil {
		t.Fatal(err)
	}
	if slot, _ := slotOf(t, r, "alice"); slot != from {
		t.Errorf("alice is on %q, want %s again", slot, from)
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	slot, _ := slotOf(t, r, "alice")
	key := stateOf(t, r, slot).Key
	if _, err := r.edge.Release(t.Context(), slot, true); err == nil {
		t.Error("a slot in use was wiped")
	}
	if p, err := r.edge.Release(t.Context(), string(key), false); err != nil || p.State != mooring.SlotQuarantined {
		t.Fatalf("Release = %+v, %v", p, err)
	}
	if got, a := slotOf(t, r, "bob"); got != "" || a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("bob got %q with %d while alice's data is there", got, a.StatusCode)
	}
	if got, _ := slotOf(t, r, "alice"); got != slot {
		t.Fatalf("alice came back to %q, want %s", got, slot)
	}
	before := stateOf(t, r, slot).Epoch
	for _, wiped := range []bool{false, true} {
		if _, err := r.edge.Release(t.Context(), slot, wiped); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := slotOf(t, r, "bob"); got != slot {
		t.Errorf("bob got %q, want the wiped slot", got)
	}
	if now := stateOf(t, r, slot); now.Epoch <= before || now.Key == key {
		t.Errorf("slot %+v, want another epoch and tenant", now)
	}
}

func TestKeyOf(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	slot, _ := slotOf(t, r, "alice")
	if key, err := r.edge.KeyOf("alice"); err != nil || key != stateOf(t, r, slot).Key {
		t.Errorf("KeyOf = %q, %v", key, err)
	}
	if _, err := r.edge.KeyOf("a@b"); err == nil {
		t.Error("a subject that nobody can have has a key")
	}
}

// Two operators act on what they saw; one of them saw what no longer was.
func TestActsOnWhatWasSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	slot, _ := slotOf(t, r, "alice")
	was := stateOf(t, r, slot)
	if _, err := r.edge.Release(t.Context(), slot, false); err != nil {
		t.Fatal(err)
	}
	now := was
	now.State = mooring.SlotDraining
	c := &mooring.SlotChange{Was: []mooring.Claim{was}, Now: []mooring.Claim{now}}
	if err := r.store.commit(t.Context(), c); mooring.CodeOf(err) != mooring.CodeSlotChanged {
		t.Errorf("outcome %v, want slot_changed", err)
	}
	if got := stateOf(t, r, slot).State; got != mooring.SlotQuarantined {
		t.Errorf("slot is %s", got)
	}
}

// A request whose body takes its time must not reach a slot that has become somebody else's meanwhile.
func TestSlowBodyAndAnotherTenant(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	slot, _ := slotOf(t, r, "alice")
	r.take()
	c := r.dial("")
	defer func() { _ = c.Close() }()
	whole := withBody("alice", "POST", "/api/x", "0123456789")
	write(c, whole[:len(whole)-1])
	eventually(t, "the request is on its way", func() bool {
		p, err := r.edge.Find(t.Context(), slot)
		return err == nil && p.Open == 1
	})
	r.take() // what asking for its health has brought
	for _, wiped := range []bool{false, true} {
		if _, err := r.edge.Release(t.Context(), slot, wiped); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := slotOf(t, r, "bob"); got != slot {
		t.Fatalf("bob is on %q", got)
	}
	r.take()
	write(c, whole[len(whole)-1:])
	_ = c.SetReadDeadline(time.Now().Add(wait))
	readReply(c, "POST").refused(t, http.StatusServiceUnavailable, "upstream_unavailable")
	r.none(t)
}
