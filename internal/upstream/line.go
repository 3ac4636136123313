package upstream

import (
	"slices"

	"mooring"
)

// line is who waits for a place: in turn by tenant, and within a tenant as they came. So a tenant that sends many requests lets
// others wait for one of them at most.
type line struct {
	waiting int
	turns   []mooring.Tenant // those who have waiters, the next one first
	queues  map[mooring.Tenant][]*waiter
}

// of says how many of a tenant wait.
func (l *line) of(t mooring.Tenant) int { return len(l.queues[t]) }

func (l *line) join(w *waiter) {
	if l.queues == nil {
		l.queues = map[mooring.Tenant][]*waiter{}
	}
	if len(l.queues[w.tenant]) == 0 {
		l.turns = append(l.turns, w.tenant)
	}
	l.queues[w.tenant] = append(l.queues[w.tenant], w)
	l.waiting++
}

// next takes out whose turn it is; nil where nobody waits.
func (l *line) next() *waiter {
	if len(l.turns) == 0 {
		return nil
	}
	tenant := l.turns[0]
	w := l.queues[tenant][0]
	l.remove(tenant, 0)
	if len(l.queues[tenant]) > 0 { // its next one comes behind the others
		l.turns = append(l.turns[1:], tenant)
	}
	return w
}

// drop takes out one who waits no more; false where it is not in line.
func (l *line) drop(w *waiter) bool {
	at := slices.Index(l.queues[w.tenant], w)
	if at >= 0 {
		l.remove(w.tenant, at)
	}
	return at >= 0
}

func (l *line) remove(t mooring.Tenant, at int) {
	l.waiting--
	left := slices.Delete(l.queues[t], at, at+1)
	if len(left) > 0 {
		l.queues[t] = left
		return
	}
	delete(l.queues, t)
	l.turns = slices.DeleteFunc(l.turns, func(other mooring.Tenant) bool { return other == t })
}
