package serve_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/serve"
)

// slow is a client that takes so long for every write, and remembers the write deadlines in seconds after the start.
type slow struct {
	*httptest.ResponseRecorder
	clock     *clock
	takes     time.Duration
	deadlines []float64
}

func (w *slow) Write(p []byte) (int, error) {
	w.clock.now = w.clock.now.Add(w.takes)
	return w.ResponseRecorder.Write(p)
}

func (w *slow) SetWriteDeadline(at time.Time) error {
	w.deadlines = append(w.deadlines, at.Sub(noon()).Seconds())
	return nil
}

func TestWriteDeadlineMovesWithTheAnswer(t *testing.T) {
	t.Parallel()
	const stride = 16 << 10
	for _, tt := range []struct {
		rule  string
		size  int
		takes time.Duration
		want  []float64
	}{
		{rule: "what is taken buys time for the rest", size: 3 * stride, takes: 40 * time.Second, want: []float64{60, 100, 140, 180}},
		{rule: "a quick client costs one", size: 10 * stride, takes: time.Millisecond, want: []float64{60}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			now := &clock{noon()}
			s := newServer(t, serve.Rules{}, func(o *serve.Options) { o.Now = now.Now })
			w := &slow{ResponseRecorder: httptest.NewRecorder(), clock: now, takes: tt.takes}
			text := strings.Repeat("x", tt.size)
			s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			})).ServeHTTP(w, request{}.build(t))
			if diff := cmp.Diff(tt.want, w.deadlines); diff != "" {
				t.Errorf("deadlines (-want +got):\n%s", diff)
			}
			if w.Body.String() != text {
				t.Errorf("%d bytes came, want the %d that were written", w.Body.Len(), tt.size)
			}
		})
	}
}

// A client that stops reading with its connection open ends like one that went away.
func TestClientThatTakesNothing(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{}, realTime, func(o *serve.Options) { o.StallTimeout = 50 * time.Millisecond })
	ended := make(chan error, 1)
	url := started(t, s, s.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		piece := strings.Repeat("x", 1<<20)
		for {
			if _, err := io.WriteString(w, piece); err != nil {
				<-r.Context().Done()
				ended <- err
				return
			}
		}
	})))
	conn := dial(t, url)
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the write ended with %v, want a deadline", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the handler still writes")
	}
}
