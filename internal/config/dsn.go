package config

import (
	"net/url"
	"strings"
)

// DSN says where the store is. It may hold a password, which String does not show.
type DSN string

const sqlitePrefix = "sqlite:"

// Reveal gives the text itself, for the one place that opens the store.
func (d DSN) Reveal() string { return string(d) }

// Postgres says that the store is a PostgreSQL.
func (d DSN) Postgres() bool {
	return strings.HasPrefix(string(d), "postgres://") || strings.HasPrefix(string(d), "postgresql://")
}

// File gives the path of an SQLite store; empty for any other.
func (d DSN) File() string {
	file, ok := strings.CutPrefix(string(d), sqlitePrefix)
	if !ok {
		return ""
	}
	return file
}

// String gives the address without its password.
func (d DSN) String() string {
	if !d.Postgres() {
		return string(d)
	}
	u, err := url.Parse(string(d))
	if err != nil {
		return "postgres://***"
	}
	query := u.Query()
	for _, name := range []string{"password", "sslpassword"} {
		if query.Has(name) {
			query.Set(name, "xxxxx")
		}
	}
	u.RawQuery = query.Encode()
	return u.Redacted()
}

// GoString gives the address without its password.
func (d DSN) GoString() string { return d.String() }
