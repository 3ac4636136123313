package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mooring/internal/store/postgres" //nolint:depguard // it is filled by its own writer
	"mooring/internal/store/sqlite"   //nolint:depguard // as above
	"mooring/test/harness"
)

// side is one of the two stores that are compared, with the server on it.
type side struct {
	sessions int
	dsn      string
	replica  *harness.Replica
	bytes    int64
	filled   time.Duration
	started  time.Duration
}

// ground is what a store stands on.
type ground interface {
	open(ctx context.Context, dsn string) (store, error)
	dsn(ctx context.Context, l *load, sessions int) (dsn string, filled bool, err error)
	filled(ctx context.Context, dsn string) error // for the next run that keeps it
	size(ctx context.Context, dsn string) (int64, error)
	bulk(dsn string) bulk
}

func onSQLite(ctx context.Context, l *load) ([]string, error) {
	return l.compare(ctx, "SQLite", files{})
}

func onPostgres(ctx context.Context, l *load) ([]string, error) {
	if l.postgres == "" && !harness.HasPostgres() {
		return nil, harness.ErrNoPostgres
	}
	p, err := l.database(ctx)
	if err != nil {
		return nil, err
	}
	return l.compare(ctx, "PostgreSQL", databases{p})
}

func (l *load) database(ctx context.Context) (*harness.Postgres, error) {
	if l.postgres != "" {
		return harness.UsePostgres(l.postgres)
	}
	return l.stage.StartPostgres(ctx, harness.Quick)
}

// files are SQLite's.
type files struct{}

func (files) open(ctx context.Context, dsn string) (store, error) { //nolint:ireturn // either database's
	return sqlite.Open(ctx, sqlite.Options{Path: dsn[len("sqlite:"):], BlobKey: []byte(harness.Secret)})
}

func (files) dsn(_ context.Context, l *load, sessions int) (dsn string, filled bool, err error) {
	dir := l.dir
	if dir == "" {
		if dir, err = l.stage.Folder("filled"); err != nil {
			return "", false, err
		}
	}
	path := filepath.Join(dir, fmt.Sprintf("sessions-%d.db", sessions))
	if _, err = os.Stat(path + filledMark); err == nil {
		return "sqlite:" + path, true, nil
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + end) // of a run that did not come to its end
	}
	return "sqlite:" + path, false, nil
}

// filledMark is the end of the name of a file that says that the store beside it is whole.
const filledMark = ".filled"

func (files) filled(_ context.Context, dsn string) error {
	return os.WriteFile(dsn[len("sqlite:"):]+filledMark, nil, 0o600)
}

func (files) size(_ context.Context, dsn string) (int64, error) {
	info, err := os.Stat(dsn[len("sqlite:"):])
	if err != nil {
		return 0, fmt.Errorf("look at the store: %w", err)
	}
	return info.Size(), nil
}

// databases are PostgreSQL's.
type databases struct{ server *harness.Postgres }

func (databases) open(ctx context.Context, dsn string) (store, error) { //nolint:ireturn // either database's
	return postgres.Open(ctx, postgres.Options{DSN: dsn, BlobKey: []byte(harness.Secret)})
}

func (d databases) dsn(ctx context.Context, l *load, sessions int) (dsn string, filled bool, err error) {
	if l.dir != "" {
		return d.server.KeptDatabase(ctx, fmt.Sprintf("load_%d", sessions))
	}
	dsn, err = d.server.NewDatabase(ctx)
	l.stage.Defer(func() {
		if l.postgres != "" {
			_ = d.server.DropDatabase(context.WithoutCancel(ctx), dsn)
		}
	})
	return dsn, false, err
}

func (d databases) filled(ctx context.Context, dsn string) error { return d.server.Keep(ctx, dsn) }

func (d databases) size(ctx context.Context, dsn string) (n int64, err error) {
	err = d.server.Each(ctx, dsn, "SELECT pg_database_size(current_database())", func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// compare fills a small store and a large one, runs a server on each, and asks both the same in turns.
func (l *load) compare(ctx context.Context, name string, g ground) ([]string, error) {
	source, err := startStamped(time.Second) // nothing is streamed: the turns are asked for whole
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.server.Close() }()
	model, err := l.stage.NewModels(ctx, 1)
	if err != nil {
		return nil, err
	}
	var sides [2]*side
	for i, n := range []int{l.few, l.sessions} {
		if sides[i], err = l.prepare(ctx, g, n, model.Addrs()[0]); err != nil {
			return nil, fmt.Errorf("%d sessions: %w", n, err)
		}
	}
	l.say("\n## %s: %d sessions and %d turns beside %d and %d\n\n", name, l.sessions, l.sessions*l.turns, l.few, l.few*l.turns)
	l.say("| | %d sessions | %d sessions |\n|---|---|---|\n", l.few, l.sessions)
	l.say("| filled within | %s | %s |\n", rounded(sides[0].filled), rounded(sides[1].filled))
	l.say("| size of the store | %.1f MB | %.1f MB |\n", megabytes(sides[0].bytes), megabytes(sides[1].bytes))
	l.say("| server ready after | %s | %s |\n", rounded(sides[0].started), rounded(sides[1].started))
	return l.ask(ctx, sides, model)
}

func rounded(d time.Duration) time.Duration {
	if d > time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// prepare fills a store where it is not filled yet, and starts a server on it.
func (l *load) prepare(ctx context.Context, g ground, sessions int, model string) (*side, error) {
	dsn, filled, err := g.dsn(ctx, l, sessions)
	if err != nil {
		return nil, err
	}
	s := &side{sessions: sessions, dsn: dsn}
	if !filled {
		began := harness.Now()
		if err = l.fillStore(ctx, g, dsn, sessions); err == nil {
			err = g.filled(ctx, dsn)
		}
		if err != nil {
			return nil, err
		}
		s.filled = harness.Now().Sub(began)
	}
	if s.bytes, err = g.size(ctx, dsn); err != nil {
		return nil, err
	}
	s.replica, err = l.stage.NewReplica(fmt.Sprintf("with-%d", sessions), fmt.Sprintf("store: %q\nupstreams:\n  - {name: %s, url: \"http://%s\", protocol: openai, key: none}\n", dsn, upstreamName, model))
	if err != nil {
		return nil, err
	}
	began := harness.Now()
	err = s.replica.Start()
	s.started = harness.Now().Sub(began)
	return s, err
}

// fillStore fills a few sessions by the store's own writer, and multiplies them within the database.
func (l *load) fillStore(ctx context.Context, g ground, dsn string, sessions int) error {
	st, err := g.open(ctx, dsn)
	if err != nil {
		return err
	}
	f := newFiller(st, l.few, l.turns, l.seed)
	if err := errors.Join(f.fill(ctx), st.Close()); err != nil {
		return err
	}
	return l.multiply(ctx, g, dsn, multiple{copies: sessions/l.few - 1, terms: f.terms})
}
