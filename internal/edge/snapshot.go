package edge

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	snapshotPath = "/api/session"
	// maxSnapshot is how much of one is read at all.
	maxSnapshot = 64 << 20
	// snapshotsAtOnce bounds the memory that those over the limit take together.
	snapshotsAtOnce = 4
	maxDepth        = 64
	// askAgain is what a client that asked for everything gets where everything is too much (hermes-webui serves up to 500).
	askAgain = "msg_limit=200"
	// trimmedHeader says how many messages are missing at the front.
	trimmedHeader = "X-Mooring-Envelope-Trimmed"
)

var errSnapshot = errors.New("the session snapshot is too large and cannot be shortened")

// snapshot bounds a session's snapshot. Up to the limit its own bytes go through; beyond, the slot is asked for less where the client
// did not say how much it wants, or whole messages are dropped at the front.
func (e *Edge) snapshot(ctx context.Context, w *counting, r *http.Request, v *visit, res *http.Response) error {
	body, leave, err := e.readSnapshot(ctx, res)
	defer leave()
	if err != nil {
		return tooMuch(err)
	}
	s := smaller{body: body, from: res}
	if len(body) > e.set.SnapshotLimit {
		if s, err = e.lessOf(ctx, r, v, s); err != nil {
			return tooMuch(err)
		}
	}
	leave() // a client that reads slowly, or not at all, takes no place away from others
	body, res = s.body, s.from
	e.inbound(w.Header(), v, res)
	h := w.Header()
	dropLength(h)
	h.Del("Content-Encoding")
	if s.dropped > 0 {
		h.Set(trimmedHeader, strconv.Itoa(s.dropped))
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	e.copy(ctx, w, v, res, bytes.NewReader(body))
	return nil
}

func tooMuch(err error) error {
	refused := slotFailed(err)
	if errors.Is(err, errSnapshot) {
		refused.words = "The snapshot of this session is too large."
	}
	return refused
}

// readSnapshot reads a whole answer. leave gives back the place that a large one takes.
func (e *Edge) readSnapshot(ctx context.Context, res *http.Response) (body []byte, leave func(), err error) {
	leave = func() {}
	from := io.Reader(res.Body)
	switch coding := strings.ToLower(res.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip":
		if from, err = gzip.NewReader(res.Body); err != nil {
			return nil, leave, err
		}
	default:
		return nil, leave, errors.New("the slot answers in a coding that it was not asked for")
	}
	if body, err = io.ReadAll(io.LimitReader(from, int64(e.set.SnapshotLimit)+1)); err != nil || len(body) <= e.set.SnapshotLimit {
		return body, leave, err
	}
	select {
	case e.big <- struct{}{}:
		leave = sync.OnceFunc(func() { <-e.big })
	case <-ctx.Done():
		return nil, leave, ctx.Err()
	}
	rest, err := io.ReadAll(io.LimitReader(from, maxSnapshot+1-int64(len(body))))
	if err != nil {
		return nil, leave, err
	}
	if body = append(body, rest...); len(body) > maxSnapshot {
		return nil, leave, errSnapshot
	}
	return body, leave, nil
}

// smaller is a snapshot, the answer that it came in, and how many messages it has lost at the front.
type smaller struct {
	body    []byte
	from    *http.Response
	dropped int
}

// lessOf gives a snapshot that fits: the slot's own answer to a smaller question, or the one that is there without its oldest messages.
func (e *Edge) lessOf(ctx context.Context, r *http.Request, v *visit, s smaller) (smaller, error) {
	if asksForAll(v.query) {
		if less, again := e.askForLess(ctx, r, v); again != nil { //nolint:bodyclose // it has been read and closed
			return smaller{body: less, from: again}, nil
		}
	}
	var err error
	s.body, s.dropped, err = trim(s.body, e.set.SnapshotLimit)
	return s, err
}

// asksForAll says that a client did not say how many messages it wants.
func asksForAll(query string) bool {
	q, err := url.ParseQuery(query)
	return err == nil && !q.Has("msg_limit") && q.Get("messages") != "0"
}

func (e *Edge) askForLess(ctx context.Context, r *http.Request, v *visit) ([]byte, *http.Response) {
	res, err := e.ask(ctx, v, question{method: http.MethodGet, query: v.query + "&" + askAgain, header: e.outbound(r, v)})
	if err != nil {
		return nil, nil
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || mediaOf(res) != "application/json" || res.Header.Get("Content-Encoding") != "" {
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(e.set.SnapshotLimit)+1))
	if err != nil || len(body) > e.set.SnapshotLimit {
		return nil, nil
	}
	return body, res
}

// trim drops whole elements from the front of session.messages until the snapshot fits, and keeps every other byte. What cannot be
// read in one way only is not guessed at.
func trim(body []byte, limit int) ([]byte, int, error) {
	starts, err := messagesIn(body)
	if err != nil {
		return nil, 0, errSnapshot // the decoder's words repeat what is in it
	}
	for k := 1; k < len(starts); k++ {
		if len(body)-(starts[k]-starts[0]) <= limit {
			return append(body[:starts[0]:starts[0]], body[starts[k]:]...), k, nil
		}
	}
	return nil, 0, errSnapshot
}

// messagesIn finds where the elements of session.messages begin. A second member of one of these two names could be the one that the
// page reads; any other member may stand there twice, since all are relayed as they are.
func messagesIn(body []byte) ([]int, error) {
	if tooDeep(body) {
		return nil, errSnapshot
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	var starts []int
	sessions, lists := 0, 0
	err := object(d, func(name string) error {
		if name != "session" {
			return d.SkipValue()
		}
		sessions++
		return object(d, func(name string) (err error) {
			if name != "messages" {
				return d.SkipValue()
			}
			lists++
			starts, err = elements(d)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if _, err = d.ReadToken(); err != io.EOF || sessions != 1 || lists != 1 { //nolint:errorlint // the decoder's own end
		return nil, errSnapshot
	}
	return starts, nil
}

// object hands each member's name of the object that comes next to read, which reads its value.
func object(d *jsontext.Decoder, read func(name string) error) error {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.Join(errSnapshot, err)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return errors.Join(errSnapshot, err)
		}
		if err := read(name.String()); err != nil {
			return errors.Join(errSnapshot, err)
		}
	}
	_, err := d.ReadToken()
	return err
}

// elements gives where each element of the array that comes next begins.
func elements(d *jsontext.Decoder) ([]int, error) {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil, errors.Join(errSnapshot, err)
	}
	var starts []int
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		starts = append(starts, int(d.InputOffset())-len(value))
	}
	_, err := d.ReadToken()
	return starts, err
}

// tooDeep says whether brackets nest deeper than any snapshot's.
func tooDeep(body []byte) bool {
	depth, inside := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case inside:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// namesMember says whether any object in a JSON text has a member of that name, however it is spelled.
func namesMember(body []byte, name string) (bool, error) {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	found := false
	for {
		before := d.StackDepth()
		t, err := d.ReadToken()
		if err == io.EOF { //nolint:errorlint // the decoder's own end
			return found, nil
		}
		if err != nil {
			return false, err
		}
		if t.Kind() != '"' {
			continue
		}
		kind, n := d.StackIndex(before)
		if kind == '{' && n%2 == 1 && t.String() == name { // an odd count: it was a name
			found = true
		}
	}
}
