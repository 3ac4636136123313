package echo

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// event is one server-sent event; Anthropic's have names.
type event struct {
	name string
	data []byte
}

func (e event) encode() []byte {
	var b []byte
	if e.name != "" {
		b = append(b, "event: "+e.name+"\n"...)
	}
	b = append(b, "data: "...)
	b = append(b, e.data...)
	return append(b, "\n\n"...)
}

// pieces cuts a text after each space, so that the pieces together are the text.
func pieces(s string) []string { return strings.SplitAfter(s, " ") }

func whole(req *http.Request, status int, answer object) *http.Response {
	b := append(answer.encode(), '\n')
	res := response(req, status, "application/json")
	res.Header.Set("Content-Length", strconv.Itoa(len(b)))
	res.ContentLength = int64(len(b))
	res.Body = io.NopCloser(bytes.NewReader(b))
	if req.Method == http.MethodHead {
		res.Body = http.NoBody
	}
	return res
}

func streamed(req *http.Request, events []event) *http.Response {
	res := response(req, http.StatusOK, "text/event-stream")
	res.Header.Set("Cache-Control", "no-cache")
	res.ContentLength = -1
	res.Body = &stream{done: req.Context(), events: events}
	return res
}

func response(req *http.Request, status int, contentType string) *http.Response {
	return &http.Response{
		Status:     strconv.Itoa(status) + " " + http.StatusText(status),
		StatusCode: status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:  http.Header{"Content-Type": {contentType}},
		Request: req,
	}
}

// stream gives at most one event a Read, as a model that is still thinking would. One reader at a time, as any body.
type stream struct {
	done   context.Context //nolint:containedctx // a body ends with its request's context, and Read takes none
	events []event
	rest   []byte // of the event that is being read
}

// Read ends with the context's error where the request is cancelled.
func (s *stream) Read(p []byte) (int, error) {
	if err := s.done.Err(); err != nil {
		return 0, err
	}
	if len(s.rest) == 0 {
		if len(s.events) == 0 {
			return 0, io.EOF
		}
		s.rest = s.events[0].encode()
		s.events = s.events[1:]
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close lets go of what has not been read.
func (s *stream) Close() error {
	s.events, s.rest = nil, nil
	return nil
}
