package workspace_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/workspace"
)

// useOf is a row of n turns.
func useOf(name string, n, unpriced int) mooring.UseRow {
	return mooring.UseRow{Name: name, Turns: n, Failed: 1, Usage: mooring.Usage{Input: mooring.Count(int64(10 * n))}, CostUSD: 0.5 * float64(n), Unpriced: unpriced}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	m := &memory{uses: []mooring.UseRow{useOf("", 1, 0), useOf(`=cmd|"x"`, 2, 1), useOf("gpt-x", 3, 0)}}
	h := over(m)
	got := h.get(t, "alice", "/api/usage?by=model&from=2026-03-01&to=2026-03-02T00:00:00%2B01:00").Body.String()
	want := `{"from":"2026-03-01T00:00:00.000Z","to":"2026-03-01T23:00:00.000Z","by":"model","rows":[` +
		`{"name":null,"turns":1,"failed":1,"usage":{"input_tokens":10,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null,"cost_usd":0.5},"unpriced_turns":0},` +
		`{"name":"=cmd|\"x\"","turns":2,"failed":1,"usage":{"input_tokens":20,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null,"cost_usd":null},"unpriced_turns":1},` +
		`{"name":"gpt-x","turns":3,"failed":1,"usage":{"input_tokens":30,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null,"cost_usd":1.5},"unpriced_turns":0}],` +
		`"total":{"turns":6,"failed":3,"usage":{"input_tokens":60,"output_tokens":null,"cache_read_tokens":null,"cache_write_tokens":null,"cost_usd":null},"unpriced_turns":1}}`
	if diff := cmp.Diff(want, strings.TrimSpace(got)); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	csv := h.get(t, "alice", "/api/usage?by=model&format=csv")
	table := "model,turns,failed,input_tokens,output_tokens,cache_read_tokens,cache_write_tokens,cost_usd,unpriced_turns\r\n" +
		",1,1,10,,,,0.5,0\r\n\"'=cmd|\"\"x\"\"\",2,1,20,,,,,1\r\ngpt-x,3,1,30,,,,1.5,0\r\n"
	if diff := cmp.Diff(table, csv.Body.String()); diff != "" || !strings.HasPrefix(csv.Header().Get("Content-Type"), "text/csv") {
		t.Errorf("table of type %q (-want +got):\n%s", csv.Header().Get("Content-Type"), diff)
	}
	m.uses = []mooring.UseRow{useOf("20513", 1, 0)}
	if got := h.get(t, "alice", "/api/usage").Body.String(); !strings.Contains(got, `"by":"day","rows":[{"name":"2026-03-01",`) {
		t.Errorf("usage by day: %s", got)
	}
	m.uses = nil
	if got := h.get(t, "alice", "/api/usage").Body.String(); !strings.Contains(got, `"rows":[],"total":{"turns":0,"failed":0,"usage":{"input_tokens":null`) {
		t.Errorf("no usage: %s", got)
	}
}

func TestUsageByKeySaysWhatTheKeyMay(t *testing.T) {
	t.Parallel()
	m := &memory{uses: []mooring.UseRow{useOf("", 1, 0), useOf("alice", 2, 1), useOf("carol", 3, 0), useOf("gone", 4, 0)}}
	h := over(m)
	of := func(as, query string) []string {
		var got struct {
			Rows []struct {
				Name   string
				Limits json.RawMessage
				Spent  json.RawMessage `json:"spent_usd"`
			}
		}
		h.read(t, as, "/api/usage?"+query, &got)
		lines := make([]string, 0, len(got.Rows))
		for _, r := range got.Rows {
			lines = append(lines, strings.TrimSpace(r.Name+" "+string(r.Limits)+" "+string(r.Spent)))
		}
		return lines
	}
	hers := `alice {"requests_per_minute":60,"streams":2,"budget_usd":5,"models":["gpt-*"],"expires":"2027-01-01T00:00:00.000Z"} 1`
	if diff := cmp.Diff([]string{"", hers, "carol", "gone"}, of("alice", "by=key&from=2026-01-01&to=2026-01-02")); diff != "" {
		t.Errorf("a user sees (-want +got):\n%s", diff)
	}
	month := func(m time.Month) time.Time { return time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC) }
	if diff := cmp.Diff(mooring.UseQuery{Tenant: "acme", From: month(11), To: month(12), By: mooring.ByKey}, m.used); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"", hers, "carol {} 1.5", "gone  2"}, of("root", "by=key")); diff != "" {
		t.Errorf("an operator sees (-want +got):\n%s", diff)
	}
	if !m.used.Everyone {
		t.Errorf("an operator's spending is of %q alone", m.used.Tenant)
	}
	if diff := cmp.Diff([]string{"", "alice", "carol", "gone"}, of("root", "by=model")); diff != "" {
		t.Errorf("by model (-want +got):\n%s", diff)
	}
}

