package peer

import (
	"bytes"
	"context"
	"time"
)

const (
	// most is how many bytes go in one message: with a third more for their letters, and what stands beside them, it has to stay below
	// the 8,000 that PostgreSQL takes.
	most = 5200
	// pace is how long pieces are collected for one message: a model's words come one by one.
	pace = 25 * time.Millisecond
	// settled is how long what was sent may be on its way: who asks for it once more before is about to get it.
	settled = time.Second
)

// served is a following of another replica's.
type served struct {
	name   string
	number int
}

// serving is one goroutine that sends a turn to another replica.
type serving struct {
	stop func()

	at    int       // up to where it has been sent; guarded by the exchange, as the two below
	sent  time.Time // when the last piece was
	asked time.Time
}

// serve begins to send a turn, or goes on with that, from where the other one is.
func (x *Exchange) serve(ctx context.Context, m *message) {
	key := served{m.Name, m.Number}
	now := x.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	if old := x.serving[key]; old != nil {
		if old.asked = now; m.At >= old.at || now.Sub(old.sent) < settled {
			return
		}
		old.stop() // what is missing was lost
		delete(x.serving, key)
	}
	if x.closed || len(x.serving) >= mostServed {
		return
	}
	source, ok := x.Open(m.Tenant, m.Turn)
	if !ok {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	s := &serving{stop: stop, at: m.At, sent: now, asked: now}
	x.serving[key] = s
	x.wg.Go(func() {
		defer x.done(key, s)
		if m.At != EndOnly {
			defer source.Join()()
		}
		x.stream(ctx, key, s, source)
	})
}

func (x *Exchange) done(key served, s *serving) {
	s.stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.serving[key] == s {
		delete(x.serving, key)
	}
}

func (x *Exchange) unserve(key served) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.serving[key]; s != nil {
		s.stop()
	}
}

// expire ends what nobody has asked for of late.
func (x *Exchange) expire() {
	now := x.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, s := range x.serving {
		if now.Sub(s.asked) > heldFor {
			s.stop()
		}
	}
}

// stream sends a turn from where the other one is to its end.
func (x *Exchange) stream(ctx context.Context, key served, s *serving, source Source) {
	var told []byte
	for at := s.at; ; {
		fresh, ended, err := source.Read(ctx, at)
		if err != nil {
			return
		}
		facts := source.Facts()
		if bytes.Equal(facts, told) {
			facts = nil
		} else {
			told = facts
		}
		for first := true; first || len(fresh) > 0; first = false {
			n := max(0, min(len(fresh), most-len(told)))
			m := &message{Op: opPiece, Number: key.number, At: at, Data: fresh[:n], Ended: ended && n == len(fresh)}
			if facts != nil {
				m.Facts, facts = facts, nil
			}
			if m.Ended { // how it ended is known with its last piece alone
				m.Facts = told
			}
			x.send(ctx, key.name, m)
			at, fresh = at+n, fresh[n:]
			x.progress(s, at)
		}
		if ended {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pace):
		}
	}
}

func (x *Exchange) progress(s *serving, at int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.at, s.sent = at, x.Now()
}
