package sqlstore

import (
	"context"

	"mooring"
)

// copyable makes sure that what a fork copies is there: messages go with their session, so the last one answers for all.
func (w *writer) copyable(ctx context.Context, c *mooring.Begin) error {
	n := len(c.Copies)
	if n == 0 {
		return nil
	}
	found, err := w.hasMessage(ctx, c.Session.Tenant, c.Session.Parent, c.Copies[n-1].From)
	if err == nil && !found {
		c.Err = gone()
	}
	return err
}

const copyMessage = `INSERT INTO message (tenant, id, session, parent, turn, role, state, protocol, content, blob, digest, seen,
	created_at) SELECT tenant, $2, $3, $4, '', role, state, protocol, content, blob, digest, seen, created_at
	FROM message WHERE tenant = $1 AND id = $5 AND session = $6`

const holdBlobs = `UPDATE blob SET refs = blob.refs + more.n FROM (
	SELECT blob AS digest, count(*) AS n FROM message WHERE tenant = $1 AND session = $2 AND blob IS NOT NULL GROUP BY blob) AS more
	WHERE blob.tenant = $1 AND blob.digest = more.digest`

const reindex = `INSERT INTO chain (tenant, digest, kind, message, session)
	SELECT tenant, seen, 0, id, session FROM message WHERE tenant = $1 AND session = $2 AND seen IS NOT NULL
	UNION ALL
	SELECT tenant, digest, 1, id, session FROM message WHERE tenant = $1 AND session = $2 AND seen IS NOT NULL`

const indexCopies = `INSERT INTO search_pending (tenant, message) SELECT tenant, id FROM message WHERE tenant = $1 AND session = $2`

// copyMessages fills a session that was just made with the messages of the one it is a fork of. Contents are not moved: a large
// one is held once more.
func (w *writer) copyMessages(ctx context.Context, c *mooring.Begin) error {
	if len(c.Copies) == 0 {
		return nil
	}
	s := c.Session
	parent := mooring.MessageID("")
	for _, m := range c.Copies {
		if _, err := w.exec(ctx, copyMessage, raw(s.Tenant), m.To, s.ID, parent, m.From, s.Parent); err != nil {
			return err
		}
		parent = m.To
	}
	for _, query := range []string{holdBlobs, reindex, indexCopies} {
		if _, err := w.exec(ctx, query, raw(s.Tenant), s.ID); err != nil {
			return err
		}
	}
	return nil
}
