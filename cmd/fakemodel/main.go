// Command fakemodel runs the fake model server of the tests, or with -mock the instant one of the benchmarks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"mooring/internal/upstreamtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fakemodel:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("fakemodel", flag.ContinueOnError)
	addr := flags.String("addr", "127.0.0.1:0", "listen address")
	mock := flags.Bool("mock", false, "answer at once from ready bytes and record nothing, for benchmarks")
	chunks := flags.Int("chunks", 50, "with -mock: chunks of a stream")
	size := flags.Int("size", 1024, "with -mock: bytes of a buffered answer")
	early := flags.Bool("early", false, "stream the answer before the request's body is read")
	gap := flags.Duration("gap", 0, "pause between chunks")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("read arguments: %w", err)
	}
	if *mock {
		o := upstreamtest.MockOptions{Chunks: *chunks, Size: *size, Gap: *gap, Early: *early}
		return runMock(ctx, *addr, upstreamtest.NewMock(o), stdout)
	}
	server, err := upstreamtest.Start(upstreamtest.Options{Addr: *addr}) //nolint:contextcheck // ctx only says when to stop
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer server.Close()
	server.Always(upstreamtest.Reply{Gap: *gap, Early: *early})
	if _, err := fmt.Fprintln(stdout, "listening on", server.URL); err != nil {
		return fmt.Errorf("say where it listens: %w", err)
	}
	<-ctx.Done()
	return nil
}

func runMock(ctx context.Context, addr string, mock http.Handler, stdout io.Writer) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if _, err := fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr()); err != nil {
		return fmt.Errorf("say where it listens: %w", err)
	}
	server := &http.Server{Handler: mock, ReadHeaderTimeout: time.Minute}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
