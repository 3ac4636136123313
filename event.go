package mooring

// EventKind says what happened.
type EventKind int

// The kinds of events; the store holds these numbers.
const (
	SessionUpdated EventKind = iota // made, or changed by something else than a turn
	SessionDeleted
	TurnStarted
	TurnFinished
)

// Event is one entry of a tenant's log of changes: what changed, and nothing of what it says. It is committed with the change.
type Event struct {
	Tenant  Tenant
	Number  int64 // of the tenant, from 1 on, in the order in which the changes can be seen; those of sessions deleted since are left out
	Kind    EventKind
	Session SessionID
	Turn    TurnID // empty for what a session's own change is
}
