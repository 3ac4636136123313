package harness

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"mooring/internal/upstreamtest"
)

// Question is what a client asks: the key of its conversation and a number, in words that no other question shares.
type Question struct {
	Key string
	N   int
}

// Text is the question in words.
func (q Question) Text() string { return fmt.Sprintf("Question %d of %s.", q.N, q.Key) }

// Asked is one request that reached a model server, which notes it before it answers.
type Asked struct {
	Question
	Upstream string
	Number   int    // over all servers, from 1
	Text     string // of the answer, which no other request gets
	At       time.Time
	Over     time.Time // when the server had nothing more to send, or its client had gone; zero before
	Spoilt   bool      // the server was told to fail
}

// Models are model servers with one memory. Each is an upstream of its own: u1, u2 and so on.
type Models struct {
	Servers []*upstreamtest.Server

	mu     sync.Mutex // guards the fields below
	asked  []*Asked
	number int
	behave func(a *Asked) upstreamtest.Reply
}

// NewModels starts n model servers.
func (s *Stage) NewModels(ctx context.Context, n int) (*Models, error) {
	m := &Models{behave: func(*Asked) upstreamtest.Reply { return upstreamtest.Reply{} }}
	for i := range n {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		server, err := upstreamtest.Start(upstreamtest.Options{}) //nolint:contextcheck // the stage ends it
		if err != nil {
			return nil, fmt.Errorf("start model server: %w", err)
		}
		s.Defer(server.Close)
		name := fmt.Sprintf("u%d", i+1)
		server.AlwaysFunc(func(r *upstreamtest.Request) upstreamtest.Reply { return m.reply(name, r) })
		m.Servers = append(m.Servers, server)
	}
	return m, nil
}

// Behave says how answers come from now on; their text is put in where there is none.
func (m *Models) Behave(how func(a *Asked) upstreamtest.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.behave = how
}

// Pace is a model that takes its time over each word.
func Pace(gap time.Duration) func(*Asked) upstreamtest.Reply {
	return func(*Asked) upstreamtest.Reply { return upstreamtest.Reply{Gap: gap, Delay: gap} }
}

var question = regexp.MustCompile(`Question (\d+) of ([\w-]+)\.`)

func (m *Models) reply(upstream string, r *upstreamtest.Request) upstreamtest.Reply {
	a := &Asked{Upstream: upstream, At: r.At}
	if all := question.FindAllSubmatch(r.Body(), -1); all != nil { // the last one is asked, those before are history
		last := all[len(all)-1]
		a.Question = Question{Key: string(last[2]), N: number(string(last[1]))}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.number++
	a.Number = m.number
	a.Text = fmt.Sprintf("Here is answer %d from %s to question %d of %s and this is its end.", a.Number, upstream, a.N, a.Key)
	reply := m.behave(a)
	a.Spoilt = reply.Fault != "" || reply.Status != 0
	if reply.Text == "" {
		reply.Text = a.Text
	}
	m.asked = append(m.asked, a)
	go m.over(a, r) // ends with the request
	return reply
}

func (m *Models) over(a *Asked, r *upstreamtest.Request) {
	<-r.Done()
	m.mu.Lock()
	defer m.mu.Unlock()
	a.Over = Now()
}

// Right says whether a text is a whole answer to the question.
func (q Question) Right(text string) bool {
	return strings.HasPrefix(text, "Here is answer ") && strings.HasSuffix(text, fmt.Sprintf(" to question %d of %s and this is its end.", q.N, q.Key))
}

// Asked gives what reached the servers about conversations whose keys begin with a prefix, in the order in which it came.
func (m *Models) Asked(prefix string) []Asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Asked
	for _, a := range m.asked {
		if strings.HasPrefix(a.Key, prefix) {
			out = append(out, *a)
		}
	}
	return out
}

// Forget drops what was noted.
func (m *Models) Forget() {
	m.mu.Lock()
	m.asked = nil
	m.mu.Unlock()
	for _, s := range m.Servers {
		s.Forget()
	}
}

// Addrs are the servers' addresses, host and port.
func (m *Models) Addrs() []string {
	var out []string
	for _, s := range m.Servers {
		out = append(out, strings.TrimPrefix(s.URL, "http://"))
	}
	return out
}

// Upstreams is the part of a configuration that names model servers at these addresses; more is added to each entry.
func Upstreams(addrs []string, more string) string {
	var b strings.Builder
	b.WriteString("upstreams:\n")
	for i, a := range addrs {
		fmt.Fprintf(&b, "  - {name: u%d, url: %q, protocol: both, key: none%s}\n", i+1, "http://"+a, more)
	}
	return b.String()
}
