package serve

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"

	"mooring"
)

// Body is a request's body in memory that is used again once nobody refers to it: every Retain and the first reference,
// the reader's own, have their Release.
type Body struct {
	s    *Server
	buf  *bytes.Buffer
	held int64 // bytes of the server's room
	refs atomic.Int32
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
	b.s.room.Release(b.held)
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

// reserve waits for room for the whole body before any of it is read, so that bodies under way never wait for each other.
func (s *Server) reserve(r *http.Request, limit int64) (*Body, error) {
	size := r.ContentLength
	if size < 0 {
		size = limit // chunked: nobody knows yet
	}
	size = min(size, s.opts.BodyBudget)
	ctx, cancel := context.WithTimeout(r.Context(), s.opts.BodyTimeout)
	defer cancel()
	if err := s.room.Acquire(ctx, size); err != nil {
		return nil, &mooring.Error{
			Code: mooring.CodeRequestTimeout, Safe: "The server had no room for the body; try again.",
			RetryAfter: placeWait, Err: err,
		}
	}
	buf, ok := s.buffers.Get().(*bytes.Buffer)
	if !ok {
		buf = new(bytes.Buffer)
	}
	body := &Body{s: s, buf: buf, held: size}
	body.Retain()
	return body, nil
}

// shrink gives back what a body of unknown length did not need.
func (b *Body) shrink(size int64) {
	if surplus := b.held - size; surplus > 0 {
		b.held = size
		b.s.room.Release(surplus)
	}
}
