// Package apiclient is the session API from outside: it finds a server's address, asks it, and gives its JSON, read and
// as it came.
//
// It shows nothing to anybody, and what it gives is as untrusted as the conversations it came from: only console may put
// it on a terminal. No error of it holds a key. It has no goroutines.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"mooring"
)

const (
	// patience is for an answer that is read whole; a list of 200 sessions takes milliseconds.
	patience = 30 * time.Second
	// maxAnswer bounds an answer that is read whole: a page of messages may hold images, of up to limits.body each.
	maxAnswer = 512 << 20
)

// Client asks one server. All fields but Key and Tenant must be set.
type Client struct {
	Server Address
	Key    mooring.Secret // sent as a bearer; empty for none
	Tenant mooring.Tenant // whose sessions, for an operator; empty for the key's own
	HTTP   *http.Client
}

// Dialer gives the HTTP client for a Client: it follows no redirect, since that would take the key elsewhere.
func Dialer() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, ResponseHeaderTimeout: patience},
	}
}

// Get reads a JSON answer into v, where that is not nil, and gives it as it came.
func (c *Client) Get(ctx context.Context, path string, query url.Values, v any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := c.do(ctx, http.MethodGet, path, query, nil) //nolint:bodyclose // read does
	if err != nil {
		return nil, err
	}
	return c.read(res, v)
}

// Post sends a JSON value and reads the answer as Get does.
func (c *Client) Post(ctx context.Context, path string, body, v any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	res, err := c.do(ctx, http.MethodPost, path, nil, sent) //nolint:bodyclose // read does
	if err != nil {
		return nil, err
	}
	return c.read(res, v)
}

func (c *Client) read(res *http.Response, v any) (json.RawMessage, error) {
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(err)
	case len(raw) > maxAnswer:
		return nil, c.stranger(res, "with more than a session API would")
	case !json.Valid(raw):
		return nil, c.stranger(res, "with something that is no JSON")
	case v == nil:
		return raw, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return nil, c.stranger(res, "with JSON of another shape")
	}
	return raw, nil
}

// Copy writes an answer to w while it comes. Its error is w's own where that one failed.
func (c *Client) Copy(ctx context.Context, w io.Writer, path string, query url.Values) error {
	res, err := c.do(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	body := &source{r: res.Body}
	_, err = io.Copy(w, body)
	if body.err != nil {
		return c.unreachable(body.err)
	}
	return err
}

// source remembers a reader's error, to tell it from the writer's.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Delete deletes what stands at a path.
func (c *Client) Delete(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := c.do(ctx, http.MethodDelete, path, nil, nil)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// do gives an answer of 2xx, its body still to be read and closed; any other one is an error.
func (c *Client) do(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.address(path, query), bytes.NewReader(body))
	if err != nil {
		return nil, c.unreachable(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "mooring")
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key.Reveal())
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, c.refusal(res)
}

// address is put together as text: the library would clean a path in which a key holds dots and slashes.
func (c *Client) address(path string, query url.Values) string {
	asked := url.Values{}
	maps.Copy(asked, query)
	if c.Tenant != "" {
		asked.Set("tenant", string(c.Tenant))
	}
	out := c.Server.URL.String() + path
	if len(asked) > 0 {
		out += "?" + asked.Encode()
	}
	return out
}
