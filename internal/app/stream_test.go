package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mooring/internal/upstreamtest"
)

const done = "data: [DONE]\n\n"

// chunk is a chat event with this delta.
func chunk(delta string) string { return chunkOf(fmt.Sprintf(`[{"index":0,"delta":%s}]`, delta)) }

// stopChunk is the one that says why the model stopped.
const stopChunk = `data: {"id":"c","object":"chat.completion.chunk","model":"fake-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"

func chunkOf(choices string) string {
	return `data: {"id":"c","object":"chat.completion.chunk","model":"fake-1","choices":` + choices + "}\n\n"
}

func words(texts ...string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = chunk(fmt.Sprintf(`{"content":%q}`, text))
	}
	return out
}

// events is a product before one upstream that streams these.
func events(t *testing.T, more string, list ...string) (*product, *upstreamtest.Server) {
	t.Helper()
	u := upstreamtest.New(t)
	u.Always(upstreamtest.Reply{Events: list})
	return start(t, one(u)+more), u
}

// failed checks that a broken chat stream ends as the contract says: an error event, then the end, and no stop.
func failed(t *testing.T, stream string) {
	t.Helper()
	rest, ok := strings.CutSuffix(stream, done)
	at := strings.LastIndex(strings.TrimSuffix(rest, "\n\n"), "\n\n")
	last := rest[at+2:]
	if !ok || !strings.HasPrefix(last, `data: {"error":`) || !strings.HasSuffix(last, "}\n\n") {
		t.Errorf("stream does not end in an error event and [DONE]:\n%s", stream)
	}
	if strings.Contains(stream, `"finish_reason":"stop"`) || strings.Count(stream, done) != 1 {
		t.Errorf("a broken stream says stop, or ends twice:\n%s", stream)
	}
}

func TestStreamText(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	const text = "你好🙂é"
	u.Queue(upstreamtest.Reply{Text: text, ByteByByte: true})
	t.Run("C040 characters that come byte by byte", func(t *testing.T) {
		r := p.stream("c040", "hi").want(http.StatusOK)
		if got := said(t, string(r.body)); got != text || !utf8.Valid(r.body) || r.err != nil {
			t.Errorf("client got %q (%v), want %q", got, r.err, text)
		}
		if diff := cmp.Diff([]string{"user: hi", "assistant: " + text}, p.texts("c040")); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
	})
}

func TestStreamShapes(t *testing.T) {
	t.Parallel()
	const usage = `"usage":{"prompt_tokens":11,"completion_tokens":3,"total_tokens":14}`
	last := func(choices string) string {
		return `data: {"id":"c","object":"chat.completion.chunk","model":"fake-1",` + choices + usage + "}\n\n"
	}
	preamble := `data: {"id":"","object":"","model":"","prompt_filter_results":[{"prompt_index":0}],"choices":[]}` + "\n\n"
	tight := func(list ...string) []string {
		for i := range list {
			list[i] = strings.ReplaceAll(list[i], "data: ", "data:")
		}
		return list
	}
	text := append([]string{chunk(`{"role":"assistant","content":""}`)}, words("one ", "two")...)
	for name, list := range map[string][]string{
		"C042 no space after the colon":          tight(append(text[:3:3], stopChunk, last(`"choices":[],`), done)...),
		"C051 comments before and between":       append(append([]string{": OPENROUTER PROCESSING\n\n", ":\n", ": [DONE]\n\n"}, text...), ": [DONE]\n\n", stopChunk, ":\n\n", last(`"choices":[],`), done),
		"C055 choices is an empty list":          append([]string{preamble}, append(text[:3:3], stopChunk, last(`"choices":[],`), done)...),
		"C055 choices is null":                   append([]string{preamble}, append(text[:3:3], stopChunk, last(`"choices":null,`), done)...),
		"C055 choices is not there":              append([]string{preamble}, append(text[:3:3], stopChunk, last(``), done)...),
		"H-31 custom events and CRLF go through": append(text[:3:3], "event: hermes.tool.progress\r\ndata: {\"tool\":\"ls\"}\r\n\r\n", stopChunk, last(`"choices":[],`), done),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := events(t, "", list...)
			r := p.stream("s", "hi").want(http.StatusOK)
			if diff := cmp.Diff(strings.Join(list, ""), string(r.body)); diff != "" {
				t.Errorf("bytes of the stream (-upstream +client):\n%s", diff)
			}
			turn := p.turnOf("s")
			got := []any{turn["state"], usageOf(turn, "input_tokens"), usageOf(turn, "output_tokens")}
			if diff := cmp.Diff([]any{"completed", 11.0, 3.0}, got); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"user: hi", "assistant: one two"}, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMissingTerminator(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u)+"sessions: {concurrency: queue}\n")
	list := append(words("all ", "said"), stopChunk, done)
	u.Queue(upstreamtest.Reply{Events: list, Fault: upstreamtest.Stall, At: 3})
	t.Run("C044 Mooring ends the stream and frees the session", func(t *testing.T) {
		begun := time.Now()
		r := p.stream("s", "hi").want(http.StatusOK)
		if diff := cmp.Diff(strings.Join(list, ""), string(r.body)); diff != "" {
			t.Errorf("stream (-want +got):\n%s", diff)
		}
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("took %v, want about the documented 2 s", took)
		}
		if got := p.turnState(r); got != "completed" {
			t.Errorf("turn is %v, want completed", got)
		}
		<-u.LastPost(t).Done()
		if got := p.turnState(p.stream("s", "go on").want(http.StatusOK)); got != "completed" {
			t.Errorf("second turn is %v, want completed", got)
		}
	})
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]upstreamtest.Reply{
		"C046 C048 C049 H-29 a reset after three deltas": {Text: "one two three four five", Fault: upstreamtest.Cut, At: 4},
		"C049 a cut in the middle of a line":             {Text: "one two three four five", Fault: upstreamtest.CutMidEvent, At: 4},
		"C046 a body that ends short of its end":         {Text: "one two three four five", Fault: upstreamtest.End, At: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			u.Queue(fault)
			r := p.stream("s", "hi").want(http.StatusOK)
			failed(t, string(r.body))
			if got := said(t, string(r.body)); got != "one two three " || r.err != nil {
				t.Errorf("client got %q (%v), want the part that came, in good order", got, r.err)
			}
			if got := p.turnState(r); got != "failed" {
				t.Errorf("turn is %v, want failed", got)
			}
			if diff := cmp.Diff([]string{"user: hi", "assistant: one two three "}, p.texts("s")); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			s := p.call(http.MethodGet, "/api/sessions/s", "").want(http.StatusOK)
			if s.get("state") != "failed" {
				t.Errorf("session is %v, want failed", s.get("state"))
			}
			if metrics := string(p.call(http.MethodGet, "/metrics", "").want(http.StatusOK).body); !strings.Contains(metrics, `mooring_turns_total{kind="main",protocol="chat",state="failed",upstream="u1"} 1`) {
				t.Errorf("no failure is counted:\n%s", metrics)
			}
			if got := p.turnState(p.stream("s", "go on").want(http.StatusOK)); got != "completed" {
				t.Errorf("next turn is %v, want completed", got)
			}
		})
	}
	t.Run("C049 the client's connection serves the next call", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Reply{Fault: upstreamtest.Cut, At: 2}, upstreamtest.Reply{Fault: upstreamtest.CutMidEvent, At: 2})
		conn, in := p.raw("")
		for i := range 3 {
			if _, err := io.WriteString(conn, rawChat(chatBody("hi", `"stream":true,`))); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			body, err := io.ReadAll(res.Body)
			if cerr := res.Body.Close(); err != nil || cerr != nil || res.Close {
				t.Fatalf("call %d: %v %v, closes: %v", i, err, cerr, res.Close)
			}
			if i < 2 {
				failed(t, string(body))
			}
		}
	})
	t.Run("H-29 Anthropic's stream ends in its own error event", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u))
		u.Queue(upstreamtest.Reply{Text: "one two three", Fault: upstreamtest.Cut, At: 5})
		r := p.call(http.MethodPost, messagesPath, messagesBody("hi", `"stream":true,`)).want(http.StatusOK)
		at := strings.LastIndex(strings.TrimSuffix(string(r.body), "\n\n"), "\n\n")
		if last := string(r.body[at+2:]); !strings.HasPrefix(last, "event: error\ndata: {\"type\":\"error\"") || strings.Contains(string(r.body), "message_stop") {
			t.Errorf("stream ends in %q", last)
		}
		if got := p.turnState(r); got != "failed" {
			t.Errorf("turn is %v, want failed", got)
		}
	})
	t.Run("silence within a stream", func(t *testing.T) {
		t.Parallel()
		u := upstreamtest.New(t)
		p := start(t, one(u)+"limits: {stream_idle: 200ms}\n")
		u.Queue(upstreamtest.Reply{Text: "one two three", Fault: upstreamtest.Stall, At: 3})
		r := p.stream("s", "hi").want(http.StatusOK)
		failed(t, string(r.body))
		if got := p.turnOf("s"); got["state"] != "failed" || got["error_code"] != "upstream_timeout" {
			t.Errorf("turn is %v with %v, want failed with upstream_timeout", got["state"], got["error_code"])
		}
	})
}

func TestPauseWithKeepalives(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	list := append([]string{"id: 7\n" + words("one ")[0]}, ": ping\n\n", ": ping\n\n", "id: 8\n"+words("two")[0], stopChunk, done)
	u.Queue(upstreamtest.Reply{Events: list, Gap: 30 * time.Millisecond})
	t.Run("C050 comments make no event", func(t *testing.T) {
		r := p.stream("s", "hi").want(http.StatusOK)
		var data []string
		for event := range strings.SplitSeq(strings.TrimSuffix(string(r.body), "\n\n"), "\n\n") {
			for line := range strings.SplitSeq(event, "\n") {
				if d, ok := strings.CutPrefix(line, "data: "); ok {
					data = append(data, d)
				} else if !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "id: ") {
					t.Errorf("line %q is neither data nor id nor comment", line)
				}
			}
		}
		for _, d := range data[:len(data)-1] {
			if !json.Valid([]byte(d)) {
				t.Errorf("event %q is no JSON", d)
			}
		}
		if got := said(t, string(r.body)); got != "one two" || len(data) != 4 {
			t.Errorf("%d events say %q, want 4 and %q", len(data), got, "one two")
		}
	})
}

func TestFirstDelta(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	held := make(chan struct{})
	u.Queue(upstreamtest.Reply{Text: "first second", HoldAt: held, At: 2})
	t.Run("C053 the first delta is there while the second is still to come", func(t *testing.T) {
		l := p.open(chatPath, chatBody("hi", `"stream":true,`), "Accept-Encoding", "gzip")
		l.until("first ")
		close(held)
		if got := said(t, l.rest()); got != "first second" {
			t.Errorf("stream says %q", got)
		}
		for name, want := range map[string]string{"X-Accel-Buffering": "no", "Cache-Control": "no-cache", "Content-Type": "text/event-stream", "Content-Encoding": ""} {
			if got := l.Header.Get(name); got != want {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
	})
	t.Run("a header that is held for its first event goes out after limits.peek", func(t *testing.T) {
		q := start(t, one(u)+"limits: {peek: 50ms}\n")
		held := make(chan struct{})
		u.Queue(upstreamtest.Reply{Text: "late", HoldAt: held, At: 1})
		l := q.open(chatPath, chatBody("hi", `"stream":true,`))
		close(held)
		if got := said(t, l.rest()); got != "late" {
			t.Errorf("stream says %q", got)
		}
	})
}

func TestLongLines(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	for _, size := range []int{70_000, 1_200_000, 12_000_000} {
		t.Run(fmt.Sprintf("C054 a line of %d bytes", size), func(t *testing.T) {
			long := chunk(`{"images":[{"image_url":{"url":"data:image/png;base64,` + strings.Repeat("QUJD", size/4) + `"}}]}`)
			usage := `data: {"id":"c","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}` + "\n\n"
			list := append(words("look: "), long, stopChunk, usage, done)
			u.Queue(upstreamtest.Reply{Events: list})
			r := p.stream(fmt.Sprint("s", size), "hi").want(http.StatusOK)
			if string(r.body) != strings.Join(list, "") {
				t.Errorf("%d bytes came through, want %d equal ones", len(r.body), len(strings.Join(list, "")))
			}
			turn := p.turnOf(fmt.Sprint("s", size))
			if turn["state"] != "completed" || usageOf(turn, "output_tokens") != 6.0 {
				t.Errorf("turn is %v with usage %v", turn["state"], turn["usage"])
			}
		})
	}
	t.Run("C054 beyond limits.answer the stream ends in a clear error", func(t *testing.T) {
		q := start(t, one(u)+"limits: {answer: 64KiB}\n")
		u.Queue(upstreamtest.Reply{Events: append(words("ok ", strings.Repeat("x", 70_000)), stopChunk, done)})
		r := q.stream("s", "hi").want(http.StatusOK)
		failed(t, string(r.body))
		if got := q.turnState(r); got != "failed" {
			t.Errorf("turn is %v, want failed", got)
		}
	})
}

