package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	oneID  = "ses_01J00000000000000000000001"
	turnID = "trn_01J00000000000000000000001"
	one    = `{"id":"` + oneID + `","key":"talk","title":"a \u001b[2Jtitle","state":"completed","relation":"main","turns":3,` +
		`"usage":{"input_tokens":4,"output_tokens":5,"cost_usd":null},"updated_at":"2026-11-29T09:00:00.000Z"`
)

// harbour speaks the session API of one session, and notes what it was asked.
type harbour struct {
	url string

	mu    sync.Mutex // guards the field below
	asked []string
}

func newHarbour(t *testing.T) *harbour {
	t.Helper()
	h := &harbour{}
	mux := http.NewServeMux()
	for route, body := range map[string]string{
		"GET /api/sessions":               `{"sessions":[` + one + `}],"next_cursor":"more","total":2}`,
		"GET /api/sessions/talk":          one + `}`,
		"GET /api/sessions/" + oneID:      one + `}`,
		"GET /api/sessions/talk/tree":     one + `,"children":[{"id":"ses_01J00000000000000000000002","relation":"subagent","title":"child"}]}`,
		"GET /api/sessions/talk/turns":    `{"turns":[{"id":"` + turnID + `","session_id":"` + oneID + `","upstream":"quay"}]}`,
		"GET /api/turns/" + turnID:        `{"id":"` + turnID + `","session_id":"` + oneID + `","upstream":"quay","pin":"new"}`,
		"GET /api/search":                 `{"query":"x","results":[{"session_id":"` + oneID + `","role":"user","snippet":"found \u001b[2J"}],"degraded":true}`,
		"GET /api/sessions/{id}/messages": `{"messages":[{"role":"user","text":"said"}],"next_cursor":null}`,
		"GET /api/sessions/talk/export":   "line one\x1b[2J\nline two\n",
		"GET /api/sessions/torn/export":   "",
		"DELETE /api/sessions/" + oneID:   "",
	} {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case strings.HasPrefix(r.URL.Path, "/api/sessions/torn"):
				_, _ = w.Write([]byte("half"))
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			case r.URL.Query().Has("cursor"):
				_, _ = w.Write([]byte(`{"sessions":[],"next_cursor":null,"total":2}`))
			default:
				_, _ = w.Write([]byte(body))
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":{"message":"There is no such \u001b[2J session.","code":"session_not_found"}}`))
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked = append(h.asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization"))
		h.mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// ran is a command that has ended.
type ran struct {
	code        int
	out, errors string
}

// run runs a command line against the server; at a terminal somebody types the answer.
func (h *harbour) run(t *testing.T, answer string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := program{
		env: func(name string) (string, bool) {
			value, ok := map[string]string{"MOORING_LISTEN": strings.TrimPrefix(h.url, "http://"), "MOORING_KEY": "mk-secret"}[name]
			return value, ok
		},
		stdin: strings.NewReader(answer), stdout: &stdout, stderr: &stderr,
		terminal: func(any) bool { return answer != "" },
	}
	code := p.run(args)
	if strings.Contains(stdout.String()+stderr.String(), "mk-secret") {
		t.Errorf("%q shows the key", args)
	}
	return ran{code, stdout.String(), stderr.String()}
}

func (h *harbour) last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[len(h.asked)-1]
}

func TestSessionCommands(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	for _, row := range []struct {
		args  string
		code  int
		out   string
		error string
	}{
		{"sessions list --limit 1", 0, "a ␛[2Jtitle", "mooring: 1 of 2; --all lists the rest\n"},
		{"sessions show talk", 0, "said\n", ""},
		{"sessions show ses_00000001", 0, "said\n", ""},
		{"sessions tree talk", 0, "└─ ses_00000002", ""},
		{"sessions search two words", 0, "found ␛[2J", "mooring: the index lags behind: what was said last may be missing\n"},
		{"sessions export talk", 0, "line one\x1b[2J\nline two\n", ""},
		{"sessions delete talk", 0, "deleted " + oneID + "\n", ""},
		{"explain " + turnID, 0, "Upstream quay", ""},
		{"explain talk", 0, "Upstream quay", ""},
		{"sessions show gone", 1, "", "mooring: There is no such ␛[2J session. (`mooring sessions list` shows those there are.)\n"},
		{"sessions export torn", 1, "half", "broke off"},
		{"sessions delete gone", 1, "", "no such"},
		{"sessions list --server 127.0.0.1:0", 2, "", "port 0"},
		{"sessions list --limit 0", 2, "", "--limit"},
		{"sessions list --state odd", 2, "", "--state"},
		{"sessions show talk --messages 201", 2, "", "--messages"},
		{"sessions export talk --json --format markdown", 2, "", "--json"},
		{"sessions show talk --config gone.yaml --server ::", 2, "", "--server"},
		{"sessions show", 2, "", "<id>"},
	} {
		t.Run(row.args, func(t *testing.T) {
			t.Parallel()
			got := h.run(t, "", strings.Fields(row.args)...)
			if got.code != row.code || !strings.Contains(got.out, row.out) || !strings.Contains(got.errors, row.error) {
				t.Errorf("mooring %s = %d %q %q, want %d %q %q", row.args, got.code, got.out, got.errors, row.code, row.out, row.error)
			}
			if row.error == "" && got.errors != "" {
				t.Errorf("mooring %s says %q, want nothing on stderr", row.args, got.errors)
			}
		})
	}
}

func TestJSONIsAllOfStdout(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	for _, args := range []string{
		"sessions list", "sessions show talk", "sessions tree talk", "sessions search x", "sessions delete talk", "explain talk", "explain " + turnID,
	} {
		got := h.run(t, "", strings.Fields(args+" --json")...)
		if got.code != 0 || !json.Valid([]byte(got.out)) || !strings.Contains(got.out, oneID) {
			t.Errorf("mooring %s --json = %d %q %q, want JSON alone", args, got.code, got.out, got.errors)
		}
	}
	if got := h.run(t, "", "sessions", "export", "talk", "--json"); got.out != "line one\x1b[2J\nline two\n" {
		t.Errorf("export --json = %q, want the lines", got.out)
	}
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ args, want string }{
		{
			"sessions list --q a&b --client curl --project p --upstream quay --state failed --kind side --parent ses_x --limit 1 --tenant acme",
			"GET /api/sessions?client=curl&kind=side&limit=1&parent=ses_x&project=p&q=a%26b&state=failed&tenant=acme&upstream=quay Bearer mk-secret",
		},
		{"sessions search två  words --limit 3", "GET /api/search?limit=3&q=tv%C3%A5+words Bearer mk-secret"},
		{"sessions export a/b --format markdown --key mk-other", "GET /api/sessions/a%2Fb/export?format=markdown Bearer mk-other"},
		{"sessions delete ses_00000001", "DELETE /api/sessions/" + oneID + " Bearer mk-secret"},
		{"sessions show talk --messages 3", "GET /api/sessions/" + oneID + "/messages?limit=3 Bearer mk-secret"},
	} {
		t.Run(row.args, func(t *testing.T) {
			t.Parallel()
			h := newHarbour(t)
			h.run(t, "", strings.Fields(row.args)...)
			if diff := cmp.Diff(row.want, h.last()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeleteAsksAtATerminal(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule, answer, args string
		code               int
		last               string
	}{
		{"yes", "Y\n", "sessions delete talk", 0, "DELETE /api/sessions/" + oneID},
		{"no", "n\n", "sessions delete talk", 1, "GET /api/sessions/talk"},
		{"nothing", "\n", "sessions delete talk", 1, "GET /api/sessions/talk"},
		{"not asked", "n\n", "sessions delete talk --yes", 0, "DELETE /api/sessions/" + oneID},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			h := newHarbour(t)
			got := h.run(t, row.answer, strings.Fields(row.args)...)
			if got.code != row.code || !strings.HasPrefix(h.last(), row.last+" ") {
				t.Errorf("%s = %d after %s, want %d after %s\n%s", row.args, got.code, h.last(), row.code, row.last, got.errors)
			}
			if asked := strings.Contains(got.errors, `"a ␛[2Jtitle", with 3 turns`); asked == strings.Contains(row.args, "--yes") {
				t.Errorf("said %q", got.errors)
			}
		})
	}
}

func TestATerminalIsGivenNothingToObey(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	got := h.run(t, "n\n", "sessions", "export", "talk")
	if got.out != "line one␛[2J\nline two\n" {
		t.Errorf("export = %q, want its escape shown", got.out)
	}
	if got := h.run(t, "n\n", "sessions", "list"); !strings.HasPrefix(got.out, "\x1b[1mSESSION") || strings.Contains(got.out, "\x1b[2J") {
		t.Errorf("list = %q, want a heading in bold and nothing else obeyed", got.out)
	}
}

func TestExportIntoAFile(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "talk.jsonl")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		session string
		code    int
		want    string
	}{
		{"torn", 1, "before"},
		{"gone", 1, "before"},
		{"talk", 0, "line one\x1b[2J\nline two\n"},
	} {
		got := h.run(t, "", "sessions", "export", row.session, "-o", path)
		text, err := os.ReadFile(path)
		if got.code != row.code || got.out != "" || string(text) != row.want || err != nil {
			t.Errorf("export of %s = %d %q %q, the file holds %q (%v), want %d and %q", row.session, got.code, got.out, got.errors, text, err, row.code, row.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".mooring-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	got := h.run(t, "", "sessions", "export", "talk", "-o", filepath.Join(dir, "none", "x"))
	if got.code != 1 || !strings.Contains(got.errors, "mooring: write "+filepath.Join(dir, "none", "x")) {
		t.Errorf("export into no folder = %d %q, want 1 and the file's name", got.code, got.errors)
	}
}

func TestAKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	h := newHarbour(t)
	for _, key := range []string{"mk-secret\x1b", "mk-secret é", "mk-secret\n1"} {
		got := h.run(t, "", "sessions", "list", "--key", key)
		if got.code != 2 || !strings.Contains(got.errors, "--key or MOORING_KEY") {
			t.Errorf("key %q = %d %q, want 2 and where it came from", key, got.code, got.errors)
		}
	}
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	got := (&harbour{url: silent.URL}).run(t, "", "sessions", "list")
	if want := fmt.Sprintf("mooring: no server at %s (address from MOORING_LISTEN): ", silent.URL); got.code != 1 || !strings.HasPrefix(got.errors, want) {
		t.Errorf("without a server = %d %q, want 1 and %q", got.code, got.errors, want)
	}
}
