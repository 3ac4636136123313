package app_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mooring/internal/upstreamtest"
)

const (
	chatPath     = "/v1/chat/completions"
	messagesPath = "/v1/messages"
)

// one is a configuration with a single fake server.
func one(s *upstreamtest.Server, more ...string) string {
	return "upstreams:\n" + upstreamYAML("u1", s.URL, append([]string{"key: none"}, more...)...)
}

// two is a configuration with two of them, either of which may answer.
func two(a, b *upstreamtest.Server) string {
	return "upstreams:\n" + upstreamYAML("u1", a.URL, "key: none") + upstreamYAML("u2", b.URL, "key: none")
}

// both makes the first request that reaches either server end as the reply says; all others are answered as usual.
func both(a, b *upstreamtest.Server, first upstreamtest.Reply) {
	once := make(chan struct{}, 1)
	once <- struct{}{}
	reply := func(*upstreamtest.Request) upstreamtest.Reply {
		select {
		case <-once:
			return first
		default:
			return upstreamtest.Reply{}
		}
	}
	a.AlwaysFunc(reply)
	b.AlwaysFunc(reply)
}

// live is an answer that is read while it comes.
type live struct {
	*http.Response
	t    *testing.T
	quit context.CancelFunc
	read strings.Builder
}

// open sends a request and gives the answer as soon as its header is there.
func (p *product) open(path, body string, hs ...string) *live {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	res, err := http.DefaultTransport.RoundTrip(p.request(http.MethodPost, path, body, hs...).WithContext(ctx))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = res.Body.Close() })
	return &live{Response: res, t: p.t, quit: cancel}
}

// until reads on until the text is there.
func (l *live) until(text string) {
	l.t.Helper()
	buf := make([]byte, 1<<10)
	for !strings.Contains(l.read.String(), text) {
		n, err := l.Body.Read(buf)
		l.read.Write(buf[:n])
		if err != nil && !strings.Contains(l.read.String(), text) {
			l.t.Fatalf("stream ended (%v) before %q:\n%s", err, text, l.read.String())
		}
	}
}

// rest reads to the end and gives all that came.
func (l *live) rest() string {
	l.t.Helper()
	data, err := io.ReadAll(l.Body)
	l.read.Write(data)
	if err != nil {
		l.t.Errorf("stream broke off: %v", err)
	}
	return l.read.String()
}

// end reads to the end and gives the whole answer.
func (l *live) end() *reply {
	l.t.Helper()
	return &reply{t: l.t, status: l.StatusCode, header: l.Header, body: []byte(l.rest())}
}

// leave goes away as a client does that closes its connection.
func (l *live) leave() { l.quit() }

// abandon sends a request and goes away once the server has it; there is no answer yet.
func (p *product) abandon(s *upstreamtest.Server, body string, hs ...string) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	gone := make(chan error, 1)
	req := p.request(http.MethodPost, chatPath, body, hs...).WithContext(ctx)
	n := len(s.Posts())
	go func() {
		res, err := http.DefaultTransport.RoundTrip(req)
		if err == nil {
			err = errors.Join(errors.New("there is an answer"), res.Body.Close())
		}
		gone <- err
	}()
	if _, err := s.WaitPosts(p.t.Context(), n+1); err != nil {
		p.t.Fatal(err)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		p.t.Fatalf("client got %v, want its own cancellation", err)
	}
}

// raw sends bytes over a connection of its own and gives a reader of what comes back.
func (p *product) raw(text string) (net.Conn, *bufio.Reader) {
	p.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(p.t.Context(), "tcp", strings.TrimPrefix(p.base, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		p.t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// rawChat is a chat request as bytes; the header lines end with CRLF.
func rawChat(body string, lines ...string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		chatPath, len(body), strings.Join(lines, ""), body)
}

// turns are the session's turns, as the session API lists them.
func (p *product) turns(id string) []map[string]any {
	p.t.Helper()
	r := p.call(http.MethodGet, "/api/sessions/"+url.PathEscape(id)+"/turns", "").want(http.StatusOK)
	list, _ := r.get("turns").([]any)
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i], _ = list[i].(map[string]any)
	}
	return out
}

// turnOf waits for the session's only turn to be in its final state, and gives it.
func (p *product) turnOf(id string) map[string]any {
	p.t.Helper()
	var turn map[string]any
	eventually(p.t, "the turn ends", func() bool {
		turns := p.turns(id)
		if len(turns) != 1 {
			return false
		}
		turn = turns[0]
		return turn["state"] != "running"
	})
	return turn
}

// sessions is how many sessions the caller has.
func (p *product) sessions() int {
	p.t.Helper()
	n, _ := p.call(http.MethodGet, "/api/sessions", "").want(http.StatusOK).get("total").(float64)
	return int(n)
}

// said is the text of a chat stream's deltas.
func said(t *testing.T, stream string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:")
		if data = strings.TrimSpace(data); !ok || data == "[DONE]" {
			continue
		}
		r := &reply{t: t, body: []byte(data)}
		text, _ := r.get("choices", 0, "delta", "content").(string)
		out.WriteString(text)
	}
	return out.String()
}

// usageOf gives a member of a turn's or session's usage; nil where it is unknown.
func usageOf(v map[string]any, name string) any {
	u, _ := v["usage"].(map[string]any)
	return u[name]
}

// messagesBody is a request of one user message in Anthropic's protocol.
func messagesBody(text, more string) string {
	return fmt.Sprintf(`{"model":"fake-1",%s"max_tokens":64,"messages":[{"role":"user","content":%q}]}`, more, text)
}

// Two client keys of two tenants.
const (
	keyA = "mk-alice-0123456789abcdef"
	keyB = "mk-bob-0123456789abcdef"
)

// twoKeys configures them; the tenants are a and b.
func twoKeys() string {
	return oneKey("alice", "a", keyA) + strings.TrimPrefix(oneKey("bob", "b", keyB), "keys:\n")
}

func oneKey(name, tenant, key string) string {
	return fmt.Sprintf("keys:\n  - {name: %s, tenant: %s, hash: \"sha256:%x\"}\n", name, tenant, sha256.Sum256([]byte(key)))
}
