package upstream

import (
	"net"
	"net/http"
	"time"
)

// Connections are kept: an LLM call after a pause must not pay for a handshake again.
const (
	idleConnections = 1024
	idleTimeout     = 90 * time.Second
	dialTimeout     = 10 * time.Second
)

// writeBuffer holds the header and the body of most requests, which then cost one write and no buffer of their own.
const writeBuffer = 32 << 10

// newTransport makes a transport that decodes nothing by itself: the caller knows what it asked for. A proxy named in the
// environment is used, as operators behind one expect; loopback addresses never go through it.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		WriteBufferSize:       writeBuffer,
		MaxIdleConns:          idleConnections,
		MaxIdleConnsPerHost:   idleConnections,
		IdleConnTimeout:       idleTimeout,
		TLSHandshakeTimeout:   dialTimeout,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
	}
}
