package sqlstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mooring"
)

const (
	microsPerHour = int64(time.Hour / time.Microsecond)
	// idSlack is how far the time in a turn's id may be from the time at which it began.
	idSlack = time.Minute
)

// turnTenants finds the tenants by hopping through the index of turns.
const turnTenants = `WITH RECURSIVE hop(tenant) AS (
	SELECT (SELECT tenant FROM turn ORDER BY tenant LIMIT 1)
	UNION ALL
	SELECT (SELECT n.tenant FROM turn AS n WHERE n.tenant > hop.tenant ORDER BY n.tenant LIMIT 1) FROM hop
	WHERE hop.tenant IS NOT NULL
	) `

// failedTurn is 1 for a turn that did not come to its end though nobody wanted that.
const failedTurn = `CASE WHEN t.state IN ('failed', 'interrupted') THEN 1 ELSE 0 END`

// The two halves of what was used: turns that are summed up already, and those that are not.
const (
	usedOfHours = ` AS name, t.turns AS turns, t.failed AS failed, t.input AS input, t.output AS output, t.cache_read AS cache_read,
	t.cache_write_5m AS cache_write_5m, t.cache_write_1h AS cache_write_1h, t.cost_usd AS cost_usd, t.unpriced AS unpriced
	FROM use_hour AS t WHERE `
	usedOfTurns = `, 1, ` + failedTurn + `, t.input, t.output, t.cache_read, t.cache_write_5m, t.cache_write_1h, t.cost_usd, t.unpriced
	FROM turn AS t WHERE `
	usedSums = `SELECT name, CAST(sum(turns) AS BIGINT), CAST(sum(failed) AS BIGINT), ` + spentColumns
)

// The first six arguments of a query for usage.
const (
	inHours = `t.hour >= $5 AND t.hour < $6`
	inTurns = `t.id >= $1 AND t.id < $2 AND t.started_at >= $3 AND t.started_at < $4 AND t.state <> 'running'
	AND t.started_at >= (SELECT up_to FROM use_summed)`
)

// useText is the text of a query for usage, put together of constants.
type useText struct {
	head                 string // finds the tenants, where all are asked for
	hourName, turnName   string
	hourWhere, turnWhere string
	args                 []any
}

func (s *Store) useText(ctx context.Context, q *mooring.UseQuery) (useText, error) {
	var upTo int64
	if _, err := s.first(ctx, func(row scanner) error { return row.Scan(&upTo) }, summedUpTo); err != nil {
		return useText{}, err
	}
	from, to := micros(q.From), micros(q.To)
	t := useText{hourWhere: inHours, turnWhere: inTurns, args: []any{
		firstTurn(time.UnixMicro(max(from, upTo)).Add(-idSlack)), firstTurn(q.To.Add(idSlack)), from, to, (from + microsPerHour - 1) / microsPerHour, to / microsPerHour,
	}}
	if !q.Everyone {
		own := " AND t.tenant = " + t.bind(raw(q.Tenant))
		t.hourWhere, t.turnWhere = t.hourWhere+own, t.turnWhere+own
	} else {
		t.head = turnTenants
		t.turnWhere += " AND " + s.dialect.Among
	}
	if q.Upstream != "" {
		one := " AND t.upstream = " + t.bind(text(q.Upstream))
		t.hourWhere, t.turnWhere = t.hourWhere+one, t.turnWhere+one
	}
	switch q.By {
	case mooring.ByKey:
		t.hourName, t.turnName = "t.api_key", "t.api_key"
	case mooring.ByModel:
		t.hourName, t.turnName = "t.model", "t.model"
	case mooring.ByUpstream:
		t.hourName, t.turnName = "t.upstream", "t.upstream"
	case mooring.ByDay:
		t.hourName, t.turnName = "CAST(t.hour / 24 AS TEXT)", "CAST(t.started_at / 86400000000 AS TEXT)"
	case mooring.ByStep:
		step := t.bind(q.Step.Microseconds())
		t.hourName, t.turnName = "CAST((t.hour * 3600000000 - $3) / "+step+" AS TEXT)", "CAST((t.started_at - $3) / "+step+" AS TEXT)"
	}
	return t, nil
}

// bind adds an argument and gives its place.
func (t *useText) bind(v any) string {
	t.args = append(t.args, v)
	return "$" + strconv.Itoa(len(t.args))
}

