package sqlstore

import (
	"context"
	"fmt"

	"mooring"
)

// mostSiblings is how many messages are read that stand beside those of one page.
const mostSiblings = 2000

const siblings = `SELECT parent, id FROM message WHERE tenant = $1 AND session = $2 AND parent IN (%s) ORDER BY id LIMIT $3`

// Siblings gives the messages that stand below each of some messages of a session, oldest first; the roots stand below the empty id.
// Together they are at most 2,000, the oldest ones.
func (s *Store) Siblings(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, parents []mooring.MessageID) (map[mooring.MessageID][]mooring.MessageID, error) {
	if len(parents) == 0 {
		return nil, nil
	}
	args := []any{raw(tenant), session, mostSiblings}
	for i := range padded(len(parents)) {
		args = append(args, parents[min(i, len(parents)-1)])
	}
	found := make(map[mooring.MessageID][]mooring.MessageID, len(parents))
	err := s.each(ctx, func(row scanner) error {
		var parent, id mooring.MessageID
		err := row.Scan(&parent, &id)
		found[parent] = append(found[parent], id)
		return err
	}, fmt.Sprintf(siblings, marks(4, len(args))), args...)
	return found, s.dialect.failed(err, fmt.Sprintf("read siblings in session %s", session.Short()))
}

// mostBelow is how many messages are looked at below one for the newest.
const mostBelow = 50_000

// Ids grow with time, so the greatest one below a message is a leaf.
const newestBelow = `WITH RECURSIVE down(id) AS (
	SELECT id FROM message WHERE tenant = $1 AND id = $2 AND session = $3
	UNION ALL
	SELECT m.id FROM down CROSS JOIN message AS m WHERE m.tenant = $1 AND m.session = $3 AND m.parent = down.id
	) SELECT COALESCE(max(id), '') FROM (SELECT id FROM down LIMIT $4) AS seen`

// Newest gives the newest message at or below one of a session; empty where the session has none such.
func (s *Store) Newest(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, from mooring.MessageID) (mooring.MessageID, error) {
	var id mooring.MessageID
	_, err := s.first(ctx, func(row scanner) error { return row.Scan(&id) }, newestBelow, raw(tenant), from, session, mostBelow)
	return id, s.dialect.failed(err, fmt.Sprintf("look below a message of session %s", session.Short()))
}
