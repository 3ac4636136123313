//nolint:tparallel // the rows share one edge and go one after the other
package edge_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var (
	duelSeed  = flag.Uint64("duel-seed", 0, "seed of TestReadersAgree and of that on HTTP/2; 0 for one of its own")
	duelCases = flag.Int("duel-cases", 2000, "how many requests TestReadersAgree makes up")
)

// standing are requests that were attacks somewhere, and what a slot has to see of each: request lines, or nothing.
func standing() []struct{ name, raw, line string } {
	hidden := wire("GET", "/api/"+poison, "Host: "+host, identity+": "+poison, "X-Forwarded-User: alice")
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden)
	two := sid + "=" + goodSession("a")
	return []struct{ name, raw, line string }{
		{"T-13 a question", as("alice", "GET", "/api/x?a=b&c"), "GET /api/x?a=b&c HTTP/1.1"},
		{"T-13 2.5-55 a request in the body of GET", withBody("alice", "GET", "/health", hidden), ""},
		{"T-13 2.5-55 in chunks", as("alice", "GET", "/health", "Transfer-Encoding: chunked") + chunks, ""},
		{"T-13 2.5-55 of OPTIONS", withBody("alice", "OPTIONS", "/health", hidden), ""},
		{"T-13 2.5-55 of HEAD", withBody("alice", "HEAD", "/health", hidden), ""},
		{"T-13 of POST, which is a body", withBody("alice", "POST", "/api/x", hidden), "POST /api/x HTTP/1.1"},
		{"T-13 of POST in chunks, which is a body too", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + chunks, "POST /api/x HTTP/1.1"},
		{"T-13 of DELETE", withBody("alice", "DELETE", "/api/x", hidden), "DELETE /api/x HTTP/1.1"},
		{"2.5-54 chunks and a length", as("alice", "POST", "/api/x", "Content-Length: 4", "Transfer-Encoding: chunked") + chunks, "POST /api/x HTTP/1.1"},
		{"2.5-54 an unknown coding", as("alice", "POST", "/api/x", "Transfer-Encoding: x") + hidden, ""},
		{"2.5-53 a bare LF", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + "2\nab\r\n0\r\n\r\n" + hidden, ""},
		{"2.5-37 a parameter in the path", as("alice", "GET", "/api/shutdown;x"), ""},
		{"T-14 two slashes", as("alice", "GET", "//api/shutdown"), ""},
		{"a header that goes on in the next line", as("alice", "GET", "/api/x", "Accept: a", " b: c"), "GET /api/x HTTP/1.1"},
		{"a line end inside a header", as("alice", "GET", "/api/x", "Accept: a\x0b\x0c\x1c\x85b"), ""},
		{"2.5-41 bytes that some take for a line end", as("alice", "GET", "/api/x", "Accept: a\x85"+identity+": "+poison), "GET /api/x HTTP/1.1"},
		{"T2.3-8 two Cookie lines", as("alice", "GET", "/api/x", "Cookie: "+two, "Cookie: "+two), "GET /api/x HTTP/1.1"},
		{"line ends behind a body", as("alice", "POST", "/api/x", "Content-Length: 2") + "ab\r\n" + as("alice", "POST", "/api/y", "Connection: close"), "POST /api/x HTTP/1.1\nPOST /api/y HTTP/1.1"},
		{"T-2 the host in capitals, which are no other name", wire("GET", "/api/x", "Host: "+strings.ToUpper(host), "X-Forwarded-User: alice"), "GET /api/x HTTP/1.1"},
		{"T-5 a hundred headers", as("alice", "GET", "/api/x", strings.Split(strings.Repeat("X-A: b\n", 99)+"X-A: c", "\n")...), "GET /api/x HTTP/1.1"},
	}
}

// TestReadersAgreeOnAttacks sends the standing ones.
func TestReadersAgreeOnAttacks(t *testing.T) {
	t.Parallel()
	d := newDuel(t)
	for _, row := range standing() {
		t.Run(row.name, func(t *testing.T) {
			got := d.try(t, row.raw)
			if lines := strings.Join(got, "\n"); lines != row.line {
				t.Errorf("slots saw %q, want %q", lines, row.line)
			}
		})
	}
}

// TestReadersAgreeOnHTTP2 sends what clients of HTTP/2 could send, which no line ends keep apart.
func TestReadersAgreeOnHTTP2(t *testing.T) {
	t.Parallel()
	random, d := seeded(t), newDuel(t)
	if d.tryStream(t, nil); d.passed != 1 {
		t.Fatalf("slots saw %d requests of a plain one", d.passed)
	}
	cases := *duelCases / 4
	for i := 0; i < cases && !t.Failed(); i++ {
		d.tryStream(t, randomChoices(random))
	}
	if d.passed < cases/10 && !t.Failed() {
		t.Errorf("slots saw %d requests of %d cases; hardly anything was tried", d.passed, cases)
	}
	t.Logf("%d cases, of which slots saw %d requests", cases, d.passed)
}

// TestReadersAgree sends an edge what clients of all sorts could send. Python's http.server, which the web UI reads with, and net/http both find in
// what comes to a slot the one request that was meant, and nothing behind it; what is refused does not come to any slot.
func TestReadersAgree(t *testing.T) {
	t.Parallel()
	random, d := seeded(t), newDuel(t)
	for i := 0; i < *duelCases && !t.Failed(); i++ {
		d.try(t, generate(randomChoices(random), d.bindings))
	}
	if d.passed < *duelCases/5 && !t.Failed() {
		t.Errorf("slots saw %d requests of %d cases; hardly anything was tried", d.passed, *duelCases)
	}
	t.Logf("%d cases, of which slots saw %d requests", *duelCases, d.passed)
}

// seeded gives what a test's cases are made up from, and says how to have the same ones again.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *duelSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again with -duel-seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func randomChoices(r *rand.Rand) []byte {
	out := make([]byte, 16+r.IntN(240))
	for i := range out {
		out[i] = byte(r.IntN(streamed)) // neither a literal nor a stream
	}
	return out
}

// FuzzReadersAgree is TestReadersAgree with choices, or bytes as they stand, that are the fuzzer's.
func FuzzReadersAgree(f *testing.F) {
	for _, row := range standing() {
		f.Add(append([]byte{literal}, row.raw...))
	}
	random := rand.New(rand.NewPCG(1, 0))
	for range 20 {
		f.Add(append([]byte{streamed}, randomChoices(random)...))
	}
	for range 50 {
		f.Add(randomChoices(random))
	}
	d := newDuel(f)
	f.Fuzz(func(t *testing.T, choose []byte) {
		if len(choose) > 0 && choose[0] == streamed {
			d.tryStream(t, choose[1:])
			return
		}
		d.try(t, generate(choose, d.bindings))
	})
}
