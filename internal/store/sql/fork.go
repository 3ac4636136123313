package sqlstore

import (
	"context"
	"slices"

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
	created_at, marks) SELECT tenant, $2, $3, $4, '', role, state, protocol, content, blob, digest, seen, created_at, $7
	FROM message WHERE tenant = $1 AND id = $5 AND session = $6`

const holdBlobs = `UPDATE blob SET refs = blob.refs + more.n FROM (
	SELECT blob AS digest, count(*) AS n FROM message WHERE tenant = $1 AND session = $2 AND blob IS NOT NULL GROUP BY blob) AS more
	WHERE blob.tenant = $1 AND blob.digest = more.digest`

const reindex = `INSERT INTO chain (tenant, digest, kind, message, session)
	SELECT tenant, seen, 0, id, session FROM message WHERE tenant = $1 AND session = $2 AND seen IS NOT NULL`

const marksOfOne = `SELECT marks, id FROM message WHERE tenant = $1 AND id = $2 AND session = $3`

// copiedMarks are those that a copy is found by too: it answers for what follows it, not for what was said in the session it comes
// from.
func (w *writer) copiedMarks(ctx context.Context, s mooring.Session, from mooring.MessageID) ([]mooring.Mark, error) {
	rows, err := w.pairs(ctx, marksOfOne, raw(s.Tenant), from, s.Parent)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return slices.DeleteFunc(parted([]byte(rows[0][0])), func(k mooring.Mark) bool {
		return k.Kind != mooring.BySelf && k.Kind != mooring.ByPair
	}), nil
}

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
		marks, err := w.copiedMarks(ctx, s, m.From)
		if err != nil {
			return err
		}
		if _, err := w.exec(ctx, copyMessage, raw(s.Tenant), m.To, s.ID, parent, m.From, s.Parent, joined(marks)); err != nil {
			return err
		}
		for _, k := range marks {
			if err := w.mark(ctx, s, m.To, k); err != nil {
				return err
			}
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
