package serve

import "sync"

// running counts the requests in handlers. A WaitGroup would not do: requests may still begin while Close waits.
type running struct {
	mu   sync.Mutex // guards the fields below
	n    int
	idle chan struct{} // closed at zero; nil while nobody waits
}

func (r *running) enter() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
}

func (r *running) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n--
	if r.n == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

func (r *running) wait() {
	r.mu.Lock()
	if r.n == 0 {
		r.mu.Unlock()
		return
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	r.mu.Unlock()
	<-idle
}
