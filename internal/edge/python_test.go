//nolint:tparallel // the rows share one edge and go one after the other
package edge_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"mooring/internal/edge"
)

// pythonRequest is what Python's http.server took for a request.
type pythonRequest struct {
	Bad, Line, Body string
	Headers         [][2]string
	Port            int
}

func (q *pythonRequest) values(name string) []string {
	var out []string
	for _, h := range q.Headers {
		if fold(h[0]) == fold(name) {
			out = append(out, h[1])
		}
	}
	return out
}

// TestPythonReadsTheSame puts a slot behind the edge that reads as the web UI does: whatever is sent, it takes it for what the edge took it for,
// and finds nothing behind it.
func TestPythonReadsTheSame(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	run := exec.CommandContext(t.Context(), python, "-u", "testdata/slot.py")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
	lines := bufio.NewScanner(out)
	read := func() (q pythonRequest) {
		if !lines.Scan() {
			t.Fatal("the slot has ended")
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		return q
	}
	port := read().Port
	r := newRig(t, 0, func(o *edge.Options) {
		o.Slots = []edge.Slot{{Name: "python", URL: fmt.Sprintf("http://127.0.0.1:%d", port)}}
	})
	n := 0
	// seen gives what the slot saw before a request that marks the end.
	seen := func(t *testing.T) []pythonRequest {
		t.Helper()
		n++
		mark := fmt.Sprintf("GET /api/mark-%d HTTP/1.1", n)
		r.send(as("alice", "GET", fmt.Sprintf("/api/mark-%d", n))).want(t, 200)
		var out []pythonRequest
		for {
			q := read()
			if q.Line == mark {
				return out
			}
			out = append(out, q)
		}
	}
	seen(t)
	hidden := wire("GET", "/api/"+poison, "Host: "+host, identity+": "+poison, "X-Forwarded-User: alice")
	two := sid + "=" + goodSession("a")
	for _, row := range []struct{ name, raw, line, body string }{
		{"T-13 a question", as("alice", "GET", "/api/x?a=b&c"), "GET /api/x?a=b&c HTTP/1.1", ""},
		{"T-13 2.5-55 a request in the body of GET", withBody("alice", "GET", "/health", hidden), "", ""},
		{"T-13 2.5-55 in chunks", as("alice", "GET", "/health", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden), "", ""},
		{"T-13 2.5-55 of OPTIONS", withBody("alice", "OPTIONS", "/health", hidden), "", ""},
		{"T-13 2.5-55 of HEAD", withBody("alice", "HEAD", "/health", hidden), "", ""},
		{"T-13 of POST, which is a body", withBody("alice", "POST", "/api/x", hidden), "POST /api/x HTTP/1.1", hidden},
		{"T-13 of POST in chunks, which is a body too", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden), "POST /api/x HTTP/1.1", hidden},
		{"T-13 of DELETE", withBody("alice", "DELETE", "/api/x", hidden), "DELETE /api/x HTTP/1.1", hidden},
		{"2.5-54 chunks and a length", as("alice", "POST", "/api/x", "Content-Length: 4", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(hidden), hidden), "POST /api/x HTTP/1.1", hidden},
		{"2.5-54 an unknown coding", as("alice", "POST", "/api/x", "Transfer-Encoding: x") + hidden, "", ""},
		{"2.5-53 a bare LF", as("alice", "POST", "/api/x", "Transfer-Encoding: chunked") + "2\nab\r\n0\r\n\r\n" + hidden, "", ""},
		{"2.5-37 a parameter in the path", as("alice", "GET", "/api/shutdown;x"), "", ""},
		{"T-14 two slashes", as("alice", "GET", "//api/shutdown"), "", ""},
		{"a header that goes on in the next line", as("alice", "GET", "/api/x", "Accept: a", " b: c"), "GET /api/x HTTP/1.1", ""},
		{"a line end inside a header", as("alice", "GET", "/api/x", "Accept: a\x0b\x0c\x1c\x85b"), "", ""},
		{"2.5-41 bytes that some take for a line end", as("alice", "GET", "/api/x", "Accept: a\x85"+identity+": "+poison), "GET /api/x HTTP/1.1", ""},
		{"T2.3-8 two Cookie lines", as("alice", "GET", "/api/x", "Cookie: "+two, "Cookie: "+two), "GET /api/x HTTP/1.1", ""},
		{"T-5 a hundred headers", as("alice", "GET", "/api/x", strings.Split(strings.Repeat("X-A: b\n", 99)+"X-A: c", "\n")...), "GET /api/x HTTP/1.1", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := r.dial("")
			write(c, row.raw)
			_ = readReply(c, strings.SplitN(row.raw, " ", 2)[0])
			_ = c.Close()
			got := seen(t)
			if row.line == "" {
				if len(got) > 0 {
					t.Errorf("the slot saw %+v", got)
				}
				return
			}
			if len(got) != 1 || got[0].Line != row.line || got[0].Body != row.body || got[0].Bad != "" {
				t.Fatalf("the slot saw %+v, want %q once with %q", got, row.line, row.body)
			}
			if ids := got[0].values(identity); len(ids) != 1 || len(ids[0]) != 35 || len(got[0].values("Cookie")) > 1 {
				t.Errorf("the slot saw %+v", got[0])
			}
			if all := fmt.Sprint(got[0].Headers); strings.Contains(all, poison) && !strings.Contains(row.raw, "\x85") {
				t.Errorf("the slot saw %s", all)
			}
		})
	}
}
