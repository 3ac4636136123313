package workspace

import (
	"net/http"
	"strconv"
	"time"

	"mooring"
)

type seriesView struct {
	Span   string      `json:"span"`
	From   instant     `json:"from"`
	To     instant     `json:"to"`
	Step   int64       `json:"step_seconds"`
	Points []pointView `json:"points"`
}

type pointView struct {
	At        instant  `json:"at"`
	Turns     int      `json:"turns"`
	Failed    int      `json:"failed"`
	Input     int64    `json:"input_tokens"`
	Output    int64    `json:"output_tokens"`
	CacheRead int64    `json:"cache_read_tokens"`
	CostUSD   *float64 `json:"cost_usd"`
	PricedUSD float64  `json:"priced_usd"`
	Unpriced  int      `json:"unpriced_turns"`
	FirstP50  *int64   `json:"first_byte_p50_ms"`
	P50       *int64   `json:"duration_p50_ms"`
	P95       *int64   `json:"duration_p95_ms"`
}

// steps are how long a point is, by the span: about as many as a chart has room for, and whole hours where turns may be summed up
// by hours.
func steps(span string) (whole, step time.Duration, ok bool) {
	switch span {
	case "1h":
		return time.Hour, time.Minute, true
	case "24h", "":
		return 24 * time.Hour, 15 * time.Minute, true
	case "7d":
		return 7 * 24 * time.Hour, 3 * time.Hour, true
	case "30d":
		return 30 * 24 * time.Hour, 12 * time.Hour, true
	}
	return 0, 0, false
}

// showSeries gives sums step by step, up to the step that is not over.
func (a *API) showSeries(r *http.Request) (any, error) {
	_, q, err := a.whose(r)
	if err != nil {
		return nil, err
	}
	span := r.URL.Query().Get("span")
	whole, step, ok := steps(span)
	if !ok {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter span must be 1h, 24h, 7d or 30d.")
	}
	if span == "" {
		span = "24h"
	}
	q.To = a.now().UTC().Truncate(step).Add(step)
	q.From, q.Step, q.By, q.Upstream = q.To.Add(-whole), step, mooring.ByStep, mooring.UpstreamName(r.URL.Query().Get("upstream"))
	rows, err := a.store.Use(r.Context(), q)
	if err != nil {
		return nil, err
	}
	times, err := a.store.UseTimes(r.Context(), q)
	if err != nil {
		return nil, err
	}
	v := seriesView{Span: span, From: instant(q.From), To: instant(q.To), Step: int64(step / time.Second), Points: make([]pointView, whole/step)}
	fill(v.Points, rows, times)
	for i := range v.Points {
		v.Points[i].At = instant(q.From.Add(time.Duration(i) * step))
	}
	return v, nil
}

func fill(points []pointView, rows []mooring.UseRow, times []mooring.UseTimes) {
	for i := range points {
		points[i].CostUSD = new(float64)
	}
	for i := range rows {
		r := &rows[i]
		if p := pointAt(points, r.Name); p != nil {
			p.Turns, p.Failed, p.Input, p.Output, p.CacheRead = r.Turns, r.Failed, r.Usage.Input.N, r.Usage.Output.N, r.Usage.CacheRead.N
			p.PricedUSD, p.Unpriced = r.CostUSD, r.Unpriced
			if p.CostUSD = &r.CostUSD; r.Unpriced > 0 {
				p.CostUSD = nil
			}
		}
	}
	for i := range times {
		if p := pointAt(points, times[i].Name); p != nil {
			p.FirstP50, p.P50, p.P95 = quantile(times[i].First, 0.5), quantile(times[i].Whole, 0.5), quantile(times[i].Whole, 0.95)
		}
	}
}

func pointAt(points []pointView, name string) *pointView {
	n, err := strconv.Atoi(name)
	if err != nil || n < 0 || n >= len(points) {
		return nil
	}
	return &points[n]
}

// quantile is in milliseconds; null where no turn was completed.
func quantile(t mooring.Times, part float64) *int64 {
	took, ok := t.Quantile(part)
	if !ok {
		return nil
	}
	return new(took.Milliseconds())
}
