package turn

import (
	"context"
	"time"

	"mooring"
)

// Live is a turn as others may follow it: the bytes that its client is sent, from the first one on. Any number of readers may share one
// of this process; one of another replica has one reader, who joins and leaves.
type Live struct {
	tape  *tape
	ask   func(ctx context.Context) (mooring.Turn, error) // of a turn that another process runs; nil for one of this process
	of    string                                          // that process
	leave func()                                          // ends the following of a turn there; nil where it cannot be followed
	over  int                                             // how often it was seen to have ended, without a word of that; its one reader's
}

// About says what the client was told of its turn last. Without a turn id it is the answer to a command that makes none.
func (l *Live) About() About {
	l.tape.mu.Lock()
	defer l.tape.mu.Unlock()
	return l.tape.about
}

// Protocol is the language of the bytes.
func (l *Live) Protocol() mooring.Protocol {
	l.tape.mu.Lock()
	defer l.tape.mu.Unlock()
	return l.tape.protocol
}

// Head is how the answer began: with a negative length the bytes are an event stream's, else those of one JSON body. It holds once
// something was read; a turn that ended without an answer has none, and a status of 0.
func (l *Live) Head() Head {
	l.tape.mu.Lock()
	defer l.tape.mu.Unlock()
	return l.tape.head
}

// Short says that bytes are missing behind those that can be read: the answer was too long to be kept for readers who came so late,
// or its process was another one. The record has its text once it has ended.
func (l *Live) Short() bool {
	l.tape.mu.Lock()
	defer l.tape.mu.Unlock()
	return l.tape.short
}

// Done is closed once the turn has ended and is written down.
func (l *Live) Done() <-chan struct{} { return l.tape.done }

// Outcome says how the turn ended, with the error that its listeners are told, nil where it completed. It holds after the end.
func (l *Live) Outcome() (mooring.Turn, error) {
	l.tape.mu.Lock()
	defer l.tape.mu.Unlock()
	return l.tape.turn, l.tape.err
}

// askAgain is how often a turn that another process runs is asked for.
const askAgain = time.Second

// Read gives what stands behind the first from bytes, and waits until there is something; ended says that nothing comes behind it.
// The bytes are not to be changed.
func (l *Live) Read(ctx context.Context, from int) (fresh []byte, ended bool, err error) {
	for {
		var news <-chan struct{}
		fresh, ended, news = l.tape.after(from)
		if len(fresh) > 0 || ended {
			if l.ask != nil {
				l.over = 0
			}
			return fresh, ended, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		case <-l.later():
			if err = l.inquire(ctx); err != nil {
				return nil, false, err
			}
		}
	}
}

// later is when a turn of another process is asked for once more.
func (l *Live) later() <-chan time.Time {
	if l.ask == nil {
		return nil
	}
	return time.After(askAgain)
}

// Join says that somebody listens. A turn that belongs to the server is cancelled some time after the last one has left.
func (l *Live) Join() (leave func()) {
	if l.leave != nil {
		return l.leave
	}
	t := l.tape
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners++
	t.stay()
	gone := false
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if gone {
			return
		}
		gone = true
		if t.listeners--; t.listeners == 0 {
			t.left()
		}
	}
}
