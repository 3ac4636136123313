package harness

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" //nolint:depguard // it looks at the database from outside
)

// Durable says what a commit of the database is worth.
type Durable int

// Quick flushes nothing: a killed replica loses nothing by that. Flushed is PostgreSQL's own default.
const (
	Quick Durable = iota
	Flushed
)

// Postgres is a database server: one of this run's own, or one that runs already.
type Postgres struct {
	Addr string

	dsn     string // of its first database
	dir     string
	durable Durable
	cred    *syscall.Credential
	proc    *Process
}

// ErrNoPostgres says that this machine has none.
var ErrNoPostgres = errors.New("no PostgreSQL here: run scripts/setup-test.sh")

// HasPostgres says whether this machine can run one of its own.
func HasPostgres() bool {
	_, err := program("initdb")
	return err == nil
}

// UsePostgres uses a server that runs already; it cannot be killed.
func UsePostgres(dsn string) (*Postgres, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("read address of PostgreSQL: %w", err)
	}
	return &Postgres{Addr: u.Host, dsn: dsn}, nil
}

// StartPostgres makes a server of this run's own.
func (s *Stage) StartPostgres(ctx context.Context, d Durable) (*Postgres, error) {
	dir, err := s.Folder("postgres")
	if err != nil {
		return nil, err
	}
	addr, err := FreeAddr()
	if err != nil {
		return nil, err
	}
	p := &Postgres{Addr: addr, dsn: "postgres://mooring@" + addr + "/postgres?sslmode=disable", dir: dir, durable: d}
	if err := p.initialise(ctx); err != nil {
		return nil, err
	}
	s.Defer(p.stop)
	return p, p.Start(ctx)
}

// initialise makes the data folder. PostgreSQL refuses to run as root, so root lends it its own user.
func (p *Postgres) initialise(ctx context.Context) error {
	if os.Geteuid() == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			return errors.Join(ErrNoPostgres, err)
		}
		p.cred = &syscall.Credential{Uid: uint32(number(who.Uid)), Gid: uint32(number(who.Gid))} //nolint:gosec // ids are small
		if err := os.Chown(p.dir, number(who.Uid), number(who.Gid)); err != nil {
			return fmt.Errorf("give folder away: %w", err)
		}
	}
	initdb, err := program("initdb")
	if err != nil {
		return err
	}
	cmd := p.command(exec.CommandContext(ctx, initdb, "-D", p.data(), "-A", "trust", "-U", "mooring", "--no-sync", "-E", "UTF8", "--locale=C")) //nolint:gosec // found here
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

func (p *Postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *Postgres) command(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred}
	return cmd
}

func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", ErrNoPostgres
	}
	version := func(path string) int { return number(filepath.Base(filepath.Dir(filepath.Dir(path)))) }
	return slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }), nil
}

