package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/problem"
	"mooring/internal/serve"
)

const mib = 1 << 20

// echoing answers with the body that ReadBody gave.
func echoing(s *serve.Server) http.Handler {
	return s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := s.ReadBody(w, r, 0)
		if err != nil {
			problem.Write(w, problem.ProtocolOf(r.URL.Path), err)
			return
		}
		defer body.Release()
		w.Write(body.Bytes())
	}))
}

func TestContentType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule    string
		header  []string
		refused bool
	}{
		{rule: "JSON", header: []string{"Content-Type", "application/json"}},
		{rule: "JSON with a charset", header: []string{"Content-Type", "Application/JSON; charset=utf-8"}},
		{rule: "a kind of JSON", header: []string{"Content-Type", "application/vnd.x+json"}},
		{rule: "none"},
		{rule: "an empty one", header: []string{"Content-Type", ""}},
		{rule: "no coding", header: []string{"Content-Encoding", "identity"}},
		{rule: "text", header: []string{"Content-Type", "text/plain"}, refused: true},
		{rule: "a form", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, refused: true},
		{rule: "a form with files", header: []string{"Content-Type", "multipart/form-data; boundary=x"}, refused: true},
		{rule: "XML", header: []string{"Content-Type", "application/xml"}, refused: true},
		{rule: "text that names JSON", header: []string{"Content-Type", "text/plain; application/json"}, refused: true},
		{rule: "JSON beside text", header: []string{"Content-Type", "application/json", "Content-Type", "text/plain"}, refused: true},
		{rule: "a coding", header: []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, refused: true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			rec := httptest.NewRecorder()
			echoing(newServer(t, serve.Rules{})).ServeHTTP(rec, request{header: headers(tt.header...), body: "{}"}.build(t))
			r := rec.Result()
			defer r.Body.Close()
			if tt.refused {
				wantProblem(t, r, http.StatusUnsupportedMediaType, mooring.CodeUnsupportedMediaType)
			} else if rec.Body.String() != "{}" {
				t.Errorf("answer = %d %s, want the body", r.StatusCode, rec.Body)
			}
		})
	}
}

// A client that sends everything before it reads must still find the 413: with one write, and no reader beside it.
func TestTooLargeBodyIsAnswered(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{BodyLimit: mib}, realTime)
	url := started(t, s, echoing(s))
	big := strings.Repeat("x", 3*mib)
	for _, tt := range []struct{ rule, header, body, want string }{
		{rule: "with a length", header: fmt.Sprintf("Content-Length: %d", len(big)), body: big, want: "3145728"},
		{rule: "chunked", header: "Transfer-Encoding: chunked", body: fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(big), big), want: "1048576"},
		{rule: "a client that asks first sends nothing", header: "Expect: 100-continue\r\nContent-Length: 99999999", want: "99999999"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, url)
			io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"+tt.header+"\r\n\r\n")
			if _, err := io.WriteString(conn, tt.body); err != nil {
				t.Fatalf("send: %v", err)
			}
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			var text bytes.Buffer
			r.Body = io.NopCloser(io.TeeReader(r.Body, &text))
			wantProblem(t, r, http.StatusRequestEntityTooLarge, mooring.CodeBodyTooLarge)
			if !strings.Contains(text.String(), tt.want) || !strings.Contains(text.String(), "1048576") {
				t.Errorf("message %s does not name size %s and limit", text.String(), tt.want)
			}
		})
	}
}

func TestBodyLimitIsExact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule   string
		size   int
		length int64
		want   int
	}{
		{rule: "as large as allowed", size: 1000, length: 1000, want: http.StatusOK},
		{rule: "as large as allowed, chunked", size: 1000, length: -1, want: http.StatusOK},
		{rule: "one more", size: 1001, length: 1001, want: http.StatusRequestEntityTooLarge},
		{rule: "one more, chunked", size: 1001, length: -1, want: http.StatusRequestEntityTooLarge},
		{rule: "none", want: http.StatusOK},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r := request{body: strings.Repeat("x", tt.size)}.build(t)
			r.ContentLength = tt.length
			rec := httptest.NewRecorder()
			echoing(newServer(t, serve.Rules{BodyLimit: 1000})).ServeHTTP(rec, r)
			if rec.Code != tt.want || (tt.want == http.StatusOK && rec.Body.Len() != tt.size) {
				t.Errorf("answer = %d with %d bytes, want %d", rec.Code, rec.Body.Len(), tt.want)
			}
		})
	}
}

