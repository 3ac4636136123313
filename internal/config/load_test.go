package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
	"mooring/internal/config"
)

const digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// environment is a fake of os.LookupEnv.
func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// parsed gives the configuration of a text that must be right.
func parsed(t *testing.T, text string) config.Config {
	t.Helper()
	cfg, err := config.Parse("mooring.yaml", []byte(text), config.Source{})
	if err != nil {
		t.Fatalf("Parse(%s) = %v", text, err)
	}
	return cfg
}

func TestLoadFindsTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(path, []byte("listen: 127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := []any{cfg.Found, cfg.Path, cfg.Listen}, []any{true, path, "127.0.0.1:1"}; !cmp.Equal(got, want) {
		t.Errorf("Load = %v, want %v", got, want)
	}
	if _, err := config.Load(config.Source{Path: path + ".gone"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load of a named file that is missing = %v, want not exist", err)
	}
}

func TestLoadWithoutAFileGivesTheDefaults(t *testing.T) { //nolint:paralleltest // changes the working folder
	t.Chdir(t.TempDir())
	got, err := config.Load(config.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), got); diff != "" {
		t.Errorf("Load (-default +got):\n%s", diff)
	}
}

func TestFlagsBeatEnvironmentBeatsFile(t *testing.T) {
	t.Parallel()
	file := []byte("listen: 127.0.0.1:1\nstore: sqlite:file.db\ntelemetry: {log: warn}\n")
	env := environment(map[string]string{
		"MOORING_LISTEN": "127.0.0.1:2", "MOORING_STORE": "sqlite:env.db", "MOORING_LOG": "debug", "MOORING_LOG_FORMAT": "json",
		"MOORING_SECRET": strings.Repeat("s", 32), "MOORING_DURABILITY": "full",
	})
	for _, row := range []struct {
		rule          string
		src           config.Source
		listen, store string
		log           string
	}{
		{"file alone", config.Source{}, "127.0.0.1:1", "sqlite:file.db", "warn"},
		{"environment beats file", config.Source{Env: env}, "127.0.0.1:2", "sqlite:env.db", "debug"},
		{"flag beats environment", config.Source{Env: env, Listen: "127.0.0.1:3", Store: "sqlite:flag.db"}, "127.0.0.1:3", "sqlite:flag.db", "debug"},
		{
			"an empty variable is none",
			config.Source{Env: environment(map[string]string{"MOORING_LISTEN": ""})},
			"127.0.0.1:1", "sqlite:file.db", "warn",
		},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse("f", file, row.src)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{cfg.Listen, cfg.Store.Reveal(), cfg.Telemetry.Log}
			if want := []string{row.listen, row.store, row.log}; !cmp.Equal(got, want) {
				t.Errorf("listen, store, log = %v, want %v", got, want)
			}
		})
	}
}

func TestEnvironmentErrorsNameNoLine(t *testing.T) {
	t.Parallel()
	_, err := config.Parse("mooring.yaml", []byte("listen: 127.0.0.1:1\n"), config.Source{
		Env: environment(map[string]string{"MOORING_LISTEN": "nonsense"}),
	})
	if got, want := err.Error(), `listen: "nonsense" is no address; write HOST:PORT as in 127.0.0.1:4747`; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"A": "one", "B": "two", "N": "7"})
	for _, row := range []struct{ rule, text, want string }{
		{"a value alone", "${A}", "one"},
		{"inside a text", "x-${A}-${B}", "x-one-two"},
		{"two dollars stand for one", "$${A}", "${A}"},
		{"a dollar alone is a dollar", "a$b", "a$b"},
		{"a value is not filled again", "${A}${B}", "onetwo"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse("f", []byte("upstreams: [{name: u, url: 'http://h', key: '"+row.text+"'}]"), config.Source{Env: env})
			if err != nil {
				t.Fatal(err)
			}
			if got := cfg.Upstreams[0].Key.Reveal(); got != row.want {
				t.Errorf("key = %q, want %q", got, row.want)
			}
		})
	}
	cfg, err := config.Parse("f", []byte("limits: {json_depth: '${N}'}"), config.Source{Env: env})
	if err != nil || cfg.Limits.JSONDepth != 7 {
		t.Errorf("a variable in a number = %d, %v, want 7", cfg.Limits.JSONDepth, err)
	}
}

func TestUpstreamsAreCompleted(t *testing.T) {
	t.Parallel()
	cfg := parsed(t, `
upstreams:
  - {name: plain, url: "http://h:1/"}
  - {name: hermes, url: "http://h:1", state: remote}
  - {name: bare, url: "http://h:1", state: remote, session_headers: []}
  - {name: demo, builtin: echo}
`)
	want := []config.Upstream{
		{Name: "plain", URL: "http://h:1", Protocol: "openai", Key: "client", Models: []string{"*"}, State: "none"},
		{
			Name: "hermes", URL: "http://h:1", Protocol: "openai", Key: "client", Models: []string{"*"}, State: "remote",
			SessionHeaders: []string{"X-Hermes-Session-Id", "X-Claude-Session-Id"},
		},
		{
			Name: "bare", URL: "http://h:1", Protocol: "openai", Key: "client", Models: []string{"*"}, State: "remote",
			SessionHeaders: []string{},
		},
		{Name: "demo", Builtin: "echo", Protocol: "both", Models: []string{"echo"}, State: "none"},
	}
	for i := range want {
		want[i].Weight, want[i].Timeout = 1, 10*time.Minute
	}
	if diff := cmp.Diff(want, cfg.Upstreams); diff != "" {
		t.Errorf("upstreams (-want +got):\n%s", diff)
	}
}

