package config

import (
	"fmt"
	"io"
	"time"

	"github.com/goccy/go-yaml"

	"mooring"
)

// Print writes the effective configuration as YAML. Secrets are masked, so what it writes is for reading, not for use.
func Print(w io.Writer, cfg Config) error {
	text, err := yaml.MarshalWithOptions(
		cfg, yaml.IndentSequence(true),
		yaml.CustomMarshaler(func(s mooring.Secret) ([]byte, error) { return quoted(shownSecret(s)) }),
		yaml.CustomMarshaler(func(d DSN) ([]byte, error) { return quoted(d.String()) }),
		yaml.CustomMarshaler(func(c CollectorURL) ([]byte, error) { return quoted(c.String()) }),
		yaml.CustomMarshaler(func(b Bytes) ([]byte, error) { return []byte(b.String()), nil }),
		yaml.CustomMarshaler(func(d time.Duration) ([]byte, error) { return []byte(formatDuration(d)), nil }),
		yaml.CustomMarshaler(func(t time.Time) ([]byte, error) { return quoted(t.UTC().Format(time.RFC3339)) }),
	)
	if err != nil {
		return fmt.Errorf("print configuration: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// shownSecret keeps the two words that an upstream's key may be instead of a secret.
func shownSecret(s mooring.Secret) string {
	if s == KeyClient || s == KeyNone {
		return s.Reveal()
	}
	if s == "" {
		return ""
	}
	return s.String()
}

func quoted(text string) ([]byte, error) { return yaml.Marshal(text) }