// Start runs the server and waits until it takes connections; after a kill it repairs its files before.
func (p *Postgres) Start(ctx context.Context) error {
	postgres, err := program("postgres")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(p.Addr)
	if err != nil {
		return fmt.Errorf("read address of PostgreSQL: %w", err)
	}
	args := []string{"-D", p.data(), "-c", "listen_addresses=127.0.0.1", "-p", port, "-c", "unix_socket_directories=" + p.dir, "-c", "max_connections=200"}
	if p.durable == Quick {
		args = append(args, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	cmd := p.command(exec.Command(postgres, args...)) //nolint:gosec,noctx // found here; stop ends it
	if p.proc, err = launch(cmd, filepath.Join(p.dir, "..", filepath.Base(p.dir)+".log")); err != nil {
		return err
	}
	deadline := Now().Add(Patience)
	for {
		err = p.ping(ctx)
		switch {
		case err == nil:
			return nil
		case !p.proc.Running():
			return fmt.Errorf("PostgreSQL ended: %w", errors.Join(p.proc.err, err))
		case Now().After(deadline) || ctx.Err() != nil:
			return fmt.Errorf("PostgreSQL takes no connections: %w", err)
		}
		Sleep(ctx.Done(), 20*time.Millisecond)
	}
}

func (p *Postgres) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return p.Each(ctx, p.dsn, "SELECT 1", nil)
}

// Kill ends the server and all its processes as `kill -9` does: the first one stands still while the others are counted, so
// that none escapes.
func (p *Postgres) Kill() error {
	if err := p.proc.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	children := Children(p.proc.PID())
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // one that has ended meanwhile is as dead
	}
	p.proc.Kill()
	for _, pid := range children {
		for syscall.Kill(pid, 0) == nil && !zombie(pid) {
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// zombie says that a process is dead and nobody has asked how it ended.
func zombie(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ") // the name before holds no such sign: it is PostgreSQL's
	return strings.HasPrefix(rest, "Z")
}

func (p *Postgres) stop() {
	if p.proc != nil && p.proc.Running() {
		_ = p.proc.End(syscall.SIGQUIT) // at once: nobody needs the data any more
	}
}

// NewDatabase makes an empty database and gives its address.
func (p *Postgres) NewDatabase(ctx context.Context) (string, error) {
	name := fmt.Sprintf("proof_%d_%x", os.Getpid(), rand.Uint64()) //nolint:gosec // it only has to be another one
	if err := p.Each(ctx, p.dsn, "CREATE DATABASE "+name, nil); err != nil {
		return "", err
	}
	return p.address(name)
}

func (p *Postgres) address(name string) (string, error) {
	u, err := url.Parse(p.dsn)
	if err != nil {
		return "", fmt.Errorf("read address of PostgreSQL: %w", err)
	}
	u.Path = "/" + name
	return u.String(), nil
}

// marked is the comment of a database that Keep has marked.
const marked = "kept"

// KeptDatabase gives the address of a database by its name, and whether it was marked by Keep. One that was not is made anew.
func (p *Postgres) KeptDatabase(ctx context.Context, name string) (dsn string, kept bool, err error) {
	if dsn, err = p.address(name); err != nil {
		return "", false, err
	}
	err = p.Each(ctx, p.dsn, "SELECT 1 FROM pg_database WHERE datname = '"+name+"' AND shobj_description(oid, 'pg_database') = '"+marked+"'", func(*sql.Rows) error {
		kept = true
		return nil
	})
	if err != nil || kept {
		return dsn, kept, err
	}
	if err = p.Each(ctx, p.dsn, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)", nil); err == nil {
		err = p.Each(ctx, p.dsn, "CREATE DATABASE "+name, nil)
	}
	return dsn, false, err
}

// Keep marks a database as one that KeptDatabase finds.
func (p *Postgres) Keep(ctx context.Context, dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return fmt.Errorf("read address of database: %w", err)
	}
	return p.Each(ctx, p.dsn, "COMMENT ON DATABASE "+u.Path[1:]+" IS '"+marked+"'", nil)
}

// DropDatabase removes a database, whoever still uses it.
func (p *Postgres) DropDatabase(ctx context.Context, dsn string) error {
	u, err := url.Parse(dsn)
	if err != nil {
		return fmt.Errorf("read address of database: %w", err)
	}
	return p.Each(ctx, p.dsn, "DROP DATABASE "+u.Path[1:]+" WITH (FORCE)", nil)
}

// Each runs a statement on a connection of its own, and scans each row where somebody wants them.
func (*Postgres) Each(ctx context.Context, dsn, query string, scan func(*sql.Rows) error) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%.60s: %w", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if scan == nil {
			continue
		}
		if err := scan(rows); err != nil {
			return fmt.Errorf("%.60s: %w", query, err)
		}
	}
	return rows.Err()
}

// Connections is how many the replicas hold to a database.
func (p *Postgres) Connections(ctx context.Context, dsn string) (n int, err error) {
	const query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mooring'"
	err = p.Each(ctx, dsn, query, func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

// Through is a database's address by way of another host and port.
func Through(dsn, addr string) string {
	u, err := url.Parse(dsn)
	if err != nil {
		return dsn
	}
	u.Host = addr
	return u.String()
}
