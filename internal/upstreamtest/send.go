package upstreamtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// ServeHTTP records the request and sends the reply that is its turn.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, next := s.begin(r)
	defer close(req.done)
	stop := context.AfterFunc(r.Context(), func() { req.leave(s.options.Now()) })
	defer func() {
		stop()
		if r.Context().Err() != nil {
			req.leave(s.options.Now()) // the other one may not have run yet
		}
	}()
	early := next.fn == nil && next.reply.Early
	if early {
		_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
	} else if s.receive(req, r) != nil { // the client went away while it sent
		req.leave(s.options.Now())
		s.announce(req)
		return
	}
	s.announce(req)
	reply := next.reply
	if next.fn != nil {
		reply = next.fn(req)
	}
	out := sending{w: w, r: r, req: req, reply: reply, answer: s.answer(req, reply)}
	out.run()
	if early {
		_ = s.receive(req, r) // what comes of it is in the record
	}
}

func (s *Server) receive(req *Request, r *http.Request) error {
	err := req.read(r.Body)
	if t := tapOf(r.Context()); t != nil {
		t.next()
	}
	return err
}

// sending is one answer under way.
type sending struct {
	w     http.ResponseWriter
	r     *http.Request
	req   *Request
	reply Reply
	answer
}

func (s *sending) run() {
	if s.reply.Hints {
		s.w.Header().Set("Link", "</style.css>; rel=preload")
		s.w.WriteHeader(http.StatusEarlyHints)
		s.w.Header().Del("Link")
	}
	if !s.wait(s.reply.Hold) || !s.pause(s.reply.Delay) {
		return
	}
	switch s.reply.Fault {
	case Lost:
		abort()
	case Hang:
		<-s.r.Context().Done()
		return
	case SlowHeaders:
		s.slowly()
		return
	case Stall, Cut, CutMidEvent, End, ErrorEvent: // they strike in the body
	}
	s.head()
	if s.streamed {
		s.stream()
	} else {
		s.buffer()
	}
	maps.Copy(s.w.Header(), s.reply.Trailer)
}

func (s *sending) head() {
	h := s.w.Header()
	h.Set("Content-Type", s.contentType)
	if s.streamed {
		h.Set("Cache-Control", "no-cache")
	}
	maps.Copy(h, s.reply.Header)
	for name := range s.reply.Trailer {
		h.Add("Trailer", name)
	}
	if s.reply.Encoding != "" {
		h.Set("Content-Encoding", s.reply.Encoding)
	}
	if !s.streamed && !s.reply.ByteByByte && len(s.reply.Trailer) == 0 {
		s.parts = [][]byte{s.encoded()}
		h.Set("Content-Length", strconv.Itoa(len(s.parts[0])))
	}
	s.w.WriteHeader(s.status)
}

// encoded is a buffered body in its coding; from here on the coding is done.
func (s *sending) encoded() []byte {
	var b bytes.Buffer
	c := newCoder(&b, s.reply.Encoding)
	for _, p := range s.parts {
		mustWrite(c, p)
	}
	if err := c.Close(); err != nil {
		panic(fmt.Sprintf("upstreamtest: encode: %v", err))
	}
	s.reply.Encoding = ""
	return b.Bytes()
}

func (s *sending) buffer() {
	body := s.encoded()
	if s.reply.Fault == Cut {
		at := s.reply.At
		if at == 0 {
			at = len(body) / 2
		}
		s.write(body[:min(at, len(body))])
		s.flush()
		abort()
	}
	s.req.complete()
	s.write(body)
}

func (s *sending) stream() {
	c := newCoder(writerFunc(s.write), s.reply.Encoding)
	emit := func(b []byte) {
		mustWrite(c, b)
		_ = c.Flush() // a client that has gone is seen by its context
		s.flush()
	}
	for i, event := range s.parts {
		if s.faulty(i) {
			s.fail(event, emit)
			break
		}
		if i > 0 && !s.pause(s.reply.Gap) {
			return
		}
		if i == s.reply.At && !s.wait(s.reply.HoldAt) {
			return
		}
		if i == len(s.parts)-1 {
			s.req.complete()
		}
		emit(event)
	}
	_ = c.Close()
}

func (s *sending) faulty(i int) bool { return s.reply.Fault != "" && i == s.reply.At }

// fail does what the fault says in place of the event; where it returns, the body ends in good order.
func (s *sending) fail(event []byte, emit func([]byte)) {
	switch s.reply.Fault {
	case Stall:
		s.flush()
		<-s.r.Context().Done()
	case Cut:
		s.flush()
		abort()
	case CutMidEvent:
		emit(event[:len(event)/2])
		abort()
	case ErrorEvent:
		emit(s.failure)
	case End, Lost, Hang, SlowHeaders: // the first ends here, the others did before
	}
}

// write goes straight through, or byte by byte where the reply says so.
func (s *sending) write(b []byte) {
	if !s.reply.ByteByByte {
		_, _ = s.w.Write(b)
		return
	}
	for i := range b {
		_, _ = s.w.Write(b[i : i+1])
		s.flush()
	}
}

func (s *sending) flush() { _ = http.NewResponseController(s.w).Flush() }

// slowly takes the connection over, since net/http sends a head in one piece.
func (s *sending) slowly() {
	conn, _, err := http.NewResponseController(s.w).Hijack()
	if err != nil {
		panic(fmt.Sprintf("upstreamtest: slow headers need HTTP/1.1: %v", err))
	}
	defer func() { _ = conn.Close() }()
	body := bytes.Join(s.parts, nil)
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
		s.status, http.StatusText(s.status), s.contentType, len(body))
	for i := range len(head) {
		if _, err := io.WriteString(conn, head[i:i+1]); err != nil || !s.pause(s.reply.Gap) {
			return
		}
	}
	_, _ = conn.Write(body)
}

// wait says whether the client is still there when the channel is closed.
func (s *sending) wait(until <-chan struct{}) bool {
	if until == nil {
		return true
	}
	select {
	case <-until:
		return true
	case <-s.r.Context().Done():
		return false
	}
}

func (s *sending) pause(d time.Duration) bool {
	if d <= 0 {
		return s.r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.r.Context().Done():
		return false
	}
}

// abort closes the connection, or resets the HTTP/2 stream: net/http's own way to say so.
func abort() { panic(http.ErrAbortHandler) }

type writerFunc func([]byte)

// Write never fails: a client that has gone is seen by its context.
func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

func mustWrite(w io.Writer, b []byte) {
	if _, err := w.Write(b); err != nil {
		panic(fmt.Sprintf("upstreamtest: encode: %v", err))
	}
}
