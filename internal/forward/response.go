package forward

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"mooring"
	"mooring/internal/upstream"
	"mooring/internal/wire"
)

// Response is an upstream's answer on its way. It is used by one goroutine.
type Response struct {
	engine *Engine
	call   Call
	visit  *upstream.Visit
	ctx    context.Context //nolint:containedctx // the call's own: it ends with the Response
	cancel context.CancelCauseFunc
	res    *http.Response
	limits Limits

	body   io.ReadCloser // decoded
	pump   pump
	idle   *time.Timer
	linger *time.Timer // runs while only the end of a stream is missing
	meter  *wire.Meter // of an event stream
	ahead  []byte      // what the peek let through, for the client

	Status int
	Header http.Header
	Stream bool // the answer is an event stream
}

// Outcome is how an answer ended.
type Outcome struct {
	State  mooring.TurnState
	Code   mooring.Code // of the error that Mooring puts in the answer's place; empty for none
	Reason string       // why it did not complete: the beginning of a sentence
	Answer wire.Answer
	Body   []byte // the whole body of an answer that was read whole
	Tail   []byte // what a stream's client still gets once the turn is committed: the event that it stops at, and all behind it

	// Early says that another upstream may be asked, as failover_on says: of an answer that is no success its status decides;
	// of a 2xx it says that the answer counts as lost, since an error or the end came before anything meant for the client.
	Early bool
}

// prepare looks at the header: what may be relayed at all, and how to read it.
func (r *Response) prepare() error {
	r.Status, r.Header = r.res.StatusCode, responseHeader(r.res.Header)
	switch {
	case r.Status < http.StatusOK:
		return r.bad("The upstream %s answered with a change of protocol that nobody asked for; check its url.", nil)
	case r.Status/100 == 3:
		return r.bad("The upstream %s answered with a redirect, which is not followed; check its url.", nil)
	}
	body, err := decoder(r.res.Body, r.res.Header["Content-Encoding"])
	if err != nil {
		return r.bad("The upstream %s answered in an encoding that was not asked for; check what stands before it.", err)
	}
	r.body = body
	r.pump = pump{body: body}
	r.idle = time.AfterFunc(r.limits.StreamIdle, func() { r.cancel(errSilent) })
	media, _, _ := mime.ParseMediaType(r.res.Header.Get("Content-Type"))
	r.Stream = r.Status/100 == 2 && media == "text/event-stream"
	if r.Stream {
		r.meter = r.newMeter()
	}
	return nil
}

func (r *Response) newMeter() *wire.Meter {
	return wire.NewMeter(r.call.Protocol, wire.MeterLimits{MaxEvent: r.limits.Answer, MaxAnswer: r.limits.Answer})
}

func (r *Response) bad(format string, err error) error {
	e := mooring.Errorf(mooring.CodeUpstreamError, format, r.call.Upstream.Name)
	e.Err = errors.Join(ErrUnusable, err)
	return e
}

// ErrUnusable is in the error of Open where the upstream has answered, but with something that must not be relayed.
var ErrUnusable = errors.New("the answer cannot be relayed")

