package app_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"mooring/internal/app"
	"mooring/internal/upstreamtest"
)

// Whoever runs the program waits for the drain and for what follows it before it kills: both have an end.
func TestStopEndsWhateverRuns(t *testing.T) {
	t.Parallel()
	upstream := upstreamtest.New(t)
	upstream.Always(upstreamtest.Reply{Text: "one two three four", Fault: upstreamtest.Stall, At: 4})
	p := start(t, "upstreams:\n"+upstreamYAML("fake", upstream.URL, "key: none"))
	res, err := (&http.Client{}).Do(p.request(http.MethodPost, "/v1/chat/completions", chatBody("hello", `"stream":true,`)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	const drain = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), drain)
	defer cancel()
	began := time.Now()
	if err := p.app.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop: %v, want the end of the context while a turn runs", err)
	}
	if took := time.Since(began); took > drain+app.ClosingTimeout {
		t.Errorf("a stop took %s, want at most %s behind the drain", took, app.ClosingTimeout)
	}
	p.app = nil
}