func TestUnaskedStream(t *testing.T) {
	t.Parallel()
	for name, contentType := range map[string]string{"C057 as an event stream": "", "C057 under application/json": "application/json"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upstreamtest.New(t)
			p := start(t, one(u))
			usage := `data: {"id":"c","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}` + "\n\n"
			list := append(words("one ", "two"), stopChunk, usage, done)
			reply := upstreamtest.Reply{Events: list}
			if contentType != "" {
				reply.Header = http.Header{"Content-Type": {contentType}}
			}
			u.Queue(reply, upstreamtest.Reply{Events: list})
			r := p.chat("s", "hi").want(http.StatusOK)
			if got := r.header.Get("Content-Type"); got != "application/json" {
				t.Errorf("Content-Type = %q", got)
			}
			got := []any{r.get("object"), r.get("choices", 0, "message", "content"), r.get("choices", 0, "finish_reason"), r.get("usage", "completion_tokens")}
			if diff := cmp.Diff([]any{"chat.completion", "one two", "stop", 6.0}, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			p.stream("streamed", "hi").want(http.StatusOK)
			if diff := cmp.Diff(p.texts("streamed"), p.texts("s")); diff != "" {
				t.Errorf("history (-streamed +buffered):\n%s", diff)
			}
			if turn := p.turnOf("s"); turn["state"] != "completed" || usageOf(turn, "output_tokens") != 6.0 {
				t.Errorf("turn is %v with usage %v", turn["state"], turn["usage"])
			}
		})
	}
}

