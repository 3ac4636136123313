package workspace

import (
	"encoding/csv"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mooring"
)

// usageSpan is what is shown where nothing else is asked for.
const usageSpan = 30 * 24 * time.Hour

type usageReport struct {
	From  instant    `json:"from"`
	To    instant    `json:"to"`
	By    string     `json:"by"`
	Rows  []useRow   `json:"rows"`
	Total usageTotal `json:"total"`
}

type usageTotal struct {
	Turns    int      `json:"turns"`
	Failed   int      `json:"failed"`
	Usage    costView `json:"usage"`
	Unpriced int      `json:"unpriced_turns"`
}

type useRow struct {
	Name *string `json:"name"` // null where the turns have none: no key, no model, no upstream
	usageTotal
	keyRow
}

// showUsage sums up what was used in a span of time: the caller's own, an operator's over all tenants.
func (a *API) showUsage(w http.ResponseWriter, r *http.Request) {
	report, err := a.usage(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if r.URL.Query().Get("format") != "csv" {
		a.send(w, r, reply{status: http.StatusOK, body: report})
		return
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="usage-by-`+report.By+`.csv"`)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = writeCSV(w, report) // a client that has gone hears nothing
}

func (a *API) usage(r *http.Request) (*usageReport, error) {
	caller, q, err := a.whose(r)
	if err != nil {
		return nil, err
	}
	params := r.URL.Query()
	report := &usageReport{By: params.Get("by"), Rows: []useRow{}}
	if report.By == "" {
		report.By = "day"
	}
	var known bool
	q.By, known = map[string]mooring.UseBy{"key": mooring.ByKey, "model": mooring.ByModel, "day": mooring.ByDay, "upstream": mooring.ByUpstream}[report.By]
	if !known {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter by must be key, model, day or upstream.")
	}
	if f := params.Get("format"); f != "" && f != "json" && f != "csv" {
		return nil, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter format must be json or csv.")
	}
	if q.From, q.To, err = span(params, a.now()); err != nil {
		return nil, err
	}
	report.From, report.To = instant(q.From), instant(q.To)
	rows, err := a.store.Use(r.Context(), q)
	if err != nil {
		return nil, err
	}
	var total mooring.UseRow
	for _, row := range rows {
		total = total.Add(row)
		report.Rows = append(report.Rows, useRow{Name: rowName(q.By, row.Name), usageTotal: viewUse(row)})
	}
	report.Total = viewUse(total)
	if q.By == mooring.ByKey {
		err = a.addLimits(r.Context(), caller, q, report.Rows)
	}
	return report, err
}

// whose says over whom is summed. Sums are numbers alone, so an operator has them over all tenants, or with ?tenant= of one.
func (a *API) whose(r *http.Request) (mooring.Caller, mooring.UseQuery, error) {
	caller, err := a.caller(r)
	if err != nil {
		return caller, mooring.UseQuery{}, err
	}
	asked := mooring.Tenant(r.URL.Query().Get("tenant"))
	switch {
	case caller.Operator() && asked == "":
		return caller, mooring.UseQuery{Everyone: true}, nil
	case caller.Operator():
		return caller, mooring.UseQuery{Tenant: asked}, nil
	case asked == "" || asked == caller.Tenant:
		return caller, mooring.UseQuery{Tenant: caller.Tenant}, nil
	}
	return caller, mooring.UseQuery{}, mooring.Errorf(mooring.CodeOperatorRequired, "Only an operator may name a tenant; leave ?tenant= out to read your own usage.")
}

// span reads from and to, widened to whole hours: those are what is kept of older turns.
func span(q url.Values, now time.Time) (from, to time.Time, err error) {
	if to, err = momentOf(q, "to", now); err != nil {
		return from, to, err
	}
	if from, err = momentOf(q, "from", to.Add(-usageSpan)); err != nil {
		return from, to, err
	}
	if !from.Before(to) {
		return from, to, mooring.Errorf(mooring.CodeInvalidRequest, "The parameter from must be before to.")
	}
	return from.Truncate(time.Hour), to.Add(time.Hour - 1).Truncate(time.Hour), nil
}

func momentOf(q url.Values, name string, otherwise time.Time) (time.Time, error) {
	said := q.Get(name)
	if said == "" {
		return otherwise.UTC(), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, said); err == nil && t.UTC().Year() >= firstYear && t.UTC().Year() <= lastYear {
			return t.UTC(), nil
		}
	}
	return time.Time{}, mooring.Errorf(mooring.CodeInvalidRequest,
		"The parameter %s must be a day such as 2026-11-30 or a time such as 2026-11-30T12:00:00Z (a + in a URL is written %%2B), from %d to %d.", name, firstYear, lastYear)
}

// The years that ids of turns and counts of microseconds can say for sure. The end of the last one still has four digits.
const (
	firstYear = 1970
	lastYear  = 9998
)

func rowName(by mooring.UseBy, name string) *string {
	if by == mooring.ByDay {
		n, err := strconv.ParseInt(name, 10, 64)
		if err == nil {
			name = time.Unix(n*int64(24*time.Hour/time.Second), 0).UTC().Format(time.DateOnly)
		}
	}
	return known(name)
}

func viewUse(r mooring.UseRow) usageTotal {
	spent := mooring.Spending{Usage: r.Usage}
	if r.Unpriced == 0 {
		spent.CostUSD = &r.CostUSD
	}
	return usageTotal{Turns: r.Turns, Failed: r.Failed, Usage: viewSpending(spent), Unpriced: r.Unpriced}
}

// writeCSV writes the rows, without the total: a table that is summed up elsewhere would count it twice.
func writeCSV(w http.ResponseWriter, report *usageReport) error {
	out := csv.NewWriter(w)
	out.UseCRLF = true
	lines := [][]string{{report.By, "turns", "failed", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd", "unpriced_turns"}}
	for i := range report.Rows {
		row := &report.Rows[i]
		u := row.Usage
		name := ""
		if row.Name != nil {
			name = plainCell(*row.Name)
		}
		lines = append(lines, []string{
			name, strconv.Itoa(row.Turns), strconv.Itoa(row.Failed), cell(u.Input), cell(u.Output), cell(u.CacheRead), cell(u.CacheWrite), money(u.CostUSD),
			strconv.Itoa(row.Unpriced),
		})
	}
	return errors.Join(out.WriteAll(lines), out.Error())
}

// plainCell keeps a spreadsheet from taking a name for a formula: clients choose the names of models. Some leave out what is blank
// before it, some take the wide forms of the signs for them.
func plainCell(name string) string {
	bare := strings.TrimLeftFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) })
	if first, _ := utf8.DecodeRuneInString(bare); bare != "" && strings.ContainsRune("=+-@＝＋－＠|", first) || bare != name {
		return "'" + name
	}
	return name
}

func cell(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func money(usd *float64) string {
	if usd == nil {
		return ""
	}
	return strconv.FormatFloat(*usd, 'f', -1, 64)
}
