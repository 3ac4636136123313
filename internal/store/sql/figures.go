package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"mooring"
)

// Sums over rows of session or turn. PostgreSQL's sum of integers is a decimal number unless it is told otherwise.
const spentColumns = `CAST(sum(input) AS BIGINT), CAST(sum(output) AS BIGINT), CAST(sum(cache_read) AS BIGINT),
	CAST(sum(cache_write_5m) AS BIGINT), CAST(sum(cache_write_1h) AS BIGINT), CAST(COALESCE(sum(cost_usd), 0) AS DOUBLE PRECISION),
	CAST(COALESCE(sum(unpriced), 0) AS BIGINT)`

// spent scans those columns.
type spent struct {
	usage    mooring.Usage
	cost     float64
	unpriced int64
}

func (s *spent) fields() []any {
	u := &s.usage
	return []any{count{&u.Input}, count{&u.Output}, count{&u.CacheRead}, count{&u.CacheWrite5m}, count{&u.CacheWrite1h}, &s.cost, &s.unpriced}
}

func (s *spent) total() mooring.Spending {
	sum := mooring.Spending{Usage: s.usage}
	if s.unpriced == 0 {
		sum.CostUSD = &s.cost
	}
	return sum
}

const sessionFigures = `SELECT CAST(COALESCE(sum(CASE WHEN side_only THEN 0 ELSE 1 END), 0) AS BIGINT),
	CAST(COALESCE(sum(CASE WHEN side_only THEN 1 ELSE 0 END), 0) AS BIGINT),
	CAST(COALESCE(sum(CASE WHEN archived AND NOT side_only THEN 1 ELSE 0 END), 0) AS BIGINT),
	CAST(COALESCE(sum(turns), 0) AS BIGINT), ` + spentColumns + ` FROM session WHERE tenant = $1`

// A turn's id begins with its time, so the turns of a span are one stretch of the primary key. The minute before is for ids of a
// replica whose clock is behind.
const turnFigures = `SELECT state, pin, upstream, model, count(*), ` + spentColumns + ` FROM turn
	WHERE tenant = $1 AND id >= $2 AND started_at >= $3 GROUP BY state, pin, upstream, model ORDER BY state, upstream, model, pin`

// Figures sums a tenant's sessions, and its turns since some time by state, pin mark, upstream and model.
func (s *Store) Figures(ctx context.Context, tenant mooring.Tenant, since time.Time) (mooring.Figures, error) {
	var f mooring.Figures
	var sum spent
	_, err := s.first(ctx, func(row scanner) error {
		return row.Scan(append([]any{&f.Sessions, &f.Side, &f.Archived, &f.Turns}, sum.fields()...)...)
	}, sessionFigures, raw(tenant))
	if err != nil {
		return f, s.dialect.failed(err, "sum up sessions")
	}
	f.Spent = sum.total()
	err = s.each(ctx, func(row scanner) error {
		var t mooring.Tally
		var of spent
		scanned := row.Scan(append([]any{&t.State, &t.Pin, &t.Upstream, &t.Model, &t.Turns}, of.fields()...)...)
		t.Spent = of.total()
		f.Recent = append(f.Recent, t)
		return scanned
	}, turnFigures, raw(tenant), firstTurn(since.Add(-time.Minute)), micros(since))
	return f, s.dialect.failed(err, fmt.Sprintf("sum up turns since %s", since.UTC().Format(time.RFC3339)))
}

// firstTurn is the lowest id that a turn of that time can have.
func firstTurn(at time.Time) mooring.TurnID {
	var low ulid.ULID
	if err := low.SetTime(ulid.Timestamp(at)); err != nil {
		return "" // before 1970 or after 10889: all of them
	}
	return mooring.TurnID("trn_" + low.String())
}
