// Package sqlstore is the turn log in a SQL database: sessions, turns, messages, chain entries, aliases and pins.
//
// The package owns the statements and the meaning of each unit of change; what SQLite and PostgreSQL do differently stands in
// a Dialect, which the drivers fill in. It never decides who may see what, and it starts no goroutine: writes come from
// whoever calls Apply, one at a time, on one held connection, reads go through a pool.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"

	"mooring"
)

// Options are what a driver hands to New.
type Options struct {
	Write   *sql.DB // the writer holds one connection of it
	Read    *sql.DB // may be the same as Write
	Dialect Dialect
	BlobKey []byte    // keys the digests under which large contents stand; the same for as long as the store lives
	Lock    io.Closer // keeps other processes out until the store is closed; nil where they may come
}

// Store is the turn log. Its methods may be called from any goroutine.
type Store struct {
	dialect Dialect
	read    *sql.DB
	write   *sql.DB
	turn    chan struct{} // holds one token: the right to use the writer
	closed  chan struct{} // closed by the first Close
	writer  *writer
	lock    io.Closer // nil for none

	mu    sync.Mutex // guards reads
	reads map[string]*sql.Stmt
}

// New makes a store of opened databases whose schema is up to date. Close closes them.
func New(o Options) *Store {
	s := &Store{
		dialect: o.Dialect,
		read:    o.Read,
		write:   o.Write,
		turn:    make(chan struct{}, 1),
		closed:  make(chan struct{}),
		writer:  &writer{db: o.Write, dialect: o.Dialect, blobKey: o.BlobKey},
		reads:   map[string]*sql.Stmt{},
		lock:    o.Lock,
	}
	s.turn <- struct{}{}
	return s
}

// Ping says whether the store can be written, which a demoted or full database cannot.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	if err := s.writer.probe(s.dialect.writing(ctx)); err != nil {
		return s.writeFailed(err, "reach the session store")
	}
	return nil
}

// Idle does the upkeep that would slow commits down: call it when nothing waits.
func (s *Store) Idle(ctx context.Context) error {
	if s.dialect.Checkpoint == nil {
		return nil
	}
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	if err := s.writer.checkpoint(s.dialect.writing(ctx)); err != nil {
		return s.dialect.failed(err, "checkpoint the session store")
	}
	return nil
}

// Local says that the database is a file of this process, which no network can take away.
func (s *Store) Local() bool { return s.dialect.Alone }

// Close does the last upkeep and closes the databases. Calls after it fail; another Close does nothing.
func (s *Store) Close() error {
	select {
	case <-s.closed:
		return nil
	case <-s.turn: // kept: nobody writes any more
	}
	close(s.closed)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stmt := range s.reads {
		_ = stmt.Close() // the pool below is closed anyway
	}
	s.reads = nil
	err := s.writer.close()
	if s.read != s.write {
		err = errors.Join(err, s.read.Close())
	}
	err = errors.Join(err, s.write.Close())
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

func (s *Store) acquire(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	case <-s.closed:
		return s.dialect.failed(sql.ErrConnDone, "use the session store")
	case <-ctx.Done():
		return s.dialect.failed(ctx.Err(), "wait for the session store")
	}
}

func (s *Store) release() { s.turn <- struct{}{} }

// writeFailed drops the writer's connection, and the pool's idle ones where the database is gone: those of a demoted node
// would go on answering.
func (s *Store) writeFailed(err error, tried string) error {
	s.writer.drop()
	failure := s.dialect.failed(err, tried)
	if mooring.CodeOf(failure) == mooring.CodeStoreUnavailable {
		s.dropIdle()
	}
	return failure
}

// dropIdle closes the connections that nobody uses.
func (s *Store) dropIdle() {
	if s.dialect.Conns == 0 {
		return
	}
	for _, pool := range []*sql.DB{s.read, s.write} {
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(s.dialect.Conns)
	}
}

// prepared gives the read statement of a text, prepared once. Texts are few: they are constants, and lists in them are padded.
func (s *Store) prepared(ctx context.Context, query string) (*sql.Stmt, error) {
	s.mu.Lock()
	stmt, closed := s.reads[query], s.reads == nil
	s.mu.Unlock()
	if closed {
		return nil, sql.ErrConnDone
	}
	if stmt != nil {
		return stmt, nil
	}
	stmt, err := s.read.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.reads[query]; first != nil || s.reads == nil {
		_ = stmt.Close() //nolint:sqlclosecheck // another caller was faster, or Close was; the other one is kept
		return first, nil
	}
	s.reads[query] = stmt
	return stmt, nil
}

// scanner is what *sql.Row and *sql.Rows have in common.
type scanner interface{ Scan(dest ...any) error }

// each runs a read and hands every row to scan.
func (s *Store) each(ctx context.Context, scan func(scanner) error, query string, args ...any) error {
	stmt, err := s.prepared(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return err
	}
	if stmt == nil {
		return sql.ErrConnDone
	}
	rows, err := stmt.QueryContext(ctx, known(args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// first runs a read and scans its first row; false where there is none.
func (s *Store) first(ctx context.Context, scan func(scanner) error, query string, args ...any) (bool, error) {
	found := false
	err := s.each(ctx, func(row scanner) error {
		if found {
			return nil
		}
		found = true
		return scan(row)
	}, query, args...)
	return found, err
}
