package edge_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mooring/internal/edge"
)

// TestHeadsGoInOnePiece writes the longest head that a client can bring about: no part of it goes to a slot without the identity. For Python's
// http.server a connection that ends is the end of a head too, and it carries out what there was of it.
func TestHeadsGoInOnePiece(t *testing.T) {
	t.Parallel()
	python := newPythonReader(t)
	if got, _ := python.read(t, []byte("GET /api/x HTTP/1.1\r\nCookie: a=b\r\nX-Her")); len(got) != 1 || got[0].Refused > 0 {
		t.Errorf("python takes a part of a head for %+v", got)
	}
	via := edge.Via(&url.URL{Scheme: "http", Host: "slot"})
	var first string
	via.DialContext = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			block := make([]byte, 1<<20)
			n, _ := far.Read(block) // of a pipe, one piece as it was written
			first = string(block[:n])
			if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(first))); err == nil {
				write(far, answerOf("200 OK", "{}"))
			}
		}()
		return near, nil
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://slot/api/x?"+strings.Repeat("q", 8<<10), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", strings.Repeat("a", 36<<10))
	r.Header.Set(identity, "t1-a")
	res, err := via.RoundTrip(r)
	if err != nil {
		t.Fatalf("%v, and the first piece has %d bytes", err, len(first))
	}
	_ = res.Body.Close()
	if !strings.Contains(first, identity) {
		t.Errorf("the first piece has no identity: %.100q", first)
	}
}
