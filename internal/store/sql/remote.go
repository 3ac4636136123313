package sqlstore

import (
	"context"

	"mooring"
)

const currentRemote = `SELECT remote_id FROM remote WHERE tenant = $1 AND session = $2 AND server = $3 AND current AND session <> ''`

// takeRemote gives the id under which an upstream knows the session: the one it has, the wanted one, or the minted one where
// another session has, or had, the wanted one. It stays empty where none of them could be had.
func (w *writer) takeRemote(ctx context.Context, c *mooring.Begin) error {
	if c.Remote == nil {
		return nil
	}
	want := *c.Remote
	want.Tenant, want.Session = c.Session.Tenant, c.Session.ID
	var held []byte
	found, err := w.first(ctx, []any{&held}, currentRemote, raw(want.Tenant), want.Session, text(want.Server))
	if err != nil {
		return err
	}
	if found {
		c.RemoteID = string(held)
		return nil
	}
	for _, id := range []string{want.ID, c.Mint} {
		if id == "" {
			continue
		}
		want.ID = id
		ours, err := w.holdRemote(ctx, want)
		if err != nil {
			return err
		}
		if ours {
			c.RemoteID = id
			return nil
		}
	}
	return nil
}

const holdRemote = `INSERT INTO remote (server, remote_id, tenant, session, current) VALUES ($1, $2, $3, $4, TRUE)
	ON CONFLICT (server, remote_id) DO UPDATE SET current = TRUE
	WHERE remote.tenant = excluded.tenant AND remote.session = excluded.session`

const retireRemotes = `UPDATE remote SET current = FALSE
	WHERE tenant = $1 AND session = $2 AND server = $3 AND remote_id <> $4 AND current AND session <> ''`

// holdRemote makes an id the session's current one and keeps its older ones taken. False: another session has the id, which
// changes nothing.
func (w *writer) holdRemote(ctx context.Context, r mooring.RemoteSession) (bool, error) {
	n, err := w.exec(ctx, holdRemote, text(r.Server), bytes(r.ID), raw(r.Tenant), r.Session)
	if err != nil || n == 0 {
		return false, err
	}
	return true, w.later(ctx, retireRemotes, raw(r.Tenant), r.Session, text(r.Server), bytes(r.ID))
}

const forgetRemotes = `UPDATE remote SET session = '', current = FALSE WHERE tenant = $1 AND session = $2 AND session <> ''`
