package config

import (
	"cmp"
	"net/url"
	"strings"
	"time"

	"mooring"
)

const defaultTimeout = 10 * time.Minute

// Upstream is a server that answers.
type Upstream struct {
	// Name of the upstream in headers, logs and pages: lower-case letters, digits and hyphens.
	Name mooring.UpstreamName `jsonschema:"required" yaml:"name"`

	// Address of the server without `/v1`, as in `http://127.0.0.1:8642`.
	URL string `yaml:"url,omitempty"`

	// A model inside the binary instead of a server; `echo` is the only one.
	Builtin string `jsonschema:"enum=echo" yaml:"builtin,omitempty"`

	// Language that the server speaks.
	Protocol string `jsonschema:"enum=openai,enum=anthropic,enum=both" yaml:"protocol"`

	// Mooring's own credential there; `client` forwards the client's, `none` sends none.
	Key mooring.Secret `yaml:"key,omitempty"`

	// Several accounts instead of one `key`; a session stays with its account as long as that is there and not refused.
	Keys []Account `yaml:"keys,omitempty"`

	// Globs of the models served here; the most specific match over all upstreams wins.
	Models []string `yaml:"models"`

	// `remote` where the server keeps the conversation itself, as Hermes does.
	State string `jsonschema:"enum=none,enum=remote" yaml:"state"`

	// Headers that carry the session id to the server; `X-Hermes-Session-Id` and `X-Claude-Session-Id` where the state is remote, else none.
	SessionHeaders []string `yaml:"session_headers"`

	// Share of new sessions compared with the other candidates.
	Weight int `yaml:"weight"`

	// Path to ask for the server's health; without it only real requests tell.
	Health string `yaml:"health"`

	// Path prefixes of object routes that clients with keys may reach here, as in `/v1/files`.
	Passthrough []string `yaml:"passthrough"`

	// How long the server may take until its answer begins.
	Timeout time.Duration `yaml:"timeout"`

	// Requests that may run here at once; 0 for no limit. Who finds no place goes elsewhere for that turn, or waits as `sessions.queue` says.
	MaxInFlight int `yaml:"max_in_flight"`

	// Extra request headers; their values are never shown.
	Headers map[string]mooring.Secret `yaml:"headers"`
}

// Account is one of several credentials at one upstream.
type Account struct {
	// Name of the account in headers and logs.
	Name mooring.AccountName `jsonschema:"required" yaml:"name"`

	// Credential of the account.
	Key mooring.Secret `jsonschema:"required" yaml:"key"`

	// Share of new sessions compared with the other accounts.
	Weight int `yaml:"weight"`
}

// Origin gives scheme, host and port of the upstream; empty for a built-in one.
func (u Upstream) Origin() string {
	parsed, err := url.Parse(u.URL)
	if err != nil || u.URL == "" {
		return ""
	}
	return parsed.Scheme + "://" + strings.ToLower(parsed.Host)
}

// ForwardsClient says that the client's own credential goes there.
func (u Upstream) ForwardsClient() bool { return u.Key == KeyClient }

// SendsNone says that no credential goes there.
func (u Upstream) SendsNone() bool { return u.Builtin != "" || u.Key == KeyNone }

// speaks says whether the upstream serves a protocol.
func (u Upstream) speaks(protocol string) bool {
	return u.Protocol == protocol || u.Protocol == ProtocolBoth
}

func (u *Upstream) preset() {
	*u = Upstream{State: StateNone, Weight: 1, Timeout: defaultTimeout}
}

func (a *Account) preset() { a.Weight = 1 }

// complete fills in what depends on the other keys of the entry.
func (u *Upstream) complete() {
	protocol, models := ProtocolOpenAI, "*"
	if u.Builtin != "" {
		protocol, models = ProtocolBoth, u.Builtin
	}
	if u.Protocol == "" {
		u.Protocol = protocol
	}
	if u.Models == nil {
		u.Models = []string{models}
	}
	if u.SessionHeaders == nil && u.State == StateRemote {
		u.SessionHeaders = []string{"X-Hermes-Session-Id", "X-Claude-Session-Id"}
	}
	u.URL = strings.TrimRight(u.URL, "/")
}

// Complete gives an upstream that was made by hand the defaults that a loaded one has.
func Complete(u Upstream) Upstream {
	filled := u
	filled.State, filled.Weight, filled.Timeout = cmp.Or(u.State, StateNone), cmp.Or(u.Weight, 1), cmp.Or(u.Timeout, defaultTimeout)
	filled.complete()
	return filled
}