func TestStalledBody(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime, func(o *serve.Options) { o.BodyTimeout = 50 * time.Millisecond })
	url := started(t, s, echoing(s))
	for _, tt := range []struct {
		rule, header string
		status       int
		code         mooring.Code
	}{
		{rule: "is 408", status: http.StatusRequestTimeout, code: mooring.CodeRequestTimeout},
		{
			rule: "does not hold up another refusal", header: "Content-Type: text/plain\r\n",
			status: http.StatusUnsupportedMediaType, code: mooring.CodeUnsupportedMediaType,
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, url)
			io.WriteString(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n"+tt.header+"Content-Length: 100\r\n\r\n{\"half\":")
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			wantProblem(t, r, tt.status, tt.code)
			if !r.Close {
				t.Error("the connection is kept, with half a request on it")
			}
		})
	}
}

// timed is a ResponseWriter that remembers the read deadlines it was given, in seconds after the start; never is -1.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []float64
}

func (w *timed) SetReadDeadline(at time.Time) error {
	after := -1.0
	if !at.IsZero() {
		after = at.Sub(noon()).Seconds()
	}
	w.deadlines = append(w.deadlines, after)
	return nil
}

// dribble gives a piece of a body each time it is read, and lets ten seconds go by.
type dribble struct {
	clock  *clock
	pieces []string
	end    error
}

func (d *dribble) Read(p []byte) (int, error) {
	d.clock.now = d.clock.now.Add(10 * time.Second)
	if len(d.pieces) == 0 {
		return 0, d.end
	}
	n := copy(p, d.pieces[0])
	d.pieces = d.pieces[1:]
	return n, nil
}

func TestDeadlineMovesWithTheBody(t *testing.T) {
	t.Parallel()
	piece := strings.Repeat("x", 100<<10)
	for _, tt := range []struct {
		rule   string
		pieces []string
		end    error
		want   []float64
		code   mooring.Code
	}{
		{rule: "bytes buy time, and a whole body ends the deadline", pieces: []string{piece, piece}, end: io.EOF, want: []float64{30, 40, 50, -1}},
		{rule: "a few bytes buy none", pieces: []string{"x", "x"}, end: io.EOF, want: []float64{30, 30, 30, -1}},
		{
			rule: "nothing more is waited for once it is over", pieces: []string{piece}, end: os.ErrDeadlineExceeded, want: []float64{30, 40, 20},
			code: mooring.CodeRequestTimeout,
		},
		{
			rule: "a broken connection is no timeout", pieces: []string{piece}, end: io.ErrUnexpectedEOF, want: []float64{30, 40, 20},
			code: mooring.CodeInvalidRequest,
		},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			now := &clock{noon()}
			s := newServer(t, serve.Rules{}, func(o *serve.Options) { o.Now = now.Now })
			r := request{}.build(t)
			r.ContentLength = 1 << 20
			r.Body = io.NopCloser(&dribble{clock: now, pieces: tt.pieces, end: tt.end})
			w := &timed{ResponseRecorder: httptest.NewRecorder()}
			body, err := s.ReadBody(w, r, 0)
			if err == nil {
				body.Release()
			}
			if diff := cmp.Diff(tt.want, w.deadlines); diff != "" {
				t.Errorf("deadlines (-want +got):\n%s", diff)
			}
			if failed := tt.code != ""; failed != (err != nil) || failed && mooring.CodeOf(err) != tt.code {
				t.Errorf("error = %v, want %q", err, tt.code)
			}
			if got, want := w.Header().Get("Connection") == "close", err != nil; got != want {
				t.Errorf("the connection ends: %v, want %v", got, want)
			}
		})
	}
}

func TestBodyIsKeptWhileInUse(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{})
	read := func(text string) *serve.Body {
		b, err := s.ReadBody(httptest.NewRecorder(), request{body: text}.build(t), 0)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first := read("first")
	transport := first.Open()
	first.Release()
	for range 10 { // none of them may get the first one's buffer
		other := read("other")
		other.Release()
	}
	got, err := io.ReadAll(transport)
	if string(got) != "first" || err != nil {
		t.Errorf("body = %q, %v, want what was sent", got, err)
	}
	if err := errors.Join(transport.Close(), transport.Close()); err != nil {
		t.Error(err)
	}
}

