// Package sqlite opens the turn log in a SQLite file: pure Go, write-ahead log, one writing connection and a few that only
// read. It owns the file's rights (0600, with its log and index) and the checkpoints; the statements are sqlstore's. It starts
// no goroutine.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"

	_ "modernc.org/sqlite" // the database/sql driver

	"mooring/internal/store/migrate"
	sqlstore "mooring/internal/store/sql"
)

// readers is how many reads run at once; each holds a page cache of its own.
const readers = 2

// walMax is the size of the log above which a checkpoint cannot wait for an idle moment.
const walMax = 64 << 20

// Durability says what a commit survives.
type Durability string

// Normal survives the death of the process, Full also the loss of power. The zero value is Normal.
const (
	Normal Durability = "normal"
	Full   Durability = "full"
)

// Options say which file and how.
type Options struct {
	Path       string
	Durability Durability
	BlobKey    []byte // see sqlstore.Options
	Look       bool   // for reading and Ping alone: where another process serves the file it is opened all the same, as it is
}

// Open opens the file, makes it where there is none, and brings its schema up to date. Until the store is closed no other
// process can open it but to look: that is ErrInUse.
func Open(ctx context.Context, o Options) (*sqlstore.Store, error) {
	if err := protect(o.Path); err != nil {
		return nil, sqlstore.Unavailable(fmt.Errorf("open store file: %w", err))
	}
	d := dialect(o.Path)
	held, err := lock(o.Path)
	switch {
	case errors.Is(err, ErrInUse) && o.Look:
		d.Checkpoint, d.Full = nil, nil // the log is the other one's
	case err != nil:
		return nil, sqlstore.Unavailable(fmt.Errorf("%s: %w", o.Path, err))
	}
	store, err := connect(ctx, o, sqlstore.Options{Dialect: d, BlobKey: o.BlobKey, Lock: held})
	if err != nil {
		return nil, errors.Join(sqlstore.Unavailable(fmt.Errorf("open %s: %w", o.Path, err)), unlock(held))
	}
	return store, nil
}

// connect opens the pools, and brings the schema up to date where the file is locked.
func connect(ctx context.Context, o Options, s sqlstore.Options) (*sqlstore.Store, error) {
	var err error
	if s.Write, err = sql.Open("sqlite", dsn(o)); err != nil {
		return nil, err
	}
	s.Write.SetMaxOpenConns(1)
	if s.Lock != nil {
		if err = migrate.SQLite(ctx, s.Write); err != nil {
			return nil, errors.Join(err, s.Write.Close())
		}
		emptyLog(ctx, s.Write)
	}
	if s.Read, err = sql.Open("sqlite", readDSN(o)); err != nil {
		return nil, errors.Join(err, s.Write.Close())
	}
	s.Read.SetMaxOpenConns(readers)
	s.Read.SetMaxIdleConns(readers)
	return sqlstore.New(s), nil
}

// emptyLog takes out of the log what a process that was killed had deleted. Where it cannot, as beside a backup, the log is
// emptied after the next deletion, or at the end.
func emptyLog(ctx context.Context, db *sql.DB) {
	_, _ = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
}

// protect makes the file before SQLite does, so that no other user can read it for a moment; SQLite gives its log and index
// the same rights.
func protect(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the path is the operator's own configuration
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// dsn is the writer's: it checkpoints itself, waits for other processes such as a backup, and overwrites what is deleted.
func dsn(o Options) string {
	synchronous := "NORMAL"
	if o.Durability == Full {
		synchronous = "FULL"
	}
	return name(o.Path, url.Values{"_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(" + synchronous + ")", "wal_autocheckpoint(0)",
		"cache_size(-4096)", "secure_delete(ON)", "temp_store(MEMORY)",
	}})
}

func readDSN(o Options) string {
	return name(o.Path, url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)", "query_only(ON)", "cache_size(-1024)"}})
}

func name(path string, params url.Values) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + params.Encode()
}
