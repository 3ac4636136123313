package upstreamtest

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// tapListener makes connections that remember the head of the request at hand, since net/http keeps neither the order
// nor the spelling of headers.
type tapListener struct{ net.Listener }

// Accept gives a connection that remembers.
func (l tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tap{Conn: c}, nil
}

type tap struct {
	net.Conn

	mu   sync.Mutex // guards the fields below
	head []byte
	full bool // the head is complete; what follows is body
}

// Read passes on what it read and keeps it as long as it belongs to the head.
func (t *tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.full {
		t.head = append(t.head, p[:n]...)
		if end := bytes.Index(t.head, []byte("\r\n\r\n")); end >= 0 {
			t.head, t.full = t.head[:end+4:end+4], true
		}
	}
	return n, err
}

// next makes ready for the connection's next request. It is called when the body has been read: a client sends nothing
// more before it has the answer.
func (t *tap) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head, t.full = nil, false
}

type tapKey struct{}

func rememberTap(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, tapKey{}, c)
}

func tapOf(ctx context.Context) *tap {
	t, _ := ctx.Value(tapKey{}).(*tap)
	return t
}

func headOf(ctx context.Context) []byte {
	t := tapOf(ctx)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head
}
