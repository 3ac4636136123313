package sqlstore

import (
	"context"

	"mooring"
)

const expireLogins = `DELETE FROM edge_login WHERE ends_at <= $1`

const expireSpent = `DELETE FROM edge_spent WHERE until_at <= $1`

const spend = `INSERT INTO edge_spent (mark, until_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`

const countLogout = `UPDATE edge_book SET logouts = logouts + 1`

const dropLogin = `DELETE FROM edge_login WHERE token = $1`

const dropLoginsOf = `DELETE FROM edge_login WHERE subject = $1`

const dropLoginsIn = `DELETE FROM edge_login WHERE session = $1`

const leaseLogin = `UPDATE edge_login SET renewing = $2 WHERE token = $1 AND renewing <= $3`

const seenLogin = `UPDATE edge_login SET seen_at = $2 WHERE token = $1 AND seen_at < $2`

const renewLogin = `UPDATE edge_login SET proven = $2, sealed = $3, renewing = 0 WHERE token = $1`

const addLogin = `INSERT INTO edge_login (token, tenant_key, subject, session, created_at, seen_at, proven, renewing, ends_at, sealed)
	VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8, $9) ON CONFLICT (token) DO NOTHING`

func (w *writer) logins(ctx context.Context, c *mooring.LoginChange) error {
	c.Err, c.Dropped = nil, 0
	if !c.Sweep.IsZero() {
		for _, query := range []string{expireLogins, expireSpent} {
			if _, err := w.exec(ctx, query, micros(c.Sweep)); err != nil {
				return err
			}
		}
	}
	if c.Spend != nil {
		n, err := w.exec(ctx, spend, c.Spend.Mark, micros(c.Spend.Until))
		if err != nil {
			return err
		}
		if n == 0 {
			c.Err = mooring.Errorf(mooring.CodeSpent, "This has been used already.")
			return nil
		}
	}
	if err := w.dropLogins(ctx, c); err != nil {
		return err
	}
	return w.keepLogins(ctx, c)
}

func (w *writer) dropLogins(ctx context.Context, c *mooring.LoginChange) error {
	for _, drop := range []struct {
		query string
		of    []byte
	}{{dropLogin, c.DropToken}, {dropLoginsOf, c.DropSubject}, {dropLoginsIn, c.DropSession}} {
		if len(drop.of) == 0 {
			continue
		}
		n, err := w.exec(ctx, drop.query, drop.of)
		if err != nil {
			return err
		}
		c.Dropped += n
	}
	if c.Dropped == 0 {
		return nil
	}
	_, err := w.exec(ctx, countLogout)
	return err
}

func (w *writer) keepLogins(ctx context.Context, c *mooring.LoginChange) error {
	if l := c.Lease; l != nil {
		n, err := w.exec(ctx, leaseLogin, l.Token, micros(l.Renewing), micros(l.SeenAt))
		if err != nil {
			return err
		}
		if n == 0 {
			c.Err = mooring.Errorf(mooring.CodeLoginBusy, "Somebody else is renewing the login.")
			return nil
		}
	}
	if l := c.Seen; l != nil {
		if _, err := w.exec(ctx, seenLogin, l.Token, micros(l.SeenAt)); err != nil {
			return err
		}
	}
	if c.Renew != nil {
		if done, err := w.renewLogin(ctx, c); err != nil || !done {
			return err
		}
	}
	l := c.Add
	if l == nil {
		return nil
	}
	_, err := w.exec(ctx, addLogin, l.Token, text(l.Key), l.Subject, l.Session, micros(l.CreatedAt), micros(l.SeenAt), micros(l.Proven), micros(l.Ends), l.Sealed)
	return err
}

// renewLogin gives false where the login is gone: nothing is revived.
func (w *writer) renewLogin(ctx context.Context, c *mooring.LoginChange) (bool, error) {
	l := c.Renew
	n, err := w.exec(ctx, renewLogin, l.Token, micros(l.Proven), l.Sealed)
	if err == nil && n == 0 {
		c.Err = mooring.Errorf(mooring.CodeLoginBusy, "The login is gone.")
	}
	return n > 0, err
}

const loginByToken = `SELECT tenant_key, subject, session, created_at, seen_at, proven, renewing, ends_at, sealed FROM edge_login WHERE token = $1` //nolint:gosec // a statement, no credential

// Login finds a login of the edge by the digest of its token, whether it has ended or not.
func (s *Store) Login(ctx context.Context, token []byte) (mooring.Login, bool, error) {
	l := mooring.Login{Token: token}
	found, err := s.first(ctx, func(row scanner) error {
		return row.Scan(&l.Key, &l.Subject, &l.Session, moment{&l.CreatedAt}, moment{&l.SeenAt}, moment{&l.Proven}, moment{&l.Renewing}, moment{&l.Ends}, &l.Sealed)
	}, loginByToken, token)
	if err != nil || !found {
		return mooring.Login{}, false, s.dialect.failed(err, "look a login up")
	}
	return l, true, nil
}
