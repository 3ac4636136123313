package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// testSecret is long enough for a configuration; PostgreSQL needs one there.
const testSecret = "0123456789abcdef0123456789abcdef"

// eachStore runs a test on a new SQLite file, and on a new PostgreSQL database where there is a server. The text it is given
// belongs into the configuration.
func eachStore(t *testing.T, test func(t *testing.T, store string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, fmt.Sprintf("store: %q\n", "sqlite:"+t.TempDir()+"/mooring.db"))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newDatabase(t).yaml(""))
	})
}

// database is a PostgreSQL database of one test's own.
type database struct {
	t    *testing.T
	dsn  *url.URL
	name string
	db   *sql.DB
	last int64 // when a replica was heard of last, as a test has noted it
}

// databases numbers them, so that tests that run side by side share none.
var databases atomic.Int64

func newDatabase(t *testing.T) *database {
	t.Helper()
	dsn := os.Getenv("MOORING_TEST_POSTGRES")
	if dsn == "" {
		t.Skip("MOORING_TEST_POSTGRES is not set")
	}
	server, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("mooring_app_%d_%d", os.Getpid(), databases.Add(1))
	root := openSQL(t, "pgx", dsn)
	mustExec(t, root, "CREATE DATABASE "+name)
	t.Cleanup(func() { mustExec(t, root, "DROP DATABASE "+name+" WITH (FORCE)") })
	own := *server
	own.Path = "/" + name
	return &database{t: t, dsn: &own, name: name, db: openSQL(t, "pgx", own.String())}
}

// yaml is the configuration that leads to the database, through a proxy where an address is given.
func (d *database) yaml(through string) string {
	dsn := *d.dsn
	if through != "" {
		dsn.Host = through
	}
	return fmt.Sprintf("store: %q\nsecret: %s\n", dsn.String(), testSecret)
}

// openStore opens the store of a configuration beside the program, to look at it or to damage it.
func openStore(t *testing.T, store string) *sql.DB {
	t.Helper()
	line, _, _ := strings.Cut(store, "\n")
	dsn := strings.Trim(strings.TrimPrefix(line, "store: "), `"`)
	if file, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return openSQL(t, "sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	}
	return openSQL(t, "pgx", dsn)
}

func openSQL(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(context.Background(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// gate stands between the program and PostgreSQL: it can be shut, lose the reply to a commit, and speak on the program's
// connections.
type gate struct {
	t      *testing.T
	server string
	addr   string

	mu       sync.Mutex // guards the fields below
	listener net.Listener
	open     map[*passage]bool
	lose     int           // the reply to which commit from now on is lost; 0 for none
	shuts    bool          // and the gate is shut with it
	lost     chan struct{} // closed when it was
}

func newGate(t *testing.T, server string) *gate {
	t.Helper()
	g := &gate{t: t, server: server, addr: "127.0.0.1:0", open: map[*passage]bool{}}
	g.up()
	t.Cleanup(g.down)
	return g
}

func (g *gate) up() {
	g.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listener, g.addr = listener, listener.Addr().String()
	go g.accept(listener)
}

// down refuses connections and ends those that are open.
func (g *gate) down() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut()
}

// shut is called with mu held.
func (g *gate) shut() {
	_ = g.listener.Close()
	for p := range g.open {
		p.close()
	}
}

// loseCommitAndShut is loseCommit by a database that is not there afterwards.
func (g *gate) loseCommitAndShut(nth int) (lost <-chan struct{}) {
	lost = g.loseCommit(nth)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shuts = true
	return lost
}

// loseCommit drops the connection after the database has committed for the nth time from now on, before the program hears it.
func (g *gate) loseCommit(nth int) (lost <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lose, g.lost = nth, make(chan struct{})
	return g.lost
}

func (g *gate) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", g.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p := &passage{client: client, server: server}
		g.mu.Lock()
		g.open[p] = true
		g.mu.Unlock()
		go func() { _, _ = io.Copy(server, client); p.close() }()
		go g.back(p)
	}
}

// passage is one connection through the gate.
type passage struct {
	client, server net.Conn

	mu    sync.Mutex    // guards the field below
	asked chan struct{} // not nil while the answer is ours
}

func (p *passage) close() {
	_ = p.client.Close()
	_ = p.server.Close()
}

// readyIdle is how the server says that it has answered.
var readyIdle = []byte{'Z', 0, 0, 0, 5, 'I'}

// back passes on what the server says, but for what is to be lost and for answers to say.
func (g *gate) back(p *passage) {
	defer func() {
		p.close()
		g.mu.Lock()
		delete(g.open, p)
		g.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := p.server.Read(buf)
		if err != nil {
			return
		}
		if p.ours(buf[:n]) {
			continue
		}
		if g.loses(buf[:n]) {
			return
		}
		if _, err := p.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (p *passage) ours(data []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil {
		return false
	}
	if bytes.HasSuffix(data, readyIdle) {
		close(p.asked)
		p.asked = nil
	}
	return true
}

func (g *gate) loses(data []byte) bool {
	if !bytes.Contains(data, []byte("C\x00\x00\x00\x0bCOMMIT\x00")) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lose == 0 {
		return false
	}
	if g.lose--; g.lose > 0 {
		return false
	}
	close(g.lost)
	if g.shuts {
		g.shut()
	}
	return true
}

// say runs a statement on each of the program's open connections, which must be idle.
func (g *gate) say(query string) (connections int) {
	g.t.Helper()
	g.mu.Lock()
	var open []*passage
	for p := range g.open {
		open = append(open, p)
	}
	g.mu.Unlock()
	for _, p := range open {
		done := make(chan struct{})
		p.mu.Lock()
		p.asked = done
		p.mu.Unlock()
		message := binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(query)+5))
		if _, err := p.server.Write(append(append(message, query...), 0)); err != nil {
			g.t.Fatal(err)
		}
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			g.t.Fatalf("%s: no answer within 10 s", query)
		}
	}
	return len(open)
}

// sum is a client key as the configuration holds it.
func sum(key string) string {
	digest := sha256.Sum256([]byte(key))
	return hex.EncodeToString(digest[:])
}
