package config_test

import (
	"testing"
	"time"

	"mooring"
	"mooring/internal/config"
)

func TestDurations(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want time.Duration // 0 for refused
		back string        // as it is printed
	}{
		{"90d", 90 * 24 * time.Hour, "90d"},
		{"1d12h", 36 * time.Hour, "36h"},
		{"24h", 24 * time.Hour, "1d"},
		{"1h30m", 90 * time.Minute, "1h30m"},
		{"90s", 90 * time.Second, "1m30s"},
		{"300ms", 300 * time.Millisecond, "300ms"},
		{"10m", 10 * time.Minute, "10m"},
		{text: "10"},
		{text: "-5m"},
		{text: "1.5d"},
		{text: "12h1d"},
		{text: "soon"},
		{text: "99999999d"},
	} {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse("f", []byte("workspace: {detach: "+row.text+"}"), config.Source{})
			if cfg.Workspace.Detach != row.want || (err == nil) != (row.want != 0) {
				t.Errorf("%s = %v, %v, want %v", row.text, cfg.Workspace.Detach, err, row.want)
			}
			if got := config.DurationText(row.want); row.want != 0 && got != row.back {
				t.Errorf("printed %q, want %q", got, row.back)
			}
		})
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want config.Bytes // 0 for refused
		back string
	}{
		{"32MiB", 32 << 20, "32MiB"},
		{"1GiB", 1 << 30, "1GiB"},
		{"2048KiB", 2 << 20, "2MiB"},
		{"1000 B", 1000, "1000B"},
		{text: "32"},
		{text: "32MB"},
		{text: "-1MiB"},
		{text: "9999999999999GiB"},
		{text: "MiB"},
	} {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			cfg, err := config.Parse("f", []byte("limits: {body: "+row.text+"}"), config.Source{})
			if cfg.Limits.Body != row.want || (err == nil) != (row.want != 0) {
				t.Errorf("%s = %d, %v, want %d", row.text, cfg.Limits.Body, err, row.want)
			}
			if row.want != 0 && row.want.String() != row.back {
				t.Errorf("printed %q, want %q", row.want, row.back)
			}
		})
	}
}

func TestDSN(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		dsn      config.DSN
		postgres bool
		file     string
		shown    string
	}{
		{"sqlite:a/b.db", false, "a/b.db", "sqlite:a/b.db"},
		{"postgres://u:pw@h:5432/d?sslmode=disable", true, "", "postgres://u:xxxxx@h:5432/d?sslmode=disable"},
		{"postgresql://h/d?password=pw", true, "", "postgresql://h/d?password=xxxxx"},
		{"postgres://u:p%w@h/d", true, "", "postgres://***"},
	} {
		if row.dsn.Postgres() != row.postgres || row.dsn.File() != row.file || row.dsn.String() != row.shown {
			t.Errorf("%s: Postgres %t, File %q, String %q", row.dsn.Reveal(), row.dsn.Postgres(), row.dsn.File(), row.dsn)
		}
	}
}

func TestKeySum(t *testing.T) {
	t.Parallel()
	k := config.Key{Hash: config.HashOf("test")}
	if k.Hash != digest {
		t.Errorf("HashOf = %s, want %s", k.Hash, digest)
	}
	if got := k.Sum(); got[0] != 0x9f || got[31] != 0x08 {
		t.Errorf("Sum = %x, want the bytes of the hash", got)
	}
	if got := (config.Key{Hash: "sha256:short"}).Sum(); got != [32]byte{} {
		t.Errorf("Sum of a malformed hash = %x, want zeros", got)
	}
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"https://H.example:8/x": "https://h.example:8", "": ""} {
		if got := (config.Upstream{URL: url}).Origin(); got != want {
			t.Errorf("Origin of %q = %q, want %q", url, got, want)
		}
	}
	if u := (config.Upstream{Key: mooring.Secret("client")}); !u.ForwardsClient() || u.SendsNone() {
		t.Errorf("key client: ForwardsClient %t, SendsNone %t", u.ForwardsClient(), u.SendsNone())
	}
}
