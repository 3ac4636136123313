package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mooring"
)

// pass asks the visit's slot and hands its answer over.
func (e *Edge) pass(w *counting, r *http.Request, v *visit) error {
	v.stream = wantsStream(r)
	leave, ok := v.slot.enter(v)
	if !ok {
		return slotDown(errors.New("the slot has no room for another request"))
	}
	defer leave()
	ctx, done := e.open.begin(r.Context(), v) // before its body comes, which may take a while
	defer done()
	if err := e.again(ctx, v); err != nil {
		return err
	}
	body, err := e.spool(w, r)
	if err != nil {
		return err
	}
	defer body.close()
	if err = e.allowBody(v, r.Method, body); err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
		return slotDown(cause)
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	res, err := e.ask(ctx, v, question{method, v.query, e.outbound(r, v), body})
	if err != nil {
		return e.unanswered(r.Context(), ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	return e.answer(ctx, w, r, v, res)
}

// again looks at what a visit stands on once more now that it can be ended: what changed before that ended nothing.
func (e *Edge) again(ctx context.Context, v *visit) error {
	c, has, err := e.book.find(v.key)
	if err != nil {
		return err
	}
	if !has || !v.standsOn(c) || e.slotOf(c) != v.slot {
		return slotDown(errRevoked)
	}
	if v.login == nil {
		return nil
	}
	_, err = e.login.find(ctx, v.login)
	return err
}

// standsOn says whether a claim is the one that the visit was let in by.
func (v *visit) standsOn(c mooring.Claim) bool {
	return c.Slot == v.slot.name && c.Epoch == v.epoch && c.State == mooring.SlotClaimed
}

// question is one request to a slot.
type question struct {
	method string
	query  string
	header http.Header
	body   *spooled // nil for none
}

// ask sends one request to the visit's slot, with nothing in it but what it is given.
func (e *Edge) ask(ctx context.Context, v *visit, q question) (*http.Response, error) {
	req := (&http.Request{
		Method: q.method, Host: e.set.Host, Header: q.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		URL: &url.URL{Scheme: v.slot.url.Scheme, Host: v.slot.url.Host, Opaque: v.path, RawQuery: q.query},
	}).WithContext(ctx)
	if q.body != nil && q.body.size > 0 {
		req.Body, req.ContentLength = io.NopCloser(q.body.reader()), q.body.size
	}
	res, err := v.slot.via.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusSwitchingProtocols || res.StatusCode < http.StatusOK {
		_ = res.Body.Close()
		return nil, errSwitched
	}
	return res, nil
}

// unanswered says what became of a request that got no answer.
func (e *Edge) unanswered(client, ctx context.Context, err error) error {
	var op *net.OpError
	var wait interface{ Timeout() bool }
	switch {
	case client.Err() != nil:
		panic(http.ErrAbortHandler) // nobody is there to be told
	case ctx.Err() != nil:
		return slotDown(context.Cause(ctx))
	case errors.As(err, &op) && op.Op == "dial":
		return slotDown(err)
	case errors.As(err, &wait) && wait.Timeout():
		return slotSlow(errLate)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return slotDown(errClosed)
	case errors.Is(err, errSwitched):
		return slotFailed(err)
	}
	return slotFailed(errNoHTTP)
}

// What is known of an answer that cannot be used. The transport's own words repeat what the slot sent, which is not for the log.
var (
	errLate     = errors.New("the slot did not answer in time")
	errClosed   = errors.New("the slot closed the connection")
	errSwitched = errors.New("the slot switched protocols")
	errNoHTTP   = errors.New("the slot's answer is no HTTP")
)

// answer hands a slot's answer over.
func (e *Edge) answer(ctx context.Context, w *counting, r *http.Request, v *visit, res *http.Response) error {
	if res.StatusCode == http.StatusServiceUnavailable && res.ContentLength == 0 {
		return slotDown(errors.New("the slot has no thread left"))
	}
	if v.path == snapshotPath && r.Method == http.MethodGet && res.StatusCode == http.StatusOK && mediaOf(res) == "application/json" {
		return e.snapshot(ctx, w, r, v, res)
	}
	e.inbound(w.Header(), v, res)
	if r.Method == http.MethodHead {
		dropLength(w.Header())
		w.WriteHeader(res.StatusCode)
		return nil
	}
	if e.set.Continuity && taggable(r, v, res) {
		return e.tagged(ctx, w, v, res)
	}
	if res.ContentLength >= 0 && res.StatusCode != http.StatusNoContent && res.StatusCode != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.FormatInt(res.ContentLength, 10))
	}
	w.WriteHeader(res.StatusCode)
	e.copy(ctx, w, v, res, res.Body)
	return nil
}

// dropLength takes away what tells of a body as the slot sent it.
func dropLength(h http.Header) {
	for _, name := range []string{"Content-Length", "Etag", "Last-Modified", "Accept-Ranges", "Content-Md5", "Digest", "Repr-Digest", "Content-Digest"} {
		h.Del(name)
	}
}

// mediaOf is the type of an answer without its parameters, "" where it cannot be read.
func mediaOf(res *http.Response) string {
	media, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return media
}

func isHTML(res *http.Response) bool { return mediaOf(res) == "text/html" }

