package config_test

import (
	"errors"
	"strings"
	"testing"

	"mooring/internal/config"
)

// entry of a key with a name, as the file has it.
func key(name string) string { return `{name: ` + name + `, tenant: t, hash: "` + digest + `"}` }

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ rule, file, key, says string }{
		{"unknown key", "sesions: {}", "sesions", "unknown key (did you mean sessions?) at line 1 of mooring.yaml"},
		{"unknown nested key", "sessions:\n  retentoin: 90d", "sessions.retentoin", "(did you mean retention?) at line 2"},
		{"unknown key unlike any", "sessions: {zzzzzzzz: 1}", "sessions.zzzzzzzz", "unknown key at line 1"},
		{"unknown key of a list entry", "upstreams: [{name: a, modles: [x]}]", "upstreams[0].modles", "did you mean models?"},
		{"key twice", "listen: 127.0.0.1:1\nlisten: 127.0.0.1:2", "", "line 2"},
		{"no YAML", "a: [", "", "is no YAML"},
		{"two documents", "listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n", "", "more than one"},
		{"a text for keys", "sessions: full", "sessions", "needs keys of its own"},
		{"a text for the file", "hello", "", "needs keys of its own"},
		{"a text for a list", "hosts: here", "hosts", "needs a list"},
		{"a list for a text", "listen: [a]", "listen", "needs a single value"},
		{"keys for a map's text", "upstreams: [{name: a, headers: [x]}]", "upstreams[0].headers", "needs names with values"},
		{"an unknown alias", "hosts: *gone", "hosts", ""},
		{"a word for a number", "limits: {json_depth: deep}", "limits.json_depth", "whole number"},
		{"a word for a price", "prices: {x: {input: much}}", "prices.x.input", "must be a number"},
		{"a word for a switch", "sessions: {learn_headers: perhaps}", "sessions.learn_headers", "true or false"},
		{"an unset variable", "secret: ${GONE}", "secret", `environment variable "GONE" is not set`},
		{"an open variable", "secret: ${GONE", "secret", "without a closing }"},

		{"listen without port", "listen: localhost", "listen", "HOST:PORT"},
		{"listen with a port's name", "listen: 127.0.0.1:http", "listen", "no port number"},
		{"listen wide without keys", "listen: 0.0.0.0:4747", "listen", "keys"},
		{"listen on every address without keys", "listen: :4747", "listen", "keys"},
		{"hosts any without keys", `hosts: ["*"]`, "hosts", "keys"},
		{"hosts with a scheme", "hosts: [http://a]", "hosts[0]", "host name"},
		{"cors any without keys", `cors: {origins: ["*"]}`, "cors.origins", "keys"},
		{"cors with a path", "cors: {origins: [https://a.example/x]}", "cors.origins[0]", "exact origin"},
		{"cors with a trailing slash", "cors: {origins: [https://a.example/]}", "cors.origins[0]", "exact origin"},
		{"cors with a glob", `cors: {origins: ["https://*.example"]}`, "cors.origins[0]", "exact origin"},
		{"cors without a scheme", "cors: {origins: [a.example]}", "cors.origins[0]", "exact origin"},

		{"store of an unknown kind", "store: mysql://x", "store", "sqlite:FILE or postgres://"},
		{"store without a file", "store: 'sqlite:'", "store", "sqlite:FILE"},
		{"secret too short", "secret: short", "secret", "32 or more"},
		{"postgres without secret", "store: postgres://h/d", "secret", "required with PostgreSQL"},

		{"upstream without name", "upstreams: [{builtin: echo}]", "upstreams[0].name", "missing"},
		{"upstream name with other letters", "upstreams: [{name: Not Allowed, builtin: echo}]", "upstreams[0].name", "lower-case"},
		{"upstream name twice", "upstreams: [{name: a, builtin: echo}, {name: a, builtin: echo}]", "upstreams[1].name", "twice"},
		{"upstream without url", "upstreams: [{name: a}]", "upstreams[0].url", "needs a url"},
		{"upstream of another scheme", "upstreams: [{name: a, url: 'ftp://h'}]", "upstreams[0].url", "address"},
		{"upstream url with /v1", "upstreams: [{name: a, url: 'http://h/v1/'}]", "upstreams[0].url", "without /v1, as in http://h"},
		{"upstream url with a credential", "upstreams: [{name: a, url: 'http://u:pass@h'}]", "upstreams[0].url", "`key`"},
		{"upstream url with a query", "upstreams: [{name: a, url: 'http://h?x=1'}]", "upstreams[0].url", "query"},
		{"builtin unknown", "upstreams: [{name: a, builtin: parrot}]", "upstreams[0].builtin", "echo"},
		{"builtin with url", "upstreams: [{name: a, builtin: echo, url: 'http://h'}]", "upstreams[0].url", "built in"},
		{"builtin with key", "upstreams: [{name: a, builtin: echo, key: x}]", "upstreams[0].key", "no credential"},
		{"protocol unknown", "upstreams: [{name: a, builtin: echo, protocol: gemini}]", "upstreams[0].protocol", "openai, anthropic, both"},
		{"state unknown", "upstreams: [{name: a, builtin: echo, state: solid}]", "upstreams[0].state", "none, remote"},
		{"weight zero", "upstreams: [{name: a, builtin: echo, weight: 0}]", "upstreams[0].weight", "1 or more"},
		{"no models", "upstreams: [{name: a, builtin: echo, models: []}]", "upstreams[0].models", "never be asked"},
		{"a glob that is none", "upstreams: [{name: a, builtin: echo, models: ['[']}]", "upstreams[0].models[0]", "glob"},
		{"timeout zero", "upstreams: [{name: a, builtin: echo, timeout: 0s}]", "upstreams[0].timeout", "more than 0"},
		{"passthrough outside /v1", "upstreams: [{name: a, builtin: echo, passthrough: [/etc]}]", "upstreams[0].passthrough[0]", "below /v1/"},
		{"header of the connection", "upstreams: [{name: a, builtin: echo, headers: {Transfer-Encoding: x}}]", "upstreams[0].headers.Transfer-Encoding", "connection"},
		{"header in two spellings", "upstreams: [{name: a, builtin: echo, headers: {X-A: x, x-a: y}}]", "upstreams[0].headers.x-a", "two spellings"},
		{"header with two lines", `upstreams: [{name: a, builtin: echo, headers: {X-A: "x\ny"}}]`, "upstreams[0].headers.X-A", "line end"},
		{"key with a line end", `upstreams: [{name: a, url: 'http://h', key: "sk\n"}]`, "upstreams[0].key", "line end"},
		{"account with a control character", `upstreams: [{name: a, url: 'http://h', keys: [{name: b, key: "s\x7fk"}]}]`, "upstreams[0].keys[0].key", "control character"},
		{"header with a blank", "upstreams: [{name: a, builtin: echo, headers: {'a b': x}}]", "upstreams[0].headers", "header name"},

		{"policy unknown", "routing: {policy: sticky}", "routing.policy", "rendezvous, least_busy, round_robin"},
		{"policy empty", "routing: {policy: ''}", "routing.policy", "not one of"},
		{"failover unknown", "routing: {failover: perhaps}", "routing.failover", "next, wait, fail"},
		{"failover_on unknown", "routing: {failover_on: [4xx-ish]}", "routing.failover_on[0]", "5xx"},
		{"failover_on fine", "routing: {failover_on: [200]}", "routing.failover_on[0]", "error status"},
		{"on_recovery unknown", "routing: {on_recovery: sulk}", "routing.on_recovery", "stay, return"},
		{"subagents unknown", "routing: {subagents: maybe}", "routing.subagents", "inherit, spread"},
		{"pin_idle a word", "routing: {pin_idle: soon}", "routing.pin_idle", "no duration"},
		{"pin_idle without unit", "routing: {pin_idle: 60}", "routing.pin_idle", "has no unit"},
		{"concurrency unknown", "sessions: {concurrency: maybe}", "sessions.concurrency", "allow, queue, reject"},
		{"retention zero would delete everything", "sessions: {retention: 0d}", "sessions.retention", "more than 0"},
		{"command unknown", "sessions: {commands: [old]}", "sessions.commands[0]", "new"},
		{"body a word", "limits: {body: lots}", "limits.body", "no size"},
		{"body zero", "limits: {body: 0B}", "limits.body", "more than 0"},
		{"durability unknown", "durability: hopefully", "durability", "normal, full"},
		{"log level unknown", "telemetry: {log: loud}", "telemetry.log", "debug, info, warn, error"},
		{"collector without scheme", "telemetry: {otlp: 'host:4318'}", "telemetry.otlp", "http://"},
		{"alias for nothing", "models: {fast: []}", "models.fast", "no model"},
		{"alias for an empty name", "models: {fast: [m, '']}", "models.fast[1]", "name a model"},
		{"alias for a glob", "models: {fast: ['m-*']}", "models.fast[0]", "name a model"},
		{"alias for an alias", "models: {fast: [m, cheap], cheap: [n]}", "models.fast[1]", "one of them"},
		{"alias without a name", "models: {'': [m]}", "models", "name is missing"},
		{"price below zero", "prices: {x: {output: -1}}", "prices.x.output", "0 or more"},

		{"key without name", "keys: [{tenant: t, hash: '" + digest + "'}]", "keys[0].name", "missing"},
		{"key name twice", "keys: [" + key("a") + ", " + key("a") + "]", "keys[1].name", "twice"},
		{"key hash twice", "keys: [" + key("a") + ", " + key("b") + "]", "keys[1].hash", "another key"},
		{"key instead of its hash", "keys: [{name: a, tenant: t, hash: mk-secret-words}]", "keys[0].hash", "64 hex digits"},
		{"user without tenant", "keys: [{name: a, hash: '" + digest + "'}]", "keys[0].tenant", "only an operator"},
		{"role unknown", "keys: [{name: a, role: king, hash: '" + digest + "'}]", "keys[0].role", "user, operator"},
		{"expiry that is no time", "keys: [{name: a, tenant: t, expires: tomorrow, hash: '" + digest + "'}]", "keys[0].expires", "RFC 3339"},
		{"limit below zero", "keys: [{name: a, tenant: t, streams: -1, hash: '" + digest + "'}]", "keys[0]", "negative"},

		{"an edge without a host", "edge: {listen: '127.0.0.1:1'}", "edge.host", "is missing"},
		{"the edge's own keys are known", "edge: {lisen: x}", "edge.lisen", "unknown key"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("dir/mooring.yaml", []byte(row.file), config.Source{})
			var named *config.Error
			if !errors.As(err, &named) {
				t.Fatalf("Parse(%s) = %v, want a *config.Error", row.file, err)
			}
			if named.Key != row.key {
				t.Errorf("key = %q, want %q (%v)", named.Key, row.key, err)
			}
			if text := err.Error(); !strings.Contains(text, row.says) || strings.ContainsAny(text, "\n\r") {
				t.Errorf("error = %q, want one line with %q", text, row.says)
			}
		})
	}
}

