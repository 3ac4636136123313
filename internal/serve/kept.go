package serve

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// kept are the connections that are open.
type kept struct {
	mu   sync.Mutex // guards the fields below
	n    int
	none chan struct{} // closed when there is none; nil while nobody waits
}

func (k *kept) note(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		k.count(1)
	case http.StateClosed, http.StateHijacked:
		k.count(-1)
	case http.StateActive, http.StateIdle:
	}
}

func (k *kept) count(more int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.n += more
	if k.n == 0 && k.none != nil {
		close(k.none)
		k.none = nil
	}
}

// gone is closed when no connection is open.
func (k *kept) gone() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	none := make(chan struct{})
	if k.n == 0 {
		close(none)
	} else {
		k.none = none
	}
	return none
}

// lull refuses connections, and leaves those that are kept open for a moment: a request on one of them is answered 503 and ends
// it. Closed at once, as net/http does, a connection may be lost under a request that is on its way, and a load balancer does not
// know whether that was served. Who has not asked by then is not about to.
func (s *Server) lull(ctx context.Context) {
	if s.opts.Lull <= 0 || s.listener == nil {
		return
	}
	_ = s.listener.Close()
	s.accept.Wait() // net/http would close it once more, and take that for an error
	t := time.NewTimer(s.opts.Lull)
	defer t.Stop()
	select {
	case <-s.kept.gone():
	case <-t.C:
	case <-ctx.Done():
	}
}
