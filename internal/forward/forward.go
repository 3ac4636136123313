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
	Terms    Terms
}

// Terms are what a call wants of an upstream before it is sent: see upstream.Visitor. The zero value takes an upstream as it stands,
// and waits for no place.
type Terms struct {
	Tenant mooring.Tenant
	Avoid  func(upstream.Standing) bool
	Wait   time.Duration
	Depth  int
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
// that the context was ended with; context.Canceled where the client went away. It wraps upstream.ErrAvoided or upstream.ErrFull
// where the call was not sent for that. The caller closes the Response.
func (e *Engine) Open(ctx context.Context, c Call) (*Response, error) {
	visit, err := e.enter(ctx, &c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(c.Upstream.Timeout, func() { cancel(errNoAnswer) })
	req, err := e.request(ctx, c)
	if err != nil {
		cancel(nil)
		timer.Stop()
		visit.Leave()
		return nil, err
	}
	res, err := c.Upstream.RoundTrip(req)
	if !timer.Stop() && err == nil { // time was up as the header came: the body is cancelled already
		cancel(errNoAnswer)
		_ = res.Body.Close()
		err = errNoAnswer
	}
	if err != nil {
		defer cancel(nil)
		defer visit.Leave()
		return nil, e.failure(ctx, c, visit, err)
	}
	visit.Answered(res.StatusCode, res.Header, e.Now())
	r := &Response{engine: e, call: c, visit: visit, ctx: ctx, cancel: cancel, res: res, limits: e.Limits()}
	if err := r.prepare(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// retryFull is what a client of an upstream without a free place is told to wait: answers take seconds.
const retryFull = 5 * time.Second

// enter takes a place at the upstream.
func (e *Engine) enter(ctx context.Context, c *Call) (*upstream.Visit, error) {
	t := &c.Terms
	v, err := c.Upstream.Enter(ctx, upstream.Visitor{
		Account: c.Account.Name, Tenant: t.Tenant, Avoid: t.Avoid, Wait: t.Wait, Depth: t.Depth,
	}, e.Now)
	name := string(c.Upstream.Name)
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, upstream.ErrFull):
		return nil, &mooring.Error{
			Code: mooring.CodeUpstreamUnavailable, Safe: "The upstream " + name + " has no free place for another request; try again.", RetryAfter: retryFull, Err: err,
		}
	case errors.Is(err, upstream.ErrAvoided):
		return nil, &mooring.Error{
			Code: mooring.CodeUpstreamUnavailable, Safe: "The upstream " + name + " is not well; try again.", RetryAfter: retryRefused, Err: err,
		}
	}
	return nil, stopped(ctx)
}

// stopped is the error of a call whose context has ended: what it was ended with, or that the client went away.
func stopped(ctx context.Context) error {
	if e, ok := errors.AsType[*mooring.Error](context.Cause(ctx)); ok {
		return e
	}
	return context.Canceled
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
func (e *Engine) failure(ctx context.Context, c Call, visit *upstream.Visit, err error) error {
	cause := context.Cause(ctx)
	if ctx.Err() != nil && !errors.Is(cause, errNoAnswer) {
		return stopped(ctx)
	}
	visit.Unanswered(e.Now())
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
