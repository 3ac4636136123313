package sqlstore

import (
	"context"

	"mooring"
)

// Every child becomes the root of what stands below it. UNION ends a walk in a circle, which no version should have written; for
// CROSS JOIN see treeUse. The list of ids keeps SQLite from reading all of the tenant's sessions.
const reroot = `WITH RECURSIVE below(id, top) AS (
		SELECT id, id FROM session WHERE tenant = $1 AND parent = $2 AND parent <> ''
		UNION
		SELECT s.id, below.top FROM below CROSS JOIN session AS s
		WHERE s.tenant = $1 AND s.parent = below.id AND s.parent <> ''
	) UPDATE session SET root = tree.top FROM below AS tree
	WHERE session.tenant = $1 AND session.id = tree.id AND session.id IN (SELECT id FROM below)`

const detach = `UPDATE session SET parent = '' WHERE tenant = $1 AND parent = $2 AND parent <> '' RETURNING id, ''`

const deleteSession = `DELETE FROM session WHERE tenant = $1 AND id = $2`

func (w *writer) remove(ctx context.Context, c *mooring.Delete) error {
	c.Err = nil
	n, err := w.dropSession(ctx, raw(c.Tenant), c.Session)
	if err != nil {
		return err
	}
	if n == 0 {
		c.Err = sessionNotFound()
		return nil
	}
	if _, err = w.exec(ctx, reroot, raw(c.Tenant), c.Session); err != nil {
		return err
	}
	children, err := w.pairs(ctx, detach, raw(c.Tenant), c.Session)
	if err != nil {
		return err
	}
	w.note(mooring.Event{Tenant: c.Tenant, Kind: mooring.SessionDeleted, Session: c.Session})
	for _, child := range children {
		w.note(mooring.Event{Tenant: c.Tenant, Kind: mooring.SessionUpdated, Session: mooring.SessionID(child[0])})
	}
	return w.removeRows(ctx, raw(c.Tenant), c.Session)
}

// dropSession takes away a session's row, and what only that row can find.
func (w *writer) dropSession(ctx context.Context, tenant []byte, session mooring.SessionID) (int, error) {
	if _, err := w.exec(ctx, unacknowledge, tenant, session); err != nil {
		return 0, err
	}
	return w.exec(ctx, deleteSession, tenant, session)
}

const releaseBlobs = `UPDATE blob SET refs = blob.refs - gone.n FROM (
	SELECT blob AS digest, count(*) AS n FROM message WHERE tenant = $1 AND session = $2 AND blob IS NOT NULL GROUP BY blob) AS gone
	WHERE blob.tenant = $1 AND blob.digest = gone.digest`

const deleteBlobs = `DELETE FROM blob WHERE tenant = $1 AND refs <= 0 AND digest IN
	(SELECT blob FROM message WHERE tenant = $1 AND session = $2 AND blob IS NOT NULL)`

const marksOf = `SELECT id, marks FROM message WHERE tenant = $1 AND session = $2 AND marks IS NOT NULL`

const unmark = `DELETE FROM chain WHERE tenant = $1 AND digest = $2 AND kind = $3 AND message = $4`

const seenOf = `SELECT id, seen FROM message WHERE tenant = $1 AND session = $2 AND seen IS NOT NULL`

// unmarkedOf gives answers that were written before messages had marks: they are found by themselves.
const unmarkedOf = `SELECT id, digest FROM message WHERE tenant = $1 AND session = $2 AND seen IS NOT NULL AND marks IS NULL`

