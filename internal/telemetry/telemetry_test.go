package telemetry_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/telemetry"
)

func TestCredentialsAreMasked(t *testing.T) {
	t.Parallel()
	for _, format := range []telemetry.Format{telemetry.Text, telemetry.JSON} {
		var out bytes.Buffer
		log := telemetry.NewLogger(&out, slog.LevelInfo, format)
		attrs := []slog.Attr{slog.String("key_name", "alice"), slog.Group("header", slog.String("cookie", "hidden"))}
		for _, name := range []string{"Authorization", "x-api-key", "token", "key"} {
			attrs = append(attrs, slog.String(name, "hidden"))
		}
		log.LogAttrs(t.Context(), slog.LevelInfo, "upstream asked", attrs...)
		if got := out.String(); strings.Contains(got, "hidden") || strings.Count(got, "***") != 5 || !strings.Contains(got, "alice") {
			t.Errorf("%s: line = %s, want five masks and the key's name", format, got)
		}
	}
}

func TestLevelMayChange(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var level slog.LevelVar
	log := telemetry.NewLogger(&out, &level, telemetry.JSON)
	log.LogAttrs(t.Context(), slog.LevelDebug, "before")
	level.Set(slog.LevelDebug)
	log.LogAttrs(t.Context(), slog.LevelDebug, "after")
	if got := out.String(); strings.Contains(got, "before") || !strings.Contains(got, `"msg":"after"`) {
		t.Errorf("log = %s, want the second line in JSON", got)
	}
}

func page(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if rec.Code != http.StatusOK {
		t.Fatalf("status = %d, want 200", rec.Code)
	}
	return rec.Body.String()
}

// C048: a stream that was cut counts as failed, whatever its status said.
func TestMetrics(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	m.TurnEnded(telemetry.TurnEnd{Protocol: "chat", Kind: "main", State: "failed", Upstream: "demo", Duration: 2 * time.Second, FirstByte: time.Second})
	m.TurnEnded(telemetry.TurnEnd{Protocol: "chat", Kind: "side", State: "cancelled", Upstream: "none", Duration: time.Second})
	usd := 0.25
	m.Cost(telemetry.CostOf{Upstream: "demo", USD: &usd, Used: true})
	m.Cost(telemetry.CostOf{Upstream: "demo", Used: true})
	m.Cost(telemetry.CostOf{Upstream: "other"})
	m.KeyLimited("streams")
	m.Watch(telemetry.Watched{Version: "v1", TurnsRunning: func() int { return 7 }, ChangesWaiting: func() int64 { return 8 }})
	m.TokensUsed(telemetry.TokenUse{Upstream: "demo", Input: 10, Output: -3, CacheRead: 5})
	m.UpstreamAnswered(telemetry.UpstreamAnswer{Upstream: "demo", Outcome: "refused"})
	m.UpstreamMoved("demo")
	m.SessionStarted("main")
	m.Committed(3, time.Millisecond, nil)
	m.Committed(1, time.Millisecond, errors.New("full"))
	m.Answered(http.StatusNotFound)
	m.Answered(0)
	got := page(t, m)
	for _, want := range []string{
		`mooring_turns_total{kind="main",protocol="chat",state="failed",upstream="demo"} 1`,
		`mooring_turns_total{kind="side",protocol="chat",state="cancelled",upstream="none"} 1`,
		`mooring_turn_duration_seconds_sum{protocol="chat"} 3`,
		`mooring_first_byte_seconds_count{protocol="chat"} 1`,
		`mooring_cost_usd_total{upstream="demo"} 0.25`,
		`mooring_unpriced_turns_total{upstream="demo"} 1`,
		`mooring_key_limit_hits_total{limit="streams"} 1`,
		`mooring_build_info{version="v1"} 1`,
		`mooring_turns_running 7`,
		`mooring_writer_waiting_changes 8`,
		`mooring_tokens_total{type="input",upstream="demo"} 10`,
		`mooring_tokens_total{type="cache_read",upstream="demo"} 5`,
		`mooring_upstream_requests_total{outcome="refused",upstream="demo"} 1`,
		`mooring_upstream_moves_total{upstream="demo"} 1`,
		`mooring_sessions_total{relation="main"} 1`,
		`mooring_commits_total{outcome="ok"} 1`,
		`mooring_commits_total{outcome="error"} 1`,
		`mooring_commit_batch_size_sum 4`,
		`mooring_http_requests_total{class="4xx"} 1`,
		`mooring_http_requests_total{class="other"} 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(got, want+"\n") && !strings.Contains(got, want+" ") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(got, `upstream="other"`) || strings.Contains(got, "mooring_replicas") {
		t.Error("a turn that used nothing, or what nobody watches, is counted")
	}
	if strings.Contains(got, `type="output"`) {
		t.Error("a negative count of tokens was counted")
	}
}

var (
	kinds = regexp.MustCompile(`(?m)^# TYPE (mooring_\w+) (\w+)$`)
	label = regexp.MustCompile(`(\w+)="`)
	row   = regexp.MustCompile("(?m)^\\| `(mooring_[a-z0-9_]+)` \\| ([a-z]+) \\| (.*?) ?\\| ") // of a table in docs/metrics.md
)

// Every metric that there is stands in docs/metrics.md, with its type and its labels, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	m.TurnEnded(telemetry.TurnEnd{Protocol: "chat", FirstByte: 1})
	m.Cost(telemetry.CostOf{Upstream: "demo", USD: new(1.0), Used: true})
	m.Cost(telemetry.CostOf{Upstream: "demo", Used: true})
	m.KeyLimited("streams")
	m.TokensUsed(telemetry.TokenUse{Upstream: "demo", Input: 1})
	m.UpstreamAnswered(telemetry.UpstreamAnswer{Upstream: "demo"})
	m.UpstreamMoved("demo")
	m.Routed(telemetry.Route{Upstream: "demo", Why: "pin"})
	m.SessionStarted("main")
	m.Committed(1, 1, nil)
	m.Answered(http.StatusOK)
	m.EdgeAnswered("page", http.StatusOK)
	m.EdgeRefused("not_found")
	m.EdgeUntagged("policy")
	none, zero := func() int { return 0 }, func() int64 { return 0 }
	m.Watch(telemetry.Watched{TurnsRunning: none, ChangesWaiting: zero, JournalBytes: zero, EventListeners: none, Replicas: none})
	m.WatchUpstreams(func() []telemetry.UpstreamState {
		return []telemetry.UpstreamState{{Name: "a", Accounts: []telemetry.AccountState{{Name: "one"}}}}
	})
	told, got := map[string]string{}, page(t, m)
	for _, kind := range kinds.FindAllStringSubmatch(got, -1) {
		line := regexp.MustCompile(`(?m)^` + kind[1] + `(_sum)?(\{.*\})? `).FindString(got)
		var labels []string
		for _, l := range label.FindAllStringSubmatch(line, -1) {
			labels = append(labels, l[1])
		}
		slices.Sort(labels)
		told[kind[1]] = kind[2] + " " + strings.Join(labels, " ")
	}
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		labels := strings.Fields(strings.NewReplacer("`", "", ",", " ").Replace(m[3]))
		slices.Sort(labels)
		documented[m[1]] = m[2] + " " + strings.Join(labels, " ")
	}
	if diff := cmp.Diff(told, documented); diff != "" {
		t.Errorf("docs/metrics.md (-there is +documented):\n%s", diff)
	}
}

