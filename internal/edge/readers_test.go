package edge_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// reading is one request as somebody understood it.
type reading struct {
	Method, Target string
	Header         []string // "name: value", names in lower case, in order of their letters
	Body           string   // its SHA-256
	Refused        int      // the status that it was refused with; nothing else is known of it then
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// field is a header's line as readings hold it.
func field(name, value string) string {
	return strings.ToLower(name) + ": " + strings.Trim(value, " \t")
}

// pythonReader is Python's http.server, asked what it takes bytes for.
type pythonReader struct {
	to   io.Writer
	from *bufio.Reader
}

func newPythonReader(tb testing.TB) *pythonReader {
	tb.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		tb.Skip("there is no python3")
	}
	run := exec.CommandContext(tb.Context(), python, "testdata/reader.py")
	to, err := run.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	from, err := run.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err = run.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = to.Close(); _ = run.Wait() })
	return &pythonReader{to: to, from: bufio.NewReader(from)}
}

func (p *pythonReader) read(tb testing.TB, sent []byte) (all []reading, left int) {
	tb.Helper()
	_, _ = p.to.Write(binary.BigEndian.AppendUint32(nil, uint32(len(sent)))) // a process that has gone does not answer
	_, _ = p.to.Write(sent)
	line, err := p.from.ReadBytes('\n')
	if err != nil {
		tb.Fatalf("python has gone: %v", err)
	}
	var found struct {
		Seen []struct {
			Method, Target, Body string
			Headers              [][2]string
			Refused              int
		}
		Left   int
		Failed string
	}
	if err := json.Unmarshal(line, &found); err != nil {
		tb.Fatal(err)
	}
	if found.Failed != "" {
		tb.Fatalf("python fails on %q: %s", sent, found.Failed)
	}
	for _, s := range found.Seen {
		one := reading{Method: s.Method, Target: s.Target, Body: s.Body, Refused: s.Refused}
		for _, h := range s.Headers {
			one.Header = append(one.Header, field(latin1(h[0]), latin1(h[1])))
		}
		slices.Sort(one.Header)
		all = append(all, one)
	}
	return all, found.Left
}

// latin1 gives the bytes that Python made characters of: it reads headers as ISO 8859-1.
func latin1(text string) string {
	var b strings.Builder
	for _, c := range text {
		b.WriteByte(byte(c))
	}
	return b.String()
}

// readByGo gives what a server of net/http takes bytes for.
func readByGo(tb testing.TB, sent []byte) (all []reading) {
	tb.Helper()
	c := &playback{Reader: bytes.NewReader(sent), done: make(chan struct{})}
	s := &http.Server{ReadHeaderTimeout: wait, DisableGeneralOptionsHandler: true, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		one := reading{Method: r.Method, Target: r.RequestURI, Body: digest(body), Header: []string{field("Host", r.Host)}}
		if err != nil {
			one.Refused = http.StatusBadRequest
		}
		for name, values := range r.Header {
			for _, value := range values {
				one.Header = append(one.Header, field(name, value))
			}
		}
		slices.Sort(one.Header)
		all = append(all, one)
	})}
	_ = s.Serve(&once{c: c}) // it ends with the one connection
	select {
	case <-c.done:
	case <-time.After(wait):
		tb.Fatalf("net/http does not come to an end with %q", sent)
	}
	if answers := c.out.String(); strings.Count(answers, "HTTP/1.1 ") > len(all) {
		all = append(all, reading{Refused: http.StatusBadRequest})
	}
	return all
}

// once is a listener that one connection comes to.
type once struct{ c net.Conn }

func (o *once) Accept() (net.Conn, error) {
	if o.c == nil {
		return nil, errors.New("there was one connection")
	}
	c := o.c
	o.c = nil
	return c, nil
}
func (o *once) Close() error   { return nil }
func (o *once) Addr() net.Addr { return &net.TCPAddr{} }

// playback is a connection on which everything has been sent already.
type playback struct {
	*bytes.Reader
	out  bytes.Buffer
	done chan struct{} // closed with the connection
}

func (p *playback) WriteTo(io.Writer) (int64, error) { return 0, errors.ErrUnsupported }
func (p *playback) Write(b []byte) (int, error)      { return p.out.Write(b) }
func (p *playback) Close() error                     { close(p.done); return nil }
func (p *playback) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (p *playback) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (p *playback) SetDeadline(time.Time) error      { return nil }
func (p *playback) SetReadDeadline(time.Time) error  { return nil }
func (p *playback) SetWriteDeadline(time.Time) error { return nil }
