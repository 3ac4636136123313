package sqlstore

import (
	"context"

	"mooring"
)

const expireSignIns = `DELETE FROM sign_in WHERE expires_at <= $1`

const dropSignIn = `DELETE FROM sign_in WHERE token = $1`

const seenSignIn = `UPDATE sign_in SET seen_at = $2, expires_at = $3 WHERE token = $1 AND seen_at < $2`

const addSignIn = `INSERT INTO sign_in (token, key_name, mark, created_at, seen_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
	ON CONFLICT (token) DO NOTHING`

const keepSignIns = `DELETE FROM sign_in WHERE key_name = $1 AND token NOT IN
	(SELECT token FROM sign_in WHERE key_name = $1 ORDER BY seen_at DESC, token LIMIT $2)`

func (w *writer) signIns(ctx context.Context, c *mooring.SignInChange) error {
	c.Err = nil
	if !c.Expired.IsZero() {
		if _, err := w.exec(ctx, expireSignIns, micros(c.Expired)); err != nil {
			return err
		}
	}
	if len(c.Drop) > 0 {
		if _, err := w.exec(ctx, dropSignIn, c.Drop); err != nil {
			return err
		}
	}
	if s := c.Seen; s != nil {
		if _, err := w.exec(ctx, seenSignIn, s.Token, micros(s.SeenAt), micros(s.ExpiresAt)); err != nil {
			return err
		}
	}
	if c.Add == nil {
		return nil
	}
	return w.addSignIn(ctx, c.Add, c.Keep)
}

func (w *writer) addSignIn(ctx context.Context, s *mooring.SignIn, keep int) error {
	_, err := w.exec(ctx, addSignIn, s.Token, text(s.Key), s.Mark, micros(s.CreatedAt), micros(s.SeenAt), micros(s.ExpiresAt))
	if err != nil || keep <= 0 {
		return err
	}
	_, err = w.exec(ctx, keepSignIns, text(s.Key), int64(keep))
	return err
}

const signInByToken = `SELECT key_name, mark, created_at, seen_at, expires_at FROM sign_in WHERE token = $1` //nolint:gosec // a statement, no credential

// SignIn finds a sign-in by the digest of its token, whether it has expired or not.
func (s *Store) SignIn(ctx context.Context, token []byte) (mooring.SignIn, bool, error) {
	in := mooring.SignIn{Token: token}
	found, err := s.first(ctx, func(row scanner) error {
		return row.Scan(&in.Key, &in.Mark, moment{&in.CreatedAt}, moment{&in.SeenAt}, moment{&in.ExpiresAt})
	}, signInByToken, token)
	if err != nil || !found {
		return mooring.SignIn{}, false, s.dialect.failed(err, "look a sign-in up")
	}
	return in, true, nil
}
