package app

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"

	"mooring"
)

// ids mints identities that sort by time, also within one millisecond, so that the store appends and lists keep their order.
type ids struct {
	now     func() time.Time
	replica string

	mu      sync.Mutex // guards the fields below
	entropy *ulid.MonotonicEntropy
	last    uint64 // the time in the last id: a clock may be set back
}

func newIDs(now func() time.Time) *ids {
	i := &ids{now: now, entropy: ulid.Monotonic(rand.Reader, 0)}
	i.replica = "rep_" + i.next()
	return i
}

func (i *ids) next() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last = max(i.last, ulid.Timestamp(i.now()))
	return ulid.MustNew(i.last, i.entropy).String()
}

func (i *ids) session() mooring.SessionID { return mooring.SessionID("ses_" + i.next()) }
func (i *ids) turn() mooring.TurnID       { return mooring.TurnID("trn_" + i.next()) }
func (i *ids) message() mooring.MessageID { return mooring.MessageID("msg_" + i.next()) }

// newKey mints the id of a session whose client sent none.
func newKey() string { return "api-" + uuid.NewString() }