// copy hands the rest of a body over as it comes. A break becomes a break: what the client sees as complete was complete. A stream of
// events may end at any of them, and ends that way where it has been silent or open for too long, or its right to be open has gone.
func (e *Edge) copy(ctx context.Context, w *counting, v *visit, res *http.Response, from io.Reader) {
	out := http.NewResponseController(w)
	events := mediaOf(res) == "text/event-stream"
	silence := bodySilence
	if events {
		silence = streamSilence
		old := time.AfterFunc(streamAge, func() { v.cancel(errAged) })
		defer old.Stop()
	}
	idle := time.AfterFunc(silence, func() { v.cancel(errSilent) })
	defer idle.Stop()
	flush := events || res.ContentLength < 0
	if flush {
		_ = out.Flush() // the header
	}
	defer out.SetWriteDeadline(time.Time{}) //nolint:errcheck // a connection that has none is gone
	block := make([]byte, 32<<10)
	for {
		n, err := from.Read(block)
		if n > 0 {
			idle.Reset(silence)
			_ = out.SetWriteDeadline(e.deadline())
			if _, failed := w.Write(block[:n]); failed != nil || flush && out.Flush() != nil {
				panic(http.ErrAbortHandler)
			}
		}
		switch {
		case err == io.EOF:
			return
		case err != nil && events && over(context.Cause(ctx)):
			return
		case err != nil:
			panic(http.ErrAbortHandler)
		}
	}
}

// deadline is by when a browser has to take the next bytes, or to send them. The network keeps no other clock than the real one.
func (e *Edge) deadline() time.Time {
	return time.Now().Add(browserPatience) //nolint:forbidigo // see above
}

var (
	errAged   = errors.New("the stream is as old as one may get")
	errSilent = errors.New("the slot has been silent for too long")
)

// over says that a stream ended for a reason of the edge's own.
func over(cause error) bool {
	return errors.Is(cause, errRevoked) || errors.Is(cause, errAged) || errors.Is(cause, errSilent)
}

// spooled is a request's whole body: a slot's Content-Length has to be known before anything is sent.
type spooled struct {
	small []byte
	file  *os.File
	size  int64
}

// spoolInMemory is up to where a body stays in memory.
const spoolInMemory = 1 << 20

func (e *Edge) spool(w http.ResponseWriter, r *http.Request) (*spooled, error) {
	s := &spooled{}
	if r.Body == nil || r.Body == http.NoBody {
		return s, nil
	}
	if r.ContentLength > e.set.BodyLimit {
		return nil, tooLarge()
	}
	in := http.NewResponseController(w)
	defer in.SetReadDeadline(time.Time{}) //nolint:errcheck // as above
	from := &patient{from: http.MaxBytesReader(w, r.Body, e.set.BodyLimit), in: in, until: e.deadline}
	var err error
	if s.small, err = io.ReadAll(io.LimitReader(from, spoolInMemory)); err == nil && len(s.small) == spoolInMemory {
		err = s.spill(from)
	}
	if err != nil {
		s.close()
		return nil, bodyRefused(err)
	}
	if s.file == nil {
		s.size = int64(len(s.small))
	}
	return s, nil
}

// patient gives the client time for each piece.
type patient struct {
	from  io.Reader
	in    *http.ResponseController
	until func() time.Time
}

// Read reads the next piece.
func (p *patient) Read(b []byte) (int, error) {
	_ = p.in.SetReadDeadline(p.until())
	return p.from.Read(b)
}

// spill goes on in a file that has no name any more.
func (s *spooled) spill(from io.Reader) (err error) {
	if s.file, err = os.CreateTemp("", "mooring-body-"); err != nil {
		return err
	}
	if err = os.Remove(s.file.Name()); err != nil {
		return err
	}
	if _, err = s.file.Write(s.small); err != nil {
		return err
	}
	rest, err := io.Copy(s.file, from)
	s.size, s.small = int64(len(s.small))+rest, nil
	return err
}

func (s *spooled) reader() io.Reader {
	if s.file != nil {
		return io.NewSectionReader(s.file, 0, s.size)
	}
	return bytes.NewReader(s.small)
}

func (s *spooled) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

func bodyRefused(err error) error {
	var large *http.MaxBytesError
	var wait interface{ Timeout() bool }
	var disk *os.PathError
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case errors.As(err, &disk):
		return &refusal{status: http.StatusServiceUnavailable, code: mooring.CodeUpstreamUnavailable, words: "The request cannot be taken at the moment; try again.", wait: soon, cause: err}
	case errors.As(err, &wait) && wait.Timeout():
		return &refusal{status: http.StatusRequestTimeout, code: mooring.CodeRequestTimeout, words: "The request did not arrive in time."}
	}
	return badRequest("The request's body cannot be read.")
}

// allowBody refuses the one setting that would take a web UI over.
func (e *Edge) allowBody(v *visit, method string, body *spooled) error {
	if !strings.EqualFold(v.path, "/api/settings") || body.size == 0 || method == http.MethodDelete {
		return nil
	}
	if body.file != nil {
		return tooLarge()
	}
	switch has, err := namesMember(body.small, "_set_password"); {
	case err != nil:
		return badRequest("The settings are no JSON.")
	case has:
		return notFound()
	}
	return nil
}