func TestMetricsOfUpstreams(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	all := []telemetry.UpstreamState{
		{
			Name: "a", Up: true, Circuit: "closed", InFlight: 3, MaxInFlight: 4, Waiting: 2, Spills: 5, Rest: 90 * time.Second,
			Accounts: []telemetry.AccountState{{Name: "one", Requests: 7, Refused: 1, Rest: time.Minute}},
		},
		{Name: "b", Circuit: "half_open", Drained: true},
	}
	m.WatchUpstreams(func() []telemetry.UpstreamState { return all })
	got := page(t, m)
	for _, want := range []string{
		`mooring_upstream_up{upstream="a"} 1`, `mooring_upstream_up{upstream="b"} 0`,
		`mooring_upstream_circuit{state="closed",upstream="a"} 1`, `mooring_upstream_circuit{state="open",upstream="a"} 0`,
		`mooring_upstream_circuit{state="half_open",upstream="b"} 1`,
		`mooring_upstream_drained{upstream="a"} 0`, `mooring_upstream_drained{upstream="b"} 1`,
		`mooring_upstream_in_flight{upstream="a"} 3`, `mooring_upstream_max_in_flight{upstream="a"} 4`, `mooring_upstream_waiting{upstream="a"} 2`,
		`mooring_upstream_spills_total{upstream="a"} 5`, `mooring_upstream_rest_seconds{upstream="a"} 90`, `mooring_upstream_rest_seconds{upstream="b"} 0`,
		`mooring_upstream_account_requests_total{account="one",upstream="a"} 7`, `mooring_upstream_account_refused_total{account="one",upstream="a"} 1`,
		`mooring_upstream_account_rest_seconds{account="one",upstream="a"} 60`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	all = all[:1]
	if strings.Contains(page(t, m), `upstream="b"`) {
		t.Error("an upstream that is no more is still shown")
	}
}
