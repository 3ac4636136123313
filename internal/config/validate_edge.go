package config

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// saltBytes is the least that tenants' digests are keyed with; they stand in requests to the slots.
const saltBytes = 32

func (c *Config) checkEdge() error {
	e := c.Edge
	if e == nil {
		return nil
	}
	for _, check := range []func() error{e.checkListener, e.checkIdentity, e.checkSlots, e.checkForwarded, e.checkLogin} {
		if err := check(); err != nil {
			return err
		}
	}
	if e.Listen == c.Listen {
		return wrong("edge.listen", "%s is the main listener's address", e.Listen)
	}
	return nil
}

var edgeHost = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)

func (e *Edge) checkListener() error {
	if _, _, err := net.SplitHostPort(e.Listen); err != nil {
		return wrong("edge.listen", "%q is no address and port as in 127.0.0.1:4748", e.Listen)
	}
	switch {
	case e.Host == "":
		return wrong("edge.host", "is missing: the name that browsers reach the edge by, as in chat.example.org")
	case !edgeHost.MatchString(e.Host):
		return wrong("edge.host", "%q is no host name in lower case as in chat.example.org", e.Host)
	case len(e.Salt.Reveal()) < saltBytes:
		return wrong("edge.salt", "needs %d bytes or more: it keys what the slots are told of their tenants", saltBytes)
	}
	return nil
}

// The sources of identity.
const (
	SourceForwarded = "x-forwarded-user"
	SourceBearer    = "bearer-id-token"
	SourceOIDC      = "oidc"
)

func (e *Edge) checkIdentity() error {
	id := &e.Identity
	nets, err := networks(id.Trusted)
	if err != nil {
		return err
	}
	if coversAll(nets) {
		return wrong("edge.identity.trusted", "covers every address; name the proxy's alone")
	}
	issuer := func() error { return checkIssuer(id.Issuer) }
	switch id.Source {
	case SourceForwarded:
		if len(nets) == 0 {
			return wrong("edge.identity.trusted", "is empty: anybody could say who they are; name the proxy's address as in [127.0.0.1/32]")
		}
		return nil
	case SourceBearer:
		if id.Audience == "" {
			return wrong("edge.identity.audience", "is missing: tokens that were made for others would count")
		}
		return issuer()
	case SourceOIDC:
		if id.ClientID == "" {
			return wrong("edge.identity.client_id", "is missing")
		}
		return issuer()
	}
	return wrong("edge.identity.source", "%q is none of %s, %s, %s", id.Source, SourceForwarded, SourceBearer, SourceOIDC)
}

// checkIssuer wants TLS: who can change what the issuer says can be anybody. A provider on this machine is let through without.
func checkIssuer(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case issuer == "":
		return wrong("edge.identity.issuer", "is missing")
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return wrong("edge.identity.issuer", "%q is no address as in https://id.example.org/realms/staff", issuer)
	case u.Scheme == "https", u.Scheme == "http" && loopbackHost(u.Hostname()):
		return nil
	}
	return wrong("edge.identity.issuer", "%q has to begin with https://", issuer)
}

