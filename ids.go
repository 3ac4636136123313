package mooring

import "log/slog"

// Identities. None of them is a bare string, so that two of them cannot be swapped unseen.
type (
	// Tenant owns sessions; nothing is ever looked up across tenants.
	Tenant string
	// SessionID is "ses_" and a ULID.
	SessionID string
	// TurnID is "trn_" and a ULID.
	TurnID string
	// MessageID is "msg_" and a ULID.
	MessageID string
	// UpstreamName is the name of an upstream in the configuration.
	UpstreamName string
	// AccountName is the name of one of an upstream's accounts; empty where it has a single key.
	AccountName string
	// KeyName is the name of a client key in the configuration; empty where no keys are configured.
	KeyName string
)

// LocalTenant is the tenant of everybody where no keys are configured.
const LocalTenant Tenant = "local"

// Short gives enough of the id to find it in a list, for logs.
func (s SessionID) Short() string {
	if len(s) > 14 {
		return string(s[:4]) + string(s[len(s)-8:])
	}
	return string(s)
}

// Secret is a text that no log, error or dump may show.
type Secret string

const masked = "***"

// String gives "***".
func (Secret) String() string { return masked }

// GoString gives "***".
func (Secret) GoString() string { return masked }

// LogValue gives "***".
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText gives "***", so that a dumped configuration holds no secret. An empty secret stays empty.
func (s Secret) MarshalText() ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	return []byte(masked), nil
}

// Reveal gives the text itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }
