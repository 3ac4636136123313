package forward

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"mooring"
	"mooring/internal/wire"
)

// Response is an upstream's answer on its way. It is used by one goroutine.
type Response struct {
	engine *Engine
	call   Call
	ctx    context.Context //nolint:containedctx // the call's own: it ends with the Response
	cancel context.CancelCauseFunc
	res    *http.Response
	limits Limits

	body  io.ReadCloser
	pump  pump
	idle  *time.Timer
	meter *wire.Meter // of an event stream
	ahead []byte      // what the peek let through, for the client

	Status int
	Header http.Header
	Stream bool // the answer is an event stream
}

// Outcome is how an answer ended.
type Outcome struct {
	State  mooring.TurnState
	Code   mooring.Code // of the error that Mooring puts in the answer's place; empty for none
	Reason string       // why it did not complete
	Answer wire.Answer
	Body   []byte // the whole body of an answer that was read whole
	Tail   []byte // what a stream's client still gets once the turn is committed: the terminal event, or an error in its place
	Early  bool   // it failed before anything meant for the client had come: another upstream may be asked
}

// prepare looks at the header: what may be relayed at all, and how to read it.
func (r *Response) prepare() error {
	r.Status, r.Header = r.res.StatusCode, responseHeader(r.res.Header)
	if r.Status/100 == 3 {
		return r.bad("the upstream %s answered with a redirect, which is not followed; check its url", nil)
	}
	body, err := decoder(r.res.Body, r.res.Header["Content-Encoding"])
	if err != nil {
		return r.bad("the upstream %s answered in an encoding that was not asked for", err)
	}
	r.body = body
	r.pump = pump{body: body}
	r.idle = time.AfterFunc(r.limits.StreamIdle, func() { r.cancel(errSilent) })
	media, _, _ := mime.ParseMediaType(r.res.Header.Get("Content-Type"))
	r.Stream = r.Status/100 == 2 && media == "text/event-stream"
	if r.Stream {
		r.meter = wire.NewMeter(r.call.Protocol, wire.MeterLimits{MaxEvent: r.limits.Answer, MaxAnswer: r.limits.Answer})
	}
	return nil
}

func (r *Response) bad(format string, err error) error {
	e := mooring.Errorf(mooring.CodeUpstreamError, format, r.call.Upstream.Name)
	e.Err = err
	return e
}

// SessionID is the session id that the upstream says the conversation has there, "" where it says none.
func (r *Response) SessionID() string {
	for _, name := range r.call.Upstream.SessionHeaders {
		if v := r.res.Header.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// Trailer gives the trailers that came behind the body, without names that are the connection's or Mooring's.
func (r *Response) Trailer() http.Header { return responseHeader(r.res.Trailer) }

// drainTime bounds the wait for the end of a body whose last meaningful byte has come: seeing it lets the connection be used again.
const drainTime = 250 * time.Millisecond

// Close gives the connection back, or up where the answer has not ended.
func (r *Response) Close() {
	if r.idle != nil {
		r.idle.Stop()
	}
	if r.meter != nil && r.meter.Terminal() && r.ctx.Err() == nil {
		stop := time.AfterFunc(drainTime, func() { r.cancel(errLinger) })
		for err := error(nil); err == nil; {
			_, err = r.pump.next()
		}
		stop.Stop()
	}
	r.cancel(nil)
	if r.body != nil {
		_ = r.body.Close()
	} else {
		_ = r.res.Body.Close()
	}
	r.pump.wait()
	r.call.Upstream.Leave()
}

// Whole reads an answer that is no stream, or a stream that the client did not ask for, to its end.
func (r *Response) Whole() Outcome {
	data, err := r.readAll()
	if err != nil {
		out := r.broken(err)
		out.Answer = partial(r.call.Protocol, data)
		out.Early = true
		return out
	}
	if r.Status/100 != 2 {
		return Outcome{State: mooring.Failed, Reason: "the upstream answered " + http.StatusText(r.Status), Body: data, Early: true}
	}
	if r.Stream || wire.LooksLikeSSE(data) {
		return r.assembled(data)
	}
	a, err := wire.DecodeAnswer(r.call.Protocol, data)
	if err != nil {
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Early: true,
			Reason: "the upstream " + string(r.call.Upstream.Name) + " answered with something that is no answer of this protocol"}
	}
	out := Outcome{State: mooring.Completed, Answer: a, Body: data}
	if a.Err != nil {
		out.State, out.Reason, out.Early = mooring.Failed, "the answer is an error: "+a.Err.Type, true
	}
	return out
}

// partial saves what it can of a body that broke off: nothing, unless it was a stream.
func partial(p mooring.Protocol, data []byte) wire.Answer {
	if !wire.LooksLikeSSE(data) {
		return wire.Answer{}
	}
	m := wire.NewMeter(p, wire.MeterLimits{MaxEvent: len(data) + 1, MaxAnswer: len(data) + 1})
	_, _ = m.Feed(data)
	return m.Answer()
}

// assembled makes one object of a stream that came where none was asked for; a client that did ask gets the bytes.
func (r *Response) assembled(data []byte) Outcome {
	m := wire.NewMeter(r.call.Protocol, wire.MeterLimits{MaxEvent: len(data) + 1, MaxAnswer: len(data) + 1})
	_, err := m.Feed(data)
	a := m.Answer()
	switch {
	case err != nil:
		return r.broken(err)
	case a.Err != nil:
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "the stream held an error", Answer: a, Early: true}
	case !m.Terminal() && !m.Finished():
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "the stream stopped short of its end", Answer: a, Early: true}
	case r.call.Stream:
		r.Header.Set("Content-Type", "text/event-stream")
		return Outcome{State: mooring.Completed, Answer: a, Body: data}
	}
	body, err := m.Assemble()
	if err != nil {
		return r.broken(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return Outcome{State: mooring.Completed, Answer: a, Body: body}
}

var errAnswerTooLarge = errors.New("the answer is larger than limits.answer")

func (r *Response) readAll() ([]byte, error) {
	size := 4096
	if n := r.res.ContentLength; n > 0 && n < int64(r.limits.Answer) {
		size = min(int(n)+512, 1<<20) // a false length must not reserve much
	}
	data := make([]byte, 0, size)
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case len(data) > r.limits.Answer:
			return data, errAnswerTooLarge
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return data, err
		}
		r.idle.Reset(r.limits.StreamIdle)
	}
}

// broken names why an answer did not come to its end.
func (r *Response) broken(err error) Outcome {
	name := string(r.call.Upstream.Name)
	cause := context.Cause(r.ctx)
	switch {
	case errors.Is(cause, errSilent):
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamTimeout, Reason: "the upstream " + name + " fell silent"}
	case r.ctx.Err() != nil && !errors.Is(cause, errLinger):
		return Outcome{State: mooring.Cancelled, Reason: "the client went away"}
	case errors.Is(err, errAnswerTooLarge):
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "the answer of the upstream " + name + " is larger than limits.answer"}
	}
	return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "the upstream " + name + " broke off in the middle of its answer"}
}
