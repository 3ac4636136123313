package serve

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"

	"mooring"
)

// Body is a request's body in memory that is used again once nobody refers to it: every Retain and the first reference,
// the reader's own, have their Release.
type Body struct {
	s      *Server
	buf    *bytes.Buffer
	tenant mooring.Tenant
	share  int64 // of the server's room that the tenant may hold
	size   int64 // bytes that the buffer may hold by now
	held   int64 // bytes of the server's room: size, as far as one tenant gets that much
	refs   atomic.Int32
}

// Bytes are valid until the last Release and must not be changed.
func (b *Body) Bytes() []byte { return b.buf.Bytes() }

// Retain adds a reference.
func (b *Body) Retain() { b.refs.Add(1) }

// Release gives a reference back; with the last one the bytes are gone.
func (b *Body) Release() {
	if b.refs.Add(-1) != 0 {
		return
	}
	if b.buf.Cap() <= maxPooled+bytes.MinRead {
		b.buf.Reset()
		b.s.buffers.Put(b.buf)
	}
	b.s.room.give(b.tenant, b.held)
}

// Open reads the body from its start and holds a reference until Close, as a Transport needs it: that may read on after
// RoundTrip has returned.
func (b *Body) Open() io.ReadCloser {
	b.Retain()
	return &bodyReader{Reader: bytes.NewReader(b.Bytes()), body: b}
}

type bodyReader struct {
	*bytes.Reader
	body   *Body
	closed atomic.Bool
}

// Close gives the reader's reference back, once.
func (r *bodyReader) Close() error {
	if !r.closed.Swap(true) {
		r.body.Release()
	}
	return nil
}

// newBody is an empty body of the tenant; the caller releases it.
func (s *Server) newBody(tenant mooring.Tenant, limit int64) *Body {
	buf, ok := s.buffers.Get().(*bytes.Buffer)
	if !ok {
		buf = new(bytes.Buffer)
	}
	share := s.opts.BodyBudget
	if s.rules.Load().shared {
		share = min(share, max(share/2, limit))
	}
	body := &Body{s: s, buf: buf, tenant: tenant, share: share}
	body.Retain()
	return body
}

// grow makes the buffer fit for size bytes once there is room for them.
func (b *Body) grow(ctx context.Context, size int64) error {
	if more := min(size, b.share) - b.held; more > 0 {
		if err := b.s.room.take(ctx, claim{tenant: b.tenant, n: more, share: b.share}); err != nil {
			return err
		}
		b.held += more
	}
	b.size = size
	b.buf.Grow(int(size) + bytes.MinRead - b.buf.Len()) // the rest is to see the end in
	return nil
}