// Names that mean something else cannot carry a session id, whatever their spelling.
func TestHeadersThatCarryNoSession(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Authorization", "X-Api-Key", "x_api_key", "API-KEY", "X-Goog-Api-Key", "Helicone-Auth", "X-Portkey-Api-Key", "Cookie", "Proxy-Authorization",
		"X-Session-Token", "X_Amz_Security_Token", "X-Session-Api-Key", "X-Vendor-Auth-Token", "X-Webhook-Signature", "X-Mooring-Key", "X_Mooring_Session",
		"Connection", "Transfer_Encoding", "TE", "Host", "Content-Length", "Content-Type", "X-Request-Id", "x_client_request_id", "Traceparent",
		"X-Stainless-Retry-Count", "Idempotency-Key", "X-B3-TraceId", "X-Amzn-Trace-Id", "X-Codex-Turn-Metadata", "VSCode-SessionId", "X-User-Id",
		"X-OpenWebUI-User-Id", "ChatGPT-Account-ID", "X-Hermes-Session-Key", "X-Forwarded-For", "User-Agent", "Mcp-Session-Id", "Sec-WebSocket-Key",
		"X-Parent-Session-Id", "X-Claude-Code-Agent-Id", "'X A'", "'X:A'", "'XÄ'", "''", strings.Repeat("x", 65),
	} {
		for _, row := range []struct{ file, key string }{
			{"sessions: {headers: [X-Chat, " + name + "]}", "sessions.headers[1]"},
			{"upstreams: [{name: a, url: 'http://h', session_headers: [" + name + "]}]", "upstreams[0].session_headers[0]"},
		} {
			_, err := config.Parse("f", []byte(row.file), config.Source{})
			var named *config.Error
			if !errors.As(err, &named) || named.Key != row.key {
				t.Errorf("Parse(%s) = %v, want an error of %s", row.file, err, row.key)
			}
		}
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	keyed := "keys: [" + key("a") + "]\n"
	for _, row := range []struct{ rule, file string }{
		{"listen wide with keys", keyed + "listen: 0.0.0.0:0"},
		{"any host with keys", keyed + `hosts: ["*"]`},
		{"any origin with keys", keyed + `cors: {origins: ["*"]}`},
		{"loopback by name", "listen: localhost:0"},
		{"loopback of version 6", "listen: '[::1]:0'"},
		{"an origin with a port", "cors: {origins: ['http://localhost:3000']}"},
		{"an operator without tenant", "keys: [{name: a, role: operator, hash: '" + digest + "'}]"},
		{"limits of a key", "keys: [{name: a, tenant: t, hash: '" + digest + "', expires: 2099-01-01T00:00:00Z, models: [x-*], requests_per_minute: 6, streams: 9, budget_usd: 50}]"},
		{"postgres with secret", "store: postgres://h/d\nsecret: 0123456789abcdef0123456789abcdef"},
		{"names of sessions", "sessions: {headers: [X-Shop-Chat, x_team_thread, X-OpenWebUI-Chat-Id, X-OpenClaw-Session-Key, X-Author-Chat]}"},
		{"names of sessions at an upstream", "upstreams: [{name: a, url: 'http://h', state: remote, session_headers: [X-Up-Session, X-Hermes-Session-Id]}]"},
		{"headers of an upstream", `upstreams: [{name: a, url: 'http://h', headers: {Authorization: Basic x, X-A: "a\tb", X_A: ü}}]`},
		{"a url with a path", "upstreams: [{name: a, url: 'https://h/api/'}]"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			parsed(t, row.file)
		})
	}
}

