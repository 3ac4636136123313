package apiclient

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Address is where a server is, and who said so.
type Address struct {
	URL  *url.URL
	From string // for people: "--server", "MOORING_LISTEN", "listen in mooring.yaml"
}

// Errors of an address. They do not repeat it: it may hold a password.
var (
	errNoAddress = errors.New("is no address; write http://HOST:PORT or HOST:PORT")
	errScheme    = errors.New("must begin with http:// or https://")
	errQuery     = errors.New("must end before ? and #; give the base URL only")
	errAnyPort   = errors.New("has port 0, which stands for any; name the port that the server said it listens on with --server")
)

// ParseAddress reads a URL, or an address to listen on, as the URL to ask. One that stands for every interface is asked
// on loopback.
func ParseAddress(text, from string) (Address, error) {
	u, err := parseURL(strings.TrimSpace(text))
	if err != nil {
		return Address{}, fmt.Errorf("%s: %w", from, err)
	}
	return Address{URL: u, From: from}, nil
}

func parseURL(text string) (*url.URL, error) {
	if _, err := strconv.ParseUint(text, 10, 16); err == nil {
		text = ":" + text
	}
	bare := !strings.Contains(text, "://")
	if bare {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errNoAddress // the library's own words repeat the text
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errScheme
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errQuery
	case u.Host == "", bare && u.Port() == "":
		return nil, errNoAddress
	case u.Port() == "0":
		return nil, errAnyPort
	}
	u.Host = reachable(u)
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// reachable gives the host to dial for one to listen on.
func reachable(u *url.URL) string {
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "":
		host = "127.0.0.1"
	case err != nil || !ip.IsUnspecified():
		return u.Host
	case ip.Is4():
		host = "127.0.0.1"
	default:
		host = "::1"
	}
	if u.Port() == "" {
		return strings.TrimSuffix(net.JoinHostPort(host, ""), ":")
	}
	return net.JoinHostPort(host, u.Port())
}

// String is the address without its password.
func (a Address) String() string { return a.URL.Redacted() }
