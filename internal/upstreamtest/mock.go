package upstreamtest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MockOptions shape the answers of a Mock.
type MockOptions struct {
	Chunks int           // of a stream; 50 where 0
	Size   int           // bytes of a buffered answer, roughly; 1,024 where 0
	Gap    time.Duration // between chunks
	Early  bool          // stream at once, before the request's body is read
}

// Mock is the model server of the benchmarks: it answers at once from bytes made beforehand and records nothing.
type Mock struct {
	options MockOptions
	whole   []byte
	chunks  [][]byte
	bodies  sync.Pool // of *bytes.Buffer
}

// NewMock makes the answers.
func NewMock(o MockOptions) *Mock {
	if o.Chunks == 0 {
		o.Chunks = 50
	}
	if o.Size == 0 {
		o.Size = 1024
	}
	m := &Mock{options: o, bodies: sync.Pool{New: func() any { return new(bytes.Buffer) }}}
	const head = `{"id":"chatcmpl-mock","object":"chat.completion","created":1700000000,"model":"mock-model","choices":[{"index":0,"message":{"role":"assistant","content":"`
	const tail = `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}`
	words := strings.Repeat("harbour ", max(1, (o.Size-len(head)-len(tail))/len("harbour ")))
	m.whole = []byte(head + words + tail)
	const chunk = `data: {"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1700000000,"model":"mock-model","choices":[{"index":0,"delta":%s,"finish_reason":%s}]%s}` + "\n\n"
	for i := range o.Chunks {
		m.chunks = append(m.chunks, fmt.Appendf(nil, chunk, fmt.Sprintf(`{"content":"tok%02d "}`, i), "null", ""))
	}
	last := fmt.Sprintf(chunk, "{}", `"stop"`, `,"usage":{"prompt_tokens":9,"completion_tokens":50,"total_tokens":59}`)
	m.chunks = append(m.chunks, []byte(last+"data: [DONE]\n\n"))
	return m
}

// ServeHTTP answers a chat; any other path gets the list of models.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"mock-model","object":"model","created":1,"owned_by":"mock"}]}`))
		return
	}
	if m.options.Early {
		_ = http.NewResponseController(w).EnableFullDuplex() // else net/http reads the body before it writes
		m.stream(w)
		_, _ = io.Copy(io.Discard, r.Body) // full duplex and a body left unread break the connection's next request
		return
	}
	if m.wantsStream(r) {
		m.stream(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(m.whole)))
	_, _ = w.Write(m.whole)
}

func (m *Mock) wantsStream(r *http.Request) bool {
	b, _ := m.bodies.Get().(*bytes.Buffer)
	defer m.bodies.Put(b)
	b.Reset()
	if _, err := b.ReadFrom(r.Body); err != nil {
		return false
	}
	return bytes.Contains(b.Bytes(), []byte(`"stream":true`)) || bytes.Contains(b.Bytes(), []byte(`"stream": true`))
}

func (m *Mock) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	flusher := http.NewResponseController(w)
	for _, c := range m.chunks {
		if _, err := w.Write(c); err != nil || flusher.Flush() != nil {
			return
		}
		if m.options.Gap > 0 {
			time.Sleep(m.options.Gap)
		}
	}
}