// unindex takes a session's messages out of the index.
func (w *writer) unindex(ctx context.Context, tenant []byte, session mooring.SessionID) error {
	for query, marks := range map[string]func(b []byte) []mooring.Mark{
		marksOf:    parted,
		seenOf:     func(b []byte) []mooring.Mark { return []mooring.Mark{{Kind: mooring.ByChain, Digest: b}} },
		unmarkedOf: func(b []byte) []mooring.Mark { return []mooring.Mark{{Kind: mooring.BySelf, Digest: b}} },
	} {
		rows, err := w.pairs(ctx, query, tenant, session)
		if err != nil {
			return err
		}
		for _, row := range rows {
			for _, k := range marks([]byte(row[1])) {
				if _, err := w.exec(ctx, unmark, tenant, k.Digest, int64(k.Kind), row[0]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// removeRows takes away all that a session had.
func (w *writer) removeRows(ctx context.Context, tenant []byte, session mooring.SessionID) error {
	if err := w.unindex(ctx, tenant, session); err != nil {
		return err
	}
	if err := w.keepSums(ctx, tenant, session); err != nil {
		return err
	}
	for _, query := range []string{
		releaseBlobs,
		deleteBlobs,
		`DELETE FROM message WHERE tenant = $1 AND session = $2`,
		`DELETE FROM turn WHERE tenant = $1 AND session = $2`,
		`DELETE FROM alias WHERE tenant = $1 AND session = $2`,
		`DELETE FROM pin WHERE tenant = $1 AND session = $2`,
		forgetRemotes,
		forgetObjects,
		forgetValues,
	} {
		if _, err := w.exec(ctx, query, tenant, session); err != nil {
			return err
		}
	}
	for _, query := range w.dialect.Search.Forget { // after the messages: an indexer that still puts one in has them locked
		if _, err := w.exec(ctx, query, tenant, session); err != nil {
			return err
		}
	}
	w.wipe = WipeLog
	return nil
}

func sessionNotFound() error {
	return mooring.Errorf(mooring.CodeSessionNotFound, "There is no such session.")
}

// The tenants are found by hopping through the index, not by reading all of it.
const tenants = `WITH RECURSIVE hop(tenant) AS (
	SELECT (SELECT tenant FROM session ORDER BY tenant LIMIT 1)
	UNION ALL
	SELECT (SELECT s.tenant FROM session AS s WHERE s.tenant > hop.tenant ORDER BY s.tenant LIMIT 1) FROM hop
	WHERE hop.tenant IS NOT NULL
	) SELECT tenant, '' FROM hop WHERE tenant IS NOT NULL`

// A turn moves the time of the last activity at its end: one that runs keeps its session.
const idleRoots = `SELECT id, '' FROM session AS s WHERE tenant = $1 AND side_only = $2 AND updated_at < $3 AND parent = ''
	AND NOT EXISTS (SELECT 1 FROM turn AS t WHERE t.tenant = s.tenant AND t.session = s.id AND t.state = 'running')
	AND NOT EXISTS (SELECT 1 FROM session AS d WHERE d.tenant = s.tenant AND d.root = s.id AND d.root <> d.id AND (d.updated_at >= $3
		OR EXISTS (SELECT 1 FROM turn AS t WHERE t.tenant = d.tenant AND t.session = d.id AND t.state = 'running')))
	ORDER BY updated_at LIMIT $4`

const descendants = `SELECT id, '' FROM session WHERE tenant = $1 AND root = $2 AND root <> id`

func (w *writer) prune(ctx context.Context, c *mooring.Prune) error {
	c.Removed, c.Gone, c.Err = 0, nil, nil
	if w.dialect.Sweep != "" {
		var mine bool
		if _, err := w.first(ctx, []any{&mine}, w.dialect.Sweep); err != nil || !mine {
			return err
		}
	}
	all, err := w.pairs(ctx, tenants)
	if err != nil {
		return err
	}
	left := c.Limit
	for _, tenant := range all {
		for _, sideOnly := range []bool{false, true} {
			if left <= 0 {
				return nil
			}
			roots, err := w.pairs(ctx, idleRoots, []byte(tenant[0]), sideOnly, micros(c.Before), left)
			if err != nil {
				return err
			}
			left -= len(roots)
			if err := w.pruneTrees(ctx, []byte(tenant[0]), roots, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writer) pruneTrees(ctx context.Context, tenant []byte, roots [][2]string, c *mooring.Prune) error {
	for _, root := range roots {
		tree, err := w.pairs(ctx, descendants, tenant, root[0])
		if err != nil {
			return err
		}
		for _, member := range append(tree, root) {
			id := mooring.SessionID(member[0])
			n, err := w.dropSession(ctx, tenant, id)
			if err != nil {
				return err
			}
			c.Removed, c.Gone = c.Removed+n, append(c.Gone, mooring.Session{Tenant: mooring.Tenant(tenant), ID: id})
			if n > 0 {
				w.note(mooring.Event{Tenant: mooring.Tenant(tenant), Kind: mooring.SessionDeleted, Session: id})
			}
			if err := w.removeRows(ctx, tenant, id); err != nil {
				return err
			}
		}
	}
	return nil
}
