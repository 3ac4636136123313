package signin

import (
	"net/netip"
	"sync"
	"time"

	"mooring"
)

const (
	wrongTries = 10
	tryWindow  = time.Minute
	// addresses bounds the memory. Who has more of them to guess from is not held up by this, but by the length of keys.
	addresses = 10_000
)

// guesses counts wrong keys per client address.
type guesses struct {
	mu   sync.Mutex // guards the map
	from map[netip.Prefix]window
}

type window struct {
	since time.Time
	tries int
}

// Guess takes one of the few tries that an address has each minute, or says when there is another one. right gives it back:
// whoever has a right key is not guessing. The address is the connection's; what a proxy's headers say of it is not believed.
func (b *Book) Guess(remote string) (right func(), err error) {
	from, now := network(remote), b.o.Now()
	g := &b.guesses
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.from[from]
	if now.Sub(w.since) >= tryWindow {
		w = window{since: now}
	}
	if w.tries >= wrongTries {
		refused := mooring.Errorf(mooring.CodeKeyLimit, "Too many wrong keys came from your address; wait a minute.")
		refused.RetryAfter = w.since.Add(tryWindow).Sub(now)
		return nil, refused
	}
	g.makeRoom(now)
	w.tries++
	g.from[from] = w
	return func() { g.giveBack(from, w.since) }, nil
}

func (g *guesses) giveBack(from netip.Prefix, since time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w, there := g.from[from]
	if !there || !w.since.Equal(since) {
		return
	}
	if w.tries--; w.tries <= 0 {
		delete(g.from, from)
		return
	}
	g.from[from] = w
}

// makeRoom forgets what is over, and everything where that is not enough. The mutex is held.
func (g *guesses) makeRoom(now time.Time) {
	if g.from != nil && len(g.from) < addresses {
		return
	}
	kept := map[netip.Prefix]window{}
	for from, w := range g.from {
		if now.Sub(w.since) < tryWindow {
			kept[from] = w
		}
	}
	if len(kept) >= addresses {
		clear(kept)
	}
	g.from = kept
}

// network is what one client has of the address space: an address of IPv4, and 64 bits of IPv6, in which it may pick any.
func network(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{} // no connection has such an address; they share one count
	}
	addr := at.Addr().Unmap().WithZone("")
	bits := 64
	if addr.Is4() {
		bits = 32
	}
	prefix, _ := addr.Prefix(bits) // the bits fit
	return prefix
}
