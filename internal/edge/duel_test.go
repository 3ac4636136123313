//nolint:bodyclose // an answer is read to its end before it is looked at
package edge_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mooring"
	"mooring/internal/edge"
)

// duel is an edge before slots that write down what they are sent, and the two readers that are asked what they understand.
type duel struct {
	*rig
	taps     *taps
	python   *pythonReader
	slotOf   map[string]string // of tenants
	keyOf    map[string]string
	bindings map[string]string
	marks    int
	before   string // what the last client sent
	passed   int
}

func newDuel(tb testing.TB) *duel {
	tb.Helper()
	d := &duel{taps: &taps{}, python: newPythonReader(tb), slotOf: map[string]string{}, keyOf: map[string]string{}, bindings: map[string]string{}}
	d.rig = newRig(tb, 0, func(o *edge.Options) {
		o.Log = slog.New(slog.DiscardHandler)
		for _, name := range []string{"tenant-0", "tenant-1"} {
			o.Slots = append(o.Slots, edge.Slot{Name: mooring.SlotName(name), URL: d.taps.open(tb, name)})
		}
	})
	for _, who := range []string{"alice", "bob"} {
		a := d.send(as(who, "GET", "/api/session"))
		a.want(tb, http.StatusOK)
		for _, c := range d.taps.take() {
			<-c.done
			d.slotOf[who], d.keyOf[who] = c.slot, request{head: string(c.raw)}.values(identity)[0]
		}
		d.bindings[who] = cookiesOf(a)[bid].Value
	}
	if d.slotOf["alice"] == d.slotOf["bob"] || d.keyOf["alice"] == d.keyOf["bob"] {
		tb.Fatalf("two tenants are one: %v, %v", d.slotOf, d.keyOf)
	}
	return d
}

// ask is one request that net/http finds in what a client sent.
type ask struct {
	*http.Request
	body []byte
}

// line is the request line that a slot has to get.
func (q ask) line() string {
	method, target := q.Method, q.RequestURI
	if method == "HEAD" {
		method = "GET"
	}
	if path, query, has := strings.Cut(target, "?"); has && query == "" {
		target = path
	}
	return method + " " + target + " HTTP/1.1"
}

// asksIn gives the whole requests in what a client sent.
func asksIn(raw string) (all []ask) {
	in := bufio.NewReader(strings.NewReader(raw))
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return all
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return all
		}
		all = append(all, ask{r, body})
		// Behind a POST a server of net/http passes over up to four line ends, which old browsers sent too many (net/http server.go, readRequest).
		for i := 0; i < 4 && r.Method == http.MethodPost; i++ {
			if next, err := in.Peek(1); err != nil || next[0] != '\r' && next[0] != '\n' {
				break
			}
			_, _ = in.Discard(1)
		}
	}
}

// try sends what a client sends, and holds what came of it against what was meant. It gives the request lines that slots saw.
func (d *duel) try(tb testing.TB, raw string) (lines []string) {
	tb.Helper()
	before := d.before
	d.before = raw
	defer func() {
		if tb.Failed() {
			tb.Logf("the client sent %.3000q, and before that %.300q", raw, before)
		}
	}()
	asks := asksIn(raw)
	via := &rig{t: tb, addr: d.addr}
	answers, whole := via.talk(raw, asks)
	d.marks++
	mark := as("bob", "GET", "/api/mark-"+strconv.Itoa(d.marks))
	last := via.send(mark)
	last.want(tb, http.StatusOK)
	all := d.taps.take()
	d.compare(tb, told(tb, all, last.Response), asksIn(mark)[0])
	for i, a := range answers {
		if a.Header.Get("X-Caught") == "" {
			if a.StatusCode == http.StatusOK {
				tb.Errorf("answer %d is 200 and no slot's", i)
			}
			continue
		}
		if i >= len(asks) {
			tb.Fatalf("answer %d is a slot's, and there were %d requests", i, len(asks))
		}
		d.passed++
		c := told(tb, all, a)
		line, _, _ := strings.Cut(string(c.raw), "\r\n")
		lines = append(lines, line)
		d.compare(tb, c, asks[i])
	}
	for _, c := range all {
		<-c.done
		may := func(q ask) bool { return refusable(q) == "" && strings.HasPrefix(string(c.raw), q.line()+"\r\n") }
		if whole || c.cut || !slices.ContainsFunc(asks, may) {
			tb.Errorf("slot %s got what no answer tells of: %q", c.slot, c.raw)
		}
	}
	return lines
}

