// Package house is what stands around the tenant edge when it is tried or tested: an OpenID provider with a login page and two people, and
// two web UIs that behave as hermes-webui does and write down what they are asked. It is no part of the product. Its goroutines are those of
// its HTTP servers, and end with Close.
package house

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// House is made by Open.
type House struct {
	Provider *Provider
	WebUIs   []*WebUI

	servers []*http.Server
}

// Person is somebody whom the provider knows.
type Person struct {
	Name     string // what is typed at the login page
	Password string
	Subject  string // what the provider calls them in its tokens
}

// Options are where a house stands.
type Options struct {
	// Origin is the address that people open, without a slash at its end: the edge's, or that of the login proxy before it.
	Origin string
	// ProviderAddr and WebUIAddrs are where to listen; on a free port where one is missing.
	ProviderAddr string
	WebUIAddrs   [2]string
	Now          func() time.Time
}

// Open starts the provider and the web UIs.
func Open(ctx context.Context, o Options) (_ *House, err error) {
	h := &House{}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	ln, err := listen(ctx, o.ProviderAddr)
	if err != nil {
		return nil, err
	}
	if h.Provider, err = newProvider(ln.Addr(), o); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	h.serve(ln, h.Provider)
	for i, addr := range o.WebUIAddrs {
		if ln, err = listen(ctx, addr); err != nil {
			return nil, err
		}
		ui := newWebUI(fmt.Sprintf("tenant-%d", i), "http://"+ln.Addr().String())
		h.WebUIs = append(h.WebUIs, ui)
		h.serve(ln, ui)
	}
	return h, nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
}

func (h *House) serve(ln net.Listener, handler http.Handler) {
	s := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	h.servers = append(h.servers, s)
	go func() { _ = s.Serve(ln) }() // until Close
}

// Close ends the servers and all that they answer.
func (h *House) Close() error {
	var all []error
	for _, s := range h.servers {
		all = append(all, s.Close())
	}
	return errors.Join(all...)
}

// Edge is the part of Mooring's configuration that signs people in itself; listen is the address and port of the edge.
func (h *House) Edge(listen, host string) string {
	return fmt.Sprintf(`edge:
  listen: %s
  host: %s
  identity:
    source: oidc
    issuer: %s
    client_id: %s
    client_secret: %s
  oidc: {redirect_uri: %q}
`, listen, host, h.Provider.Issuer, ClientID, ClientSecret, h.Provider.origin+callback) + h.rest()
}

// EdgeBehindProxy is the same with a login proxy before it.
func (h *House) EdgeBehindProxy(listen, host string) string {
	return fmt.Sprintf(`edge:
  listen: %s
  host: %s
  identity: {source: x-forwarded-user, trusted: [127.0.0.1/32]}
`, listen, host) + h.rest()
}

func (h *House) rest() string {
	var text strings.Builder
	text.WriteString("  salt: 0123456789abcdef0123456789abcdef # openssl rand -base64 48 makes one\n  slots:\n")
	for _, ui := range h.WebUIs {
		fmt.Fprintf(&text, "    - {name: %s, url: %q}\n", ui.Name, ui.URL)
	}
	return text.String()
}
