//nolint:bodyclose // an answer is read to its end before it is looked at
package edge_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mooring"
	"mooring/internal/edge"
	sqlstore "mooring/internal/store/sql"
	"mooring/internal/store/sqlite"
)

const (
	host     = "chat.example.org"
	identity = "X-Hermes-Tenant-Identity"
	// poison stands in whatever a client made up; it must not come out anywhere.
	poison = "zq7poison"

	wait = 5 * time.Second
)

// request is what a slot saw, byte for byte.
type request struct {
	slot  string
	head  string
	body  []byte
	extra []byte // what came on the connection behind the request
}

func (r request) line() string {
	line, _, _ := strings.Cut(r.head, "\r\n")
	return line
}

// values gives the lines of a header in any spelling, names folded.
func (r request) values(name string) []string {
	var out []string
	for line := range strings.SplitSeq(r.head, "\r\n") {
		if n, v, ok := strings.Cut(line, ":"); ok && fold(n) == fold(name) {
			out = append(out, strings.TrimSpace(v))
		}
	}
	return out
}

func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
}

// fakeSlot is a web UI that writes down what it is sent and says what it is told to.
type fakeSlot struct {
	name, url string
	ln        net.Listener

	mu     sync.Mutex
	seen   []request
	answer func(r request, c net.Conn)
	wg     sync.WaitGroup
}

func newFakeSlot(tb testing.TB, name string) *fakeSlot {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &fakeSlot{name: name, url: "http://" + ln.Addr().String(), ln: ln}
	s.says("")
	s.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(c) })
		}
	})
	tb.Cleanup(func() { _ = ln.Close(); s.wg.Wait() })
	return s
}

func (s *fakeSlot) serve(c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * wait))
	in := bufio.NewReader(c)
	r := request{slot: s.name}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if strings.TrimRight(line, "\r\n") == "" {
			break
		}
		r.head += line
	}
	if n := r.values("Content-Length"); len(n) > 0 {
		size, _ := strconv.Atoi(n[0])
		r.body = make([]byte, size)
		_, _ = io.ReadFull(in, r.body)
	}
	s.mu.Lock()
	at := len(s.seen)
	s.seen = append(s.seen, r)
	answer := s.answer
	s.mu.Unlock()
	answer(r, c)
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	_ = c.SetReadDeadline(time.Now().Add(wait))
	if extra, _ := io.ReadAll(in); len(extra) > 0 {
		s.mu.Lock()
		if at < len(s.seen) {
			s.seen[at].extra = extra
		}
		s.mu.Unlock()
	}
}

// says has the slot answer with these bytes; "" for a small JSON object.
func (s *fakeSlot) says(raw string) {
	if raw == "" {
		raw = answerOf("200 OK", `{"ok":true}`, "Content-Type: application/json")
	}
	s.does(func(_ request, c net.Conn) { _, _ = io.WriteString(c, raw) })
}

