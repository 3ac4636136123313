package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"mooring/internal/upstreamtest"
)

// collector keeps the spans that it is sent, by OTLP over HTTP.
type collector struct {
	*httptest.Server
	t *testing.T

	mu    sync.Mutex // guards the fields below
	raw   bytes.Buffer
	spans []*tracepb.Span
	of    []*commonpb.KeyValue // the attributes of who sent the last ones
	auth  string
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{t: t}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	plain, err := gzip.NewReader(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		c.t.Errorf("the collector got %s %s of %s: %v", r.Method, r.URL, r.Header.Get("Content-Type"), err)
		return
	}
	data, err := io.ReadAll(plain)
	var sent tracepb.TracesData
	if err != nil || proto.Unmarshal(data, &sent) != nil {
		c.t.Errorf("the collector cannot read what it got: %v", err)
	}
	c.raw.Write(data)
	c.auth = r.Header.Get("Authorization")
	for _, of := range sent.GetResourceSpans() {
		c.of = of.GetResource().GetAttributes()
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	w.WriteHeader(http.StatusOK)
}

// attributes are those of a span as text.
func attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		v := kv.GetValue()
		switch v.GetValue().(type) {
		case *commonpb.AnyValue_IntValue:
			out[kv.GetKey()] = fmt.Sprint(v.GetIntValue())
		case *commonpb.AnyValue_DoubleValue:
			out[kv.GetKey()] = fmt.Sprintf("%.3g", v.GetDoubleValue())
		case *commonpb.AnyValue_BoolValue:
			out[kv.GetKey()] = fmt.Sprint(v.GetBoolValue())
		default:
			out[kv.GetKey()] = v.GetStringValue()
		}
	}
	return out
}

