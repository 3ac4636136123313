package sqlstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"mooring"
)

const messageColumns = `m.tenant, m.session, m.id, m.parent, m.turn, m.role, m.state, m.protocol, m.digest, m.created_at,
	(SELECT count(*) FROM message AS s WHERE s.tenant = m.tenant AND s.session = m.session AND s.parent = m.parent)`

func messageFields(m *mooring.Message) []any {
	return []any{
		(*rawText)(&m.Tenant), &m.Session, &m.ID, &m.Parent, &m.Turn, &m.Role, &m.State, &m.Protocol, &m.Digest,
		moment{&m.CreatedAt},
		&m.Branches,
	}
}

const sessionTip = `SELECT tip FROM session WHERE tenant = $1 AND id = $2`

const parentOf = `SELECT parent FROM message WHERE tenant = $1 AND id = $2 AND session = $3`

// The walk goes from the tip towards the root and stops after as many messages as are asked for. Contents are measured, not read:
// a database that sorts would write them down somewhere. For CROSS JOIN see treeUse.
const branch = `WITH RECURSIVE up(id, parent, depth) AS (
	SELECT id, parent, 1 FROM message WHERE tenant = $1 AND id = $2 AND session = $3
	UNION ALL
	SELECT p.id, p.parent, up.depth + 1 FROM up CROSS JOIN message AS p
	WHERE p.tenant = $1 AND p.id = up.parent AND up.depth < $4 AND p.session = $3
	) SELECT m.id, COALESCE(length(m.content), length(b.content), 0)
	FROM up CROSS JOIN message AS m
	LEFT JOIN blob AS b ON b.tenant = m.tenant AND b.digest = m.blob
	WHERE m.tenant = $1 AND m.id = up.id ORDER BY up.depth`

// Branch gives a part of a branch in the order from root to tip, and whether there is more above it. A limit of 0 stands for
// 100. A message that is to be above the page, and is not the session's, is CodeNotFound; a tip that is not reads nothing.
func (s *Store) Branch(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, p mooring.BranchPage) ([]mooring.Message, bool, error) {
	start, err := s.branchStart(ctx, tenant, session, p)
	if err != nil {
		return nil, false, s.dialect.failed(err, fmt.Sprintf("find a branch of session %s", session.Short()))
	}
	limit := p.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	var ids []mooring.MessageID
	size, more := 0, false
	err = s.each(ctx, func(row scanner) error {
		if len(ids) == limit || more || p.Bytes > 0 && size > p.Bytes {
			more = true
			return nil
		}
		var id mooring.MessageID
		length := 0
		scanned := row.Scan(&id, &length)
		ids, size = append(ids, id), size+length
		return scanned
	}, branch, raw(tenant), start, session, limit+1)
	var list []mooring.Message
	if err == nil {
		slices.Reverse(ids)
		list, err = s.messages(ctx, tenant, ids)
	}
	return list, more, s.dialect.failed(err, fmt.Sprintf("read a branch of session %s", session.Short()))
}

const messagesByID = `SELECT ` + messageColumns + `, COALESCE(m.content, b.content)
	FROM message AS m LEFT JOIN blob AS b ON b.tenant = m.tenant AND b.digest = m.blob
	WHERE m.tenant = $1 AND m.id IN (%s)`

// messages reads messages whole, in the order asked for.
func (s *Store) messages(ctx context.Context, tenant mooring.Tenant, ids []mooring.MessageID) ([]mooring.Message, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{raw(tenant)}
	var marks []string
	for i := range padded(len(ids)) {
		args = append(args, ids[min(i, len(ids)-1)])
		marks = append(marks, fmt.Sprintf("$%d", len(args)))
	}
	found := make(map[mooring.MessageID]mooring.Message, len(ids))
	err := s.each(ctx, func(row scanner) error {
		var m mooring.Message
		scanned := row.Scan(append(messageFields(&m), &m.Content)...)
		found[m.ID] = m
		return scanned
	}, fmt.Sprintf(messagesByID, strings.Join(marks, ", ")), args...)
	if err != nil {
		return nil, err
	}
	if len(found) < len(ids) {
		return nil, sessionNotFound() // deleted meanwhile: messages go with their session
	}
	list := make([]mooring.Message, len(ids))
	for i, id := range ids {
		list[i] = found[id]
	}
	return list, nil
}

// branchStart gives the lowest message of the page, empty where there is none.
func (s *Store) branchStart(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, p mooring.BranchPage) (mooring.MessageID, error) {
	var tip, parent mooring.MessageID
	found, err := s.first(ctx, func(row scanner) error { return row.Scan(&tip) }, sessionTip, raw(tenant), session)
	if err != nil {
		return "", err
	}
	if !found {
		return "", sessionNotFound()
	}
	if p.Before != "" {
		found, err = s.first(ctx, func(row scanner) error { return row.Scan(&parent) }, parentOf, raw(tenant), p.Before, session)
		if err == nil && !found {
			err = messageNotFound()
		}
		return parent, err
	}
	if p.Tip != "" {
		return p.Tip, nil
	}
	return tip, nil
}

const children = `SELECT ` + messageColumns + ` FROM message AS m WHERE m.tenant = $1 AND m.session = $2 AND m.parent = $3 ORDER BY m.id`

// Children gives the messages that follow one, oldest first and without their content. The roots of a session follow the
// empty id.
func (s *Store) Children(ctx context.Context, tenant mooring.Tenant, session mooring.SessionID, parent mooring.MessageID) ([]mooring.Message, error) {
	var list []mooring.Message
	err := s.each(ctx, func(row scanner) error {
		var m mooring.Message
		err := row.Scan(messageFields(&m)...)
		list = append(list, m)
		return err
	}, children, raw(tenant), session, parent)
	return list, s.dialect.failed(err, fmt.Sprintf("read messages of session %s", session.Short()))
}