func (s *fakeSlot) does(answer func(r request, c net.Conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// take gives what the slot has seen since the last time.
func (s *fakeSlot) take() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.seen
	s.seen = nil
	return out
}

// answerOf is an answer with its length.
func answerOf(status, body string, lines ...string) string {
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(append(lines, fmt.Sprintf("Content-Length: %d", len(body))), "\r\n") + "\r\n\r\n" + body
}

func htmlPage(body string, lines ...string) string {
	return answerOf("200 OK", body, append([]string{"Content-Type: text/html; charset=utf-8"}, lines...)...)
}

// counts is a meter that forgets everything.
type counts struct{}

func (counts) EdgeAnswered(string, int) {}
func (counts) EdgeRefused(string)       {}
func (counts) EdgeUntagged(string)      {}

// journal collects the log.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

// faulty is a store that can be away.
type faulty struct {
	*sqlstore.Store
	away atomic.Bool
}

var errAway = errors.New("the store is away")

func (f *faulty) Slots(ctx context.Context) (mooring.SlotBook, error) {
	if f.away.Load() {
		return mooring.SlotBook{}, errAway
	}
	return f.Store.Slots(ctx)
}

func (f *faulty) EdgeNumbers(ctx context.Context) (slots, logouts int64, err error) {
	if f.away.Load() {
		return 0, 0, errAway
	}
	return f.Store.EdgeNumbers(ctx)
}

func (f *faulty) Login(ctx context.Context, token []byte) (mooring.Login, bool, error) {
	if f.away.Load() {
		return mooring.Login{}, false, errAway
	}
	return f.Store.Login(ctx, token)
}

func (f *faulty) commit(ctx context.Context, c mooring.Change) error {
	if f.away.Load() {
		return errAway
	}
	if err := f.Apply(ctx, []mooring.Change{c}); err != nil {
		return err
	}
	return c.Outcome()
}

// rig is an edge on a real store before slots that are not.
type rig struct {
	t     testing.TB
	edge  *edge.Edge   // the last one started
	edges []*edge.Edge // all of them
	addr  string
	slots []*fakeSlot
	store *faulty
	log   *journal
	ahead atomic.Int64 // how far the edge's clock is ahead
	opts  edge.Options
}

func newRig(tb testing.TB, slots int, change ...func(o *edge.Options)) *rig {
	tb.Helper()
	db, err := sqlite.Open(tb.Context(), sqlite.Options{Path: filepath.Join(tb.TempDir(), "store.db"), BlobKey: []byte("key")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	r := &rig{t: tb, store: &faulty{Store: db}, log: &journal{}}
	r.opts = edge.Options{
		Settings: edge.Settings{
			Host: host, Origin: "https://" + host, IdentityHeader: identity, Cookies: [2]string{"hermes_chat_session", "hermes_chat_profile"}, Continuity: true,
			SnapshotLimit: 2 << 20, BodyLimit: 3 << 20, Salt: []byte("a salt of the tests, which is long enough"),
			Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
		},
		Store: r.store, Commit: r.store.commit, Now: r.now, Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Meter: counts{},
	}
	for i := range slots {
		s := newFakeSlot(tb, fmt.Sprintf("tenant-%d", i))
		r.slots = append(r.slots, s)
		r.opts.Slots = append(r.opts.Slots, edge.Slot{Name: mooring.SlotName(s.name), URL: s.url})
	}
	for _, c := range change {
		c(&r.opts)
	}
	r.start()
	return r
}

func (r *rig) now() time.Time { return time.Now().Add(time.Duration(r.ahead.Load())) }

// pass lets time go by; the edges look at their store as they would have meanwhile.
func (r *rig) pass(d time.Duration) {
	r.ahead.Add(int64(d))
	for _, e := range r.edges {
		_ = e.Look(r.t.Context()) // the store may be away
	}
}

// start starts an edge; one that ran before goes on.
func (r *rig) start() {
	r.t.Helper()
	e, err := edge.New(r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	addr, err := e.Listen(r.t.Context(), "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	e.Start()
	r.t.Cleanup(func() { _ = e.Close() })
	r.edge, r.addr = e, addr.String()
	r.edges = append(r.edges, e)
}

// reply is an answer as a client sees it.
type reply struct {
	*http.Response
	body   []byte
	err    error  // why the body ended, nil for as announced
	before string // what came before the status line of the last answer, such as 1xx answers
}

// dial opens a connection, from that address of this machine where one is given.
func (r *rig) dial(from string) net.Conn {
	r.t.Helper()
	d := net.Dialer{Timeout: wait}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := d.DialContext(r.t.Context(), "tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(2 * wait))
	return c
}

// send sends bytes and reads one answer. The zero reply stands for a connection that was closed without one.
func (r *rig) send(raw string) reply { return r.sendFrom("", raw) }

func (r *rig) sendFrom(from, raw string) reply {
	r.t.Helper()
	c := r.dial(from)
	defer c.Close()
	_, _ = io.WriteString(c, raw) // an edge that has read enough may close
	method, _, _ := strings.Cut(raw, " ")
	return readReply(c, method)
}

func readReply(c net.Conn, method string) reply {
	in := bufio.NewReader(c)
	var out reply
	for {
		res, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			out.err = err
			return out
		}
		if res.StatusCode < http.StatusOK && res.StatusCode != http.StatusSwitchingProtocols {
			out.before += res.Status + fmt.Sprint(res.Header)
			continue
		}
		out.Response = res
		break
	}
	out.body, out.err = io.ReadAll(out.Body)
	return out
}

// wire is a request of these lines.
func wire(method, target string, lines ...string) string {
	return method + " " + target + " HTTP/1.1\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// as is a request that a proxy in front passes on for somebody.
func as(who, method, target string, lines ...string) string {
	return wire(method, target, append([]string{"Host: " + host, "X-Forwarded-User: " + who}, lines...)...)
}

func withBody(who, method, target, body string, lines ...string) string {
	return as(who, method, target, append(lines, "Content-Length: "+strconv.Itoa(len(body)))...) + body
}

// take gives what all slots have seen since the last time.
func (r *rig) take() []request {
	var out []request
	for _, s := range r.slots {
		out = append(out, s.take()...)
	}
	return out
}

// one gives the only request that slots have seen.
func (r *rig) one(tb testing.TB) request {
	tb.Helper()
	seen := r.take()
	if len(seen) != 1 {
		tb.Fatalf("slots saw %d requests, want 1: %q", len(seen), seen)
	}
	if len(seen[0].extra) > 0 {
		tb.Fatalf("behind the request came %q", seen[0].extra)
	}
	return seen[0]
}

// none wants that no slot has seen anything.
func (r *rig) none(tb testing.TB) {
	tb.Helper()
	if seen := r.take(); len(seen) > 0 {
		tb.Errorf("a slot saw %q", seen)
	}
}

func (a reply) want(tb testing.TB, status int) {
	tb.Helper()
	if a.Response == nil {
		tb.Fatalf("no answer: %v; want status %d", a.err, status)
	}
	if a.StatusCode != status {
		tb.Fatalf("status %d, want %d: %.300s", a.StatusCode, status, a.body)
	}
}

// refused wants an answer of the edge's own.
func (a reply) refused(tb testing.TB, status int, code string) {
	tb.Helper()
	a.want(tb, status)
	if got := a.Header.Get("X-Mooring-Error"); got != code {
		tb.Errorf("X-Mooring-Error %q, want %q", got, code)
	}
	if bytes.Contains(a.body, []byte(poison)) || strings.Contains(fmt.Sprint(a.Header), poison) {
		tb.Errorf("the answer repeats the request: %v %s", a.Header, a.body)
	}
}

// claimed gives a tenant a slot and says which.
func (r *rig) claimed(tb testing.TB, who string) *fakeSlot {
	tb.Helper()
	r.take()
	a := r.send(as(who, "GET", "/api/session?session_id=first"))
	a.want(tb, http.StatusOK)
	seen := r.one(tb)
	i := slices.IndexFunc(r.slots, func(s *fakeSlot) bool { return s.name == seen.slot })
	return r.slots[i]
}

// cookiesOf gives an answer's cookies by name.
func cookiesOf(a reply) map[string]*http.Cookie {
	out := map[string]*http.Cookie{}
	for _, c := range a.Cookies() {
		out[c.Name] = c
	}
	return out
}

func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(2 * wait); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("%s: not within %v", what, 2*wait)
		}
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func write(c net.Conn, text string) { _, _ = io.WriteString(c, text) }

func streamHead(c net.Conn) {
	write(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n")
}

func goodSession(of string) string { return strings.Repeat(of, 64) + "." + strings.Repeat("0", 64) }
func goodProfile(of string) string { return of + "." + strings.Repeat("1", 64) }

// peek gives what a slot has seen, and leaves it.
func (s *fakeSlot) peek() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}
