package sqlstore

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"mooring"
)

const summedUpTo = `SELECT up_to FROM use_summed`

// holdSums gives up to where turns are summed up, and keeps it there until the commit: on PostgreSQL by the lock of the row.
const holdSums = `UPDATE use_summed SET up_to = up_to RETURNING up_to`

const setSummed = `UPDATE use_summed SET up_to = $1`

const nextToSum = turnTenants + `SELECT (SELECT t.id FROM turn AS t WHERE t.tenant = hop.tenant AND t.id >= $1 ORDER BY t.id LIMIT 1) AS next, ''
	FROM hop WHERE tenant IS NOT NULL`

const runsBefore = `SELECT 1 FROM turn WHERE state = 'running' AND started_at < $1 LIMIT 1`

const (
	sumHours = `INSERT INTO use_hour (tenant, hour, api_key, model, upstream, turns, failed, input, output, cache_read, cache_write_5m,
	cache_write_1h, cost_usd, unpriced)
	SELECT t.tenant, t.started_at / 3600000000, t.api_key, t.model, t.upstream, count(*), sum(` + failedTurn + `), sum(t.input), sum(t.output),
	sum(t.cache_read), sum(t.cache_write_5m), sum(t.cache_write_1h), COALESCE(sum(t.cost_usd), 0), sum(t.unpriced) FROM turn AS t WHERE `
	addHours = ` GROUP BY t.tenant, t.started_at / 3600000000, t.api_key, t.model, t.upstream
	ON CONFLICT (tenant, hour, api_key, model, upstream) DO UPDATE SET turns = use_hour.turns + excluded.turns,
	failed = use_hour.failed + excluded.failed, input = COALESCE(use_hour.input + excluded.input, use_hour.input, excluded.input),
	output = COALESCE(use_hour.output + excluded.output, use_hour.output, excluded.output),
	cache_read = COALESCE(use_hour.cache_read + excluded.cache_read, use_hour.cache_read, excluded.cache_read),
	cache_write_5m = COALESCE(use_hour.cache_write_5m + excluded.cache_write_5m, use_hour.cache_write_5m, excluded.cache_write_5m),
	cache_write_1h = COALESCE(use_hour.cache_write_1h + excluded.cache_write_1h, use_hour.cache_write_1h, excluded.cache_write_1h),
	cost_usd = use_hour.cost_usd + excluded.cost_usd, unpriced = use_hour.unpriced + excluded.unpriced`
	sumTimes = `INSERT INTO use_time (tenant, hour, upstream, rung, firsts, wholes)
	SELECT tenant, hour, upstream, rung, sum(firsts), sum(wholes) FROM (SELECT t.tenant AS tenant, t.started_at / 3600000000 AS hour, t.upstream AS upstream, `
	addTimes = `) AS took WHERE TRUE GROUP BY tenant, hour, upstream, rung
	ON CONFLICT (tenant, hour, upstream, rung) DO UPDATE SET firsts = use_time.firsts + excluded.firsts, wholes = use_time.wholes + excluded.wholes`

	turnsOfHour = ` AND t.id >= $1 AND t.id < $2
	AND t.started_at >= $3 AND t.started_at < $4 AND t.state <> 'running'`
	turnsToKeep = `t.tenant = $1 AND t.session = $2 AND t.started_at >= $3 AND t.state <> 'running'`
)

// sumUp sums up the next hour that has turns.
func (w *writer) sumUp(ctx context.Context, c *mooring.SumUp) error {
	c.Err, c.Done = nil, true
	var upTo int64
	if _, err := w.first(ctx, []any{&upTo}, holdSums); err != nil {
		return err
	}
	from, found, err := w.hourToSum(ctx, timeOf(upTo))
	if err != nil || !found {
		return err
	}
	to := from.Add(time.Hour)
	if to.After(c.Before) {
		return nil
	}
	var one int
	runs, err := w.first(ctx, []any{&one}, runsBefore, micros(to))
	if err != nil || runs {
		return err
	}
	args := []any{firstTurn(from.Add(-idSlack)), firstTurn(to.Add(idSlack)), micros(from), micros(to)}
	if err = w.addSums(ctx, turnTenants, w.dialect.Among+turnsOfHour, args...); err != nil {
		return err
	}
	c.Done = false
	_, err = w.exec(ctx, setSummed, micros(to))
	return err
}

// hourToSum gives the beginning of the first hour from a time on that has turns. The time in an id may lie a little before the hour
// in which its turn began: then the hour is summed up in vain at worst.
func (w *writer) hourToSum(ctx context.Context, upTo time.Time) (time.Time, bool, error) {
	ids, err := w.pairs(ctx, nextToSum, firstTurn(upTo.Add(-idSlack)))
	if err != nil {
		return time.Time{}, false, err
	}
	var next time.Time
	for _, id := range ids {
		u, err := ulid.ParseStrict(idText(id[0]))
		if err != nil {
			continue // the tenant has none
		}
		if at := ulid.Time(u.Time()).UTC(); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if next.IsZero() {
		return next, false, nil
	}
	if next.Before(upTo) {
		next = upTo
	}
	return next.Truncate(time.Hour), true, nil
}

func idText(turn string) string {
	if len(turn) < len("trn_") {
		return ""
	}
	return turn[len("trn_"):]
}

// keepSums adds the turns of a session that is about to go to the sums, where they are not in them yet: what was used stays used.
func (w *writer) keepSums(ctx context.Context, tenant []byte, session mooring.SessionID) error {
	var upTo int64
	if _, err := w.first(ctx, []any{&upTo}, holdSums); err != nil {
		return err
	}
	return w.addSums(ctx, "", turnsToKeep, tenant, session, upTo)
}

func (w *writer) addSums(ctx context.Context, head, which string, args ...any) error {
	if _, err := w.exec(ctx, head+sumHours+which+addHours, args...); err != nil {
		return err
	}
	second := ` UNION ALL SELECT t.tenant, t.started_at / 3600000000, t.upstream, `
	_, err := w.exec(ctx, head+sumTimes+firstRung()+" WHERE "+which+" AND "+hasFirst+second+wholeRung()+" WHERE "+which+" AND "+hasWhole+addTimes, args...)
	return err
}
