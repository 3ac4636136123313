package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	tracesPath = "/v1/traces" // of OTLP over HTTP, behind a collector's address
	// exportTimeout is how long a batch may take to reach the collector, further tries included.
	exportTimeout = 30 * time.Second
	// firstPause is the wait before the second try; each further one is twice as long.
	firstPause  = time.Second
	exportTries = 4
)

// collector takes spans by OTLP over HTTP. The library's own client would bring gRPC along: 2.5 MB of a binary that never uses it.
type collector struct {
	url    string
	client *http.Client
}

func newCollector(endpoint string, via http.RoundTripper) (*collector, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return nil, errors.New("the address of the collector of traces is none")
	}
	if !strings.HasSuffix(u.Path, tracesPath) {
		u.Path = strings.TrimSuffix(u.Path, "/") + tracesPath
	}
	if via == nil {
		via = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}
	}
	return &collector{url: u.String(), client: &http.Client{
		Transport:     via,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Start does nothing: the first batch connects.
func (c *collector) Start(context.Context) error { return nil }

// Stop closes the connections.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. Where the collector is not there or asks for it, it is tried again, as the specification of OTLP says.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := packed(spans)
	if err != nil {
		return err
	}
	pause := firstPause
	for try := 1; ; try++ {
		wait, err := c.post(ctx, body)
		if err == nil || wait < 0 || try == exportTries {
			return err
		}
		if err := rest(ctx, max(pause, wait)); err != nil {
			return err
		}
		pause *= 2
	}
}

// TryCollector sends a collector no spans, which it takes if it would take some.
func TryCollector(ctx context.Context, endpoint string) error {
	c, err := newCollector(endpoint, nil)
	if err != nil {
		return err
	}
	defer c.client.CloseIdleConnections()
	body, err := packed(nil)
	if err != nil {
		return err
	}
	_, err = c.post(ctx, body)
	return err
}

// packed is what a collector reads: the one field of its request is that of this message.
func packed(spans []*tracepb.ResourceSpans) ([]byte, error) {
	raw, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return nil, fmt.Errorf("write spans down: %w", err)
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	_, err = zip.Write(raw)
	err = errors.Join(err, zip.Close())
	return out.Bytes(), err
}

// post sends a request. After an error wait is how long the collector wants to be left alone at least, negative where another try
// is of no use.
func (c *collector) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "gzip")
	res, err := c.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	switch res.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return 0, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		wait = time.Duration(max(seconds, 0)) * time.Second
	default:
		wait = -1
	}
	return wait, fmt.Errorf("the collector answers %d", res.StatusCode)
}

func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exporting says in the log that spans do not reach the collector, once, and that they do again.
type exporting struct {
	sdktrace.SpanExporter
	log     *slog.Logger
	failing atomic.Bool
}

// ExportSpans sends spans. Those that could not be sent are lost, which is logged here and no error to the caller.
func (e *exporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil && !e.failing.Swap(true):
		e.log.LogAttrs(ctx, slog.LevelWarn, "traces do not reach the collector", slog.Any("err", err))
	case err == nil && e.failing.Swap(false):
		e.log.LogAttrs(ctx, slog.LevelInfo, "traces reach the collector again")
	}
	return nil
}
