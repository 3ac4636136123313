package sqlstore

import (
	"context"
	"fmt"
	"strings"

	"mooring"
)

// What stands below some sessions, themselves included, each row with the session it was reached from. UNION ends a walk in a
// circle, which no version should have written. CROSS JOIN is how SQLite is told to go from what was found to its children: left
// to itself it reads all of the tenant's sessions at each step.
const treeUse = `WITH RECURSIVE below(top, id) AS (
	SELECT id, id FROM session WHERE tenant = $1 AND id IN (%s)
	UNION
	SELECT below.top, s.id FROM below CROSS JOIN session AS s WHERE s.tenant = $1 AND s.parent = below.id AND s.parent <> ''
	) SELECT below.top, ` + spentColumns + `
	FROM below CROSS JOIN session WHERE session.tenant = $1 AND session.id = below.id GROUP BY below.top`

// TreeUse sums for each of some sessions what it and all below it took, in one query. Sessions that are not there are left out.
func (s *Store) TreeUse(ctx context.Context, tenant mooring.Tenant, ids []mooring.SessionID) (map[mooring.SessionID]mooring.Spending, error) {
	sums := make(map[mooring.SessionID]mooring.Spending, len(ids))
	if len(ids) == 0 {
		return sums, nil
	}
	args := []any{raw(tenant)}
	var marks []string
	for i := range padded(len(ids)) {
		args = append(args, ids[min(i, len(ids)-1)])
		marks = append(marks, fmt.Sprintf("$%d", len(args)))
	}
	err := s.each(ctx, func(row scanner) error {
		var top mooring.SessionID
		var sum spent
		err := row.Scan(append([]any{&top}, sum.fields()...)...)
		sums[top] = sum.total()
		return err
	}, fmt.Sprintf(treeUse, strings.Join(marks, ", ")), args...)
	return sums, s.dialect.failed(err, "sum up the use of trees")
}

// Both databases walk no further than the limit has them.
const descent = `WITH RECURSIVE below(id) AS (
	SELECT id FROM session WHERE tenant = $1 AND parent = $2 AND parent <> ''
	UNION
	SELECT s.id FROM below CROSS JOIN session AS s WHERE s.tenant = $1 AND s.parent = below.id AND s.parent <> ''
	) SELECT ` + sessionColumns + ` FROM session WHERE tenant = $1 AND id IN (SELECT id FROM below LIMIT $3) ORDER BY created_at, id`

// Descendants gives the sessions below one, oldest first, and whether there are more than the limit.
func (s *Store) Descendants(ctx context.Context, tenant mooring.Tenant, top mooring.SessionID, limit int) ([]mooring.Session, bool, error) {
	list, err := s.readSessions(ctx, descent, raw(tenant), top, limit+1)
	if err != nil {
		return nil, false, s.dialect.failed(err, fmt.Sprintf("read the tree of session %s", top.Short()))
	}
	if len(list) > limit {
		return list[:limit], true, nil
	}
	return list, false, nil
}
