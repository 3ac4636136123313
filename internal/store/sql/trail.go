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

// Both walks stop where the session does. A branch that forks often is cut by the number of rows.
const around = `WITH RECURSIVE up(of, id, parent, depth) AS (
	SELECT id, id, parent, 0 FROM message WHERE tenant = $1 AND id IN (%[1]s)
	UNION ALL
	SELECT up.of, p.id, p.parent, up.depth - 1 FROM up CROSS JOIN message AS p
	WHERE p.tenant = $1 AND p.id = up.parent AND up.depth > $2
	), down(of, session, id, depth) AS (
	SELECT id, session, id, 0 FROM message WHERE tenant = $1 AND id IN (%[1]s)
	UNION ALL
	SELECT down.of, down.session, c.id, down.depth + 1 FROM down CROSS JOIN message AS c
	WHERE c.tenant = $1 AND c.session = down.session AND c.parent = down.id AND down.depth < $3
	) SELECT w.of, w.depth, m.session, m.id, m.parent, m.role, m.digest
	FROM (SELECT of, id, depth FROM up UNION ALL SELECT of, id, depth FROM down WHERE depth > 0) AS w
	CROSS JOIN message AS m WHERE m.tenant = $1 AND m.id = w.id ORDER BY abs(w.depth), m.id LIMIT $4`

const mostNeighbours = 2000

// Around gives some messages with those up to so many levels above and below each: where they stand, who spoke, and their digests,
// no content. What is near comes first.
func (s *Store) Around(ctx context.Context, tenant mooring.Tenant, ids []mooring.MessageID, up, down int) ([]mooring.Neighbour, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{raw(tenant), -up, down, mostNeighbours}
	for i := range padded(len(ids)) {
		args = append(args, ids[min(i, len(ids)-1)])
	}
	var list []mooring.Neighbour
	err := s.each(ctx, func(row scanner) error {
		n := mooring.Neighbour{Message: mooring.Message{Tenant: tenant}}
		err := row.Scan(&n.Of, &n.Depth, &n.Session, &n.ID, &n.Parent, &n.Role, &n.Digest)
		list = append(list, n)
		return err
	}, fmt.Sprintf(around, marks(5, len(args))), args...)
	return list, s.dialect.failed(err, "read what stands around messages")
}

// longestAsk bounds how far above a message its answer is looked for: a question with what tools gave is not longer.
const longestAsk = 64

const madeAt = `WITH RECURSIVE up(id, parent, role, turn, depth) AS (
	SELECT id, parent, role, turn, 1 FROM message WHERE tenant = $1 AND id = $2
	UNION ALL
	SELECT p.id, p.parent, p.role, p.turn, up.depth + 1 FROM up CROSS JOIN message AS p
	WHERE p.tenant = $1 AND p.id = up.parent AND up.role <> 'assistant' AND up.depth < $3
	) SELECT t.id, t.upstream, t.account, t.model FROM up CROSS JOIN turn AS t
	WHERE up.role = 'assistant' AND t.tenant = $1 AND t.id = up.turn`

// MadeAt gives the turn that made an answer, the one at a message or the nearest above it: its id, where it went and which model
// that was. Empty where nobody knows any more.
func (s *Store) MadeAt(ctx context.Context, tenant mooring.Tenant, message mooring.MessageID) (mooring.Turn, error) {
	t := mooring.Turn{Tenant: tenant}
	err := s.each(ctx, func(row scanner) error {
		return row.Scan(&t.ID, &t.Upstream, &t.Account, &t.Model)
	}, madeAt, raw(tenant), message, longestAsk)
	return t, s.dialect.failed(err, "read where an answer was made")
}
