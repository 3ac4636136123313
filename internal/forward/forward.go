// Package forward is the one proxy engine: it takes a request to an upstream and its answer back, byte for byte but for the
// headers that the contract names. It knows when an answer has failed before its first byte, holds back the terminal event
// until it is told that the turn is committed, and cancels the upstream with its context. It stores nothing and chooses no
// upstream. While an answer's first event is awaited one goroutine reads for it; it ends with the read.
package forward

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"mooring"
	"mooring/internal/upstream"
)

// Limits of an answer.
type Limits struct {
	Peek       time.Duration // how long the header is held for the first event that means something
	StreamIdle time.Duration // silence after which a stream is given up
	Answer     int           // bytes of one answer that are kept
	Linger     time.Duration // wait for the terminator once the answer has said that it is complete
}

// Engine forwards requests.
type Engine struct {
	Limits func() Limits
	Now    func() time.Time
}

// Call is one request to one upstream.
type Call struct {
	Upstream *upstream.Upstream
	Account  upstream.Account
	Protocol mooring.Protocol
	Method   string
	Path     string // escaped, without a prefix such as /openai
	Query    string
	Header   http.Header // the client's
	Body     Body
	Own      mooring.Credential // the client's own credential
	Remote   string             // session id for the upstream's session headers; empty where it gets none
	Stream   bool               // the client is to be given a stream where one comes
}

// Body is a request's body. A transport may still read it after it has answered, so each reader is closed on its own.
type Body interface {
	Bytes() []byte
	Open() io.ReadCloser
}

// Causes with which a call's context is cancelled, to tell them from a client that went away.
var (
	errNoAnswer = errors.New("no answer in time")
	errSilent   = errors.New("the stream fell silent")
	errLinger   = errors.New("the terminator did not come")
)

// Open sends the call and waits for the response header. The error is a *mooring.Error: of one of the upstream codes, or the one
// that the context was ended with; context.Canceled where the client went away. The caller closes the Response.
func (e *Engine) Open(ctx context.Context, c Call) (*Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.Upstream.Timeout, func() { cancel(errNoAnswer) })
	req, err := e.request(ctx, c)
	if err != nil {
		cancel(nil)
		timer.Stop()
		return nil, err
	}
	c.Upstream.Enter()
	res, err := c.Upstream.RoundTrip(req)
	if !timer.Stop() && err == nil { // time was up as the header came: the body is cancelled already
		cancel(errNoAnswer)
		_ = res.Body.Close()
		err = errNoAnswer
	}
	if err != nil {
		defer cancel(nil)
		c.Upstream.Leave()
		return nil, e.failure(ctx, c, err)
	}
	r := &Response{engine: e, call: c, ctx: ctx, cancel: cancel, res: res, limits: e.Limits()}
	if err := r.prepare(); err != nil {
		r.Close()
		return nil, err
	}
	c.Upstream.Succeeded()
	return r, nil
}

// shortBody is what fits with its header into one write. net/http does that only for readers that it knows to be in memory,
// and does not say when it is done with them: they get a copy.
const shortBody = 24 << 10

func (e *Engine) request(ctx context.Context, c Call) (*http.Request, error) {
	u := *c.Upstream.Base
	if path, err := url.PathUnescape(c.Path); err == nil && path != c.Path {
		u.RawPath, u.Path = u.EscapedPath()+c.Path, u.Path+path
	} else {
		u.Path += c.Path
	}
	u.RawQuery = c.Query
	var short io.Reader
	if c.Body != nil && len(c.Body.Bytes()) <= shortBody {
		short = bytes.NewReader(bytes.Clone(c.Body.Bytes()))
	}
	req, err := http.NewRequestWithContext(ctx, c.Method, u.String(), short)
	if err != nil {
		return nil, &mooring.Error{Code: mooring.CodeInternal, Err: err}
	}
	if c.Body != nil && short == nil {
		req.Body, req.ContentLength = c.Body.Open(), int64(len(c.Body.Bytes()))
		req.GetBody = func() (io.ReadCloser, error) { return c.Body.Open(), nil }
	}
	req.Header = requestHeader(c)
	return req, nil
}

// failure names what went wrong before an answer, and notes it for the upstream's health unless the client went away.
func (e *Engine) failure(ctx context.Context, c Call, err error) error {
	cause := context.Cause(ctx)
	if ctx.Err() != nil && !errors.Is(cause, errNoAnswer) {
		if e, ok := errors.AsType[*mooring.Error](cause); ok {
			return e
		}
		return context.Canceled
	}
	c.Upstream.Failed(e.Now())
	name := c.Upstream.Name
	switch {
	case errors.Is(cause, errNoAnswer), isTimeout(err):
		return &mooring.Error{Code: mooring.CodeUpstreamTimeout, Safe: "The upstream " + string(name) + " gave no answer in time; try again.", Err: err}
	case isRefused(err):
		return &mooring.Error{
			Code: mooring.CodeUpstreamUnavailable, Safe: "The upstream " + string(name) + " cannot be reached; try again, or ask whoever runs it.",
			RetryAfter: retryRefused, Err: err,
		}
	}
	return &mooring.Error{Code: mooring.CodeUpstreamError, Safe: "The upstream " + string(name) + " broke off before an answer; try again.", Err: err}
}

// retryRefused is what a client of an upstream that cannot be reached is told to wait: servers restart within seconds.
const retryRefused = 5 * time.Second

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout() && !isRefused(err)
}

// isRefused says that no connection could be made, so that nothing was sent.
func isRefused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, syscall.ECONNREFUSED)
}
