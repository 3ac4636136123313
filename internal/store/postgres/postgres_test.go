package postgres_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mooring"
	"mooring/internal/store/postgres"
	"mooring/internal/store/storetest"
)

// server gives the address of a server on which databases can be made.
func server(t *testing.T) string {
	t.Helper()
	dsn := os.Getenv("MOORING_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("MOORING_TEST_POSTGRES is not set")
	}
	return dsn
}

// database makes an empty database and gives its address and a way to run statements in it.
func database(t *testing.T, name string) (string, func(query string)) {
	t.Helper()
	return copied(t, name, "template1")
}

// copied makes a database as another one is, which nobody is connected to.
func copied(t *testing.T, name, from string) (string, func(query string)) {
	t.Helper()
	base, run := connect(t, server(t))
	run(`DROP DATABASE IF EXISTS ` + name)
	run(`CREATE DATABASE ` + name + ` TEMPLATE ` + from)
	dsn := with(base, name)
	t.Cleanup(func() { run(`DROP DATABASE ` + name + ` WITH (FORCE)`) })
	_, inside := connect(t, dsn)
	return dsn, inside
}

func connect(t *testing.T, dsn string) (string, func(query string)) {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return dsn, func(query string) {
		if _, err := db.Exec(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// with puts a database's name into an address, whichever of its two forms it has.
func with(dsn, name string) string {
	if !strings.Contains(dsn, "://") {
		return dsn + " dbname=" + name
	}
	address, params, _ := strings.Cut(dsn, "?")
	slash := strings.LastIndex(address, "/")
	return address[:slash+1] + name + "?" + params
}

//nolint:ireturn // the contract is an interface
func open(t *testing.T, dsn string) storetest.Store {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn, Conns: 4, BlobKey: []byte("key")})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = store.Close() }) // some tests have closed it
	return store
}

func TestContract(t *testing.T) {
	t.Parallel()
	const prepared = "mooring_contract" // the schema is made once
	dsn, _ := database(t, prepared)
	if err := open(t, dsn).Close(); err != nil {
		t.Fatal(err)
	}
	var made atomic.Int64
	storetest.Run(t, func(t *testing.T) storetest.Store {
		t.Helper()
		dsn, run := copied(t, fmt.Sprintf("%s_%d", prepared, made.Add(1)), prepared)
		return passing{open(t, dsn), run}
	})
}

func TestTwoProcessesShareSlotsAndLogins(t *testing.T) {
	t.Parallel()
	dsn, _ := database(t, "mooring_edge_shared")
	storetest.RunTwo(t, open(t, dsn), open(t, dsn))
}

// passing is a store whose replicas have not been heard of for longer than they were.
type passing struct {
	storetest.Store
	run func(query string)
}

// Pass lets time go by for all of them.
func (p passing) Pass(t *testing.T, by time.Duration) {
	t.Helper()
	p.run(fmt.Sprintf(`UPDATE replica SET seen_at = seen_at - %[1]d, since = greatest(1, since - %[1]d)`, by.Microseconds()))
}

func newSession(id, alias string) *mooring.Begin {
	return &mooring.Begin{
		New:      true,
		Session:  mooring.Session{Tenant: "acme", ID: mooring.SessionID(id)},
		Aliases:  []mooring.Alias{{Class: mooring.ClassAny, Value: alias}},
		Turn:     mooring.Turn{ID: mooring.TurnID("trn_" + id)},
		Messages: []mooring.Message{{ID: mooring.MessageID("msg_" + id), Content: []byte("token=SECRET-77")}},
	}
}
