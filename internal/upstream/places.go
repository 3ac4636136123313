package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"mooring"
)

// ErrFull says that a server has no free place, and none came in the time that the request would wait.
var ErrFull = errors.New("no free place")

// places counts the requests in flight and, where there is a limit, makes those that find none free wait in line. Who leaves hands
// the place on, so that nobody who comes later overtakes.
type places struct {
	mu    sync.Mutex // guards the fields below
	limit int        // 0 for none
	taken int
	line  line
}

// waiter is one who waits for a place.
type waiter struct {
	tenant mooring.Tenant
	ready  chan struct{} // closed once the place is its own
}

// take takes a place where one is free; else it gives a waiter in line, or ErrFull where the line is full for its tenant.
func (p *places) take(tenant mooring.Tenant, depth int) (*waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.limit == 0 || p.taken < p.limit:
		p.taken++
		return nil, nil //nolint:nilnil // the place is there, nobody waits
	case p.line.of(tenant) >= depth*p.limit:
		return nil, ErrFull
	}
	w := &waiter{tenant: tenant, ready: make(chan struct{})}
	p.line.join(w)
	return w, nil
}

// enter takes a place, and waits for one as long as it may.
func (p *places) enter(ctx context.Context, v *Visitor) error {
	depth := v.Depth
	if v.Wait <= 0 {
		depth = 0
	}
	w, err := p.take(v.Tenant, depth)
	if err != nil || w == nil {
		return err
	}
	late := time.NewTimer(v.Wait)
	defer late.Stop()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = ErrFull
	}
	if p.giveUp(w) {
		return err
	}
	if ctx.Err() == nil {
		return nil // the place came as the time was up
	}
	p.leave()
	return err
}

// giveUp takes a waiter out of the line; false where it has its place already.
func (p *places) giveUp(w *waiter) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line.drop(w)
}

// leave gives a place back: the next in line has it.
func (p *places) leave() {
	p.mu.Lock()
	p.taken--
	p.admit()
	p.mu.Unlock()
}

// resize sets another limit. Those who are in stay in.
func (p *places) resize(limit int) {
	p.mu.Lock()
	p.limit = limit
	p.admit()
	p.mu.Unlock()
}

// admit hands free places to those in line; the lock is held.
func (p *places) admit() {
	for p.limit == 0 || p.taken < p.limit {
		w := p.line.next()
		if w == nil {
			return
		}
		p.taken++
		close(w.ready)
	}
}

// count gives how many are in, and how many wait.
func (p *places) count() (taken, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, p.line.waiting
}

func (p *places) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit > 0 && p.taken >= p.limit
}