func TestTurnsAreTraced(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	a, b := upstreamtest.New(t), upstreamtest.New(t)
	both(a, b, upstreamtest.Reply{Status: http.StatusBadGateway})
	p := start(t, keyring()+"prices: {\"fake-*\": {input: 1, output: 1, cache_read: 1}}\ntelemetry: {otlp: \"http://who:hidden@"+strings.TrimPrefix(c.URL, "http://")+"\"}\n"+
		"upstreams:\n"+upstreamYAML("u1", a.URL, "key: UPSTREAM-SECRET")+upstreamYAML("u2", b.URL, "key: UPSTREAM-SECRET"))
	r := p.as("KA").chat("SESSION-ID", "PROMPT-WORDS").want(http.StatusOK)
	given := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	p.as("KA").chat("SESSION-ID", "again", "Traceparent", given).want(http.StatusOK)
	p.as("KA").chat("SESSION-ID", "not to be told", "Traceparent", strings.TrimSuffix(given, "1")+"0").want(http.StatusOK)
	p.stop() // sends what waits

	c.mu.Lock()
	defer c.mu.Unlock()
	for _, secret := range []string{"PROMPT-WORDS", "This is answer", "SESSION-ID", "UPSTREAM-SECRET", "KA\"", "hidden", "not to be told"} {
		if bytes.Contains(c.raw.Bytes(), []byte(secret)) {
			t.Errorf("spans hold %q", secret)
		}
	}
	if !strings.HasPrefix(c.auth, "Basic ") || attributes(c.of)["service.name"] != "mooring" || attributes(c.of)["service.version"] != "test" {
		t.Errorf("sent with %q, of %v", c.auth, c.of)
	}
	if len(c.spans) != 5 {
		t.Fatalf("%d spans, want a turn of two attempts and one of one", len(c.spans))
	}
	byKind := map[tracepb.Span_SpanKind][]*tracepb.Span{}
	for _, s := range c.spans {
		byKind[s.GetKind()] = append(byKind[s.GetKind()], s)
	}
	turn, tries := byKind[tracepb.Span_SPAN_KIND_SERVER][0], byKind[tracepb.Span_SPAN_KIND_CLIENT]
	session, id := r.session(), r.header.Get("X-Mooring-Turn")
	want := map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "fake-1", "gen_ai.request.stream": "false",
		"gen_ai.conversation.id": session, "mooring.turn": id, "mooring.kind": "main", "mooring.protocol": "chat", "mooring.state": "completed", "mooring.tenant": "acme",
		"mooring.key_name": "ka", "mooring.identity": "header:x-session-id", "mooring.pin": "new", "http.response.status_code": "200",
		"mooring.upstream": attributes(tries[1].GetAttributes())["mooring.upstream"], "mooring.cost_usd": "1.3e-05",
	}
	if diff := cmp.Diff(want, attributes(turn.GetAttributes())); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	if turn.GetName() != "chat fake-1" || turn.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_UNSET || turn.GetEndTimeUnixNano() <= turn.GetStartTimeUnixNano() {
		t.Errorf("turn %v", turn)
	}
	failed, answered := attributes(tries[0].GetAttributes()), attributes(tries[1].GetAttributes())
	if failed["error.type"] != "502" || failed["http.response.status_code"] != "502" || tries[0].GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR {
		t.Errorf("first attempt %v, %v", failed, tries[0].GetStatus())
	}
	for name, value := range map[string]string{
		"gen_ai.usage.input_tokens": "9", "gen_ai.usage.output_tokens": "4", "gen_ai.response.model": "fake-1", "server.address": "127.0.0.1", "mooring.state": "completed",
	} {
		if answered[name] != value {
			t.Errorf("second attempt: %s = %q, want %q; all %v", name, answered[name], value, answered)
		}
	}
	if answered["server.port"] == failed["server.port"] || answered["server.port"] == "0" || answered["error.type"] != "" {
		t.Errorf("second attempt %v", answered)
	}
	for _, s := range tries[:2] {
		if !bytes.Equal(s.GetTraceId(), turn.GetTraceId()) || !bytes.Equal(s.GetParentSpanId(), turn.GetSpanId()) {
			t.Errorf("attempt %v is no child of turn %v", s, turn)
		}
	}
	posts := append(a.Posts(), b.Posts()...)
	sent := map[string]bool{}
	for _, post := range posts {
		sent[post.Header.Get("Traceparent")] = true
	}
	for _, s := range tries[:2] { // an upstream that traces makes its own spans their children
		if parent := "00-" + hex.EncodeToString(s.GetTraceId()) + "-" + hex.EncodeToString(s.GetSpanId()) + "-01"; !sent[parent] {
			t.Errorf("no upstream was sent %s; sent %v", parent, sent)
		}
	}
	if !sent[given] {
		t.Errorf("the client's own traceparent was not sent on; sent %v", sent)
	}
	second := byKind[tracepb.Span_SPAN_KIND_SERVER][1]
	if hex.EncodeToString(second.GetTraceId()) != given[3:35] || hex.EncodeToString(second.GetParentSpanId()) != given[36:52] {
		t.Errorf("the second turn does not continue its client's trace: %v", second)
	}
}

func TestNobodyTraces(t *testing.T) {
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	p.chat("s1", "hello").want(http.StatusOK)
	if got := u.Posts()[0].Header.Get("Traceparent"); got != "" {
		t.Errorf("the upstream was sent a trace %q that nobody keeps", got)
	}
}

// A collector that is away costs turns nothing, and one line in the log.
func TestTheCollectorIsAway(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler())
	u := upstreamtest.New(t)
	p := start(t, one(u)+"\ntelemetry: {otlp: \"http://who:hidden@"+strings.TrimPrefix(away.URL, "http://")+"\"}\n")
	p.chat("s1", "hello").want(http.StatusOK)
	p.stop()
	if log := p.log.String(); strings.Count(log, "traces do not reach the collector") != 1 || strings.Contains(log, "hidden") {
		t.Errorf("log:\n%s", log)
	}
	away.Close()
}