func TestChoicesThatFollowTheState(t *testing.T) {
	t.Parallel()
	remote, plain := config.Upstream{State: "remote"}, config.Upstream{State: "none"}
	for _, row := range []struct {
		rule, file                          string
		failRemote, failPlain, queue, allow string
	}{
		{"unset follows the state", "", "fail", "next", "queue", "allow"},
		{"set holds for all", "{routing: {failover: wait}, sessions: {concurrency: reject}}", "wait", "wait", "reject", "reject"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			cfg := parsed(t, row.file)
			got := []string{cfg.FailoverOf(remote), cfg.FailoverOf(plain), cfg.ConcurrencyOf(remote), cfg.ConcurrencyOf(plain)}
			if want := []string{row.failRemote, row.failPlain, row.queue, row.allow}; !cmp.Equal(got, want) {
				t.Errorf("choices = %v, want %v", got, want)
			}
		})
	}
}

func TestYAMLThatPeopleWrite(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		rule, file string
		get        func(config.Config) any
		want       any
	}{
		{"a key without value counts as left out", "sessions:\nhosts:\n", func(c config.Config) any { return c.Sessions.Retention }, 90 * 24 * time.Hour},
		{"an empty list replaces the default", "sessions: {commands: []}", func(c config.Config) any { return c.Command("new") }, false},
		{"a number is a text where a text is wanted", "upstreams: [{name: 7, builtin: echo}]", func(c config.Config) any { return c.Upstreams[0].Name }, mooring.UpstreamName("7")},
		{"a number may stand in failover_on", "routing: {failover_on: [429, 5xx]}", func(c config.Config) any { return c.Routing.FailoverOn }, []string{"429", "5xx"}},
		{
			"an alias stands for its anchor", "upstreams: [{name: a, builtin: echo, models: &m [x, y]}, {name: b, builtin: echo, models: *m}]",
			func(c config.Config) any { return c.Upstreams[1].Models },
			[]string{"x", "y"},
		},
		{
			"prices tell zero from unknown", "prices: {'gpt-*': {input: 0}}",
			func(c config.Config) any {
				return []bool{c.Prices["gpt-*"].Input != nil, c.Prices["gpt-*"].Output != nil}
			},
			[]bool{true, false},
		},
		{"only comments are an empty file", "# nothing\n", func(c config.Config) any { return c.Listen }, "127.0.0.1:4747"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(row.want, row.get(parsed(t, row.file))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExampleHoldsTheDefaults(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../config.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Parse("", text, config.Source{Env: environment(map[string]string{"VENDOR_KEY_1": "one", "VENDOR_KEY_2": "two"})})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Upstreams = got.Upstreams
	want.Hosts, want.CORS.Origins, want.Sessions.Headers = []string{}, []string{}, []string{}
	want.Models, want.Prices = map[string][]string{}, map[string]config.Price{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config.example.yaml (-default +example):\n%s", diff)
	}
	local := got.Upstreams[0]
	plain := config.Complete(config.Upstream{Name: local.Name, URL: local.URL, Key: "none"})
	plain.SessionHeaders, plain.Passthrough, plain.Headers = []string{}, []string{}, map[string]mooring.Secret{}
	if diff := cmp.Diff(plain, local); diff != "" {
		t.Errorf("its first upstream (-default +example):\n%s", diff)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add("listen: 127.0.0.1:0\nkeys:\n  - {name: a, tenant: t, hash: '" + digest + "'}\n")
	f.Add("a: &x [*x]\nupstreams: *x\n")
	f.Add("sessions: {queue: {depth: ${N}}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := config.Parse("f", []byte(text), config.Source{Env: func(string) (string, bool) { return "1", true }})
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("error of several lines: %q", err)
		}
		if err == nil && cfg.Listen == "" {
			t.Error("accepted without an address")
		}
	})
}

// C-1, C-2: the environment's secret is taken, and one in the file that protects nothing is refused all the same.
func TestShortSecretIsRefusedWhereverItStands(t *testing.T) {
	t.Parallel()
	good := environment(map[string]string{"MOORING_SECRET": strings.Repeat("s", 32)})
	for _, row := range []struct {
		rule, file string
		env        func(string) (string, bool)
		refused    bool
	}{
		{"the environment's", "", good, false},
		{"a short one in the file", "secret: short", good, true},
		{"a short one in the environment", "", environment(map[string]string{"MOORING_SECRET": "short"}), true},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			_, err := config.Parse("f", []byte("store: postgres://h/d\n"+row.file), config.Source{Env: row.env})
			if named, ok := errors.AsType[*config.Error](err); ok != row.refused || ok && named.Key != "secret" {
				t.Errorf("Parse = %v, want refused %v", err, row.refused)
			}
		})
	}
}
