package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"mooring"
)

// hostport is a Host header in parts; the name is in lower case and without brackets.
type hostport struct{ name, port string }

// String is the canonical form, by which two spellings of one host are equal.
func (h hostport) String() string {
	name := h.name
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if h.port == "" {
		return name
	}
	return name + ":" + h.port
}

// parseHost takes "name", "name:port", "[v6]" and "[v6]:port".
func parseHost(host string) (hostport, bool) {
	name, rest := host, ""
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return hostport{}, false
		}
		name, rest = host[1:end], host[end+1:]
		if addr, err := netip.ParseAddr(name); err != nil || !addr.Is6() {
			return hostport{}, false
		}
	} else if i := strings.IndexByte(host, ':'); i >= 0 {
		name, rest = host[:i], host[i:]
	}
	port := strings.TrimPrefix(rest, ":")
	if name == "" || strings.Trim(port, "0123456789") != "" || (rest != "" && rest[0] != ':') {
		return hostport{}, false
	}
	return hostport{strings.ToLower(name), port}, true
}

// checkHost keeps out a name that somebody else's DNS points at this machine (DNS rebinding): only names that cannot be
// made to point here by others pass.
func (rs *ruleset) checkHost(r *http.Request) error {
	if rs.anyHost || r.URL.Path == "/health" || r.URL.Path == "/readyz" {
		return nil
	}
	host, ok := parseHost(r.Host)
	if ok && (host.loopback() || host.local(r) || rs.lists(host)) {
		return nil
	}
	return mooring.Errorf(mooring.CodeHostForbidden,
		"This server does not answer to that host name; use its address, or list the name under hosts in the configuration.")
}

// lists says that the name stands in the configuration, for any port or for this one.
func (rs *ruleset) lists(h hostport) bool {
	return rs.hosts[h.String()] || rs.hosts[hostport{name: h.name}.String()]
}

// loopback takes literals and localhost itself only: what else resolves to this machine is for a resolver to say.
func (h hostport) loopback() bool {
	if h.name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(h.name)
	return err == nil && addr.Unmap().IsLoopback()
}

// local says that the host is the address that the connection came in on.
func (h hostport) local(r *http.Request) bool {
	tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	addr, err := netip.ParseAddr(h.name)
	here, fits := netip.AddrFromSlice(tcp.IP)
	return err == nil && fits && addr.Unmap() == here.Unmap()
}
