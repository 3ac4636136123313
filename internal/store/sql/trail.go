package sqlstore

import (
	"context"
	"fmt"

	"mooring"
)

const trail = `WITH RECURSIVE up(id, parent, role, digest, depth) AS (
	SELECT id, parent, role, digest, 1 FROM message WHERE tenant = $1 AND id = $2 AND session = $3
	UNION ALL
	SELECT p.id, p.parent, p.role, p.digest, up.depth + 1 FROM up CROSS JOIN message AS p
	WHERE p.tenant = $1 AND p.id = up.parent AND up.depth < $4 AND p.session = $3
	) SELECT id, parent, role, digest FROM up ORDER BY depth`

// Trail gives the messages above and at a tip, the tip first: where they stand, who spoke, and their digests, no content.
func (s *Store) Trail(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, tip mooring.MessageID, limit int) ([]mooring.Message, error) {
	var list []mooring.Message
	err := s.each(ctx, func(row scanner) error {
		m := mooring.Message{Tenant: tenant, Session: session}
		err := row.Scan(&m.ID, &m.Parent, &m.Role, &m.Digest)
		list = append(list, m)
		return err
	}, trail, raw(tenant), tip, session, limit)
	return list, s.dialect.failed(err, fmt.Sprintf("read a trail of session %s", session.Short()))
}
