package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" //nolint:depguard // it looks at the file from outside

	"mooring/test/harness"
)

var (
	errAnswer = errors.New("not the answer that was wanted")
	errIndex  = errors.New("the index of words is not done")
	errStore  = errors.New("no such store: sqlite, postgres")
)

func stand(ctx context.Context, stage *harness.Stage, o options, store string) (ground, error) { //nolint:ireturn // one of two
	switch store {
	case "sqlite":
		dir, err := stage.Folder("store")
		return &files{path: filepath.Join(dir, "mooring.db")}, err
	case "postgres":
		p, err := database(ctx, stage, o)
		if err != nil {
			return nil, err
		}
		dsn, err := p.NewDatabase(ctx)
		return &databases{p: p, dsn: dsn}, err
	}
	return nil, fmt.Errorf("%w: %s", errStore, store)
}

func database(ctx context.Context, stage *harness.Stage, o options) (*harness.Postgres, error) {
	if o.postgres != "" {
		return harness.UsePostgres(o.postgres)
	}
	return stage.StartPostgres(ctx, harness.Flushed)
}

// patience is how long the index may take behind the turns.
const patience = 5 * time.Minute

const waiting = `SELECT count(*) FROM search_pending`

// until asks for a number until it is 0.
func until(ctx context.Context, ask func() (int64, error)) error {
	for deadline := harness.Now().Add(patience); harness.Now().Before(deadline); harness.Sleep(ctx.Done(), 100*time.Millisecond) {
		n, err := ask()
		if err != nil || n == 0 {
			return err
		}
	}
	return errIndex
}

// files is an SQLite store.
type files struct {
	path string
	pid  int
}

func (f *files) settings() string { return "store: sqlite:" + f.path + "\n" }

func (f *files) settle(ctx context.Context) error {
	db, err := sql.Open("sqlite", "file:"+f.path+"?mode=ro")
	if err != nil {
		return fmt.Errorf("look at the store: %w", err)
	}
	defer func() { _ = db.Close() }()
	err = until(ctx, func() (n int64, err error) { return n, db.QueryRowContext(ctx, waiting).Scan(&n) })
	harness.Sleep(ctx.Done(), 2*time.Second) // the log is emptied in an idle moment
	return err
}

func (f *files) count(_ context.Context, b *bill) error {
	for _, end := range []string{"", "-wal"} {
		info, err := os.Stat(f.path + end)
		if err != nil {
			return fmt.Errorf("look at the store: %w", err)
		}
		if end == "" || b.kept == 0 {
			b.kept = info.Size()
		}
	}
	io, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", f.pid))
	if err != nil {
		return fmt.Errorf("look at the process: %w", err)
	}
	_, rest, _ := strings.Cut(string(io), "\nwrite_bytes: ")
	if _, err := fmt.Sscan(rest, &b.written); err != nil {
		return fmt.Errorf("look at the process: %w", err)
	}
	return nil
}

// databases is a PostgreSQL store.
type databases struct {
	p   *harness.Postgres
	dsn string
}

func (d *databases) settings() string { return "store: " + d.dsn + "\n" }

func (d *databases) settle(ctx context.Context) error {
	err := until(ctx, func() (n int64, err error) {
		return n, d.p.Each(ctx, d.dsn, waiting, func(rows *sql.Rows) error { return rows.Scan(&n) })
	})
	harness.Sleep(ctx.Done(), 3*time.Second) // its counts come a second late
	return err
}

const (
	logged  = `SELECT wal_bytes::bigint, wal_fpi FROM pg_stat_wal`
	touched = `SELECT tup_inserted, tup_updated, tup_deleted FROM pg_stat_database WHERE datname = current_database()`
	whole   = `SELECT pg_database_size(current_database())`
	stored  = `SELECT c.relname, c.reltuples::bigint, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public' AND c.relkind = 'r' AND c.relname NOT LIKE 'goose%'
		ORDER BY pg_total_relation_size(c.oid) DESC`
)

// page is the size of PostgreSQL's pages.
const page = 8192

func (d *databases) count(ctx context.Context, b *bill) error {
	return errors.Join(
		d.p.Each(ctx, d.dsn, logged, func(rows *sql.Rows) error {
			err := rows.Scan(&b.written, &b.pages)
			b.pages *= page
			return err
		}),
		d.p.Each(ctx, d.dsn, touched, func(rows *sql.Rows) error { return rows.Scan(&b.inserted, &b.updated, &b.deleted) }),
		d.p.Each(ctx, d.dsn, `VACUUM (ANALYZE)`, nil), // new words wait outside their index for it
		d.p.Each(ctx, d.dsn, whole, func(rows *sql.Rows) error { return rows.Scan(&b.kept) }),
		d.p.Each(ctx, d.dsn, stored, func(rows *sql.Rows) error {
			var t table
			err := rows.Scan(&t.name, &t.rows, &t.bytes, &t.pieces)
			b.tables = append(b.tables, t)
			return err
		}),
	)
}
