package serve_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"mooring"
	"mooring/internal/serve"
)

// C145: a name that somebody else's DNS points here is refused, whatever the method.
func TestHostRule(t *testing.T) {
	t.Parallel()
	rules := serve.Rules{Hosts: []string{"Box.example", "port.example:8443", "2001:db8::1"}}
	for _, tt := range []struct {
		rule, host, method, target string
		forbidden                  bool
	}{
		{rule: "loopback address passes", host: "127.0.0.1:4747"},
		{rule: "loopback address without port passes", host: "127.0.0.1"},
		{rule: "any of 127.0.0.0/8 passes", host: "127.8.9.10:1"},
		{rule: "localhost passes", host: "localhost:4747"},
		{rule: "case does not matter", host: "LOCALHOST:4747"},
		{rule: "IPv6 loopback passes", host: "[::1]:4747"},
		{rule: "IPv6 loopback without port passes", host: "[::1]"},
		{rule: "a listed name passes", host: "box.example"},
		{rule: "a listed name passes on any port", host: "BOX.EXAMPLE:99"},
		{rule: "a name listed with its port passes there", host: "port.example:8443"},
		{rule: "a listed IPv6 address passes", host: "[2001:db8::1]:80"},
		{rule: "a name listed with its port is refused elsewhere", host: "port.example:99", forbidden: true},
		{rule: "another name is refused", host: "evil.example", forbidden: true},
		{rule: "another name is refused with our port", host: "evil.example:4747", forbidden: true},
		{rule: "another name is refused to readers", host: "evil.example", method: http.MethodGet, target: "/api/sessions", forbidden: true},
		{rule: "another name is refused pages", host: "evil.example", method: http.MethodGet, target: "/", forbidden: true},
		{rule: "another name is refused a HEAD", host: "evil.example", method: http.MethodHead, target: "/", forbidden: true},
		{rule: "an address before a name is a name", host: "127.0.0.1.evil.example:4747", forbidden: true},
		{rule: "localhost before a name is a name", host: "localhost.evil.example", forbidden: true},
		{rule: "a listed name before a name is a name", host: "box.example.evil.example", forbidden: true},
		{rule: "a name behind another is a name", host: "xbox.example", forbidden: true},
		{rule: "another address is refused", host: "169.254.169.254", forbidden: true},
		{rule: "all addresses is none", host: "0.0.0.0:4747", forbidden: true},
		{rule: "an unfinished bracket is refused", host: "[::1", forbidden: true},
		{rule: "text behind a bracket is refused", host: "[::1]x", forbidden: true},
		{rule: "a name in brackets is refused", host: "[localhost]", forbidden: true},
		{rule: "a port that is none is refused", host: "localhost:a", forbidden: true},
		{rule: "user information is refused", host: "localhost@evil.example", forbidden: true},
		{rule: "health answers any host", host: "evil.example", method: http.MethodGet, target: "/health"},
		{rule: "readyz answers any host", host: "evil.example", method: http.MethodGet, target: "/readyz"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			r, reached := ask(t, newServer(t, rules), request{host: tt.host, method: tt.method, target: tt.target})
			defer r.Body.Close()
			if reached == tt.forbidden {
				t.Fatalf("Host %s reached the handler: %v, want %v", tt.host, reached, !tt.forbidden)
			}
			if tt.forbidden {
				wantProblem(t, r, http.StatusForbidden, mooring.CodeHostForbidden)
			}
		})
	}
}

func TestHostWithKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		rule    string
		hosts   []string
		header  http.Header
		reached bool
	}{
		{rule: "a valid bearer passes any host", header: headers("Authorization", "Bearer "+alice), reached: true},
		{rule: "a valid x-api-key passes any host", header: headers("X-Api-Key", alice), reached: true},
		{rule: "a valid x-mooring-key passes any host", header: headers("X-Mooring-Key", alice), reached: true},
		{rule: "no key does not", header: headers()},
		{rule: "a wrong key does not", header: headers("Authorization", "Bearer wrong")},
		{rule: "a key in a cookie does not", header: headers("Cookie", "mooring="+alice)},
		{rule: "a star is any host", hosts: []string{"*"}, header: headers(), reached: true},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, serve.Rules{Keys: twoKeys(), Hosts: tt.hosts})
			r, reached := ask(t, s, request{host: "gateway.example", header: tt.header})
			defer r.Body.Close()
			if reached != tt.reached {
				t.Fatalf("reached = %v, want %v", reached, tt.reached)
			}
			if !tt.reached {
				wantProblem(t, r, http.StatusForbidden, mooring.CodeHostForbidden)
			}
		})
	}
}

func TestHostIsTheConnectionsAddress(t *testing.T) {
	t.Parallel()
	s := newServer(t, serve.Rules{Keys: twoKeys()})
	for host, want := range map[string]bool{"192.0.2.7:80": true, "192.0.2.7": true, "[::ffff:192.0.2.7]": true, "192.0.2.8": false} {
		reached := false
		h := s.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		r := request{host: host}.build(t)
		local := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 4747}
		h.ServeHTTP(discard{}, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		if reached != want {
			t.Errorf("Host %s reached the handler: %v, want %v", host, reached, want)
		}
	}
}

// discard is a ResponseWriter that nobody reads.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
