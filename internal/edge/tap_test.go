package edge_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"
)

// caught is all that came on one connection to a slot.
type caught struct {
	slot string
	raw  []byte
	cut  bool          // it ended before the request was whole
	done chan struct{} // closed when no more can come
}

// taps are slots that write down what they are sent, byte for byte, and say in their answer where it stands.
type taps struct {
	mu  sync.Mutex // guards all
	all map[int]*caught
	n   int
}

// open gives the address of another one.
func (p *taps) open(tb testing.TB, name string) string {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(name, c) })
		}
	})
	tb.Cleanup(func() { _ = ln.Close(); wg.Wait() })
	return "http://" + ln.Addr().String()
}

func (p *taps) serve(name string, c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * wait))
	is := &caught{slot: name, done: make(chan struct{})}
	defer close(is.done)
	block := make([]byte, 64<<10)
	for !wholeRequest(is.raw) {
		n, err := c.Read(block)
		is.raw = append(is.raw, block[:n]...)
		if err != nil {
			is.cut = true
			break
		}
	}
	if len(is.raw) == 0 {
		return
	}
	p.mu.Lock()
	p.n++
	n := p.n
	if p.all == nil {
		p.all = map[int]*caught{}
	}
	p.all[n] = is
	p.mu.Unlock()
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Caught: %d\r\nContent-Length: 2\r\n\r\n{}", n)
	rest, _ := io.ReadAll(c)
	is.raw = append(is.raw, rest...)
}

// take gives what was caught since the last time, by number.
func (p *taps) take() map[int]*caught {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.all
	p.all = nil
	return out
}

// wholeRequest says that an answer is due: there is a head, and as much of a body as it tells of.
func wholeRequest(raw []byte) bool {
	head, body, ok := bytes.Cut(raw, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	_, length, has := bytes.Cut(head, []byte("\r\nContent-Length: "))
	if !has {
		return true
	}
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	return err != nil || len(body) >= n
}