func TestRoomForBodies(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, func(o *serve.Options) { o.BodyBudget = 100 })
	read := func(ctx context.Context, size int) (*serve.Body, error) {
		r := request{body: strings.Repeat("x", size)}.build(t)
		return s.ReadBody(httptest.NewRecorder(), r.WithContext(ctx), 0)
	}
	first, err := read(t.Context(), 80)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = read(gone, 30); mooring.CodeOf(err) != mooring.CodeRequestTimeout || !errors.Is(err, context.Canceled) {
		t.Errorf("without room = %v, want request_timeout by the context", err)
	}
	second, err := read(t.Context(), 20) // fits beside the first
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
	waiting := make(chan *serve.Body)
	go func() {
		b, late := read(t.Context(), 30)
		if late != nil {
			t.Error(late)
		}
		waiting <- b
	}()
	first.Release()
	if b := <-waiting; b != nil {
		b.Release()
	}
	whole, err := read(t.Context(), 500) // more than there is at all waits for all of it
	if err != nil {
		t.Fatal(err)
	}
	whole.Release()
}

// A tenant that fills the room for bodies, or dribbles, stops its own requests and nobody else's.
func TestOneTenantLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	const limit = 100 << 10
	s := newServer(t, serve.Rules{Keys: []serve.Key{key("alice", "acme", alice), key("mallory", "evil", "mk-mallory")}, BodyLimit: limit}, func(o *serve.Options) {
		o.BodyBudget = 3 * limit
	})
	read := func(ctx context.Context, secret string, body io.Reader) (*serve.Body, error) {
		r := request{header: headers("X-Api-Key", secret)}.build(t).WithContext(ctx)
		r.Body, r.ContentLength = io.NopCloser(body), -1
		return s.ReadBody(httptest.NewRecorder(), r, 0)
	}
	whole := func() io.Reader { return strings.NewReader(strings.Repeat("x", limit)) }
	gone, cancel := context.WithCancel(t.Context())
	cancel() // so that there is room now or never
	first, err := read(gone, "mk-mallory", whole())
	if err != nil {
		t.Fatal(err)
	}
	if _, err = read(gone, "mk-mallory", whole()); mooring.CodeOf(err) != mooring.CodeRequestTimeout {
		t.Errorf("a second body beyond half of the room = %v, want request_timeout", err)
	}
	for range 2 {
		other, late := read(gone, alice, whole())
		if late != nil {
			t.Fatalf("another tenant's body: %v", late)
		}
		other.Release()
	}
	first.Release()
	again, err := read(gone, "mk-mallory", whole())
	if err != nil {
		t.Fatalf("a body once the first is gone: %v", err)
	}
	again.Release()
}

// A body whose next step finds no room ends, with what it held.
func TestNoRoomUnderWay(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{BodyLimit: 100 << 10}, func(o *serve.Options) { o.BodyBudget, o.BodyTimeout = 120<<10, 20*time.Millisecond })
	read := func(size int, length int64) (*serve.Body, error) {
		r := request{body: strings.Repeat("x", size)}.build(t)
		r.ContentLength = length
		return s.ReadBody(httptest.NewRecorder(), r, 0)
	}
	first, err := read(50<<10, 50<<10)
	if err != nil {
		t.Fatal(err)
	}
	_, err = read(80<<10, -1)
	var refused *mooring.Error
	if !errors.As(err, &refused) || refused.Code != mooring.CodeRequestTimeout || refused.RetryAfter <= 0 {
		t.Errorf("without room for the rest = %v, want request_timeout with a time to come again", err)
	}
	third, err := read(70<<10, 70<<10)
	if err != nil {
		t.Fatalf("a body in the place of the refused one: %v", err)
	}
	third.Release()
	first.Release()
}

func TestBodyTakesNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	now := &clock{noon()}
	s := newServer(t, serve.Rules{}, func(o *serve.Options) { o.Now = now.Now })
	pieces := make([]string, 35)
	for i := range pieces {
		pieces[i] = strings.Repeat("x", 100<<10)
	}
	r := request{}.build(t)
	r.ContentLength = 4 << 20
	r.Body = io.NopCloser(&dribble{clock: now, pieces: pieces, end: io.EOF})
	w := &timed{ResponseRecorder: httptest.NewRecorder()}
	body, err := s.ReadBody(w, r, 0)
	if err != nil {
		t.Fatal(err)
	}
	body.Release()
	if got := slices.Max(w.deadlines); got != 300 {
		t.Errorf("the last deadline is after %v s, want ten times the patience between two pieces", got)
	}
}
