package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mooring/internal/config"
	"mooring/internal/record"
	"mooring/internal/store/sqlite"
)

const (
	// movedWithin is how long a backup waits for a server to move what its journal holds into the store: it does so within 50 ms, and
	// lags only where the store cannot follow.
	movedWithin = time.Minute
	movedLook   = 20 * time.Millisecond
)

// Backup is what a backup has written.
type Backup struct {
	Files []string // the store first
	Bytes int64    // of the store
}

// BackUp copies an SQLite store into a new file, beside which the secret is kept as beside the store. All that was safe before the call
// is in it. A server that has the store goes on; where none has it, the files of a journal that a killed one left are copied too.
func BackUp(ctx context.Context, cfg config.Config, to string) (done Backup, err error) {
	if cfg.Store.Postgres() {
		return done, &config.Error{Key: "store", Msg: "a PostgreSQL database is backed up with its own tools, pg_dump for example"}
	}
	b := backup{from: cfg.Store.File(), to: to}
	defer func() {
		if err != nil {
			b.drop()
		}
	}()
	if err = b.copyStore(ctx); err != nil {
		return done, &config.Error{Key: "store", Msg: fmt.Sprintf("cannot back up %s: %v", cfg.Store, err)}
	}
	if cfg.Secret == "" {
		if err = b.copy(secretBeside(b.from), secretBeside(to)); err != nil {
			return done, &config.Error{Key: "secret", Msg: fmt.Sprintf("cannot back up what is kept beside the store: %v", err)}
		}
	}
	info, err := os.Stat(to)
	if err != nil {
		return done, err
	}
	return Backup{Files: b.made, Bytes: info.Size()}, nil
}

// backup is one under way.
type backup struct {
	from, to string
	made     []string
}

func (b *backup) copyStore(ctx context.Context) (err error) {
	journal := journalBeside(b.from)
	last, err := record.LastJournaled(journal) // before the store is read: what leaves the journal meanwhile is there
	if err != nil {
		return err
	}
	original, err := sqlite.OpenOriginal(b.from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, original.Close()) }()
	if original.Served() {
		if err = moved(ctx, original, last); err != nil {
			return err
		}
	} else if err = b.copyJournal(journal); err != nil {
		return err
	}
	if _, err = os.Lstat(b.to); err == nil {
		return fmt.Errorf("%s is there already", b.to)
	}
	part := b.to + ".part"
	b.made = append([]string{part}, b.made...)
	if err = original.CopyTo(ctx, part); err != nil {
		return err
	}
	if err = os.Rename(part, b.to); err != nil { // it appears whole or not at all
		return err
	}
	b.made[0] = b.to
	return syncFolder(b.to)
}

// moved waits until a server has moved into the store what its journal held.
func moved(ctx context.Context, original *sqlite.Original, last uint64) error {
	ctx, cancel := context.WithTimeout(ctx, movedWithin)
	defer cancel()
	look := time.NewTicker(movedLook)
	defer look.Stop()
	for {
		applied, err := original.Applied(ctx)
		if err != nil || applied >= last {
			return err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("the server is %d changes behind its journal; try again when it has less to do", last-applied)
		}
	}
}

// copyJournal copies what a killed server left.
func (b *backup) copyJournal(journal string) error {
	to := record.JournalFiles(b.to)
	for i, name := range record.JournalFiles(journal) {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
			continue
		}
		if err == nil {
			err = b.copy(name, to[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copy makes a copy that its owner alone can read.
func (b *backup) copy(from, to string) error {
	in, err := os.Open(from) //nolint:gosec // the store's own path
	if err != nil {
		return err
	}
	defer in.Close()                                                      //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator's own path
	if err != nil {
		return err
	}
	b.made = append(b.made, to)
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// drop leaves nothing of a backup that failed.
func (b *backup) drop() {
	for _, name := range b.made {
		_ = os.Remove(name)
	}
}

func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
