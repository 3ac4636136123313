package telemetry_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"

	"mooring"
	"mooring/internal/telemetry"
)

// away is a collector that answers as the test says, and notes when it was asked.
type away struct {
	answers []int // 0 for none
	wait    int   // seconds of Retry-After
	began   time.Time
	asked   []string
}

func (a *away) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	a.asked = append(a.asked, time.Since(a.began).String()+" "+r.URL.Path)
	status := http.StatusOK
	if n := len(a.asked); n <= len(a.answers) {
		status = a.answers[n-1]
	}
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	h := http.Header{}
	if a.wait > 0 {
		h.Set("Retry-After", strconv.Itoa(a.wait))
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
}

func someTurn() *mooring.Turn {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return &mooring.Turn{
		ID: "trn_01KB9Y3C1MZ4Q0X7V5R2T8W6HJ", Session: "ses_01KB9Y3C1MZ4Q0X7V5R2T8W6HK", Model: "m", Protocol: mooring.Messages, State: mooring.Completed,
		StartedAt: at, EndedAt: at.Add(time.Second),
		Attempts: []mooring.Attempt{{Upstream: "u1", State: mooring.Completed, StartedAt: at, EndedAt: at.Add(time.Second), Usage: mooring.Usage{Input: mooring.Count(9)}}},
	}
}

func nowhere(mooring.UpstreamName) (host string, port int) { return "", 0 }

func TestSpansAreSentAgain(t *testing.T) {
	t.Parallel()
	for rule, tt := range map[string]struct {
		collector away
		endpoint  string
		want      []string
		logged    string
	}{
		"one that answers is asked once, at its path":      {endpoint: "http://c:4318", want: []string{"0s /v1/traces"}},
		"a path of its own stands before that":             {endpoint: "http://c/otel/", want: []string{"0s /otel/v1/traces"}},
		"the whole address is taken as it is":              {endpoint: "http://c/v1/traces", want: []string{"0s /v1/traces"}},
		"one that is not there is tried again":             {collector: away{answers: []int{0, 503}}, want: []string{"0s /v1/traces", "1s /v1/traces", "3s /v1/traces"}},
		"one that asks for time gets it":                   {collector: away{answers: []int{429}, wait: 9}, want: []string{"0s /v1/traces", "9s /v1/traces"}},
		"one that refuses is left alone":                   {collector: away{answers: []int{400}}, want: []string{"0s /v1/traces"}, logged: "the collector answers 400"},
		"one that never takes them is given up in the end": {collector: away{answers: []int{502, 502, 502, 502}}, want: []string{"0s /v1/traces", "1s /v1/traces", "3s /v1/traces", "7s /v1/traces"}, logged: "answers 502"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				c := &tt.collector
				c.began = time.Now()
				if tt.endpoint == "" {
					tt.endpoint = "http://c"
				}
				tracer, err := telemetry.NewTracer(telemetry.TraceOptions{
					Endpoint: tt.endpoint, Log: telemetry.NewLogger(&log, slog.LevelInfo, telemetry.Text), Server: nowhere, Via: c,
				})
				if err != nil {
					t.Fatal(err)
				}
				tracer.Turn(someTurn(), http.Header{})
				if err := tracer.Close(context.Background()); err != nil {
					t.Errorf("close: %v", err)
				}
				if diff := cmp.Diff(tt.want, c.asked); diff != "" {
					t.Errorf("asked (-want +got):\n%s", diff)
				}
				if got := log.String(); !strings.Contains(got, tt.logged) || strings.Count(got, "\n") != min(len(tt.logged), 1) {
					t.Errorf("log %q, want %q once", got, tt.logged)
				}
			})
		})
	}
	if _, err := telemetry.NewTracer(telemetry.TraceOptions{Endpoint: "nowhere"}); err == nil {
		t.Error("a collector without an address")
	}
}

func TestAParentIsThatOfItsAttempt(t *testing.T) {
	t.Parallel()
	turn := someTurn()
	first := telemetry.Parent(turn.ID, turn.StartedAt)
	id := ulid.MustParse(strings.TrimPrefix(string(turn.ID), "trn_"))
	if want := "00-" + hex.EncodeToString(id[:]) + "-"; !strings.HasPrefix(first, want) || len(first) != len(want)+len("b7ad6b7169203331-01") {
		t.Errorf("parent %s, want the turn's own id behind 00-", first)
	}
	if again := telemetry.Parent(turn.ID, turn.StartedAt.Add(time.Nanosecond)); again == first || again[:35] != first[:35] {
		t.Errorf("parents of two attempts: %s, %s; want two spans of one trace", first, again)
	}
}

func BenchmarkTurn(b *testing.B) {
	tracer, err := telemetry.NewTracer(telemetry.TraceOptions{Endpoint: "http://c", Log: slog.New(slog.DiscardHandler), Server: nowhere, Via: &away{}})
	if err != nil {
		b.Fatal(err)
	}
	turn, h := someTurn(), http.Header{}
	b.ReportAllocs()
	for b.Loop() {
		tracer.Turn(turn, h)
	}
	_ = tracer.Close(b.Context())
}