func loopbackHost(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// Networks gives the trusted peers' networks; a single address is a network of one.
func (id *Identity) Networks() []netip.Prefix {
	nets, _ := networks(id.Trusted) // validated
	return nets
}

func networks(list []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for i, text := range list {
		p, err := netip.ParsePrefix(text)
		if addr, single := netip.ParseAddr(text); err != nil && single == nil {
			p, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, wrong(fmt.Sprintf("edge.identity.trusted[%d]", i), "%q is no network as in 10.0.0.0/24", text)
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

// coversAll says that networks together hold every address of IPv4 or of IPv6, however they are cut.
func coversAll(nets []netip.Prefix) bool {
	slices.SortFunc(nets, func(a, b netip.Prefix) int { return cmp.Or(a.Addr().Compare(b.Addr()), a.Bits()-b.Bits()) })
	for _, first := range []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()} {
		next := first // the lowest address that is not known to be covered
		for _, p := range nets {
			if p.Addr().BitLen() != first.BitLen() || p.Addr().Compare(next) > 0 {
				continue
			}
			end := last(p)
			if end.Compare(next) < 0 {
				continue
			}
			if next = end.Next(); !next.IsValid() {
				return true
			}
		}
	}
	return false
}

// last is a network's last address.
func last(p netip.Prefix) netip.Addr {
	raw := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(raw)*8; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	addr, _ := netip.AddrFromSlice(raw)
	return addr
}

func (e *Edge) checkSlots() error {
	if len(e.Slots) == 0 {
		return wrong("edge.slots", "is empty")
	}
	names, places := map[string]bool{}, map[string]string{}
	for i, s := range e.Slots {
		at := fmt.Sprintf("edge.slots[%d]", i)
		u, err := url.Parse(s.URL)
		switch {
		case !upstreamName.MatchString(s.Name):
			return wrong(at+".name", "%q may hold lower-case letters, digits and hyphens only", s.Name)
		case names[s.Name]:
			return wrong(at+".name", "%q is there twice", s.Name)
		case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
			return wrong(at+".url", "slot %q needs an address as in http://127.0.0.1:8787", s.Name)
		case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
			return wrong(at+".url", "slot %q: give scheme, host and port alone", s.Name)
		}
		names[s.Name] = true
		place := placeOf(u)
		if other, twice := places[place]; twice {
			return wrong(at+".url", "slots %q and %q are one web UI: two tenants would meet there", other, s.Name)
		}
		places[place] = s.Name
	}
	return nil
}

// placeOf is where an address leads, in one spelling.
func placeOf(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsLoopback() || host == "localhost" {
		host = "loopback"
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(host, port)
}

func (e *Edge) checkForwarded() error {
	if !httpguts.ValidHeaderFieldName(e.IdentityHeader) || forbiddenIdentity(e.IdentityHeader) {
		return wrong("edge.identity_header", "%q cannot tell a slot who is there", e.IdentityHeader)
	}
	if len(e.Cookies) != 2 || e.Cookies[0] == e.Cookies[1] {
		return wrong("edge.cookies", "needs two names: the web UI's session cookie and its profile cookie")
	}
	for i, name := range e.Cookies {
		if !httpguts.ValidHeaderFieldName(name) || strings.HasPrefix(name, "__") {
			return wrong(fmt.Sprintf("edge.cookies[%d]", i), "%q is no name of a web UI's cookie", name)
		}
	}
	for i, open := range e.DenyOpen {
		if !strings.HasPrefix(open, "/") {
			return wrong(fmt.Sprintf("edge.deny_open[%d]", i), "%q has to begin with /", open)
		}
	}
	if e.SnapshotLimit < minSnapshot || e.SnapshotLimit > maxSnapshot {
		return wrong("edge.snapshot_limit", "has to be from %s to %s", minSnapshot, maxSnapshot)
	}
	return nil
}

const (
	minSnapshot = Bytes(64 << 10)
	maxSnapshot = Bytes(64 << 20)
)

// forbiddenIdentity names headers that mean something else on the way to a slot.
func forbiddenIdentity(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Cookie", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Accept", "Accept-Encoding", "Origin", "Referer",
		"X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For", "X-Request-Id":
		return true
	}
	return false
}

func (e *Edge) checkLogin() error {
	o := &e.OIDC
	if e.Identity.Source != SourceOIDC {
		if len(o.Scopes) > 0 || o.RedirectURI != "" || o.Idle != 0 || o.MaxAge != 0 {
			return wrong("edge.oidc", "counts only where edge.identity.source is %s", SourceOIDC)
		}
		return nil
	}
	if o.Idle < 0 || o.MaxAge < 0 {
		return wrong("edge.oidc", "has a negative time")
	}
	if o.RedirectURI == "" {
		return nil
	}
	u, err := url.Parse(o.RedirectURI)
	switch {
	case err == nil && u.Host != "" && u.Host != e.Host:
		return wrong("edge.oidc.redirect_uri", "leads to %s and edge.host is %s: write the host, and its port where it has one, alike in both", u.Host, e.Host)
	case err != nil || u.Host != e.Host || u.Path != "/oauth2/callback" || u.RawQuery != "" || u.Fragment != "":
		return wrong("edge.oidc.redirect_uri", "has to be https://%s/oauth2/callback", e.Host)
	case u.Scheme == "https", u.Scheme == "http" && loopbackHost(u.Hostname()):
		return nil
	}
	return wrong("edge.oidc.redirect_uri", "has to begin with https://")
}
