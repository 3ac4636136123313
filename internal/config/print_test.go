package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/config"
)

func TestPrint(t *testing.T) {
	t.Parallel()
	cfg := parsed(t, `
store: postgres://u:hidden-1@h/d
secret: hidden-2-hidden-2-hidden-2-hidden-2
upstreams:
  - {name: a, url: "http://h", key: hidden-3, headers: {X-Extra: hidden-4}}
  - {name: b, url: "http://h", keys: [{name: one, key: hidden-5}]}
  - {name: c, url: "http://h", key: client}
prices: {m: {input: 0, output: 2.5}}
telemetry: {otlp: "http://u:hidden-6@h:4318/otel?key=hidden-7"}
keys: [{name: k, tenant: t, expires: 2099-01-01T00:00:00Z, hash: "`+digest+`"}]
`)
	var out strings.Builder
	if err := config.Print(&out, cfg); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Contains(text, "hidden") {
		t.Errorf("a secret is shown:\n%s", text)
	}
	for _, want := range []string{
		"store: postgres://u:xxxxx@h/d\n", "secret: \"***\"\n", "X-Extra: \"***\"\n", "key: client\n", "retention: 90d\n", "body: 32MiB\n",
		"timeout: 10m\n", "expires: \"2099-01-01T00:00:00Z\"\n", "input: 0", "output: 2.5\n",
		"otlp: http://u:xxxxx@h:4318/otel?***\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestPrintedDefaultsAreTheDefaults(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := config.Print(&out, config.Default()); err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	if err := config.Print(&again, parsed(t, out.String())); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(out.String(), again.String()); diff != "" {
		t.Errorf("printed, read and printed again (-once +twice):\n%s", diff)
	}
}
