package app_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"mooring"
	"mooring/internal/app"
	"mooring/internal/config"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	lists := answering(t, map[string]string{"/v1/models": listing, "/health": "ok"})
	guarded := answering(t, map[string]string{"/v1/models": listing, "key": "sesame"})
	bare := answering(t, map[string]string{})
	moved := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	t.Cleanup(moved.Close)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	t.Cleanup(broken.Close)

	for _, row := range []struct {
		rule     string
		upstream config.Upstream
		ok       bool
		says     []string
	}{
		{"a built-in model is fine", config.Upstream{Builtin: "echo"}, true, []string{"ok   upstream u: built in"}},
		{"the models are counted", config.Upstream{URL: lists, Key: "k"}, true, []string{"ok   upstream u: " + lists + "/v1/models answers 200, 2 models"}},
		{"the health path is asked too", config.Upstream{URL: lists, Key: "k", Health: "/health"}, true, []string{"/health answers 200\n", "2 models"}},
		{"a health path that is not there", config.Upstream{URL: lists, Key: "k", Health: "/gone"}, false, []string{"FAIL upstream u: " + lists + "/gone answers 404"}},
		{"the right key is taken", config.Upstream{URL: guarded, Key: "sesame"}, true, []string{"ok   upstream u: "}},
		{"a wrong key is said plainly", config.Upstream{URL: guarded, Key: "wrong"}, false, []string{"FAIL upstream u: " + guarded + " refuses the configured key (401)"}},
		{"no key where one is wanted", config.Upstream{URL: guarded, Key: "none"}, false, []string{"wants a credential (401) and gets none"}},
		{"clients bring their own", config.Upstream{URL: guarded, Key: "client"}, true, []string{"ok   upstream u: ", "client's own credential"}},
		{
			"every account is tried",
			config.Upstream{URL: guarded, Keys: []config.Account{{Name: "good", Key: "sesame"}, {Name: "bad", Key: "wrong"}}},
			false,
			[]string{"ok   upstream u (account good): ", "FAIL upstream u (account bad): "},
		},
		{"no list of models is no fault", config.Upstream{URL: bare, Key: "k"}, true, []string{"lists no models (404)"}},
		{"nothing listens", config.Upstream{URL: nowhere, Key: "k"}, false, []string{"FAIL upstream u: http://127.0.0.1:1 does not answer: connect: connection refused"}},
		{"a redirect is not followed", config.Upstream{URL: moved.URL, Key: "k"}, false, []string{"redirects (302)"}},
		{"a server in trouble", config.Upstream{URL: broken.URL, Key: "k"}, false, []string{"FAIL upstream u: " + broken.URL + "/v1/models answers 502"}},
		{
			"a remote upstream without a key refuses session headers",
			config.Upstream{URL: lists, Key: "none", State: "remote"},
			true,
			[]string{"note upstream u: ", "refuses session headers"},
		},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			row.upstream.Name = "u"
			cfg := config.Default()
			cfg.Upstreams = []config.Upstream{config.Complete(row.upstream)}
			got, ok := check(t, cfg, app.CheckDeps{Client: &http.Client{}})
			if ok != row.ok {
				t.Errorf("Check = %t, want %t:\n%s", ok, row.ok, got)
			}
			for _, want := range row.says {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, secret := range []string{"sesame", "wrong"} {
				if strings.Contains(got, secret) {
					t.Errorf("the key %q is shown:\n%s", secret, got)
				}
			}
		})
	}
}

func TestCheckModels(t *testing.T) {
	t.Parallel()
	lists := answering(t, map[string]string{"/v1/models": listing}) // alpha and beta
	bare := answering(t, map[string]string{})
	listed := []config.Upstream{{Name: "u", URL: lists, Key: "k"}, {Name: "v", URL: lists, Key: "k", Models: []string{"gamma"}}}
	unlisted := []config.Upstream{{Name: "u", URL: bare, Key: "k"}}
	closed := []config.Upstream{{Name: "v", URL: bare, Key: "k", Models: []string{"gamma"}}}
	for _, row := range []struct {
		rule      string
		upstreams []config.Upstream
		aliases   map[string][]string
		key       []string
		ok        bool
		says      string // empty for nothing
	}{
		{"an alias of what is listed", listed, map[string][]string{"fast": {"alpha", "beta"}}, nil, true, ""},
		{"an alias of what its upstream does not list", listed, map[string][]string{"fast": {"alpha", "delta"}}, nil, true, "note models.fast: delta is not in the list of u\n"},
		{"an alias of what nobody can list", unlisted, map[string][]string{"fast": {"delta"}}, nil, true, ""},
		{"an alias of what no upstream serves", closed, map[string][]string{"fast": {"gamma", "delta"}}, nil, false, "FAIL models.fast: no upstream serves delta; "},
		{"an upstream that does not list its own model", listed, nil, nil, true, "note upstream v: its models name gamma, which it does not list\n"},
		{"a key for what is listed", listed, nil, []string{"alpha", "b*", "*"}, true, ""},
		{"a key for what is named", closed, nil, []string{"gamma", "g*"}, true, ""},
		{"a key for an alias", listed, map[string][]string{"fast": {"alpha"}}, []string{"fast", "f*"}, true, ""},
		{"a key for what nobody lists", listed, nil, []string{"delta"}, true, "note key k: nobody has a model delta\n"},
		{"a key for what nobody lists, by a glob", listed, nil, []string{"del*"}, true, "note key k: nobody has a model del*\n"},
		{"a key for what no upstream serves", closed, nil, []string{"delta"}, true, "note key k: nobody has a model delta\n"},
		{"a key for what nobody can list", unlisted, nil, []string{"delta", "del*"}, true, ""},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			for _, u := range row.upstreams {
				cfg.Upstreams = append(cfg.Upstreams, config.Complete(u))
			}
			cfg.Models = row.aliases
			if row.key != nil {
				cfg.Keys = []config.Key{{Name: "k", Models: row.key}}
			}
			got, ok := check(t, cfg, app.CheckDeps{Client: &http.Client{}})
			if ok != row.ok || !strings.Contains(got, row.says) {
				t.Errorf("Check = %t, want %t with %q:\n%s", ok, row.ok, row.says, got)
			}
			if row.says == "" && (strings.Contains(got, "note models") || strings.Contains(got, "note key k")) {
				t.Errorf("a model is missed:\n%s", got)
			}
		})
	}
}

