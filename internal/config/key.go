package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"mooring"
)

// hashPrefix opens the hash of a key.
const hashPrefix = "sha256:"

// Key is a client's key.
type Key struct {
	// Name of the key in usage figures and logs.
	Name mooring.KeyName `jsonschema:"required" yaml:"name"`

	// Tenant that owns the sessions made with the key; an operator may have none.
	Tenant mooring.Tenant `yaml:"tenant,omitempty"`

	// What the key may do.
	Role mooring.Role `jsonschema:"enum=user,enum=operator" yaml:"role"`

	// `sha256:` and the hex SHA-256 of the key.
	Hash string `jsonschema:"required" yaml:"hash"`

	// When the key stops working (RFC 3339): from then on 401.
	Expires time.Time `yaml:"expires,omitempty"`

	// Globs of the models that the key may ask for; none given means all. A key with some is refused where a body may name a
	// model that Mooring cannot read: a compressed body, a broken form, another spelling of the member.
	Models []string `yaml:"models,omitempty"`

	// Requests per minute, of the LLM routes and a page's sends together; 0 for no limit. Several replicas divide them evenly.
	RequestsPerMinute int `yaml:"requests_per_minute,omitempty"`

	// Turns that may run at once, over all replicas; 0 for no limit.
	Streams int `yaml:"streams,omitempty"`

	// What the key may spend in a calendar month (UTC), in USD; 0 for no limit. Turns of unknown price count nothing, and those that
	// run have no cost yet.
	BudgetUSD float64 `yaml:"budget_usd,omitempty"`
}

func (k *Key) preset() { k.Role = mooring.RoleUser }

// HashOf gives the `hash` of a client key.
func HashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// Sum gives the SHA-256 of the client key, for comparison in constant time; all zero where the hash is malformed,
// which no loaded configuration holds.
func (k Key) Sum() (sum [sha256.Size]byte) {
	raw, err := hex.DecodeString(strings.TrimPrefix(k.Hash, hashPrefix))
	if err == nil && len(raw) == len(sum) {
		copy(sum[:], raw)
	}
	return sum
}
