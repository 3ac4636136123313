// Package postgres opens the turn log in a PostgreSQL database that several replicas share. It owns the pool's settings and
// says which of the database's errors mean that it is down; the statements are sqlstore's. It starts no goroutine but those of
// the pool.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"mooring/internal/store/migrate"
	sqlstore "mooring/internal/store/sql"
)

const (
	// defaultConns is the size of the read pool: reads are short, and the replicas share the server's connections.
	defaultConns = 8
	// lifetime sends reads to where the name of the server leads now.
	lifetime = 5 * time.Minute
	// idleTime gives connections of a busy hour back.
	idleTime = time.Minute
	// connectTimeout keeps a dead host from holding a request for minutes.
	connectTimeout = 5 * time.Second
)

// Options say which database.
type Options struct {
	DSN     string
	Conns   int    // connections for reading; 0 for 8. Writing takes one more
	BlobKey []byte // see sqlstore.Options
}

// Open connects and brings the schema up to date; replicas that start together wait for each other.
func Open(ctx context.Context, o Options) (*sqlstore.Store, error) {
	config, err := configOf(o.DSN)
	if err != nil {
		return nil, err
	}
	if o.Conns <= 0 {
		o.Conns = defaultConns
	}
	write, read := pool(config, 2, byKeys()), pool(config, o.Conns, asTheyGrow())
	if err := migrate.Postgres(ctx, write); err != nil {
		_, cause := explain(err)
		return nil, errors.Join(sqlstore.Unavailable(fmt.Errorf("prepare the database: %w", cause)), write.Close(), read.Close())
	}
	return sqlstore.New(sqlstore.Options{Write: write, Read: read, Dialect: dialect(o.Conns), BlobKey: o.BlobKey}), nil
}

func configOf(dsn string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, sqlstore.Unavailable(errors.New("the DSN of the store cannot be read")) // the cause may show a password
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	// Commits that survive the server's crash, an end to waits that nobody listens to any more, and no machine code made for statements that
	// take less time than that.
	setDefaults(config.RuntimeParams, map[string]string{
		"application_name":                    "mooring",
		"synchronous_commit":                  "on",
		"jit":                                 "off",
		"lock_timeout":                        "5s",
		"idle_in_transaction_session_timeout": "30s",
	})
	return config, nil
}

// A plan is kept for as long as its connection, and the ones of a young database are made for tables that are empty: without these it would go
// through the whole of a table that has grown since, until the first statistics are there.

// byKeys has the writer's plans go by keys: all that it writes is found by one.
func byKeys() map[string]string { return map[string]string{"enable_seqscan": "off"} }

// asTheyGrow has reads planned for the tables and the tenant as they are.
func asTheyGrow() map[string]string { return map[string]string{"plan_cache_mode": "force_custom_plan"} }

func setDefaults(params, defaults map[string]string) {
	for name, value := range defaults {
		if params[name] == "" && !strings.Contains(params["options"], name) {
			params[name] = value
		}
	}
}

func pool(config *pgx.ConnConfig, conns int, own map[string]string) *sql.DB {
	config = config.Copy()
	setDefaults(config.RuntimeParams, own)
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(lifetime)
	db.SetConnMaxIdleTime(idleTime)
	return db
}
