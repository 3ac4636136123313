package sqlstore

import (
	"context"

	"mooring"
)

const takeAlias = `INSERT INTO alias (tenant, class, value, session) VALUES ($1, $2, $3, $4)
	ON CONFLICT (tenant, class, value) DO UPDATE SET session = excluded.session`

// The holder is read with its row locked: another replica that begins the same chat anew waits, and finds what this one made of it.
const heldAlias = `INSERT INTO alias (tenant, class, value, session) VALUES ($1, $2, $3, $4)
	ON CONFLICT (tenant, class, value) DO UPDATE SET session = alias.session RETURNING session`

const renameSession = `UPDATE session SET client_key = $4 WHERE tenant = $1 AND id = $2 AND client_key = $3`

// reset gives the aliases of a chat to a new session, and the session that had them a key of its own, so that each key means
// one session.
func (w *writer) reset(ctx context.Context, c *mooring.Begin) error {
	tenant := raw(c.Session.Tenant)
	var former mooring.SessionID
	for _, a := range c.Aliases {
		if former == "" || former == c.Session.ID {
			if _, err := w.first(ctx, []any{&former}, heldAlias, tenant, text(a.Class), bytes(a.Value), c.Session.ID); err != nil {
				return err
			}
		}
		if err := w.later(ctx, takeAlias, tenant, text(a.Class), bytes(a.Value), c.Session.ID); err != nil {
			return err
		}
	}
	if former == "" || former == c.Session.ID {
		return nil
	}
	if err := w.clear(ctx, c, former); err != nil {
		return err
	}
	renamed, err := w.exec(ctx, renameSession, tenant, former, bytes(c.Session.Key), bytes(c.Reset.Key))
	if err != nil || renamed == 0 {
		return err
	}
	w.note(mooring.Event{Tenant: c.Session.Tenant, Kind: mooring.SessionUpdated, Session: former})
	_, err = w.addAlias(ctx, mooring.Session{Tenant: c.Session.Tenant, ID: former}, c.Reset.Alias)
	return err
}

// clear fences what other replicas run in the session that a chat leaves. Its row is locked for that: of a turn that just begins there
// either this one knows, or that one finds the chat gone.
func (w *writer) clear(ctx context.Context, c *mooring.Begin, former mooring.SessionID) (err error) {
	if w.dialect.Alone {
		return nil
	}
	if err = w.later(ctx, w.dialect.Lock, [][]byte{raw(c.Session.Tenant)}, []string{string(former)}); err != nil {
		return err
	}
	c.Fenced, err = w.turns(ctx, fenceSession, raw(c.Session.Tenant), former, text(c.Turn.Replica), text(mooring.FencedByReset))
	return err
}

// acknowledge lets a session be found by the answer that opened it.
func (w *writer) acknowledge(ctx context.Context, c *mooring.Begin) error {
	if !c.New || c.Ack == nil {
		return nil
	}
	return w.later(ctx, insertChain, raw(c.Session.Tenant), c.Ack, int64(mooring.BySelf), mooring.MessageID(""), c.Session.ID, []byte(nil))
}

const unacknowledge = `DELETE FROM chain WHERE tenant = $1 AND kind = 1 AND message = '' AND session = $2
	AND digest = (SELECT ack FROM session WHERE tenant = $1 AND id = $2)`