// talk gives the edge's answers; whole says that none of them can be missing.
func (r *rig) talk(raw string, asks []ask) (answers []*http.Response, whole bool) {
	r.t.Helper()
	c := r.dial("")
	defer c.Close()
	_, failed := io.WriteString(c, raw)
	in := bufio.NewReader(c)
	for {
		if len(answers) == len(asks) { // what is left is no whole request
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.CloseWrite()
			}
		}
		method := "GET"
		if len(answers) < len(asks) {
			method = asks[len(answers)].Method
		}
		a, err := http.ReadResponse(in, &http.Request{Method: method})
		var late interface{ Timeout() bool }
		if errors.As(err, &late) && late.Timeout() {
			r.t.Fatalf("%d answers to %d requests, and no more", len(answers), len(asks))
		}
		if err != nil {
			return answers, failed == nil && !errors.Is(err, syscall.ECONNRESET)
		}
		if a.StatusCode < http.StatusOK {
			continue
		}
		if _, err = io.Copy(io.Discard, a.Body); err != nil {
			return answers, false
		}
		answers = append(answers, a)
	}
}

// told gives what a slot got that an answer tells of, and takes it out of all.
func told(tb testing.TB, all map[int]*caught, a *http.Response) *caught {
	tb.Helper()
	n, err := strconv.Atoi(a.Header.Get("X-Caught"))
	c := all[n]
	if err != nil || c == nil {
		tb.Fatalf("answer %v tells of request %d, which is not there", a.Header, n)
	}
	delete(all, n)
	select {
	case <-c.done:
	case <-time.After(wait):
		tb.Fatalf("the connection to slot %s stays open", c.slot)
	}
	return c
}

// compare holds what a slot got against what the client asked and what the readers make of it.
func (d *duel) compare(tb testing.TB, c *caught, q ask) {
	tb.Helper()
	if why := refusable(q); why != "" {
		tb.Errorf("was let through although %s: %q", why, c.raw)
	}
	want := d.meant(tb, c, q)
	sent := bytes.Replace(c.raw, []byte("\r\nConnection: close\r\n"), []byte("\r\n"), 1)
	if len(sent) == len(c.raw) {
		tb.Errorf("the slot may leave the connection open: %q", c.raw)
	}
	// The readers get a plain request behind it: where both are seen for what they are, nothing was left over.
	after := wire("GET", "/api/after", "Host: "+host)
	wantAfter := reading{Method: "GET", Target: "/api/after", Header: []string{"host: " + host}, Body: digest(nil)}
	sent = append(sent, after...)
	byPython, left := d.python.read(tb, sent)
	if left > 0 {
		tb.Errorf("python leaves %d bytes of %q", left, sent)
	}
	for reader, got := range map[string][]reading{"python": byPython, "net/http": readByGo(tb, sent)} {
		if len(got) != 2 || !same(got[0], want) || !same(got[1], wantAfter) {
			tb.Errorf("%s reads %q\nas   %+v\nwant %+v", reader, sent, got, want)
		}
	}
}

func same(a, b reading) bool {
	return a.Refused == b.Refused && a.Method == b.Method && a.Target == b.Target && a.Body == b.Body && slices.Equal(a.Header, b.Header)
}

// refusable says why a request must not be let through, "" where it may be.
func refusable(q ask) string {
	path, _, _ := strings.Cut(q.RequestURI, "?")
	switch {
	case !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, q.Method):
		return "its method is not one of a web UI's"
	case strings.ContainsAny(q.RequestURI, "#\\;") || !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.Contains(path, "..") || strings.Contains(path+"/", "/./"):
		return "its target is not canonical"
	case hiding.MatchString(path):
		return "its path hides what separates"
	case strings.HasPrefix(path, "/api/shutdown"), strings.HasPrefix(path, "/login"), strings.HasPrefix(path, "/.mooring/"), strings.HasPrefix(path, "/oauth2/"):
		return "its path is not a tenant's"
	case !strings.EqualFold(strings.TrimSuffix(strings.TrimSuffix(q.Host, ":443"), ":80"), host):
		return "its host is another one"
	case len(q.Header["X-Forwarded-User"]) != 1:
		return "nobody stands for it"
	case len(q.Header["Upgrade"]) > 0:
		return "it asks for another protocol"
	case slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, q.Method) && (q.ContentLength != 0 || len(q.TransferEncoding) > 0):
		return "its method has no body"
	}
	return ""
}

var (
	hiding      = regexp.MustCompile(`(?i)%(2f|5c|00|25|3b|3f|23|2e)`)
	plainTarget = regexp.MustCompile(`\A/[!-~]*\z`)
	plainField  = regexp.MustCompile(`\A([A-Z][A-Za-z0-9-]*): ([^\x00-\x08\x0a-\x1f\x7f]*)\z`)
)