func TestNamesInATableAreNoFormulas(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "＝1", "＋1", "－1", "＠1", "|calc", "\x00=1", " x"} {
		csv := over(&memory{uses: []mooring.UseRow{useOf(name, 1, 0)}}).get(t, "alice", "/api/usage?by=model&format=csv").Body.String()
		_, row, _ := strings.Cut(csv, "\r\n")
		if row = strings.TrimPrefix(row, `"`); !strings.HasPrefix(row, "'") {
			t.Errorf("%q begins its row: %q", name, row)
		}
	}
	csv := over(&memory{uses: []mooring.UseRow{useOf("gpt-4=x", 1, 0)}}).get(t, "alice", "/api/usage?by=model&format=csv").Body.String()
	if !strings.Contains(csv, "\r\ngpt-4=x,1,") {
		t.Errorf("an ordinary name is changed: %q", csv)
	}
}

func TestUsageIsOfWhoeverAsks(t *testing.T) {
	t.Parallel()
	hour := func(h int) time.Time { return time.Date(2026, 11, 29, h, 0, 0, 0, time.UTC) }
	for _, tt := range []struct {
		rule, as, query string
		want            mooring.UseQuery
	}{
		{"a user's own, the last thirty days to the full hour", "alice", "", mooring.UseQuery{Tenant: "acme", From: hour(9).AddDate(0, 0, -30), To: hour(10), By: mooring.ByDay}},
		{"a user may say who they are", "alice", "tenant=acme&from=2026-11-29", mooring.UseQuery{Tenant: "acme", From: hour(0), To: hour(10), By: mooring.ByDay}},
		{"an operator's over all", "root", "by=model&from=2026-11-29", mooring.UseQuery{Everyone: true, From: hour(0), To: hour(10), By: mooring.ByModel}},
		{"an operator's of one", "root", "by=upstream&tenant=globex&from=2026-11-29T05:59:00Z&to=2026-11-29T06:01:00Z", mooring.UseQuery{Tenant: "globex", From: hour(5), To: hour(7), By: mooring.ByUpstream}},
	} {
		m := &memory{}
		if w := over(m).get(t, tt.as, "/api/usage?"+tt.query); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", tt.rule, w.Code, w.Body)
		}
		if diff := cmp.Diff(tt.want, m.used); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", tt.rule, diff)
		}
	}
	for target, want := range map[string]string{
		"/api/usage?tenant=globex":                    "operator_required",
		"/api/series?tenant=globex":                   "operator_required",
		"/api/usage?by=colour":                        "invalid_request",
		"/api/usage?format=xml":                       "invalid_request",
		"/api/usage?from=yesterday":                   "invalid_request",
		"/api/usage?to=0001-01-01":                    "invalid_request",
		"/api/usage?to=9999-12-31T23:59:59Z":          "invalid_request", // its hour ends in a year of five digits
		"/api/usage?from=1970-01-01T00:00:00%2B14:00": "invalid_request",
		"/api/usage?from=2026-11-30&to=2026-11-29":    "invalid_request",
		"/api/usage?from=2026-11-29&to=2026-11-29":    "invalid_request",
		"/api/series?span=2h":                         "invalid_request",
	} {
		if got := over(&memory{}).get(t, "alice", target).Header().Get("X-Mooring-Error"); got != want {
			t.Errorf("%s: error %q, want %s", target, got, want)
		}
	}
	if got := over(&memory{}).get(t, "", "/api/usage").Code; got != http.StatusUnauthorized {
		t.Errorf("without a key: %d", got)
	}
}

