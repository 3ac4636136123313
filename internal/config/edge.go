package config

import (
	"time"

	"mooring"
)

// Edge is the tenants' front door: a listener of its own before one web UI per tenant.
type Edge struct {
	// Address and port of the edge.
	Listen string `jsonschema:"required" yaml:"listen"`

	// Public host name; a request for any other is refused.
	Host string `jsonschema:"required" yaml:"host"`

	// The one trusted source of who somebody is.
	Identity Identity `jsonschema:"required" yaml:"identity"`

	// Secret of at least 32 bytes that keys the tenants' digests; it must never change.
	Salt mooring.Secret `jsonschema:"required" yaml:"salt"`

	// The web UIs, one per tenant.
	Slots []Slot `jsonschema:"required" yaml:"slots"`

	// Header that tells a slot whose request it is.
	IdentityHeader string `yaml:"identity_header"`

	// The only cookies that go through.
	Cookies []string `yaml:"cookies"`

	// Whether pages get the script that keeps them on their session.
	Continuity bool `yaml:"continuity"`

	// Paths of the deny-list that are let through.
	DenyOpen []string `yaml:"deny_open"`

	// Largest session snapshot that goes to a browser.
	SnapshotLimit Bytes `yaml:"snapshot_limit"`

	// How people sign in where the identity's source is `oidc`.
	OIDC OIDC `yaml:"oidc,omitempty"`
}

// Identity is where the edge learns who somebody is.
type Identity struct {
	// Kind of source: a header that a sign-in proxy sets, an ID token that it sends along, or the edge's own sign-in at a provider.
	Source string `jsonschema:"required,enum=x-forwarded-user,enum=bearer-id-token,enum=oidc" yaml:"source"`

	// Networks whose word about the user is taken; required for `x-forwarded-user`.
	Trusted []string `yaml:"trusted,omitempty"`

	// Issuer of the tokens; required for `bearer-id-token` and `oidc`. It is part of whose slot is whose.
	Issuer string `yaml:"issuer,omitempty"`

	// Audience that a token must name; required for `bearer-id-token`.
	Audience string `yaml:"audience,omitempty"`

	// Name of this program at the issuer; required for `oidc`.
	ClientID string `yaml:"client_id,omitempty"`

	// Secret of this program at the issuer.
	ClientSecret mooring.Secret `yaml:"client_secret,omitempty"`
}

// Slot is one tenant's own web UI.
type Slot struct {
	// Name of the slot.
	Name string `jsonschema:"required" yaml:"name"`

	// Address of the web UI.
	URL string `jsonschema:"required" yaml:"url"`
}

// OIDC is how people sign in at the edge.
type OIDC struct {
	// Scopes asked for besides `openid`.
	Scopes []string `yaml:"scopes,omitempty"`

	// Address that the issuer sends the browser back to, as registered there; `/oauth2/callback` of `host`, by TLS, where left out.
	RedirectURI string `yaml:"redirect_uri,omitempty"`

	// How long a sign-in lasts without use; 8h where left out.
	Idle time.Duration `yaml:"idle,omitempty"`

	// How long a sign-in lasts at all; 24h where left out.
	MaxAge time.Duration `yaml:"max_age,omitempty"`
}

func (e *Edge) preset() {
	*e = Edge{
		Listen: "127.0.0.1:4748", IdentityHeader: "X-Hermes-Tenant-Identity",
		Cookies: []string{"hermes_chat_session", "hermes_chat_profile"}, Continuity: true, SnapshotLimit: 2 * mebibyte,
	}
}
