// Package replay_test sends what real clients sent through the built binary to the fake model server.
package replay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
	"mooring/test/product"
)

var binary product.Binary

func TestMain(m *testing.M) { os.Exit(product.Run(m, &binary)) }

// capture is a file of testdata; its README says what is true of them.
type capture struct {
	file    string
	Case    string
	Client  string
	Method  string
	Path    string
	Headers http.Header
	Body    json.RawMessage
}

// captures are in the order in which they were sent.
func captures(t *testing.T) []capture {
	t.Helper()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	var all []capture
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c capture
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.Body); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		c.Body = compact.Bytes()
		c.file = filepath.Base(file)
		all = append(all, c)
	}
	return all
}

func (c capture) send(t *testing.T, url string, want int) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.Method, url+c.Path, bytes.NewReader(c.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = c.Headers.Clone()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		t.Fatalf("%s: answer = %d %s (%v), want %d", c.file, res.StatusCode, body, err, want)
	}
	return res.Header
}

// named gives the id by which the client names its conversation in a header, and whether the request is a sub-agent's
// under that id.
func (c capture) named() (id string, agent bool) {
	for _, header := range []string{"X-Claude-Code-Session-Id", "Thread-Id", "Session-Id", "X-Session-Id", "Session_id", "X-Session-Affinity"} {
		if id := c.Headers.Get(header); id != "" {
			return id, c.Headers.Get("X-Claude-Code-Agent-Id") != ""
		}
	}
	return "", false
}

// TestRequestsGoUpAsTheyCame: nothing of a request is lost, added or refused on its way.
func TestRequestsGoUpAsTheyCame(t *testing.T) {
	t.Parallel()
	upstream := upstreamtest.New(t)
	server := binary.Serve(t, product.Upstream(upstream.URL))
	for _, c := range captures(t) {
		name := c.file
		if strings.HasPrefix(c.Path, "/v1beta") {
			continue // refused, in another test
		}
		upstream.Forget()
		answer := c.send(t, server.URL, http.StatusOK)
		got := upstream.LastPost(t)
		if diff := cmp.Diff(string(c.Body), string(got.Body())); diff != "" {
			t.Errorf("%s: body (-sent +upstream):\n%s", name, diff)
		}
		if got.Target != c.Path {
			t.Errorf("%s: target = %q, want %q", name, got.Target, c.Path)
		}
		if diff := cmp.Diff(lasting(c.Headers), lasting(got.Header)); diff != "" {
			t.Errorf("%s: headers (-sent +upstream):\n%s", name, diff)
		}
		for coding := range strings.SplitSeq(got.Header.Get("Accept-Encoding"), ",") {
			if !strings.Contains("gzip deflate br zstd identity", strings.TrimSpace(coding)) {
				t.Errorf("%s: upstream is offered %q, want what the client or Mooring reads", name, coding)
			}
		}
		if id, agent := c.named(); id != "" && !agent && answer.Get("X-Session-Id") != id {
			t.Errorf("%s: X-Session-Id = %q, want the client's own %q", name, answer.Get("X-Session-Id"), id)
		}
	}
}

// lasting leaves out what belongs to one connection, and what the contract lets Mooring narrow.
func lasting(h http.Header) http.Header {
	h = h.Clone()
	for _, name := range []string{"Connection", "Content-Length", "Accept-Encoding"} {
		h.Del(name)
	}
	return h
}

// TestOneIDIsOneSession replays the captures in their order: requests that carry one id are filed in one session, others
// in others, and a sub-agent under a session's id gets its own below it.
func TestOneIDIsOneSession(t *testing.T) {
	t.Parallel()
	upstream := upstreamtest.New(t)
	server := binary.Serve(t, product.Upstream(upstream.URL))
	sessions, owners := map[string]string{}, map[string]string{}
	turns := map[string]int{}
	for _, c := range captures(t) {
		name := c.file
		id, agent := c.named()
		if id == "" {
			continue
		}
		answer := c.send(t, server.URL, http.StatusOK)
		session := answer.Get("X-Mooring-Session")
		if agent {
			kind, parent := answer.Get("X-Mooring-Kind"), answer.Get("X-Mooring-Parent")
			if session == sessions[id] || kind != "subagent" || parent == "" {
				t.Errorf("%s: sub-agent = session %s, kind %q, parent %q; want its own below %s", name, session, kind, parent, sessions[id])
			}
			continue
		}
		turns[id]++
		if known, ok := sessions[id]; ok && known != session {
			t.Errorf("%s: session of %s = %s, want %s as before", name, id, session, known)
		}
		if owner, ok := owners[session]; ok && owner != id {
			t.Errorf("%s: session %s holds %s and %s", name, session, owner, id)
		}
		sessions[id], owners[session] = session, id
		var read struct{ ID, Key string }
		server.Get(t, "/api/sessions/"+session, &read)
		if read.ID != session || read.Key != id {
			t.Errorf("%s: session = %+v, want %s with key %s", name, read, session, id)
		}
	}
	longest := 0
	for _, n := range turns {
		longest = max(longest, n)
	}
	if longest < 2 {
		t.Error("no id came twice: the captures lost their second turns")
	}
}