// Use sums up what was used.
func (s *Store) Use(ctx context.Context, q mooring.UseQuery) ([]mooring.UseRow, error) {
	t, err := s.useText(ctx, &q)
	if err != nil {
		return nil, s.dialect.failed(err, "sum up usage")
	}
	var list []mooring.UseRow
	err = s.each(ctx, func(row scanner) error {
		var r mooring.UseRow
		var of spent
		scanned := row.Scan(append([]any{&r.Name, &r.Turns, &r.Failed}, of.fields()...)...)
		r.Usage, r.CostUSD, r.Unpriced = of.usage, of.cost, int(of.unpriced)
		list = append(list, r)
		return scanned
	}, t.head+usedSums+" FROM (SELECT "+t.hourName+usedOfHours+t.hourWhere+" UNION ALL SELECT "+t.turnName+usedOfTurns+t.turnWhere+
		") AS used GROUP BY name ORDER BY name", t.args...)
	return list, s.dialect.failed(err, "sum up usage")
}

// UseTimes counts how long completed turns took. It tells apart by upstream or step.
func (s *Store) UseTimes(ctx context.Context, q mooring.UseQuery) ([]mooring.UseTimes, error) {
	t, err := s.useText(ctx, &q)
	if err != nil {
		return nil, s.dialect.failed(err, "sum up times")
	}
	var list []mooring.UseTimes
	err = s.each(ctx, func(row scanner) error {
		var name string
		var rung int64
		var firsts, wholes int
		if scanned := row.Scan(&name, &rung, &firsts, &wholes); scanned != nil {
			return scanned
		}
		if len(list) == 0 || list[len(list)-1].Name != name {
			list = append(list, mooring.UseTimes{Name: name})
		}
		last, below := &list[len(list)-1], time.Duration(rung)*time.Millisecond
		last.First = append(last.First, mooring.Rung{Below: below, Turns: firsts})
		last.Whole = append(last.Whole, mooring.Rung{Below: below, Turns: wholes})
		return nil
	}, t.head+"SELECT name, rung, CAST(sum(firsts) AS BIGINT), CAST(sum(wholes) AS BIGINT) FROM (SELECT "+t.hourName+
		" AS name, t.rung AS rung, t.firsts AS firsts, t.wholes AS wholes FROM use_time AS t WHERE "+t.hourWhere+
		" UNION ALL SELECT "+t.turnName+", "+firstRung()+" WHERE "+t.turnWhere+" AND "+hasFirst+
		" UNION ALL SELECT "+t.turnName+", "+wholeRung()+" WHERE "+t.turnWhere+" AND "+hasWhole+
		") AS took GROUP BY name, rung ORDER BY name, rung", t.args...)
	return list, s.dialect.failed(err, "sum up times")
}

const (
	hasWhole = `t.state = 'completed'`
	hasFirst = hasWhole + ` AND t.first_at > 0`
)

// firstRung and wholeRung are the columns that count a turn on the ladders, and where they come from.
func firstRung() string {
	return rungOf("t.first_at - t.started_at") + " AS rung, 1 AS firsts, 0 AS wholes FROM turn AS t"
}

func wholeRung() string {
	return rungOf("t.ended_at - t.started_at") + " AS rung, 0 AS firsts, 1 AS wholes FROM turn AS t"
}

// rungOf gives the bound, in milliseconds, of a time in microseconds. What is longer than all bounds is on the last rung.
func rungOf(took string) string {
	var b strings.Builder
	b.WriteString("CASE")
	rungs := mooring.Rungs()
	last := rungs[len(rungs)-1].Milliseconds()
	for _, r := range rungs[:len(rungs)-1] {
		fmt.Fprintf(&b, " WHEN %s < %d THEN %d", took, r.Microseconds(), r.Milliseconds())
	}
	fmt.Fprintf(&b, " ELSE %d END", last)
	return b.String()
}

const pinned = `SELECT upstream, count(*) FROM pin WHERE bound AND used_at >= $1 GROUP BY upstream`

// Pinned counts the sessions that are bound to each upstream, over all tenants, and whose pins were used since.
func (s *Store) Pinned(ctx context.Context, since time.Time) (map[mooring.UpstreamName]int, error) {
	counts := map[mooring.UpstreamName]int{}
	err := s.each(ctx, func(row scanner) error {
		var name mooring.UpstreamName
		var n int
		err := row.Scan(&name, &n)
		counts[name] = n
		return err
	}, pinned, micros(since))
	return counts, s.dialect.failed(err, "count pins")
}
