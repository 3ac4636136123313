package turn

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mooring"
)

const (
	// segment is what a tape grows by: a short answer takes one.
	segment = 16 << 10
	// mostUnread bounds what is kept of an answer that nobody but its client follows.
	mostUnread = 1 << 20
	// mostTaped bounds what is kept of all those together.
	mostTaped = 128 << 20
)

type block [segment]byte

// tapes are what the tapes of one Runner share.
type tapes struct {
	unread atomic.Int64 // bytes of the tapes that nobody follows
	blocks sync.Pool    // *block, of tapes that nobody followed
}

// take gives an empty block.
func (p *tapes) take() *block {
	b, ok := p.blocks.Get().(*block)
	if !ok {
		b = new(block)
	}
	return b
}

// tape keeps what a turn's client is sent, so that others can follow the turn from its first byte on. It is the turn's sink, and hands
// everything on to its client's. Bytes that are on it stay where they are and as they are, so that readers need no lock for them.
type tape struct {
	all    *tapes
	sink   Sink
	most   int                  // bytes of an answer that is followed
	cancel func(error)          // ends the turn
	detach func() time.Duration // how long the turn goes on without a listener; nil for one that is its client's
	sends  []sendKey            // by which it is listed; guarded by the table, as the three below
	key    turnKey              // of a turn that has ended
	kept   int                  // bytes that it was counted with among those
	expiry *time.Timer          // of its place there
	begun  chan struct{}        // closed once the turn is written down, or has ended without; nil for one that is its client's
	done   chan struct{}        // closed once the turn has ended

	mu        sync.Mutex // guards the fields below
	protocol  mooring.Protocol
	about     About
	head      Head
	blocks    []*block
	whole     []byte // the body, of an answer that came as one
	size      int
	counted   int  // of those that the tapes share
	short     bool // bytes are missing behind those that are there
	followed  bool // somebody else may read it
	played    bool // another replica has sent something of it
	told      bool // begun is closed
	wrote     bool // the turn is written down, or the chat is reset
	ended     bool
	turn      mooring.Turn
	err       error
	news      chan struct{} // closed when there is more; nil while nobody waits
	listeners int
	alone     int // how often it has been left by all of them
	leaving   *time.Timer
	same      *Live // the turn that this one's request has begun already
}

func (r *Runner) newTape(p mooring.Protocol, sink Sink) *tape {
	return &tape{all: &r.tapes, sink: sink, most: r.Forward.Limits().Answer, protocol: p, done: make(chan struct{})}
}

// About takes what the client is told of its turn.
func (t *tape) About(a About) {
	t.note(a)
	t.sink.About(a)
}

// note is About for those who follow alone.
func (t *tape) note(a About) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.about = a
}

// speak says in which language the bytes will be.
func (t *tape) speak(p mooring.Protocol) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.protocol = p
}

// Head begins the answer.
func (t *tape) Head(h Head) error {
	t.mu.Lock()
	t.head = h
	t.mu.Unlock()
	return t.sink.Head(h)
}

// Write takes bytes of the answer.
func (t *tape) Write(held, fresh []byte) error {
	t.mu.Lock()
	if t.head.Length >= 0 && t.size == 0 && len(fresh) == 0 { // one body, which nobody changes any more
		t.whole, t.size = held, len(held)
	} else {
		t.keep(held)
		t.keep(fresh)
	}
	t.wake()
	t.mu.Unlock()
	return t.sink.Write(held, fresh)
}

// Trailer hands over what came behind the answer.
func (t *tape) Trailer(h http.Header) { t.sink.Trailer(h) }

// keep copies bytes onto the tape, as far as there is room for them.
func (t *tape) keep(p []byte) {
	if t.short || t.full(len(p)) {
		t.short = t.short || len(p) > 0
		return
	}
	for len(p) > 0 {
		at := t.size % segment
		if at == 0 {
			t.blocks = append(t.blocks, t.all.take())
		}
		n := copy(t.blocks[len(t.blocks)-1][at:], p)
		p, t.size = p[n:], t.size+n
	}
}

// full says that there is no room for that many bytes more. It counts them where nobody follows.
func (t *tape) full(n int) bool {
	if t.followed {
		return t.size+n > t.most
	}
	t.counted += n
	return t.all.unread.Add(int64(n)) > mostTaped || t.size+n > mostUnread
}

// uncount gives back what was counted.
func (t *tape) uncount() {
	t.all.unread.Add(-int64(t.counted))
	t.counted = 0
}

// wake tells all who wait.
func (t *tape) wake() {
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}

// after gives the bytes behind a position, or what is closed when there are some.
func (t *tape) after(from int) (fresh []byte, ended bool, news <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case from >= t.size:
	case t.whole != nil:
		fresh = t.whole[from:]
	default:
		at := from / segment
		fresh = t.blocks[at][from%segment : min(t.size-at*segment, segment)]
	}
	if len(fresh) == 0 && !t.ended && t.news == nil {
		t.news = make(chan struct{})
	}
	return fresh, t.ended && from+len(fresh) >= t.size, t.news
}

// follow lets somebody read the tape. From now on it is kept whole.
func (t *tape) follow() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.followed = true
	t.uncount()
}

// writtenDown lets those go on who wait until the turn has begun.
func (t *tape) writtenDown() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrote = true
	t.ready()
}

func (t *tape) ready() {
	if !t.told && t.begun != nil {
		t.told = true
		close(t.begun)
	}
}

// end says how the turn has ended. Where nobody has followed it, nobody can any more, and its room is free for others.
func (t *tape) end(turn mooring.Turn, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.turn, t.err, t.ended = turn, err, true
	t.stay()
	t.ready()
	t.wake()
	close(t.done)
	if t.followed {
		return
	}
	t.uncount()
	for _, b := range t.blocks {
		t.all.blocks.Put(b)
	}
	t.blocks, t.whole = nil, nil
}

// worth says whether the tape is to be kept behind its turn's end, and how many bytes that takes.
func (t *tape) worth() (size int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size, t.followed && t.wrote
}

// left lets the time begin for which the turn goes on alone.
func (t *tape) left() {
	if t.detach == nil || t.ended {
		return
	}
	t.alone++
	now := t.alone
	t.leaving = time.AfterFunc(t.detach(), func() {
		t.mu.Lock()
		still := t.alone == now && t.listeners == 0
		t.mu.Unlock()
		if still {
			t.cancel(errAlone())
		}
	})
}

// stay ends that time.
func (t *tape) stay() {
	if t.leaving != nil {
		t.leaving.Stop()
		t.leaving = nil
	}
}