func TestPageForAStream(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	p := start(t, one(u))
	t.Run("C058 401 with HTML is relayed as it is", func(t *testing.T) {
		page := upstreamtest.HTML(http.StatusUnauthorized)
		u.Queue(page)
		r := p.stream("a", "hi").want(http.StatusUnauthorized)
		if string(r.body) != string(page.Body) || r.header.Get("Content-Type") != page.ContentType || r.header.Get("X-Mooring-Error") != "" {
			t.Errorf("got %q as %q, X-Mooring-Error %q", r.body, r.header.Get("Content-Type"), r.header.Get("X-Mooring-Error"))
		}
	})
	t.Run("C058 200 with HTML is an upstream error", func(t *testing.T) {
		u.Queue(upstreamtest.HTML(http.StatusOK))
		r := p.stream("b", "hi").want(http.StatusBadGateway)
		if r.get("error", "code") != "upstream_error" || r.header.Get("X-Mooring-Error") != "upstream_error" {
			t.Errorf("error = %s, X-Mooring-Error %q", r.body, r.header.Get("X-Mooring-Error"))
		}
		if got := p.turnState(r); got != "failed" {
			t.Errorf("turn is %v, want failed", got)
		}
	})
}

func TestInterleavedToolCalls(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	call := func(index int, more string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,%s}]}`, index, more))
	}
	u := upstreamtest.New(t)
	p := start(t, one(u))
	u.Queue(upstreamtest.Reply{Events: []string{
		call(0, `"id":"a","type":"function","function":{"name":"read","arguments":"{\"pa"}`),
		call(1, `"id":"b","type":"function","function":{"name":"list","arguments":"{\"di"}`),
		call(0, `"function":{"arguments":"th\":\"x\"}"}`),
		call(1, `"function":{"arguments":"r\":\"y\"}"}`),
		strings.Replace(stopChunk, "stop", "tool_calls", 1), done,
	}}, upstreamtest.Reply{Body: []byte(`{"id":"c","object":"chat.completion","model":"fake-1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[` +
		`{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\":\"x\"}"}},{"id":"b","type":"function","function":{"name":"list","arguments":"{\"dir\":\"y\"}"}}]}}]}`)})
	t.Run("C059 pieces of two calls that alternate", func(t *testing.T) {
		p.stream("streamed", "hi").want(http.StatusOK)
		p.chat("buffered", "hi").want(http.StatusOK)
		content := func(id string) any {
			return p.call(http.MethodGet, "/api/sessions/"+id+"/messages", "").want(http.StatusOK).get("messages", -1, "content")
		}
		if diff := cmp.Diff(content("buffered"), content("streamed")); diff != "" {
			t.Errorf("history (-buffered +streamed):\n%s", diff)
		}
		stored := fmt.Sprint(content("streamed"))
		for _, want := range []string{"read", "list", "path", "dir"} {
			if !strings.Contains(stored, want) {
				t.Errorf("history lacks %q: %s", want, stored)
			}
		}
	})
}

