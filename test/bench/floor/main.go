// Command floor is the least that a Go gateway can cost: a bare reverse proxy with a pooled transport that reads the
// request's body first.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"time"
)

const maxBody = 64 << 20

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "listen address")
	up := flag.String("up", "", "address of the model server")
	flag.Parse()
	if err := run(*addr, *up); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1) //nolint:forbidigo // a program of its own
	}
}

func run(addr, up string) error {
	target, err := url.Parse(up)
	if err != nil {
		return fmt.Errorf("read -up: %w", err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
		Transport: &http.Transport{
			MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, IdleConnTimeout: 90 * time.Second, DisableCompression: true,
		},
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if _, err := fmt.Fprintf(os.Stdout, "listening on http://%s\n", listener.Addr()); err != nil {
		return fmt.Errorf("say where it listens: %w", err)
	}
	server := &http.Server{Handler: readFirst(proxy), ReadHeaderTimeout: time.Minute}
	return server.Serve(listener)
}

// readFirst does what every session-aware gateway must: it looks into the request. A proxy that streams the body while the
// answer starts loses stream ends when the upstream answers early.
func readFirst(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "body", http.StatusRequestEntityTooLarge)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
		next.ServeHTTP(w, r)
	})
}
