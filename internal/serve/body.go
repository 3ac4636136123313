package serve

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"mooring"
)

const (
	maxPresize = 4 << 20  // what a Content-Length alone may reserve
	maxPooled  = 4 << 20  // larger buffers are given back to the runtime
	minDrain   = 16 << 20 // how much of a body that is too large is read, so that its client gets to read the answer
	minPace    = 1 << 10  // bytes a second that a client must keep up with
)

// ReadBody reads the JSON body of a request whole: 415 for another content type, otherwise as ReadRaw.
func (s *Server) ReadBody(w http.ResponseWriter, r *http.Request, limit int64) (*Body, error) {
	for _, ct := range r.Header.Values("Content-Type") {
		if !isJSON(ct) {
			return nil, mooring.Errorf(mooring.CodeUnsupportedMediaType, "This route takes JSON; send Content-Type: application/json.")
		}
	}
	if ce := r.Header.Get("Content-Encoding"); ce != "" && !strings.EqualFold(ce, "identity") {
		return nil, mooring.Errorf(mooring.CodeUnsupportedMediaType, "This route takes no compressed bodies; send it without Content-Encoding.")
	}
	return s.ReadRaw(w, r, limit)
}

// ReadRaw reads a body of any type whole, up to limit bytes (0 for the limit of the rules; 413 beyond). It waits for room
// among the bodies of other requests, and for the client no longer than BodyTimeout between two pieces (408).
// The caller releases the body.
func (s *Server) ReadRaw(w http.ResponseWriter, r *http.Request, limit int64) (*Body, error) {
	if limit <= 0 {
		limit = s.rules.Load().bodyLimit
	}
	in := s.newIntake(w, r)
	defer in.done()
	if r.ContentLength > limit {
		in.discard(limit)
		return nil, in.tooLarge(limit, r.ContentLength)
	}
	body, err := s.reserve(r, limit)
	if err != nil {
		return nil, err
	}
	if n := r.ContentLength; n > 0 {
		// ReadFrom wants room for one more read to see the end.
		body.buf.Grow(int(min(n, maxPresize)) + bytes.MinRead)
	}
	n, err := body.buf.ReadFrom(io.LimitReader(in, limit+1))
	switch {
	case err != nil:
		body.Release()
		return nil, in.failed(err)
	case n > limit:
		body.Release()
		in.discard(limit)
		return nil, in.tooLarge(limit, r.ContentLength)
	}
	body.shrink(n)
	return body, nil
}

// intake reads a request's body under a deadline that moves with the bytes.
type intake struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	rc    *http.ResponseController
	start time.Time
	read  int64
	whole bool // the client has sent everything
}

func (s *Server) newIntake(w http.ResponseWriter, r *http.Request) *intake {
	return &intake{s: s, w: w, r: r, rc: http.NewResponseController(w), start: s.opts.Now()}
}

// Read gives the client BodyTimeout for the next piece, and less where it has been dribbling: a body under way holds room
// that others wait for.
func (in *intake) Read(p []byte) (int, error) {
	patience := in.s.opts.BodyTimeout
	deadline := in.s.opts.Now().Add(patience)
	pace := in.start.Add(patience + time.Duration(in.read/minPace)*time.Second)
	if pace.Before(deadline) {
		deadline = pace
	}
	_ = in.rc.SetReadDeadline(deadline) // a writer without one has no client to wait for
	n, err := in.r.Body.Read(p)
	in.read += int64(n)
	in.whole = in.whole || errors.Is(err, io.EOF)
	return n, err
}

// done takes the deadline away, since from now on net/http reads to see whether the client is still there; where more
// would come it leaves none of it time, since net/http would read on before it sends an answer.
func (in *intake) done() {
	deadline := time.Time{}
	if !in.whole {
		deadline = in.s.opts.Now()
	}
	_ = in.rc.SetReadDeadline(deadline)
}

// discard reads on, within reason. A client that is still sending does not look for an answer, and closing the
// connection on it would throw the answer away.
func (in *intake) discard(limit int64) {
	if strings.EqualFold(in.r.Header.Get("Expect"), "100-continue") && in.read == 0 {
		return // it waits for the answer before it sends anything
	}
	_, _ = io.CopyN(io.Discard, in, max(minDrain, 2*limit)) // the answer is the same however this ends
}

func (in *intake) tooLarge(limit, size int64) error {
	in.closeUnlessWhole()
	if size > 0 {
		return mooring.Errorf(mooring.CodeBodyTooLarge, "The body has %d bytes, the limit is %d; send less, or raise limits.body.", size, limit)
	}
	return mooring.Errorf(mooring.CodeBodyTooLarge, "The body has %d bytes or more, the limit is %d; send less, or raise limits.body.", in.read, limit)
}

// failed tells a client that was too slow from one that is gone or sent nonsense.
func (in *intake) failed(cause error) error {
	in.closeUnlessWhole()
	if errors.Is(cause, os.ErrDeadlineExceeded) {
		return &mooring.Error{
			Code: mooring.CodeRequestTimeout, Safe: "The body did not arrive in time; send it again.", Err: cause,
		}
	}
	return &mooring.Error{
		Code: mooring.CodeInvalidRequest, Safe: "The body could not be read to its end; send it again.", Err: cause,
	}
}

func (in *intake) closeUnlessWhole() {
	if !in.whole {
		in.w.Header().Set("Connection", "close")
	}
}

func isJSON(contentType string) bool {
	if strings.TrimSpace(contentType) == "" {
		return true
	}
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}
