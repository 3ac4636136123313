package turn

import (
	"slices"
	"time"

	"mooring"
)

// What is kept of turns that have ended, for those who come back just then: a reload of a page takes a second or two.
const (
	keptPast  = 30 * time.Second
	mostPast  = 256
	mostBytes = 64 << 20
)

// past are the turns that have ended a short while ago, the latest last. The table's lock guards it.
type past struct {
	list  []*tape
	bytes int
}

// keep holds on to a turn that has ended, where anybody has followed it; what is too much makes the oldest ones go.
func (b *table) keep(t *running) {
	tp := t.tape
	size, ok := tp.worth()
	if !ok {
		b.unlist(tp)
		return
	}
	tp.key, tp.kept = t.numbered, size
	tp.expiry = time.AfterFunc(keptPast, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.drop(tp)
	})
	b.past.list, b.past.bytes = append(b.past.list, tp), b.past.bytes+tp.kept
	for len(b.past.list) > mostPast || b.past.bytes > mostBytes {
		b.drop(b.past.list[0])
	}
}

func (b *table) drop(tp *tape) {
	at := slices.Index(b.past.list, tp)
	if at < 0 {
		return
	}
	tp.expiry.Stop()
	b.past.list, b.past.bytes = slices.Delete(b.past.list, at, at+1), b.past.bytes-tp.kept
	b.unlist(tp)
}

// unlist lets no further send find a turn.
func (b *table) unlist(tp *tape) {
	for _, key := range tp.sends {
		if b.ofSend[key] == tp {
			delete(b.ofSend, key)
		}
	}
	tp.sends = nil
}

// disown lets no further send find a turn, from outside of the table.
func (b *table) disown(tp *tape) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unlist(tp)
}

// forget drops all that have ended.
func (b *table) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.past.list) > 0 {
		b.drop(b.past.list[0])
	}
}

// follow gives the tape of a turn that runs, or has ended a short while ago; nil for none.
func (b *table) follow(key turnKey) *tape {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.ofTurn[key]; t != nil {
		t.tape.follow()
		return t.tape
	}
	for _, tp := range slices.Backward(b.past.list) {
		if tp.key == key {
			return tp
		}
	}
	return nil
}

// Follow gives a turn that runs in this process, or has ended there a short while ago; false where the tenant has none such.
func (r *Runner) Follow(t mooring.Tenant, id mooring.TurnID) (*Live, bool) {
	tp := r.table.follow(turnKey{t, id})
	if tp == nil || id == "" {
		return nil, false
	}
	return &Live{tape: tp}, true
}
