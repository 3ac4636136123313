package config

import "net/url"

// CollectorURL says where traces go. It may hold a password, which String does not show.
type CollectorURL string

// Reveal gives the address itself, for the one place that sends there.
func (c CollectorURL) Reveal() string { return string(c) }

// String gives the address without its password and its query, which may hold a token.
func (c CollectorURL) String() string {
	if c == "" {
		return ""
	}
	u, err := url.Parse(string(c))
	if err != nil {
		return "***"
	}
	if u.RawQuery != "" {
		u.RawQuery = "***"
	}
	return u.Redacted()
}

// GoString gives the same.
func (c CollectorURL) GoString() string { return c.String() }
