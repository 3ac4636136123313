package serve

import (
	"context"
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
	firstStep  = 64 << 10 // what a body of unknown length starts with

	// longestBody is how many times BodyTimeout a body may take in all: five minutes for 32 MiB are an uplink of 1 Mbit/s.
	longestBody = 10
)

// ReadBody reads the JSON body of a request whole: 415 for another content type, otherwise as ReadRaw.
func (s *Server) ReadBody(w http.ResponseWriter, r *http.Request, limit int64) (*Body, error) {
	if err := checkJSON(r.Header); err != nil {
		return nil, err
	}
	return s.ReadRaw(w, r, limit)
}

// ReadOpen is ReadBody for a route that needs no key. All such bodies share the room of one tenant.
func (s *Server) ReadOpen(w http.ResponseWriter, r *http.Request, limit int64) (*Body, error) {
	if err := checkJSON(r.Header); err != nil {
		return nil, err
	}
	return s.readFor(w, r, limit, func() (mooring.Tenant, error) { return "", nil })
}

func checkJSON(h http.Header) error {
	for _, ct := range h.Values("Content-Type") {
		if !isJSON(ct) {
			return mooring.Errorf(mooring.CodeUnsupportedMediaType, "This route takes JSON; send Content-Type: application/json.")
		}
	}
	if ce := h.Get("Content-Encoding"); ce != "" && !strings.EqualFold(ce, "identity") {
		return mooring.Errorf(mooring.CodeUnsupportedMediaType, "This route takes no compressed bodies; send it without Content-Encoding.")
	}
	return nil
}

// ReadRaw reads a body of any type whole, up to limit bytes (0 for the limit of the rules; 413 beyond). It takes room among
// the bodies of other requests as the bytes come, and waits for room and for the client no longer than BodyTimeout each, for
// the whole no longer than longestBody times that (408). The caller releases the body.
func (s *Server) ReadRaw(w http.ResponseWriter, r *http.Request, limit int64) (*Body, error) {
	return s.readFor(w, r, limit, func() (mooring.Tenant, error) {
		caller, err := s.Caller(r)
		return caller.Tenant, err
	})
}

// readFor reads a body into the room of a tenant, who is asked for once the length is known to be good.
func (s *Server) readFor(w http.ResponseWriter, r *http.Request, limit int64, whose func() (mooring.Tenant, error)) (*Body, error) {
	if limit <= 0 {
		limit = s.rules.Load().bodyLimit
	}
	in := s.newIntake(w, r, limit)
	defer in.done()
	if r.ContentLength > limit {
		in.discard()
		return nil, in.tooLarge()
	}
	tenant, err := whose()
	if err != nil {
		return nil, err
	}
	body := s.newBody(tenant, limit)
	if err := in.fill(body); err != nil {
		body.Release()
		return nil, in.failed(err)
	}
	if in.read > limit {
		body.Release()
		in.discard()
		return nil, in.tooLarge()
	}
	return body, nil
}

// fill reads to the end, or one byte beyond the limit.
func (in *intake) fill(b *Body) error {
	if err := in.makeRoom(b); err != nil {
		return err
	}
	for {
		space := b.buf.AvailableBuffer()
		n, err := in.Read(space[:b.size+1-in.read])
		_, _ = b.buf.Write(space[:n]) // where it is already
		switch {
		case errors.Is(err, io.EOF) || in.read > in.limit:
			return nil
		case err == nil && in.read > b.size:
			err = in.makeRoom(b)
		}
		if err != nil {
			return err
		}
	}
}

// intake reads a request's body under a deadline that moves with the bytes.
type intake struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	rc    *http.ResponseController
	limit int64
	start time.Time // moved on by what the client had to wait for
	end   time.Time // of all patience
	read  int64
	whole bool // the client has sent everything
}

func (s *Server) newIntake(w http.ResponseWriter, r *http.Request, limit int64) *intake {
	now := s.opts.Now()
	return &intake{
		s: s, w: w, r: r, rc: http.NewResponseController(w), limit: limit, start: now, end: now.Add(longestBody * s.opts.BodyTimeout),
	}
}

// errNoRoom is the failure of a body that found no room in time.
var errNoRoom = errors.New("no room for the body")

// makeRoom waits for the next step of a body's memory. What it holds while it waits is given back where the wait is in vain,
// so that bodies under way cannot block each other for good.
func (in *intake) makeRoom(b *Body) error {
	before := in.s.opts.Now()
	ctx, cancel := context.WithTimeout(in.r.Context(), in.s.opts.BodyTimeout)
	defer cancel()
	if err := b.grow(ctx, in.nextSize(b.size)); err != nil {
		return errors.Join(errNoRoom, err)
	}
	in.start = in.start.Add(in.s.opts.Now().Sub(before))
	return nil
}

// nextSize is what a body of this size so far may grow to: a declared length counts in full only once as much has come as a
// length alone may reserve, and one that nobody knows doubles.
func (in *intake) nextSize(size int64) int64 {
	declared := in.r.ContentLength
	switch {
	case declared < 0:
		return min(max(firstStep, 2*size), in.limit)
	case size == 0:
		return min(declared, maxPresize)
	}
	return declared
}

// Read gives the client BodyTimeout for the next piece, and less where it has been dribbling: a body under way holds room
// that others wait for.
func (in *intake) Read(p []byte) (int, error) {
	patience := in.s.opts.BodyTimeout
	deadline := in.s.opts.Now().Add(patience)
	pace := in.start.Add(patience + time.Duration(in.read/minPace)*time.Second)
	for _, earlier := range []time.Time{pace, in.end} {
		if earlier.Before(deadline) {
			deadline = earlier
		}
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
func (in *intake) discard() {
	if strings.EqualFold(in.r.Header.Get("Expect"), "100-continue") && in.read == 0 {
		return // it waits for the answer before it sends anything
	}
	_, _ = io.CopyN(io.Discard, in, max(minDrain, 2*in.limit)) // the answer is the same however this ends
}

func (in *intake) tooLarge() error {
	in.closeUnlessWhole()
	if size := in.r.ContentLength; size > 0 {
		return mooring.Errorf(mooring.CodeBodyTooLarge, "The body has %d bytes, the limit is %d; send less, or raise limits.body.", size, in.limit)
	}
	return mooring.Errorf(mooring.CodeBodyTooLarge, "The body has %d bytes or more, the limit is %d; send less, or raise limits.body.", in.read, in.limit)
}

// failed tells a client that found no room from one that was too slow and one that is gone or sent nonsense.
func (in *intake) failed(cause error) error {
	e := &mooring.Error{Code: mooring.CodeInvalidRequest, Safe: "The body could not be read to its end; send it again.", Err: cause}
	switch {
	case errors.Is(cause, errNoRoom):
		in.discard()
		e.Code, e.Safe, e.RetryAfter = mooring.CodeRequestTimeout, "The server had no room for the body; try again.", placeWait
	case errors.Is(cause, os.ErrDeadlineExceeded):
		e.Code, e.Safe = mooring.CodeRequestTimeout, "The body did not arrive in time; send it again."
	}
	in.closeUnlessWhole()
	return e
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