func TestUnnamedEvents(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	p, _ := events(t, "",
		`data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"fake-1","content":[],"usage":{"input_tokens":4,"output_tokens":1}}}`+"\n\n",
		`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`+"\n\n",
		`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`+"\n\n",
		`data: {"type":"content_block_stop","index":0}`+"\n\n",
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`+"\n\n",
		`data: {"type":"message_stop"}`+"\n\n")
	t.Run("C061 the turn is recorded all the same", func(t *testing.T) {
		r := p.call(http.MethodPost, messagesPath, messagesBody("hi", `"stream":true,`), "X-Session-Id", "s").want(http.StatusOK)
		if !strings.Contains(string(r.body), `"message_stop"`) {
			t.Errorf("stream has no end:\n%s", r.body)
		}
		if turn := p.turnOf("s"); turn["state"] != "completed" || usageOf(turn, "input_tokens") != 4.0 {
			t.Errorf("turn is %v with usage %v", turn["state"], turn["usage"])
		}
		if diff := cmp.Diff([]string{"user: hi", "assistant: hello"}, p.texts("s")); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
	})
}

func TestEarlyAnswers(t *testing.T) { //nolint:tparallel // its steps share one product and follow each other
	t.Parallel()
	u := upstreamtest.New(t)
	u.Always(upstreamtest.Reply{Early: true})
	p := start(t, one(u))
	t.Run("200 streams that are answered before the request is read", func(t *testing.T) {
		for i := range 200 {
			r := p.stream("", fmt.Sprint("question ", i)).want(http.StatusOK)
			if !strings.HasSuffix(string(r.body), done) || r.err != nil || p.turnState(r) != "completed" {
				t.Fatalf("stream %d: %v, turn %v, ends in %.80q", i, r.err, p.turnState(r), r.body)
			}
		}
	})
}
