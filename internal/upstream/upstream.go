// Package upstream owns what is known of the servers that answer: their addresses, transports, accounts, how many requests
// are in flight at each, who waits for a place, whether they are well and whether they are drained. It never chooses between them
// (route does) and never talks to a client.
//
// A Fleet with health checks runs one goroutine per checked upstream, and Drains one that follows what other replicas drain; Close
// ends them and waits.
package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"mooring"
)

// Speaks is the family of protocols that an upstream understands.
type Speaks string

// The families of CONTRACT section 2.
const (
	SpeaksOpenAI    Speaks = "openai"
	SpeaksAnthropic Speaks = "anthropic"
	SpeaksBoth      Speaks = "both"
)

// KeyMode says whose credential an upstream gets.
type KeyMode int

// Own sends Mooring's, Client forwards the client's, None sends none.
const (
	KeyOwn KeyMode = iota
	KeyClient
	KeyNone
)

// Account is one of an upstream's credentials.
type Account struct {
	Name   mooring.AccountName
	Key    mooring.Secret
	Weight int
}

// Spec is an upstream as the configuration describes it.
type Spec struct {
	Name           mooring.UpstreamName
	URL            string // scheme, host and an optional path prefix, without /v1
	Speaks         Speaks
	KeyMode        KeyMode
	Accounts       []Account // one or more where KeyMode is KeyOwn
	Models         []string  // globs
	Remote         bool      // the server keeps the conversation
	SessionHeaders []string
	Weight         int
	Health         string // path of the active check; empty for none
	Passthrough    []string
	Timeout        time.Duration // until the response header
	MaxInFlight    int           // 0 for no limit
	Headers        map[string]string
	Failover       string            // next, wait or fail
	Builtin        http.RoundTripper // answers in place of the network
}

// Upstream is a server that answers, with its state.
type Upstream struct {
	Spec
	Base      *url.URL
	transport http.RoundTripper
	state     *state
}

// state is what is known of a server besides its configuration: a reload that changes the one keeps the other.
type state struct {
	places   places
	circuit  circuit
	rests    rests
	requests atomic.Int64
	failures atomic.Int64
	spills   atomic.Int64
	drained  atomic.Bool
}

// New makes an upstream with a transport of its own, so that a slow server takes no other one's connections. The address must be
// one that url.Parse takes.
func New(s Spec) (*Upstream, error) {
	u := &Upstream{Spec: s, transport: s.Builtin, state: &state{}}
	base, err := url.Parse(strings.TrimSuffix(s.URL, "/"))
	if err != nil {
		return nil, err
	}
	u.Base = base
	if s.Builtin == nil {
		u.transport = newTransport()
	} else if s.URL == "" {
		u.Base = &url.URL{Scheme: "http", Host: "builtin.invalid"}
	}
	u.state.places.resize(s.MaxInFlight)
	u.state.rests.keep(s.Accounts)
	return u, nil
}

// adopt takes over the state and the connections of the same server under an older configuration. What is in flight there counts
// here too.
func (u *Upstream) adopt(old *Upstream) {
	u.state, u.transport = old.state, old.transport
	u.state.places.resize(u.MaxInFlight)
	u.state.rests.keep(u.Accounts)
	if u.Health != old.Health {
		u.state.circuit.checked("")
	}
}

// Server is the address without what may differ between two upstreams of one server: name, models, keys.
func (u *Upstream) Server() string { return strings.ToLower(u.Origin()) + u.Base.Path }

// Origin is scheme, host and port: what decides where a client's own credential may go.
func (u *Upstream) Origin() string { return u.Base.Scheme + "://" + u.Base.Host }

// RoundTrip sends one request; the Visit around it counts it as in flight.
func (u *Upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.transport.RoundTrip(r)
}

// InFlight is the number of requests that have not ended.
func (u *Upstream) InFlight() int {
	taken, _ := u.state.places.count()
	return taken
}

// Waiting is the number of requests that wait for a place.
func (u *Upstream) Waiting() int {
	_, waiting := u.state.places.count()
	return waiting
}

// Requests and failures since the start. A failure is a request that got no answer, or an error of the server.
func (u *Upstream) Requests() (all, failed int64) {
	return u.state.requests.Load(), u.state.failures.Load()
}

// Full says that the upstream takes no more requests now.
func (u *Upstream) Full() bool { return u.state.places.full() }

// Spilled counts a turn that went elsewhere, once, because the server was full: its session stays at home here.
func (u *Upstream) Spilled() { u.state.spills.Add(1) }

// Spills is how many turns did so since the start.
func (u *Upstream) Spills() int64 { return u.state.spills.Load() }

// Drained says that operators want no new sessions here.
func (u *Upstream) Drained() bool { return u.state.drained.Load() }

// Standing is how the server stands.
func (u *Upstream) Standing(now time.Time) Standing { return u.state.circuit.standing(now) }

// Up says whether the server is believed to answer. A server that is not up is asked last, not never.
func (u *Upstream) Up(now time.Time) bool { return u.Standing(now) == Well }

// Circuit is the state of the server's circuit breaker.
func (u *Upstream) Circuit(now time.Time) Circuit { return u.state.circuit.state(now) }

// Ailment says in a sentence part why the server should not be asked; empty where it should. It names no address.
func (u *Upstream) Ailment(now time.Time) string {
	if why := u.state.circuit.ailment(now); why != "" {
		return why
	}
	if r := u.Resting(now); r != (Rest{}) {
		return fmt.Sprintf("status %d, rests until %s", r.Status, r.Until.UTC().Format(time.RFC3339))
	}
	return ""
}

// Understands says whether the upstream speaks a protocol.
func (u *Upstream) Understands(p mooring.Protocol) bool {
	if u.Speaks == SpeaksBoth || u.Builtin != nil {
		return true
	}
	return (u.Speaks == SpeaksAnthropic) == (p == mooring.Messages)
}

// exact outranks every glob.
const exact = 1 << 20

// Match tells how specifically the upstream's models name this one: exactly, else by the longest glob; false for not at all.
func (u *Upstream) Match(model string) (int, bool) {
	best, ok := 0, false
	for _, glob := range u.Models {
		if glob == model {
			return exact, true
		}
		if hit, err := path.Match(escapeSlash(glob), escapeSlash(model)); err == nil && hit {
			best, ok = max(best, len(glob)), true
		}
	}
	return best, ok
}

// escapeSlash lets a star cover the slash of names such as "openai/gpt-x".
func escapeSlash(s string) string { return strings.ReplaceAll(s, "/", "\x00") }

// Secrets are the credentials that no log may hold.
func (u *Upstream) Secrets() []mooring.Secret {
	out := make([]mooring.Secret, 0, len(u.Accounts))
	for _, a := range u.Accounts {
		out = append(out, a.Key)
	}
	return out
}

// Account gives the account of that name, else the first.
func (u *Upstream) Account(name mooring.AccountName) Account {
	if i := slices.IndexFunc(u.Accounts, func(a Account) bool { return a.Name == name }); i >= 0 {
		return u.Accounts[i]
	}
	if len(u.Accounts) > 0 {
		return u.Accounts[0]
	}
	return Account{}
}

// HasAccount says that the upstream has an account of that name.
func (u *Upstream) HasAccount(name mooring.AccountName) bool {
	return slices.ContainsFunc(u.Accounts, func(a Account) bool { return a.Name == name })
}
