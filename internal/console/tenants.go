package console

import (
	"strconv"

	"mooring"
	"mooring/internal/apiclient"
)

// Places shows the tenant edge's slots, one a row.
func (p Page) Places(list []apiclient.Place) error {
	var t table
	t.row(p.Style.heading, "SLOT", "STATE", "TENANT", "LAST SEEN", "IN FLIGHT", "HEALTH", "URL", "NOTE")
	for i := range list {
		s := &list[i]
		seen, health := unknown, or(s.Health, unknown)
		if s.SeenAt != nil {
			seen = p.ago(*s.SeenAt)
		}
		if !s.Configured {
			health = "not configured"
		}
		t.row(p.Style.ofSlot(s), string(s.Slot), string(s.State), or(string(s.Tenant), unknown), seen, strconv.Itoa(s.InFlight), health, or(s.URL, unknown), s.Note)
	}
	return t.write(p.Out)
}

func (s Style) ofSlot(p *apiclient.Place) string {
	switch {
	case p.State == mooring.SlotDraining, p.State == mooring.SlotQuarantined:
		return s.busy
	case p.State == mooring.SlotClaimed && p.Health != "up":
		return s.bad
	case p.State == mooring.SlotFree:
		return s.faint
	}
	return ""
}

// Place shows all that is known of one slot.
func (p Page) Place(s *apiclient.Place) error {
	facts := [][2]string{
		{"slot", string(s.Slot)},
		{"state", string(s.State)},
		{"tenant", string(s.Tenant)},
		{"salt", s.KeyID},
		{"epoch", strconv.FormatInt(s.Epoch, 10)},
		{"url", s.URL},
		{"health", s.Health},
		{"in flight", strconv.Itoa(s.InFlight)},
		{"note", s.Note},
	}
	if s.ClaimedAt != nil {
		facts = append(facts, [2]string{"claimed", p.clock(*s.ClaimedAt)})
	}
	if s.SeenAt != nil {
		facts = append(facts, [2]string{"seen", p.clock(*s.SeenAt) + ", " + p.ago(*s.SeenAt)})
	}
	var t table
	for _, fact := range facts {
		if fact[1] != "" {
			t.row("", fact[0], Line(fact[1]))
		}
	}
	return t.write(p.Out)
}
