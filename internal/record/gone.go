package record

import (
	"sync"
	"sync/atomic"

	"mooring"
)

// goneMax is how many deleted sessions are remembered, the last ones. Memory elsewhere forgets a session when it is deleted, but
// for a turn that was just beginning.
const goneMax = 4096

// gone are the sessions that were deleted here. A turn that begins in one has to hear that from the store: the journal, which
// takes whatever cannot fail, would tell it that all is well.
type gone struct {
	any  atomic.Bool // there is one: spares all others the lock
	mu   sync.Mutex  // guards the fields below
	set  map[[2]string]bool
	last [][2]string // in the order of deletion; next is overwritten next
	next int
}

func (g *gone) add(c *mooring.Delete) {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := [2]string{string(c.Tenant), string(c.Session)}
	if g.set == nil {
		g.set = map[[2]string]bool{}
	}
	if g.set[key] {
		return
	}
	g.set[key] = true
	if len(g.last) < goneMax {
		g.last = append(g.last, key)
	} else {
		delete(g.set, g.last[g.next])
		g.last[g.next] = key
		g.next = (g.next + 1) % goneMax
	}
	g.any.Store(true)
}

// has says that a change begins a turn in such a session.
func (g *gone) has(c mooring.Change) bool {
	b, ok := c.(*mooring.Begin)
	if !ok || b.New || !g.any.Load() {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.set[[2]string{string(b.Session.Tenant), string(b.Session.ID)}]
}
