package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
)

// Original is a store file that is copied, whether or not a process serves it. It is only read.
type Original struct {
	db   *sql.DB
	held io.Closer // the lock, where nobody serves the file; nil where somebody does
}

// OpenOriginal opens a file to copy it. Where nobody serves it, nobody can until it is closed.
func OpenOriginal(path string) (*Original, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	held, err := lock(path)
	if err != nil && !errors.Is(err, ErrInUse) {
		return nil, err
	}
	db, err := sql.Open("sqlite", name(path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "cache_size(-4096)"}}))
	if err != nil {
		return nil, errors.Join(err, unlock(held))
	}
	db.SetMaxOpenConns(1)
	return &Original{db: db, held: held}, nil
}

// Served says that a process has the file.
func (o *Original) Served() bool { return o.held == nil }

// Applied gives the number of the journal's last frame that is in the file.
func (o *Original) Applied(ctx context.Context) (seq uint64, err error) {
	err = o.db.QueryRowContext(ctx, "SELECT seq FROM applied").Scan(&seq)
	return seq, err
}

// CopyTo writes what the file holds at one moment into a new file, readable by its owner alone. The process that serves the file goes
// on meanwhile; its write-ahead log grows until the copy is done.
func (o *Original) CopyTo(ctx context.Context, path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the path is the operator's own
	if err != nil {
		return err
	}
	_, err = o.db.ExecContext(ctx, "VACUUM INTO $1", path) // into an empty file, which keeps its rights
	return errors.Join(err, f.Sync(), f.Close())
}

// Close gives the file free.
func (o *Original) Close() error {
	if err := errors.Join(o.db.Close(), unlock(o.held)); err != nil {
		return fmt.Errorf("close the store that was copied: %w", err)
	}
	return nil
}
