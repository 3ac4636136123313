package serve

import (
	"crypto/sha256"
	"strings"
	"time"

	"mooring"
)

const defaultBodyLimit = 32 << 20

// Rules are what a reload may change. The zero value is a server for this machine alone, without keys.
type Rules struct {
	Hosts     []string // names that the server is reached by, with or without port; "*" for any
	Origins   []string // origins whose pages may call; "*" for any, though never on /api
	Keys      []Key    // none: whoever reaches the server is the operator of the local tenant
	BodyLimit int64    // bytes of a request's body; 0 for 32 MiB
	Minimal   bool     // no X-Mooring headers on answers
}

// Key is a client key and what it may do. Zero limits do not limit.
type Key struct {
	Name              mooring.KeyName
	Tenant            mooring.Tenant
	Role              mooring.Role // empty for a user
	Hash              [sha256.Size]byte
	Expires           time.Time
	Models            []string // globs
	RequestsPerMinute int
	Streams           int // turns at once
	BudgetUSD         float64
}

// ruleset is Rules as requests need them; it is never changed, only replaced.
type ruleset struct {
	keys      []Key
	byName    map[mooring.KeyName]Key
	shared    bool            // between several tenants
	hosts     map[string]bool // canonical
	anyHost   bool
	origins   map[string]bool // canonical
	anyOrigin bool
	bodyLimit int64
	minimal   bool
}

// SetRules replaces the rules for all requests that come from now on. A key that stays keeps the state of its limits.
func (s *Server) SetRules(r Rules) {
	set := &ruleset{
		keys:      r.Keys,
		byName:    make(map[mooring.KeyName]Key, len(r.Keys)),
		hosts:     make(map[string]bool, len(r.Hosts)),
		origins:   make(map[string]bool, len(r.Origins)),
		bodyLimit: r.BodyLimit,
		minimal:   r.Minimal,
	}
	if set.bodyLimit <= 0 {
		set.bodyLimit = defaultBodyLimit
	}
	for _, k := range r.Keys {
		set.byName[k.Name] = k
		set.shared = set.shared || k.Tenant != r.Keys[0].Tenant
	}
	for _, host := range r.Hosts {
		set.anyHost = set.anyHost || host == "*"
		set.hosts[canonicalHost(host)] = true
	}
	for _, origin := range r.Origins {
		if origin == "*" {
			set.anyOrigin = true
		} else if canonical, ok := canonicalOrigin(origin); ok {
			set.origins[canonical] = true
		}
	}
	s.rules.Store(set)
	s.limits.keep(set.byName, s.opts.Now())
}

// canonicalHost is a name of the configuration in the form of hostport.String: an address of IPv6 may lack its brackets.
func canonicalHost(host string) string {
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	if hp, ok := parseHost(host); ok {
		return hp.String()
	}
	return strings.ToLower(host)
}
