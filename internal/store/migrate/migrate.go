// Package migrate owns the schema of the turn log: the numbered migrations of both databases and the library that runs them.
//
// The migrations of SQLite and PostgreSQL have the same numbers and file names and describe the same tables. The package never
// opens or closes a database and starts no goroutine.
package migrate

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations
var files embed.FS

// SQLite brings the schema of a SQLite file up to date.
func SQLite(ctx context.Context, db *sql.DB) error {
	return up(ctx, db, goose.DialectSQLite3, "sqlite")
}

// Postgres brings the schema of a PostgreSQL database up to date. Replicas that start together wait for each other.
func Postgres(ctx context.Context, db *sql.DB) error {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("make the migration lock: %w", err)
	}
	return up(ctx, db, goose.DialectPostgres, "postgres", goose.WithSessionLocker(locker))
}

func up(ctx context.Context, db *sql.DB, dialect goose.Dialect, dir string, opts ...goose.ProviderOption) error {
	migrations, err := fs.Sub(files, "migrations/"+dir)
	if err != nil {
		return fmt.Errorf("open the embedded migrations: %w", err)
	}
	opts = append(opts, goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	provider, err := goose.NewProvider(dialect, db, migrations, opts...)
	if err != nil {
		return fmt.Errorf("read the embedded migrations: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("run the migrations: %w", err)
	}
	return nil
}