// SessionID is the session id that the upstream says the conversation has there, "" where it says none.
func (r *Response) SessionID() string {
	for _, name := range r.call.Upstream.SessionHeaders {
		if v := r.res.Header.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// Trailer reads on to the end of the body and gives the trailers behind it, without names that are the connection's or
// Mooring's.
func (r *Response) Trailer() http.Header {
	r.drain()
	return responseHeader(r.res.Trailer)
}

// drainTime bounds the wait for the end of a body whose last meaningful byte has come: seeing it lets the connection be used again.
const drainTime = 250 * time.Millisecond

// drain reads behind the terminal event of a stream.
func (r *Response) drain() {
	if r.meter == nil || !r.meter.Terminal() || r.ctx.Err() != nil {
		return
	}
	stop := time.AfterFunc(drainTime, func() { r.cancel(errLinger) })
	defer stop.Stop()
	for err := error(nil); err == nil; {
		_, err = r.pump.next()
	}
}

// Close gives the connection back, or up where the answer has not ended.
func (r *Response) Close() {
	for _, t := range []*time.Timer{r.idle, r.linger} {
		if t != nil {
			t.Stop()
		}
	}
	r.drain()
	r.cancel(nil)
	_ = r.res.Body.Close()
	r.pump.wait() // the decoder may be freed only when nobody reads from it
	if r.body != nil {
		_ = r.body.Close()
	}
	r.visit.Leave()
}

// judge tells the upstream's health how a 2xx has begun. One that failed before anything meant for the client counts as an error of
// the server, unless nobody waited for it any more.
func (r *Response) judge(out Outcome) Outcome {
	switch {
	case r.Status/100 != 2, out.State == mooring.Cancelled:
	case out.Early:
		r.visit.Fell(r.engine.Now())
	default:
		r.visit.Began()
	}
	return out
}

// Whole reads an answer that is no stream, or a stream that the client did not ask for, to its end.
func (r *Response) Whole() Outcome { return r.judge(r.readWhole()) }

func (r *Response) readWhole() Outcome {
	data, err := r.readAll()
	if err != nil {
		out := r.broken(err)
		out.Answer = r.partial(data)
		out.Early = out.Early || r.Status/100 != 2
		return out
	}
	if r.Status/100 != 2 {
		return Outcome{State: mooring.Failed, Reason: "The upstream answered " + http.StatusText(r.Status), Body: r.unkeyed(data), Early: true}
	}
	if r.Stream || wire.LooksLikeSSE(data) {
		return r.assembled(data)
	}
	a, err := wire.DecodeAnswer(r.call.Protocol, data)
	if err != nil {
		return Outcome{
			State: mooring.Failed, Code: mooring.CodeUpstreamError,
			Reason: "The upstream " + string(r.call.Upstream.Name) + " answered with something that is no answer of this protocol",
		}
	}
	out := Outcome{State: mooring.Completed, Answer: a, Body: data}
	if a.Err != nil {
		out.State, out.Reason, out.Early = mooring.Failed, "The answer is an error: "+a.Err.Type, true
	}
	return out
}

// unkeyed takes Mooring's own credential out of an upstream's error: some repeat the key that they refuse, and the client is
// not to have it.
func (r *Response) unkeyed(body []byte) []byte {
	for _, key := range r.call.Upstream.Secrets() {
		if key != "" {
			body = bytes.ReplaceAll(body, []byte(key.Reveal()), []byte(key.String()))
		}
	}
	return body
}

// partial saves what it can of a body that broke off: what came of a stream, else the usage where that came whole.
func (r *Response) partial(data []byte) wire.Answer {
	if !wire.LooksLikeSSE(data) {
		return wire.Answer{Usage: usageIn(r.call.Protocol, data)}
	}
	m := r.newMeter()
	_, _ = m.Feed(data)
	return m.Answer()
}

// usageIn reads the usage of an object that broke off behind it.
func usageIn(p mooring.Protocol, data []byte) mooring.Usage {
	dec := json.NewDecoder(bytes.NewReader(data))
	for _, err := dec.Token(); err == nil; {
		var name json.Token
		var value json.RawMessage
		if name, err = dec.Token(); err == nil {
			err = dec.Decode(&value)
		}
		if err == nil && name == "usage" {
			a, _ := wire.DecodeAnswer(p, slices.Concat([]byte(`{"usage":`), value, []byte{'}'})) // valid by now
			return a.Usage
		}
	}
	return mooring.Usage{}
}

// assembled makes one object of a stream that came where none was asked for; a client that did ask gets the bytes.
func (r *Response) assembled(data []byte) Outcome {
	m := r.newMeter()
	_, err := m.Feed(data)
	ended := m.Complete() || m.Finished()
	a := m.Answer()
	switch {
	case err != nil:
		return r.broken(errAnswerTooLarge)
	case a.Err != nil:
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "The stream held an error", Answer: a, Early: true}
	case !ended:
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "The stream stopped short of its end", Answer: a, Early: true}
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
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamTimeout, Reason: "The upstream " + name + " fell silent", Early: true}
	case r.ctx.Err() != nil && !errors.Is(cause, errLinger):
		return r.stopped()
	case errors.Is(err, errAnswerTooLarge):
		return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "The answer of the upstream " + name + " is larger than limits.answer"}
	}
	return Outcome{State: mooring.Failed, Code: mooring.CodeUpstreamError, Reason: "The upstream " + name + " broke off in the middle of its answer", Early: true}
}

// Reason is why, in the words of an error, without what to do about it.
func Reason(e *mooring.Error) string {
	reason, _, _ := strings.Cut(e.Safe, ";")
	return strings.TrimSuffix(reason, ".")
}

// stateOf is how a turn ends that was ended with this code.
func stateOf(code mooring.Code) mooring.TurnState {
	if code == mooring.CodeTurnCancelled {
		return mooring.Cancelled
	}
	return mooring.Failed
}

// stopped is the outcome of an answer that nobody waits for any more: its client went away, or the server ended the request.
func (r *Response) stopped() Outcome {
	if e, ok := errors.AsType[*mooring.Error](context.Cause(r.ctx)); ok {
		return Outcome{State: stateOf(e.Code), Code: e.Code, Reason: Reason(e)}
	}
	return Outcome{State: mooring.Cancelled, Reason: "The client went away"}
}
