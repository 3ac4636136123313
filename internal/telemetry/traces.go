package telemetry

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"mooring"
)

const instrumentation = "mooring"

// TraceOptions say where spans go, and whose they are.
type TraceOptions struct {
	Endpoint string // of a collector that takes OTLP over HTTP, with or without /v1/traces; user and password before its host are sent
	Version  string
	Replica  string
	Log      *slog.Logger
	Server   func(mooring.UpstreamName) (host string, port int) // where an upstream is; empty for one in this process
	Via      http.RoundTripper                                  // to the collector; nil for a transport of its own
}

// Tracer tells a collector of turns that have ended, one span each and one for every attempt. Spans wait in a bounded queue for the
// goroutine that sends them; where that is full they are dropped. Nothing that was said and no credential is in them.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	server   func(mooring.UpstreamName) (host string, port int)
}

// NewTracer makes a tracer. It does not connect; a collector that is not there is named in the log, and spans are lost meanwhile.
func NewTracer(o TraceOptions) (*Tracer, error) {
	to, err := newCollector(o.Endpoint, o.Via)
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&exporting{SpanExporter: otlptrace.NewUnstarted(to), log: o.Log}, sdktrace.WithExportTimeout(exportTimeout)),
		sdktrace.WithIDGenerator(spanIDs{}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
		sdktrace.WithResource(resource.NewSchemaless(
			semconv.ServiceName(instrumentation), semconv.ServiceVersion(o.Version), semconv.ServiceInstanceID(o.Replica),
		)),
	)
	return &Tracer{provider: provider, tracer: provider.Tracer(instrumentation, trace.WithInstrumentationVersion(o.Version)), server: o.Server}, nil
}

// Close sends what waits, until the context ends.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Turn tells of a turn that ended, with the attempts of one request and that request's header. Where the header continues a trace
// the turn belongs to that one, and is told only if its trace is; else the trace has the id of the turn.
func (t *Tracer) Turn(turn *mooring.Turn, asked http.Header) {
	ctx := parentOf(asked)
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = withIDs(ctx, spanID{trace: traceOf(turn.ID)})
	}
	ctx, span := t.tracer.Start(ctx, operation(turn)+" "+turn.Model, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(turn.StartedAt),
		trace.WithAttributes(turnAttributes(turn)...))
	defer span.End(trace.WithTimestamp(turn.EndedAt))
	if !span.IsRecording() {
		return
	}
	setStatus(span, turnError(turn), lastReason(turn))
	for i := range turn.Attempts {
		a := &turn.Attempts[i]
		_, try := t.tracer.Start(withIDs(ctx, spanID{span: attemptOf(turn.ID, a.StartedAt)}), operation(turn)+" "+turn.Model,
			trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(a.StartedAt), trace.WithAttributes(t.attemptAttributes(turn, a)...))
		setStatus(try, attemptError(a), a.Reason)
		try.End(trace.WithTimestamp(a.EndedAt))
	}
}

// Parent is the value of a traceparent header that makes what an upstream tells a part of an attempt's span. It is for requests that
// bring none.
func Parent(turn mooring.TurnID, attempt time.Time) string {
	return fmt.Sprintf("00-%s-%s-01", traceOf(turn), attemptOf(turn, attempt))
}

// Traced says that a request continues a trace.
func Traced(h http.Header) bool { return len(h["Traceparent"]) > 0 }

func parentOf(h http.Header) context.Context {
	if !Traced(h) {
		return context.Background()
	}
	return propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h))
}

// traceOf is a trace's id by which an operator finds it: the 16 bytes of the turn's.
func traceOf(turn mooring.TurnID) (id trace.TraceID) {
	parsed, err := ulid.ParseStrict(strings.TrimPrefix(string(turn), "trn_"))
	if err != nil {
		return trace.TraceID{}
	}
	return trace.TraceID(parsed)
}

// attemptOf is the id of an attempt's span, which has to be known before it ends.
func attemptOf(turn mooring.TurnID, at time.Time) (id trace.SpanID) {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, turn, at.UnixNano())
	h.Sum(id[:0])
	return id
}

// spanID are ids that the next span is to have; zero for any.
type spanID struct {
	trace trace.TraceID
	span  trace.SpanID
}

type spanIDKey struct{}

func withIDs(ctx context.Context, id spanID) context.Context {
	return context.WithValue(ctx, spanIDKey{}, id)
}

// spanIDs gives spans the ids that their contexts ask for.
type spanIDs struct{}

// NewIDs gives the ids of a span that begins a trace.
func (g spanIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	wanted, _ := ctx.Value(spanIDKey{}).(spanID)
	if !wanted.trace.IsValid() {
		binary.BigEndian.PutUint64(wanted.trace[:8], rand.Uint64()|1) //nolint:gosec // it tells traces apart, no more
		binary.BigEndian.PutUint64(wanted.trace[8:], rand.Uint64())   //nolint:gosec // as above
	}
	return wanted.trace, g.NewSpanID(ctx, wanted.trace)
}

// NewSpanID gives the id of a span within a trace.
func (spanIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	wanted, _ := ctx.Value(spanIDKey{}).(spanID)
	if !wanted.span.IsValid() {
		binary.BigEndian.PutUint64(wanted.span[:], rand.Uint64()|1) //nolint:gosec // it tells spans apart, no more
	}
	return wanted.span
}
