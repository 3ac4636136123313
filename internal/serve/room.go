package serve

import (
	"context"
	"slices"
	"sync"

	"mooring"
)

// room shares out the memory for the bodies under way. Claims are served in the order in which they came; a tenant that has
// its share waits for itself alone, and nobody behind it waits for it.
type room struct {
	mu    sync.Mutex // guards the fields below
	free  int64      // bytes
	held  map[mooring.Tenant]int64
	queue []*claim
}

// claim asks for bytes; share is what its tenant may hold together.
type claim struct {
	tenant   mooring.Tenant
	n, share int64
	granted  chan struct{} // closed once it is
}

func newRoom(size int64) *room {
	return &room{free: size, held: map[mooring.Tenant]int64{}}
}

// take waits until there is room for the claim. After an error nothing has been taken.
func (r *room) take(ctx context.Context, c claim) error {
	c.granted = make(chan struct{})
	r.mu.Lock()
	r.queue = append(r.queue, &c)
	r.serve()
	r.mu.Unlock()
	select {
	case <-c.granted:
		return nil
	default:
	}
	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
		return r.withdraw(ctx, &c)
	}
}

// withdraw takes a claim out of the queue, unless it has been granted at the last moment.
func (r *room) withdraw(ctx context.Context, c *claim) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.queue, c)
	if at < 0 {
		return nil
	}
	r.queue = slices.Delete(r.queue, at, at+1)
	r.serve() // it may have stood before smaller ones
	return ctx.Err()
}

// give returns what a tenant has taken.
func (r *room) give(tenant mooring.Tenant, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += n
	if r.held[tenant] -= n; r.held[tenant] == 0 {
		delete(r.held, tenant)
	}
	r.serve()
}

// serve grants what there is room for. The mutex is held.
func (r *room) serve() {
	full := map[mooring.Tenant]bool{} // these wait for bytes of their own
	waiting := r.queue[:0]
	for i, c := range r.queue {
		if full[c.tenant] || r.held[c.tenant]+c.n > c.share {
			full[c.tenant] = true
			waiting = append(waiting, c)
			continue
		}
		if c.n > r.free {
			waiting = append(waiting, r.queue[i:]...)
			break
		}
		r.free -= c.n
		r.held[c.tenant] += c.n
		close(c.granted)
	}
	clear(r.queue[len(waiting):])
	r.queue = waiting
}
