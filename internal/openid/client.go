package openid

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	clientTime = 10 * time.Second
	maxAnswer  = 1 << 20
	// keysHold is how soon keys are fetched again, whatever keys tokens name.
	keysHold = 10 * time.Second
	maxKept  = 8
)

var (
	errFetch    = errors.New("the provider did not answer as it should")
	errTooLarge = fmt.Errorf("%w: its answer is too large", errFetch)
)

// newClient makes the client that the provider is asked with: bounded in time and size, and following nobody elsewhere.
func newClient(now func() time.Time) *http.Client {
	via := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert,errcheck // it is one
	via.MaxIdleConnsPerHost = 4
	return &http.Client{
		Timeout:       clientTime,
		Transport:     &bounded{via: via, now: now, kept: map[string]answer{}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded reads whole answers up to a limit, and asks for the same thing at most once in a while: a flood of tokens with unknown keys
// does not become one of requests.
type bounded struct {
	via http.RoundTripper
	now func() time.Time

	mu   sync.Mutex // guards the map
	kept map[string]answer
}

type answer struct {
	at     time.Time
	status int
	header http.Header
	body   []byte
}

// RoundTrip asks, or gives what has just been answered.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		a, err := b.ask(r)
		if err != nil {
			return nil, err
		}
		return a.response(r), nil
	}
	at := r.URL.String()
	b.mu.Lock()
	a, ok := b.kept[at]
	b.mu.Unlock()
	if ok && b.now().Sub(a.at) < keysHold && !strings.Contains(at, "/.well-known/") {
		return a.response(r), nil
	}
	a, err := b.ask(r)
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK || !json.Valid(a.body) { // a provider in trouble says nothing about a token
		return nil, fmt.Errorf("%w: status %d", errFetch, a.status)
	}
	b.mu.Lock()
	if len(b.kept) >= maxKept {
		clear(b.kept)
	}
	b.kept[at] = a
	b.mu.Unlock()
	return a.response(r), nil
}

func (b *bounded) ask(r *http.Request) (answer, error) {
	res, err := b.via.RoundTrip(r)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errFetch, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("%w: %w", errFetch, err)
	case len(body) > maxAnswer:
		return answer{}, errTooLarge
	}
	return answer{at: b.now(), status: res.StatusCode, header: res.Header, body: body}, nil
}

func (a answer) response(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)),
		ContentLength: int64(len(a.body)), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}