func TestCheckStoreAndConfiguration(t *testing.T) {
	t.Parallel()
	finds := func(f app.StoreFindings, err error) func(context.Context, config.Config) (app.StoreFindings, error) {
		return func(context.Context, config.Config) (app.StoreFindings, error) { return f, err }
	}
	store := func(stray int, err error) func(context.Context, config.Config) (app.StoreFindings, error) {
		return finds(app.StoreFindings{Stray: stray}, err)
	}
	since := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(http.ResponseWriter, *http.Request) {})
	taking := httptest.NewServer(mux)
	t.Cleanup(taking.Close)
	for _, row := range []struct {
		rule string
		cfg  func(*config.Config)
		deps app.CheckDeps
		ok   bool
		says string
	}{
		{"a store that opens is fine", nil, app.CheckDeps{Store: store(0, nil)}, true, "ok   store sqlite:mooring.db\n"},
		{"a store that does not open is not", nil, app.CheckDeps{Store: store(0, errors.New("disk\nfull"))}, false, "FAIL store sqlite:mooring.db: disk full\n"},
		{"rows without tenant are not", nil, app.CheckDeps{Store: store(3, nil)}, false, "FAIL store sqlite:mooring.db: 3 rows belong to no tenant"},
		{
			"a drained upstream is named",
			func(c *config.Config) { c.Upstreams = []config.Upstream{{Name: "demo", Builtin: "echo"}} },
			app.CheckDeps{Store: finds(app.StoreFindings{Drained: map[mooring.UpstreamName]time.Time{"demo": since, "gone": since}}, nil)},
			true, "note upstream demo: drained since 2026-03-01T12:00:00Z, takes no new sessions\n",
		},
		{"a store that was not asked", nil, app.CheckDeps{}, true, "note store sqlite:mooring.db: not checked"},
		{"no file", nil, app.CheckDeps{}, true, "ok   configuration: no file, defaults"},
		{"a file", func(c *config.Config) { c.Found, c.Path = true, "m.yaml" }, app.CheckDeps{}, true, "ok   configuration m.yaml"},
		{"no keys", nil, app.CheckDeps{}, true, "note keys: none"},
		{
			"a password in the store's address is not shown",
			func(c *config.Config) { c.Store = "postgres://u:hidden@h/d" },
			app.CheckDeps{Store: store(0, nil)},
			true, "ok   store postgres://u:xxxxx@h/d",
		},
		{
			"a collector that takes traces is fine",
			func(c *config.Config) {
				c.Telemetry.OTLP = config.CollectorURL(strings.Replace(taking.URL, "http://", "http://u:hidden@", 1))
			},
			app.CheckDeps{},
			true, "ok   telemetry.otlp: " + strings.Replace(taking.URL, "http://", "http://u:xxxxx@", 1) + " takes traces",
		},
		{
			"a collector at another path is not",
			func(c *config.Config) { c.Telemetry.OTLP = config.CollectorURL(taking.URL + "/other") },
			app.CheckDeps{},
			false, "/other takes no traces: the collector answers 404",
		},
		{
			"a collector that is away is not",
			func(c *config.Config) { c.Telemetry.OTLP = "http://127.0.0.1:1" },
			app.CheckDeps{},
			false, "FAIL telemetry.otlp: http://127.0.0.1:1 takes no traces: ",
		},
	} {
		t.Run(row.rule, func(t *testing.T) {
			t.Parallel()
			cfg := config.Default()
			if row.cfg != nil {
				row.cfg(&cfg)
			}
			row.deps.Client = &http.Client{}
			got, ok := check(t, cfg, row.deps)
			if ok != row.ok || !strings.Contains(got, row.says) {
				t.Errorf("Check = %t, want %t with %q:\n%s", ok, row.ok, row.says, got)
			}
		})
	}
}

// check runs a check and holds the form of its lines.
func check(t *testing.T, cfg config.Config, deps app.CheckDeps) (string, bool) {
	t.Helper()
	var out strings.Builder
	ok := app.Check(t.Context(), cfg, deps, &out)
	for line := range strings.Lines(out.String()) {
		switch mark, _, _ := strings.Cut(line, " "); mark {
		case "ok", "FAIL", "note", "not":
		default:
			t.Errorf("line without a mark: %q", line)
		}
	}
	return out.String(), ok
}
