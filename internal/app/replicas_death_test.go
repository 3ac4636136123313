package app_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

// judges lets all replicas of the database have been there for long enough to say which others are dead.
func (d *database) judges() {
	d.t.Helper()
	mustExec(d.t, d.db, `UPDATE replica SET since = greatest(1, since - 600000000)`)
	if err := d.db.QueryRowContext(d.t.Context(), `SELECT max(seen_at) FROM replica`).Scan(&d.last); err != nil {
		d.t.Fatal(err)
	}
}

// beats is how many replicas have been heard of since then.
func (d *database) beats() (n int) {
	d.t.Helper()
	if err := d.db.QueryRowContext(d.t.Context(), `SELECT count(*) FROM replica WHERE seen_at > $1`, d.last).Scan(&n); err != nil {
		d.t.Fatal(err)
	}
	return n
}

// silences lets the replica that runs a turn not have been heard of for a minute.
func (d *database) silences(run string) {
	d.t.Helper()
	mustExec(d.t, d.db, `UPDATE replica SET seen_at = seen_at - 60000000 WHERE name = (SELECT replica FROM turn WHERE id = $1)`, run)
}

// C-3.4: what a replica that was killed has left running is found by another one, and nothing of one that lives.
func TestKilledReplica(t *testing.T) {
	t.Parallel()
	d, u := newDatabase(t), upstreamtest.New(t)
	never := make(chan struct{})
	defer close(never)
	yaml := one(u) + d.yaml("")
	a, b := startChild(t, yaml), start(t, yaml)
	begin := func(p *product, id string) *live {
		t.Helper()
		u.Queue(upstreamtest.Reply{Text: "one two", HoldAt: never, At: 2})
		l := p.open(chatPath, chatBody("long", `"stream":true,`), "X-Session-Id", id)
		l.until("one")
		return l
	}
	cut, long := begin(a, "t"), begin(b, "u")
	a.kill()
	d.judges()
	d.silences(cut.Header.Get("X-Mooring-Turn"))
	next := b.chat("t", "on").want(http.StatusOK) // before anybody has found out
	if next.session() != cut.Header.Get("X-Mooring-Session") {
		t.Errorf("the session goes on as %s", next.session())
	}
	eventually(t, "the turn of the killed one is interrupted", func() bool { return b.state(cut.Header.Get("X-Mooring-Turn")) == "interrupted" })
	if got := b.state(long.Header.Get("X-Mooring-Turn")); got != "running" {
		t.Errorf("the turn of the living one is %v", got)
	}
	a.spawn()
	if got := a.state(long.Header.Get("X-Mooring-Turn")); got != "running" {
		t.Errorf("the turn of the living one is %v once the other one is back", got)
	}
	if list := toldBy(t, string(a.watch(cut.Header.Get("X-Mooring-Turn"), "").body)); !slices.Contains(list, "error upstream_error") {
		t.Errorf("who follows the interrupted turn hears %v", list)
	}
}

// A replica that was cut off for so long that another one took it for dead does not end its turns any more, and tells no client that
// they are complete.
func TestReplicaThatWasCutOff(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"stream": chatBody("long", `"stream":true,`), "one body": chatBody("long", "")} {
		for _, notices := range []string{"before the answer ends", "at its end"} {
			t.Run(name+", "+notices, func(t *testing.T) {
				t.Parallel()
				d, u := newDatabase(t), upstreamtest.New(t)
				g := newGate(t, d.dsn.Host)
				a, b := start(t, one(u)+d.yaml(g.addr)), start(t, one(u)+d.yaml(""))
				a.chat("t", "hello").want(http.StatusOK)
				hold := make(chan struct{})
				answer := upstreamtest.Reply{Text: "one two", HoldAt: hold, At: 2}
				if name == "one body" {
					answer.HoldAt, answer.Hold = nil, hold
				}
				u.Queue(answer)
				got := make(chan *reply, 1)
				go func() { got <- a.call(http.MethodPost, chatPath, body, "X-Session-Id", "t") }()
				if _, err := u.WaitPosts(t.Context(), 2); err != nil {
					t.Fatal(err)
				}
				run := ""
				eventually(t, "the turn", func() bool {
					return d.db.QueryRowContext(t.Context(), `SELECT id FROM turn WHERE state = 'running'`).Scan(&run) == nil
				})
				g.down()
				d.judges()
				d.silences(run)
				eventually(t, "it is taken for dead", func() bool { return b.state(run) == "interrupted" })
				if notices == "at its end" {
					close(hold)
				}
				g.up()
				r := <-got
				if notices != "at its end" {
					close(hold)
				}
				text := string(r.body)
				if !strings.Contains(text, "store_unavailable") || strings.Contains(text, "[DONE]") || r.status == http.StatusOK && name == "one body" {
					t.Errorf("its client got %d %s", r.status, text)
				}
				if state := b.state(run); state != "interrupted" {
					t.Errorf("the turn is %v once the replica is back", state)
				}
				eventually(t, "it is ready again", func() bool { return a.call(http.MethodGet, "/readyz", "").status == http.StatusOK })
				again := a.call(http.MethodPost, chatPath, body, "X-Session-Id", "t").want(http.StatusOK)
				if again.header.Get("X-Mooring-Turn") != run {
					t.Errorf("the request, sent again, is turn %s, want the next attempt of %s", again.header.Get("X-Mooring-Turn"), run)
				}
				if diff := cmp.Diff([]string{"completed", "completed"}, b.states("t")); diff != "" {
					t.Errorf("turns (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// C086: replicas hear each other again once their database is back, and nothing needs a restart.
func TestReplicasAfterTheDatabaseWasAway(t *testing.T) {
	t.Parallel()
	d, u := newDatabase(t), upstreamtest.New(t)
	g := newGate(t, d.dsn.Host)
	yaml := one(u) + d.yaml(g.addr)
	a, b := start(t, yaml), start(t, yaml)
	a.chat("t", "hello").want(http.StatusOK)
	g.down()
	for _, p := range []*product{a, b} {
		if r := p.call(http.MethodGet, "/readyz", ""); r.status != http.StatusServiceUnavailable {
			t.Errorf("/readyz = %d while the database is away", r.status)
		}
	}
	g.up()
	for _, p := range []*product{a, b} {
		eventually(t, "ready again", func() bool { return p.call(http.MethodGet, "/readyz", "").status == http.StatusOK })
	}
	gate := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: "one two", HoldAt: gate, At: 2})
	l := a.open(sendPath, sends("sessionKey", "deck", "message", "tell me"))
	run := l.runOf()
	l.until("one")
	eventually(t, "the other replica hears its words", func() bool { return b.hears(run, "one") })
	close(gate)
	l.rest()
}

// hears says that who follows a turn gets a text of it soon.
func (p *product) hears(run, text string) bool {
	p.t.Helper()
	l := p.follow(run)
	late := time.AfterFunc(2*time.Second, func() { _ = l.Body.Close() })
	defer late.Stop()
	buf := make([]byte, 8<<10)
	for !strings.Contains(l.read.String(), text) {
		n, err := l.Body.Read(buf)
		l.read.Write(buf[:n])
		if err != nil {
			return strings.Contains(l.read.String(), text)
		}
	}
	return true
}
