package edge_test

import (
	"strings"
	"testing"

	"mooring"
)

// remarkOn is what an operator is told of a slot.
func remarkOn(t *testing.T, r *rig, slot string) string {
	t.Helper()
	p, err := r.edge.Find(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	return p.Remark()
}

func TestRemarks(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	slot, _ := slotOf(t, r, "alice")
	if _, err := r.edge.Release(t.Context(), slot, false); err != nil {
		t.Fatal(err)
	}
	if got := remarkOn(t, r, slot); got != "released" {
		t.Errorf("a released slot: %q", got)
	}
	if back, _ := slotOf(t, r, "alice"); back != slot {
		t.Fatalf("alice is on %q, want %s again", back, slot)
	}
	if got := remarkOn(t, r, slot); got != "" {
		t.Errorf("once its tenant is back: %q, want nothing", got)
	}
	if _, err := r.edge.Move(t.Context(), slot, mooring.SlotName(freeOf(t, r)), false); err != nil {
		t.Fatal(err)
	}
	if got := remarkOn(t, r, slot); !strings.HasPrefix(got, "moving to ") {
		t.Errorf("a slot that drains: %q", got)
	}
}

func TestAnotherSalt(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	alices, _ := slotOf(t, r, "alice")
	bobs, _ := slotOf(t, r, "bob")
	if n := r.edge.OtherSalt(); n != 0 {
		t.Errorf("%d slots of another salt before there was one", n)
	}
	if _, err := r.edge.Release(t.Context(), bobs, false); err != nil {
		t.Fatal(err)
	}
	r.opts.Salt = []byte("another salt of the tests, as long as the first")
	r.start()
	own, _ := slotOf(t, r, "alice")
	if own == alices {
		t.Fatalf("under another salt alice is still on %s", own)
	}
	if n := r.edge.OtherSalt(); n != 2 {
		t.Errorf("%d slots of another salt, want 2", n)
	}
	const foreign = "claimed under another salt: its tenant cannot come back"
	for name, want := range map[string]string{alices: foreign, bobs: "released; " + foreign, own: ""} {
		if got := remarkOn(t, r, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestSubjectsAreIDs(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	if _, err := r.edge.KeyOf("alice@example.org"); err == nil || !strings.Contains(err.Error(), "`sub`") {
		t.Errorf("KeyOf an address: %v, want where subjects are found", err)
	}
}
