package forward

import (
	"io"
	"time"
)

// chunk is what one read takes: an upstream's burst of events becomes one write and one flush.
const chunk = 32 << 10

// pump reads a body piece by piece. While the header is held it reads in a goroutine, so that the wait can end; a read that
// was still open is finished by the next call.
type pump struct {
	body io.Reader
	buf  []byte
	open chan piece // not nil while a read is open
}

type piece struct {
	n   int
	err error
}

// next gives the next bytes; they hold until the call after.
func (p *pump) next() ([]byte, error) {
	if p.open != nil {
		got := <-p.open
		p.open = nil
		return p.buf[:got.n], got.err
	}
	p.grow()
	n, err := p.body.Read(p.buf)
	return p.buf[:n], err
}

// within is next with an end to the waiting; ok is false where nothing came in time.
func (p *pump) within(late <-chan time.Time) (data []byte, ok bool, err error) {
	if p.open == nil {
		p.grow()
		open := make(chan piece, 1)
		p.open = open
		go func() {
			n, err := p.body.Read(p.buf)
			open <- piece{n, err}
		}()
	}
	select {
	case got := <-p.open:
		p.open = nil
		return p.buf[:got.n], true, got.err
	case <-late:
		return nil, false, nil
	}
}

func (p *pump) grow() {
	if p.buf == nil {
		p.buf = make([]byte, chunk)
	}
}

// wait ends an open read, whose body has been closed.
func (p *pump) wait() {
	if p.open != nil {
		<-p.open
		p.open = nil
	}
}