func TestSeries(t *testing.T) {
	t.Parallel()
	second := time.Second
	m := &memory{
		uses:  []mooring.UseRow{useOf("0", 1, 0), useOf("59", 2, 1), useOf("60", 9, 0)},
		times: []mooring.UseTimes{{Name: "59", First: mooring.Times{{Below: second, Turns: 2}}, Whole: mooring.Times{{Below: 1600 * time.Millisecond, Turns: 2}}}},
	}
	var got struct {
		From, To string
		Step     int `json:"step_seconds"`
		Points   []map[string]any
	}
	over(m).read(t, "alice", "/api/series?span=1h&upstream=north", &got)
	if got.From != "2026-11-29T08:31:00.000Z" || got.To != "2026-11-29T09:31:00.000Z" || got.Step != 60 || len(got.Points) != 60 {
		t.Fatalf("series from %s to %s in %d steps of %d", got.From, got.To, len(got.Points), got.Step)
	}
	want := map[int]map[string]any{
		0: {
			"at": "2026-11-29T08:31:00.000Z", "turns": 1.0, "failed": 1.0, "input_tokens": 10.0, "output_tokens": 0.0, "cache_read_tokens": 0.0, "cost_usd": 0.5, "priced_usd": 0.5, "unpriced_turns": 0.0,
			"first_byte_p50_ms": nil, "duration_p50_ms": nil, "duration_p95_ms": nil,
		},
		1: {
			"at": "2026-11-29T08:32:00.000Z", "turns": 0.0, "failed": 0.0, "input_tokens": 0.0, "output_tokens": 0.0, "cache_read_tokens": 0.0, "cost_usd": 0.0, "priced_usd": 0.0, "unpriced_turns": 0.0,
			"first_byte_p50_ms": nil, "duration_p50_ms": nil, "duration_p95_ms": nil,
		},
		59: {
			"at": "2026-11-29T09:30:00.000Z", "turns": 2.0, "failed": 1.0, "input_tokens": 20.0, "output_tokens": 0.0, "cache_read_tokens": 0.0, "cost_usd": nil, "priced_usd": 1.0, "unpriced_turns": 1.0,
			"first_byte_p50_ms": 815.0, "duration_p50_ms": 1300.0, "duration_p95_ms": 1570.0,
		},
	}
	for i, p := range want {
		if diff := cmp.Diff(p, got.Points[i]); diff != "" {
			t.Errorf("point %d (-want +got):\n%s", i, diff)
		}
	}
	if m.used.Upstream != "north" || m.used.Tenant != "acme" || m.used.Step != time.Minute {
		t.Errorf("asked for %+v", m.used)
	}
	for span, points := range map[string]int{"24h": 96, "7d": 56, "30d": 60} {
		if over(m).read(t, "alice", "/api/series?span="+span, &got); len(got.Points) != points {
			t.Errorf("%s: %d points, want %d", span, len(got.Points), points)
		}
	}
}

func TestStatsSayWhereListPricesComeFrom(t *testing.T) {
	t.Parallel()
	var got struct{ Prices workspace.PriceList }
	over(&memory{}).read(t, "alice", "/api/stats", &got)
	if want := (workspace.PriceList{Date: "2026-09-23", Source: "a list", Models: 3}); got.Prices != want {
		t.Errorf("prices %+v, want %+v", got.Prices, want)
	}
}
