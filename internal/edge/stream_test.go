package edge_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// streamed as the first byte of a generator's choices says that the others are of a request by HTTP/2.
const streamed = 0xfe

// Types and flags of HTTP/2's frames (RFC 9113, section 6).
const (
	frameData, frameHeaders, frameReset, frameSettings, frameAway = 0, 1, 3, 4, 7

	endStream, endHeaders, ack = 1, 4, 1
)

// frame is a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	return string(binary.BigEndian.AppendUint32(append(head, flags), stream)) + payload
}

// fields writes a header as HPACK's literals that are not kept (RFC 7541, section 6.2.2).
func fields(header [][2]string) string {
	var b []byte
	for _, h := range header {
		b = append(b, 0)
		for _, text := range h {
			n := len(text)
			if n < 127 {
				b = append(b, byte(n))
			} else {
				b = binary.AppendUvarint(append(b, 127), uint64(n-127))
			}
			b = append(b, text...)
		}
	}
	return string(b)
}

// overHTTP2 writes a request as HTTP/2 has it, and says what is asked by it.
func (c *choices) overHTTP2() (header [][2]string, body string, q ask) {
	who := c.of("alice", "alice", "bob")
	method := c.odd(c.of("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD"), "get", "POST /x", "CONNECT", "TRACE", "", "GET\r\nX: y")
	target := c.odd(c.target(), c.target()+" HTTP/1.1\r\n"+identity+": "+poison+"\r\nX: ", "https://"+host+"/api/x")
	header = [][2]string{{":method", method}, {":path", target}, {":scheme", c.odd("http", "https", "x", "")}, {":authority", c.odd(host, host+":443", "other.example.org", host+"\r\n", "", host+"@"+host)}}
	header = append(header, [2]string{"x-forwarded-user", c.odd(who, who+"\r\n", " "+who, "", who+", bob")})
	for range c.n(6) {
		name, value := strings.ToLower(c.name()), c.value()
		if c.n(3) == 0 {
			name, value, _ = strings.Cut(c.cookie(who), ": ")
			name = strings.ToLower(name)
		}
		header = append(header, [2]string{c.odd(name, name+"\r\nx: y", strings.ToUpper(name), ":path", ":protocol", " "+name, name+":"), value})
	}
	if c.n(2) == 1 {
		body = c.of("a=b", c.hidden(), "5\r\nabcde\r\n0\r\n\r\n", strings.Repeat("b", 16000))
		n := strconv.Itoa(len(body))
		if n = c.of("", n, n, c.odd(n, "0", "+"+n, "1", n+"\r\nX: y", "100000", "-1")); n != "" {
			header = append(header, [2]string{"content-length", n})
		}
	}
	r := &http.Request{Method: method, RequestURI: target, Host: header[3][1], Header: http.Header{}, ContentLength: int64(len(body))}
	for _, h := range header[4:] {
		r.Header.Add(h[0], h[1])
	}
	if r.Host == "" {
		r.Host = r.Header.Get("Host")
	}
	return header, body, ask{r, []byte(body)}
}

// tryStream sends one request by HTTP/2 and holds what a slot got of it, if any did, against what was meant.
func (d *duel) tryStream(tb testing.TB, choose []byte) {
	tb.Helper()
	c := &choices{left: choose, bindings: d.bindings}
	header, body, q := c.overHTTP2()
	defer func() {
		if tb.Failed() {
			tb.Logf("the client sent %.3000q and %.300q", header, body)
		}
	}()
	end, data := byte(endHeaders|endStream), ""
	if body != "" {
		end, data = endHeaders, frame(frameData, endStream, 1, body)
	}
	block := fields(header)
	if len(block) > 16<<10 {
		return // it takes more than one frame
	}
	via := &rig{t: tb, addr: d.addr}
	via.exchange("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(frameSettings, 0, 0, "") + frame(frameHeaders, end, 1, block) + data)
	via.send(as("bob", "GET", "/api/mark")).want(tb, http.StatusOK)
	seen := 0
	for _, got := range d.taps.take() {
		<-got.done
		if strings.HasPrefix(string(got.raw), "GET /api/mark HTTP") {
			continue
		}
		if seen++; seen > 1 || got.cut {
			tb.Fatalf("a slot got %q too, cut off: %v", got.raw, got.cut)
		}
		d.passed++
		d.compare(tb, got, q)
	}
}

// exchange sends frames and waits for the end of the first stream, or of the connection.
func (r *rig) exchange(frames string) {
	r.t.Helper()
	c := r.dial("")
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(wait))
	write(c, frames)
	in := bufio.NewReader(c)
	for head := make([]byte, 9); ; {
		if _, err := io.ReadFull(in, head); err != nil {
			return // the server has had enough
		}
		kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
		if _, err := io.CopyN(io.Discard, in, int64(binary.BigEndian.Uint32(head)>>8)); err != nil {
			return
		}
		switch {
		case kind == frameSettings && flags&ack == 0:
			write(c, frame(frameSettings, ack, 0, ""))
		case kind == frameAway, kind == frameReset && stream == 1, (kind == frameData || kind == frameHeaders) && stream == 1 && flags&endStream != 0:
			return
		}
	}
}
