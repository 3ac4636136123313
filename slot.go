package mooring

import "time"

// SlotName names a tenant's own web UI behind the edge.
type SlotName string

// TenantKey is all that a slot is told of whose request it is: a keyed digest of issuer and subject.
type TenantKey string

// SlotState is where a slot stands in its life: free, claimed, draining, quarantined, and free again once it has been wiped.
type SlotState string

// The states.
const (
	SlotFree        SlotState = "free"        // nobody's; a slot that the store does not know is free too
	SlotClaimed     SlotState = "claimed"     // its tenant's
	SlotDraining    SlotState = "draining"    // its tenant's, and serving nobody while an operator copies it
	SlotQuarantined SlotState = "quarantined" // still holds its last tenant's data; where it holds the key too, the tenant gets it back by returning
)

// Claim is a slot with the tenant that it belongs to.
type Claim struct {
	Slot      SlotName
	State     SlotState
	Key       TenantKey // "" where the slot is free, or its tenant has moved elsewhere
	KeyID     string    // which salt the key was made with
	Epoch     int64     // how many tenants or moves the slot has seen; what was bound to an earlier one counts for nothing
	ClaimedAt time.Time
	SeenAt    time.Time // to the hour
	Note      string    // the operator's
}

// SlotBook is all claims, with how often they have changed. A book with a lower number is an older one.
type SlotBook struct {
	Changes int64
	Claims  []Claim
}

// ClaimSlot gives a tenant the slot that it has, or the first free one of those it may have.
type ClaimSlot struct {
	Key   TenantKey
	KeyID string
	Order []SlotName // which slots there are, the preferred one first
	At    time.Time

	Won Claim // after the commit
	Err error // CodeSlotsFull: none of them is free
}

// Outcome gives Err.
func (c *ClaimSlot) Outcome() error { return c.Err }

// SlotChange is an operator's act on slots: all of it happens, or none where one of them no longer is as it was seen.
type SlotChange struct {
	Was []Claim // slot, state, key and epoch as they were seen
	Now []Claim

	Err error // CodeSlotChanged
}

// Outcome gives Err.
func (c *SlotChange) Outcome() error { return c.Err }

// SlotSeen notes that a tenant was there.
type SlotSeen struct {
	Key TenantKey
	At  time.Time
	Err error
}

// Outcome gives Err.
func (c *SlotSeen) Outcome() error { return c.Err }
