package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/wire"
)

var update = flag.Bool("update", false, "rewrite facts.json and usage.json")

// golden is one folder of testdata.
type golden struct {
	name     string
	dir      string
	protocol mooring.Protocol
	request  []byte
	stream   []byte
	resent   []byte // the answer as a client sends it back; nil where the stream holds none
}

func cases(tb testing.TB) []golden {
	tb.Helper()
	dirs, err := filepath.Glob("testdata/*/*/request.json")
	if err != nil || len(dirs) < 6 {
		tb.Fatalf("testdata has %d cases (%v), want at least 6", len(dirs), err)
	}
	var out []golden
	for _, file := range dirs {
		dir := filepath.Dir(file)
		out = append(out, golden{
			name: dir, dir: dir, protocol: mooring.Protocol(filepath.Base(filepath.Dir(dir))),
			request: read(tb, file), stream: read(tb, filepath.Join(dir, "stream.sse")), resent: read(tb, filepath.Join(dir, "resent.json")),
		})
	}
	return out
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return b
}

type facts struct {
	Model     string
	Stream    bool
	Roles     []string
	Fields    []wire.Field
	MaxTokens int64
	Tools     int
	UserText  string
}

type outcome struct {
	ID, Model, Finish string
	Ended, Finished   bool
	Usage             mooring.Usage
	Err               *wire.AnswerError
	Message           json.RawMessage
	Text              string
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := wire.Decode(c.protocol, c.request, wire.Limits{JSONDepth: 128})
			if err != nil {
				t.Fatal(err)
			}
			got := facts{Model: r.Model, Stream: r.Stream, Fields: r.Fields, MaxTokens: r.MaxTokens, Tools: r.Tools, UserText: wire.UserText(r.Messages)}
			for _, m := range r.Messages {
				got.Roles = append(got.Roles, m.Role)
				if !standsAt(c.request, m) {
					t.Errorf("%s is not at %d of the body", m.Raw, m.At)
				}
			}
			compare(t, filepath.Join(c.dir, "facts.json"), got)
		})
	}
}

// standsAt says that a message is where it says; one that is a copy holds what the body has somewhere.
func standsAt(body []byte, m wire.Message) bool {
	if m.At == -1 {
		return m.Role == "assistant" && bytes.HasPrefix(m.Raw, []byte{'['}) && bytes.Contains(body, m.Raw[1:len(m.Raw)-1])
	}
	return m.At >= 0 && m.At+len(m.Raw) <= len(body) && bytes.Equal(body[m.At:m.At+len(m.Raw)], m.Raw)
}

func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	for _, c := range cases(t) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := wire.NewMeter(c.protocol, wire.MeterLimits{})
			feed(t, m, c.stream, len(c.stream))
			compare(t, filepath.Join(c.dir, "usage.json"), outcomeOf(c.protocol, m))
		})
	}
}

func outcomeOf(p mooring.Protocol, m *wire.Meter) outcome {
	a := m.Answer()
	_, text := wire.Render(p, a.Message)
	return outcome{
		ID: a.ID, Model: a.Model, Finish: a.Finish, Ended: a.Ended, Finished: m.Finished(), Usage: a.Usage, Err: a.Err,
		Message: a.Message, Text: text,
	}
}

func compare(t *testing.T, file string, got any) {
	t.Helper()
	text, err := json.MarshalIndent(got, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(read(t, file)), string(text)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// feed sends a stream in pieces, and checks that what passes and what is held back is what came.
func feed(tb testing.TB, m *wire.Meter, stream []byte, size int) []wire.EventClass {
	tb.Helper()
	var passed []byte
	var classes []wire.EventClass
	for rest := stream; len(rest) > 0; {
		n := min(size, len(rest))
		chunk := bytes.Clone(rest[:n])
		rest = rest[n:]
		pass, err := m.Feed(chunk)
		if err != nil {
			tb.Fatalf("Feed: %v", err)
		}
		passed = append(append(passed, pass.Held...), pass.Fresh...)
		if pass.Event != wire.None {
			classes = append(classes, pass.Event)
		}
	}
	if all := append(append(bytes.Clone(passed), m.Tail()...), m.Remainder()...); !bytes.Equal(all, stream) {
		tb.Errorf("in pieces of %d bytes %q came out, want %q", size, all, stream)
	}
	return classes
}
