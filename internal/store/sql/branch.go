package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

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

// The walk goes from the tip towards the root and stops after as many messages as are asked for.
const branch = `WITH RECURSIVE up(id, parent, depth) AS (
	SELECT id, parent, 1 FROM message WHERE tenant = $1 AND id = $2 AND session = $3
	UNION ALL
	SELECT p.id, p.parent, up.depth + 1 FROM up JOIN message AS p ON p.tenant = $1 AND p.id = up.parent
	WHERE up.depth < $4 AND p.session = $3
	) SELECT ` + messageColumns + `, COALESCE(m.content, b.content)
	FROM up JOIN message AS m ON m.tenant = $1 AND m.id = up.id
	LEFT JOIN blob AS b ON b.tenant = m.tenant AND b.digest = m.blob
	ORDER BY up.depth`

// errEnough ends the reading of a page that has as many bytes as it may.
var errEnough = errors.New("the page is full")

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
	var list []mooring.Message
	size := 0
	err = s.each(ctx, func(row scanner) error {
		if p.Bytes > 0 && size > p.Bytes {
			return errEnough
		}
		list = append(list, mooring.Message{})
		m := &list[len(list)-1]
		scanned := row.Scan(append(messageFields(m), &m.Content)...)
		size += len(m.Content)
		return scanned
	}, branch, raw(tenant), start, session, limit+1)
	full := errors.Is(err, errEnough)
	if err != nil && !full {
		return nil, false, s.dialect.failed(err, fmt.Sprintf("read a branch of session %s", session.Short()))
	}
	more := full || len(list) > limit
	if len(list) > limit {
		list = list[:limit]
	}
	slices.Reverse(list)
	return list, more, nil
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