func TestWhoseCredential(t *testing.T) {
	t.Parallel()
	keyed := "keys: [" + key("a") + "]\n"
	for _, row := range []struct{ rule, file, key, says string }{
		{"one origin without keys forwards the client's", "upstreams: [{name: up, url: 'http://h'}, {name: twin, url: 'http://h/'}]", "", ""},
		{"origins of different protocols do not meet", "upstreams: [{name: up, url: 'http://h'}, {name: b, url: 'http://i', protocol: anthropic}]", "", ""},
		{"a built-in model has no origin", "upstreams: [{name: up, url: 'http://h'}, {name: e, builtin: echo}]", "", ""},
		{"two origins need a key", "upstreams: [{name: up, url: 'http://h'}, {name: b, url: 'http://i'}]", "upstreams[0].key", `"up" needs a key`},
		{"two ports are two origins", "upstreams: [{name: up, url: 'http://h:1'}, {name: b, url: 'http://h:2'}]", "upstreams[0].key", "`key: client`"},
		{"both meets either", "upstreams: [{name: up, url: 'http://h', protocol: both}, {name: b, url: 'http://i', key: k, protocol: anthropic}]", "upstreams[0].key", "${UP_KEY}"},
		{"with keys an upstream needs one", keyed + "upstreams: [{name: my-up, url: 'http://h'}]", "upstreams[0].key", "${MY_UP_KEY}"},
		{"with keys: client", keyed + "upstreams: [{name: up, url: 'http://h', key: client}]", "", ""},
		{"with keys: none", keyed + "upstreams: [{name: up, url: 'http://h', key: none}]", "", ""},
		{"with keys: accounts", keyed + "upstreams: [{name: up, url: 'http://h', keys: [{name: one, key: k}]}]", "", ""},
		{"key and keys exclude each other", "upstreams: [{name: up, url: 'http://h', key: k, keys: [{name: one, key: k}]}]", "upstreams[0].keys", "both"},
		{"an account needs a credential", "upstreams: [{name: up, url: 'http://h', keys: [{name: one, key: client}]}]", "upstreams[0].keys[0].key", "of its own"},
		{"an account's name is its own", "upstreams: [{name: up, url: 'http://h', keys: [{name: o, key: k}, {name: o, key: l}]}]", "upstreams[0].keys[1].name", "twice"},
		{"an account needs a name", "upstreams: [{name: up, url: 'http://h', keys: [{key: k}]}]", "upstreams[0].keys[0].name", "missing"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("f", []byte(row.file), config.Source{})
			var named *config.Error
			if !errors.As(err, &named) {
				named = &config.Error{}
			}
			if named.Key != row.key || !strings.Contains(named.Error(), row.says) {
				t.Errorf("Parse = %v, want key %q and %q", err, row.key, row.says)
			}
		})
	}
}

func TestNoErrorShowsASecret(t *testing.T) {
	t.Parallel()
	const secret = "sk-do-not-show"
	for _, file := range []string{
		"secret: " + secret,
		"upstreams: [{name: a, url: 'http://u:" + secret + "@h'}]",
		"upstreams: [{name: a, url: 'http://h', key: " + secret + "}, {name: b, url: 'http://i'}]",
		"keys: [{name: a, tenant: t, hash: " + secret + "}]",
		"store: mysql://u:" + secret + "@h",
		"upstreams: [{name: a, url: 'http://h', key: \"" + secret + "\\n\"}]",
		"upstreams: [{name: a, url: 'http://h', headers: {X-A: \"" + secret + "\\n\"}}]",
	} {
		_, err := config.Parse("f", []byte(file), config.Source{})
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("Parse(%s) = %v, want an error without the secret", file, err)
		}
	}
}
