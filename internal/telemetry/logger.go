// Package telemetry makes the program's logger, its metrics and its traces. It owns their formats and names and knows nothing of
// what is logged or counted: callers hand in numbers and the few labels whose values come from the configuration or from a
// fixed list, never from a client. Of turns it tells a collector ids, names, states, times and counts. Its one goroutine is that of a
// Tracer, which sends spans; Close waits for it.
package telemetry

import (
	"io"
	"log/slog"
	"strings"
)

// Format is how log lines are written.
type Format string

// The formats of `telemetry.format`.
const (
	Text Format = "text"
	JSON Format = "json"
)

// NewLogger writes lines at or above level to w. A level that is a *slog.LevelVar may change while the program runs.
func NewLogger(w io.Writer, level slog.Leveler, format Format) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: maskCredential}
	if format == JSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// maskCredential is the last belt: nothing of the house logs a credential, and under these names nothing can.
func maskCredential(_ []string, a slog.Attr) slog.Attr {
	switch strings.ReplaceAll(strings.ToLower(a.Key), "-", "_") {
	case "authorization", "proxy_authorization", "cookie", "set_cookie", "key", "api_key", "x_api_key", "x_mooring_key",
		"token", "access_token", "id_token", "refresh_token", "secret", "password":
		return slog.String(a.Key, "***")
	}
	return a
}
