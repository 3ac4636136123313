package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mooring/internal/app"
	"mooring/internal/config"
	"mooring/internal/upstreamtest"
)

// traffic are clients that send turn after turn, and what has been acknowledged of them.
type traffic struct {
	p    *product
	stop chan struct{}
	all  sync.WaitGroup

	mu    sync.Mutex
	acked []string // ids of turns
}

func (p *product) underLoad(clients int) *traffic {
	l := &traffic{p: p, stop: make(chan struct{})}
	for c := range clients {
		l.all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				default:
				}
				l.ask(fmt.Sprintf("client-%d-chat-%d", c, n/5), fmt.Sprintf("question %d of %d", n, c))
			}
		})
	}
	return l
}

// ask sends one request; its server may be killed meanwhile.
func (l *traffic) ask(session, text string) {
	res, err := http.DefaultTransport.RoundTrip(l.p.request(http.MethodPost, chatPath, chatBody(text, ""), "X-Session-Id", session))
	if err != nil {
		return
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = append(l.acked, res.Header.Get("X-Mooring-Turn"))
}

// sofar gives the turns that clients know to be safe by now, some at least.
func (l *traffic) sofar(atLeast int) []string {
	l.p.t.Helper()
	var now []string
	eventually(l.p.t, "enough turns", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		now = append(now[:0], l.acked...)
		return len(now) >= atLeast
	})
	return now
}

func (l *traffic) end() {
	close(l.stop)
	l.all.Wait()
}

// holds checks that turns are in the store as their clients were told.
func (p *product) holds(turns []string) {
	p.t.Helper()
	for _, id := range turns {
		if r := p.call(http.MethodGet, "/api/turns/"+id, ""); r.status != http.StatusOK || r.get("state") != "completed" {
			p.t.Errorf("turn %s, acknowledged before the backup: %d %.200s", id, r.status, r.body)
		}
	}
}

func (p *product) backUp(to string) {
	p.t.Helper()
	done, err := app.BackUp(p.t.Context(), p.load(), to)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range done.Files {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			p.t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// restored is the program on a backup.
func (p *product) restored(file string) *product {
	p.t.Helper()
	return start(p.t, withoutStore(p.yaml)+"\nstore: \"sqlite:"+file+"\"\n")
}

func withoutStore(yaml string) string {
	var out []string
	for line := range strings.Lines(yaml) {
		if !strings.HasPrefix(line, "store:") && !strings.HasPrefix(line, "listen:") {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

func TestABackupUnderLoadHasAllThatWasSafe(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := startChild(t, one(u))
	load := p.underLoad(4)
	var kept []string
	file := filepath.Join(t.TempDir(), "copy.db")
	for n := range 3 { // whatever the journal does in the moment
		_ = os.Remove(file)
		_ = os.Remove(strings.TrimSuffix(file, ".db") + ".secret")
		kept = load.sofar(60 * (n + 1))
		p.backUp(file)
	}
	after := load.sofar(len(kept) + 20)
	load.end()
	p.holds(after) // the server went on
	r := p.restored(file)
	r.holds(kept)
	if log := r.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("the restored store's log:\n%s", log)
	}
	// The secret came along: a client without ids is recognised by what it was told, and a page's next message finds its session.
	if got := r.chat("client-0-chat-0", "and now?").want(http.StatusOK); got.header.Get("X-Mooring-Upstream") != "u1; pin=hit" {
		t.Errorf("upstream %q of a session that was restored", got.header.Get("X-Mooring-Upstream"))
	}
}

func TestABackupOfAKilledServersStore(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := startChild(t, one(u))
	load := p.underLoad(4)
	load.sofar(60)
	p.kill()
	load.end()
	kept := load.sofar(60)
	file := filepath.Join(t.TempDir(), "copy.db")
	p.backUp(file)
	before, err := os.ReadFile(filepath.Join(p.dir, "mooring.db"))
	if err != nil {
		t.Fatal(err)
	}
	r := p.restored(file)
	r.holds(kept)
	r.stop()
	after, err := os.ReadFile(filepath.Join(p.dir, "mooring.db"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the store that was copied has changed: %v", err)
	}
}

func TestABackupHarmsNothing(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	p.chat("s1", "hello").want(http.StatusOK)
	p.stop()
	file := filepath.Join(t.TempDir(), "copy.db")
	p.backUp(file)
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for rule, c := range map[string]struct {
		change func(*config.Config)
		to     string
	}{
		"a file that is there stays":    {func(*config.Config) {}, file},
		"a folder that is not there":    {func(*config.Config) {}, filepath.Join(t.TempDir(), "none", "copy.db")},
		"a store that is not there":     {func(c *config.Config) { c.Store = config.DSN("sqlite:" + filepath.Join(t.TempDir(), "none.db")) }, filepath.Join(t.TempDir(), "copy.db")},
		"PostgreSQL has tools for that": {func(c *config.Config) { c.Store, c.Secret = "postgres://h/d", testSecret }, filepath.Join(t.TempDir(), "copy.db")},
	} {
		cfg := p.load()
		c.change(&cfg)
		var refused *config.Error
		if _, err := app.BackUp(t.Context(), cfg, c.to); !errors.As(err, &refused) || refused.Key != "store" {
			t.Errorf("%s: %v, want an error about the store", rule, err)
		}
		if left, _ := filepath.Glob(c.to + "*"); c.to != file && len(left) > 0 {
			t.Errorf("%s: %v are left", rule, left)
		}
		if store := cfg.Store.File(); strings.HasSuffix(store, "none.db") {
			if _, err := os.Stat(store); err == nil {
				t.Errorf("%s: it was made", rule)
			}
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("an earlier backup has changed: %v", err)
	}
	p.run() // nobody holds the store any more
	p.chat("s1", "hello again").want(http.StatusOK)
}

// What docs/operations.md says of PostgreSQL.
func TestADumpUnderLoadHasAllThatWasSafe(t *testing.T) {
	t.Parallel()
	from, to := newDatabase(t), newDatabase(t)
	for _, tool := range []string{"pg_dump", "psql"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	u := upstreamtest.New(t)
	p := start(t, from.yaml("")+one(u))
	load := p.underLoad(4)
	kept := load.sofar(60)
	file := filepath.Join(t.TempDir(), "mooring.sql")
	if out, err := exec.CommandContext(t.Context(), "pg_dump", "--no-owner", "--file", file, from.dsn.String()).CombinedOutput(); err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, out)
	}
	load.end()
	if out, err := exec.CommandContext(t.Context(), "psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--single-transaction", "--file", file, to.dsn.String()).CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	r := start(t, to.yaml("")+one(u))
	r.holds(kept)
	if got := r.chat("client-0-chat-0", "and now?").want(http.StatusOK); got.header.Get("X-Mooring-Upstream") != "u1; pin=hit" {
		t.Errorf("upstream %q of a session that was restored", got.header.Get("X-Mooring-Upstream"))
	}
}
