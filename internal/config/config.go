// Package config owns mooring.yaml: its keys, their defaults, the rules between them, and what flags and environment
// put over the file.
//
// It decides nothing at run time: other rooms take their own Options, which app fills from a Config. It opens no
// listener, no store and no connection, starts no goroutine, and shows no secret in an error or a printed configuration.
package config

import (
	"slices"
	"time"

	"mooring"
)

// Config is the whole configuration after file, environment and flags, checked and with its defaults filled in.
type Config struct {
	// Path is the file that was read; empty where there was none.
	Path string `yaml:"-"`

	// Found says that there was a file.
	Found bool `yaml:"-"`

	// Address and port to listen on; one that others can reach is refused unless `keys` are configured.
	Listen string `yaml:"listen"`

	// Host names that this server is reached by besides loopback and its own address; `"*"` stands for any and needs `keys`. The
	// pages need the name here that stands in the browser's address, also behind a TLS proxy, which must pass it on as Host.
	Hosts []string `yaml:"hosts"`

	// Where sessions are kept: `sqlite:FILE`, or `postgres://…`, which several replicas may share.
	Store DSN `yaml:"store"`

	// At least 32 bytes that key digests, cookies and cursors; with SQLite it is made once and kept beside the store, with PostgreSQL it is required.
	Secret mooring.Secret `yaml:"secret"`

	// Servers that answer; with none, those found on this machine are used, else the built-in `echo` model.
	Upstreams []Upstream `yaml:"upstreams"`

	// How a request finds its upstream.
	Routing Routing `yaml:"routing"`

	// Client keys; with none, the server is open on loopback, everybody is the tenant `local` and its operator.
	Keys []Key `yaml:"keys"`

	// Names that stand for models, each with those to ask for, the first one first, as in `fast: [gpt-x, claude-y]`; the next one is
	// asked for where `routing.failover` lets a request go on. A model's own name may stand for itself and others.
	Models map[string][]string `yaml:"models"`

	// How conversations are told apart, kept and given up.
	Sessions Sessions `yaml:"sessions"`

	// The pages.
	Workspace Workspace `yaml:"workspace"`

	// What models cost, by model name or glob, in USD per million tokens. It beats the built-in list; what is unknown has no cost.
	Prices map[string]Price `yaml:"prices"`

	// Bounds of what one request may take.
	Limits Limits `yaml:"limits"`

	// Which pages of other origins may call this server.
	CORS CORS `yaml:"cors"`

	// `normal`: a turn is committed before it is acknowledged and survives a killed process; `full`: it is fsynced too and survives a power loss.
	Durability string `jsonschema:"enum=normal,enum=full" yaml:"durability"`

	// What the server says about itself.
	Telemetry Telemetry `yaml:"telemetry"`

	// The tenants' front door, a listener of its own.
	Edge *Edge `yaml:"edge,omitempty"`
}

// Values of the keys that take one word of a few.
const (
	ProtocolOpenAI    = "openai"
	ProtocolAnthropic = "anthropic"
	ProtocolBoth      = "both"

	StateNone   = "none"
	StateRemote = "remote"

	BuiltinEcho = "echo"

	KeyClient = "client" // an upstream's key: forward the client's own credential
	KeyNone   = "none"   // an upstream's key: send none

	PolicyRendezvous = "rendezvous"
	PolicyLeastBusy  = "least_busy"
	PolicyRoundRobin = "round_robin"

	FailoverNext = "next"
	FailoverWait = "wait"
	FailoverFail = "fail"

	FailUnreachable = "unreachable" // an entry of failover_on
	Fail5xx         = "5xx"         // an entry of failover_on

	RecoveryStay   = "stay"
	RecoveryReturn = "return"

	SubagentsInherit = "inherit"
	SubagentsSpread  = "spread"

	Full                = "full" // transcripts, response_headers, durability
	TranscriptsMetadata = "metadata"
	HeadersMinimal      = "minimal"
	DurabilityNormal    = "normal"

	ConcurrencyAllow  = "allow"
	ConcurrencyQueue  = "queue"
	ConcurrencyReject = "reject"

	FormatText = "text"
	FormatJSON = "json"
)

// Default gives the configuration of an empty file.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:4747",
		Store:  "sqlite:mooring.db",
		Routing: Routing{
			Policy: PolicyRendezvous, FailoverOn: []string{FailUnreachable, Fail5xx},
			OnRecovery: RecoveryStay, Subagents: SubagentsInherit, PinIdle: time.Hour,
		},
		Sessions: Sessions{
			Transcripts: Full, Retention: 90 * day, Commands: []string{"new"},
			Queue: Queue{Depth: 8, Wait: 10 * time.Minute}, LearnHeaders: true, MatchContent: true,
			Memory: 64 * mebibyte, ResponseHeaders: Full,
		},
		Workspace: Workspace{Detach: 5 * time.Minute},
		Limits: Limits{
			Body: 32 * mebibyte, Answer: 64 * mebibyte, JSONDepth: 128,
			HeaderTimeout: 10 * time.Second, StreamIdle: 5 * time.Minute, Peek: 2 * time.Second,
		},
		Durability: DurabilityNormal,
		Telemetry:  Telemetry{Log: "info", Format: FormatText},
	}
}

// Open says that anybody who reaches the server may use it: no keys are configured.
func (c Config) Open() bool { return len(c.Keys) == 0 }

// FailoverOf gives what a request does when this upstream does not answer: the configured choice, else the one that
// fits the upstream's state.
func (c Config) FailoverOf(u Upstream) string {
	switch {
	case c.Routing.Failover != "":
		return c.Routing.Failover
	case u.State == StateRemote:
		return FailoverFail
	}
	return FailoverNext
}

// ConcurrencyOf gives what a second turn in a busy session does at this upstream: the configured choice, else the one
// that fits the upstream's state.
func (c Config) ConcurrencyOf(u Upstream) string {
	switch {
	case c.Sessions.Concurrency != "":
		return c.Sessions.Concurrency
	case u.State == StateRemote:
		return ConcurrencyQueue
	}
	return ConcurrencyAllow
}

// Command says whether a chat command, as in `new`, is switched on.
func (c Config) Command(name string) bool { return slices.Contains(c.Sessions.Commands, name) }
