package sqlstore

import (
	"context"
	"time"

	"mooring"
)

// keyUse reads what is summed up by hours and what is not yet: turns that were deleted are in the sums.
const keyUse = `SELECT CAST(COALESCE(sum(turns), 0) AS BIGINT), COALESCE(sum(cost_usd), 0) FROM (
	SELECT turns, cost_usd FROM use_hour WHERE tenant = $1 AND api_key = $2 AND api_key <> '' AND hour >= $5 AND hour < $6
	UNION ALL
	SELECT 1, cost_usd FROM turn WHERE tenant = $1 AND api_key = $2 AND api_key <> '' AND started_at >= $3 AND started_at < $4
	AND started_at >= (SELECT up_to FROM use_summed)) AS used`

// KeyUse counts the turns that a key began from one time to before another, and what they cost so far, those of deleted sessions
// included. A running turn counts and has no cost yet. What was summed up counts by whole hours.
func (s *Store) KeyUse(ctx context.Context, tenant mooring.Tenant, key mooring.KeyName, from, to time.Time) (mooring.KeyUse, error) {
	var use mooring.KeyUse
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&use.Turns, &use.CostUSD) }, keyUse, raw(tenant), text(key),
		micros(from), micros(to), (micros(from)+microsPerHour-1)/microsPerHour, micros(to)/microsPerHour)
	return use, s.dialect.failed(err, "read the use of a key")
}

const runningElsewhere = `SELECT count(*) FROM turn WHERE state = 'running' AND replica <> $1 AND tenant = $2 AND api_key = $3`

// RunningElsewhere counts the turns of a key that other replicas run; those of a dead one until they are given up.
func (s *Store) RunningElsewhere(ctx context.Context, tenant mooring.Tenant, key mooring.KeyName, replica string) (n int, err error) {
	_, err = s.first(ctx, func(row scanner) error { return row.Scan(&n) }, runningElsewhere, text(replica), raw(tenant), text(key))
	return n, s.dialect.failed(err, "count the turns of a key")
}
