package sqlstore

import (
	"context"

	"mooring"
)

const patchSession = `UPDATE session SET title = COALESCE($3, title), pinned = COALESCE($4, pinned),
	archived = COALESCE($5, archived), tip = CASE WHEN $6 = '' THEN tip ELSE $6 END
	WHERE tenant = $1 AND id = $2`

const messageExists = `SELECT 1 FROM message WHERE tenant = $1 AND id = $2 AND session = $3`

func (w *writer) patch(ctx context.Context, c *mooring.Patch) error {
	c.Err = nil
	if c.Tip != "" {
		found, err := w.hasMessage(ctx, c.Tenant, c.Session, c.Tip)
		if err != nil {
			return err
		}
		if !found {
			return w.noTip(ctx, c)
		}
	}
	var title any
	if c.Title != nil {
		title = text(*c.Title)
	}
	n, err := w.exec(ctx, patchSession, raw(c.Tenant), c.Session, title, flag(c.Pinned), flag(c.Archived), c.Tip)
	switch {
	case err != nil:
		return err
	case n == 0:
		c.Err = sessionNotFound()
	default:
		w.note(mooring.Event{Tenant: c.Tenant, Kind: mooring.SessionUpdated, Session: c.Session})
	}
	return nil
}

// noTip says whether it is the message that is not there, or the session.
func (w *writer) noTip(ctx context.Context, c *mooring.Patch) error {
	var one int
	found, err := w.first(ctx, []any{&one}, sessionExists, raw(c.Tenant), c.Session)
	c.Err = sessionNotFound()
	if found {
		c.Err = messageNotFound()
	}
	return err
}

func (w *writer) hasMessage(ctx context.Context, t mooring.Tenant, s mooring.SessionID, id mooring.MessageID) (bool, error) {
	var one int
	return w.first(ctx, []any{&one}, messageExists, raw(t), id, s)
}

func messageNotFound() error {
	return mooring.Errorf(mooring.CodeNotFound, "This session has no such message.")
}

// flag binds a flag, NULL where it is to stay as it is.
func flag(v *bool) any {
	if v == nil {
		return nil
	}
	return *v
}