// passing are headers of a client that a slot sees as they came, and filing those that only routes of files are shown.
var (
	passing = strings.Fields("accept accept-language content-type origin referer user-agent x-hermes-csrf-token x-csrf-token last-event-id cache-control dnt priority sec-fetch-mode sec-fetch-dest sec-fetch-site sec-fetch-user")
	filing  = strings.Fields("range if-range if-none-match if-modified-since")
)

// meant gives what a slot has to understand, taken from the bytes that it got, which must be those that the client's request calls for.
func (d *duel) meant(tb testing.TB, c *caught, q ask) reading {
	tb.Helper()
	head, body, _ := bytes.Cut(c.raw, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	want := q.line()
	method, target, _ := strings.Cut(strings.TrimSuffix(want, " HTTP/1.1"), " ")
	if lines[0] != want || !plainTarget.MatchString(target) {
		tb.Errorf("the slot's request line is %q, want %q", lines[0], want)
	}
	if !bytes.Equal(body, q.body) {
		tb.Errorf("the slot's body is %.200q, want %.200q", body, q.body)
	}
	out := reading{Method: method, Target: target, Body: digest(q.body)}
	got := map[string]string{}
	for _, line := range lines[1:] {
		m := plainField.FindStringSubmatch(line)
		if m == nil {
			tb.Fatalf("the slot got the line %q", line)
		}
		name := strings.ToLower(m[1])
		if _, twice := got[name]; twice {
			tb.Errorf("the slot got %s twice", name)
		}
		got[name] = strings.Trim(m[2], " \t")
		if name != "connection" {
			out.Header = append(out.Header, field(name, m[2]))
		}
	}
	slices.Sort(out.Header)
	for name, want := range d.wanted(tb, c, q) {
		if value, has := got[name]; !has || value != want && want != anything {
			tb.Errorf("the slot got %s: %q, %v; want %q", name, value, has, want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		tb.Errorf("the slot got more than it should: %q", got)
	}
	return out
}

// anything stands for a value that only the edge knows.
const anything = "\x00"

// wanted gives the headers that a slot has to get, and no others.
func (d *duel) wanted(tb testing.TB, c *caught, q ask) map[string]string {
	tb.Helper()
	who := q.Header.Get("X-Forwarded-User")
	if d.slotOf[who] != c.slot {
		tb.Errorf("slot %s was asked for %q, whose slot is %q", c.slot, who, d.slotOf[who])
	}
	want := map[string]string{
		"host": host, strings.ToLower(identity): d.keyOf[who], "x-forwarded-proto": "https", "x-forwarded-host": host, "x-request-id": anything, "connection": "close",
	}
	path, _, _ := strings.Cut(q.RequestURI, "?")
	through := passing
	if q.files(path) {
		through = slices.Concat(passing, filing)
	}
	for _, name := range through {
		if values := q.Header.Values(name); len(values) > 0 {
			want[name] = strings.Trim(values[0], " \t")
		}
	}
	if want["user-agent"] == "" {
		delete(want, "user-agent")
	}
	if len(q.body) > 0 || q.Method == "POST" || q.Method == "PUT" || q.Method == "PATCH" {
		want["content-length"] = strconv.Itoa(len(q.body))
	}
	if strings.Contains(string(c.raw), "\r\nAccept-Encoding: gzip\r\n") && strings.Contains(fmt.Sprint(q.Header["Accept-Encoding"]), "gzip") {
		want["accept-encoding"] = "gzip"
	}
	if pairs := d.cookies(q, who); pairs != "" {
		want["cookie"] = pairs
	}
	return want
}

func (q ask) files(path string) bool {
	return strings.HasPrefix(path, "/static/") || strings.HasPrefix(path, "/extensions/") || path == "/sw.js" || path == "/api/file/raw"
}

// cookies gives the Cookie line that a slot has to get: the two of its own, well formed and there once.
func (d *duel) cookies(q ask, who string) string {
	once := func(name string) string {
		found := ""
		n := 0
		for pair := range strings.SplitSeq(strings.Join(q.Header["Cookie"], ";"), ";") {
			k, v, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
			if k == name {
				n++
				found = v
			}
		}
		if n != 1 {
			return ""
		}
		return found
	}
	if once(bid) != d.bindings[who] {
		return ""
	}
	var pairs []string
	for i, name := range []string{sid, pid} {
		if value := once(name); wellFormed[i].MatchString(value) {
			pairs = append(pairs, name+"="+value)
		}
	}
	return strings.Join(pairs, "; ")
}
