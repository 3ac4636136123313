// Package eval measures how well requests are placed: it reads traces of client traffic, gives the answers that stand in them,
// scores what an engine made of a labelled trace, says what an unlabelled access log lets one suspect, and knows the simple
// ways of telling conversations apart that others use. It sends nothing and keeps nothing; app replays. It has no goroutines.
package eval

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mooring"
)

// Line is one line of a trace: a request, what was answered and, where it is labelled, the truth about it; or a restart.
type Line struct {
	N       int             `json:"-"` // its number in the file, from 1
	T       float64         `json:"t"` // seconds from the start
	Tenant  string          `json:"tenant,omitempty"`
	Client  string          `json:"client,omitempty"`
	Method  string          `json:"method,omitempty"`
	Path    string          `json:"path,omitempty"` // with its query
	Headers Headers         `json:"headers,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Reply   *Reply          `json:"reply,omitempty"`
	Stream  bool            `json:"stream,omitempty"`
	Truth   *Truth          `json:"truth,omitempty"`
	Family  string          `json:"family,omitempty"`
	Restart bool            `json:"restart,omitempty"` // the program ends here and starts again on the same store
}

// Headers are a request's headers; in a file a value is a text or a list of texts.
type Headers map[string][]string

// UnmarshalJSON takes both forms of a value.
func (h *Headers) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*h = make(Headers, len(raw))
	for name, value := range raw {
		var one string
		if json.Unmarshal(value, &one) == nil {
			(*h)[name] = []string{one}
			continue
		}
		var many []string
		if err := json.Unmarshal(value, &many); err != nil || len(many) == 0 {
			return fmt.Errorf("header %s is neither a text nor a list of texts", name)
		}
		(*h)[name] = many
	}
	return nil
}

// MarshalJSON writes a single value as a text.
func (h Headers) MarshalJSON() ([]byte, error) {
	out := make(map[string]any, len(h))
	for name, values := range h {
		if len(values) == 1 {
			out[name] = values[0]
		} else {
			out[name] = values
		}
	}
	return json.Marshal(out)
}

// Get gives the first value of a header, whatever the case of its name.
func (h Headers) Get(name string) string {
	for key, values := range h {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// Reply is what the upstream answered.
type Reply struct {
	Text      string `json:"text"`
	ToolCalls []Call `json:"tool_calls"`
	Thinking  string `json:"thinking,omitempty"`
	Status    int    `json:"status"` // 0: the connection broke in the middle of the answer
	ID        string `json:"id"`
}

// Call is a tool call of an answer.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // a JSON text
}

// UnmarshalJSON takes a reply without a status for a good one.
func (r *Reply) UnmarshalJSON(data []byte) error {
	type plain Reply
	p := plain{Status: ok}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*r = Reply(p)
	return nil
}

const ok = 200

// Truth is what is known of a labelled request.
type Truth struct {
	Session    string       `json:"session"` // named per tenant
	Parent     *string      `json:"parent"`
	Kind       mooring.Kind `json:"kind"`
	OwnOK      bool         `json:"own_ok,omitempty"`      // nothing names its session: one of its own is right too
	Twin       string       `json:"twin,omitempty"`        // group of first requests that nothing tells apart
	ParentFree bool         `json:"parent_free,omitempty"` // any parent is right
}

// Trace is a file of lines in time order.
type Trace struct {
	Name     string // of the file, without folder and endings
	Lines    []Line
	Labelled bool // every request has its truth; otherwise none has
}

// Requests are the lines that are no restarts.
func (t *Trace) Requests() []*Line {
	out := make([]*Line, 0, len(t.Lines))
	for i := range t.Lines {
		if !t.Lines[i].Restart {
			out = append(out, &t.Lines[i])
		}
	}
	return out
}

// Files gives the trace files that the paths name: themselves, or those of a folder, in the order of their names.
func Files(paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			out = append(out, path)
			continue
		}
		var inside []string
		for _, pattern := range []string{"*.jsonl", "*.jsonl.gz"} {
			found, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				return nil, err
			}
			inside = append(inside, found...)
		}
		if len(inside) == 0 {
			return nil, fmt.Errorf("%s holds no .jsonl file", path)
		}
		slices.Sort(inside)
		out = append(out, inside...)
	}
	return out, nil
}

// ReadFile reads a trace, also one that gzip has compressed. An error names file and line.
func ReadFile(path string) (*Trace, error) {
	f, err := os.Open(path) //nolint:gosec // the caller's own file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	var in io.Reader = f
	base := filepath.Base(path)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		base = strings.TrimSuffix(base, ".gz")
	}
	t, err := Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	t.Name = strings.TrimSuffix(base, filepath.Ext(base))
	return t, nil
}

// Read reads a trace. An error begins with the number of the line.
func Read(in io.Reader) (*Trace, error) {
	t := &Trace{}
	lines := bufio.NewReader(in)
	requests := 0
	for n := 1; ; n++ {
		text, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		end := err != nil
		if len(bytes.TrimSpace(text)) > 0 {
			line, err := parse(text)
			if err != nil {
				return nil, fmt.Errorf("%d: %w", n, err)
			}
			line.N = n
			switch labelled := line.Truth != nil; {
			case line.Restart:
			case requests == 0:
				t.Labelled = labelled
				requests++
			case labelled != t.Labelled:
				return nil, fmt.Errorf("%d: some lines have a truth and some have none; label all or none", n)
			}
			t.Lines = append(t.Lines, line)
		}
		if end {
			break
		}
	}
	if requests == 0 {
		return nil, errors.New("1: there is no request in the file")
	}
	return t, nil
}

func parse(text []byte) (Line, error) {
	var l Line
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("not a line of a trace: %w", err)
	}
	if l.Restart {
		return l, nil
	}
	if l.Method == "" {
		l.Method = http.MethodPost
	}
	if l.Tenant == "" {
		l.Tenant = "local"
	}
	switch {
	case !strings.HasPrefix(l.Path, "/"):
		return l, errors.New("path is missing or does not begin with a slash")
	case l.Truth == nil && l.Method != http.MethodPost: // a log has those too
		return l, nil
	case len(l.Body) == 0 || l.Body[0] != '{':
		return l, errors.New("body is missing or no JSON object")
	case l.Reply != nil && l.Reply.Status != 0 && (l.Reply.Status < 200 || l.Reply.Status > 599):
		return l, fmt.Errorf("reply.status %d is none that ends an answer", l.Reply.Status)
	case l.Truth == nil:
		return l, nil
	case l.Reply == nil:
		return l, errors.New("a labelled line needs its reply")
	case l.Truth.Session == "":
		return l, errors.New("truth.session is missing")
	case !slices.Contains(kinds(), l.Truth.Kind):
		return l, fmt.Errorf("truth.kind %q is none of main, subagent, side, compaction", l.Truth.Kind)
	}
	return l, nil
}

func kinds() []mooring.Kind {
	return []mooring.Kind{mooring.KindMain, mooring.KindSubagent, mooring.KindSide, mooring.KindCompaction}
}
