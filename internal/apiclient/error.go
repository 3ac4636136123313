package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"mooring"
)

// Error is a request that came to nothing: no answer, a refusal, or an answer that is not Mooring's. Its words say what to
// do about it; those of a refusal are the server's and untrusted.
type Error struct {
	Status int          // 0 where no answer came
	Code   mooring.Code // of a refusal; empty where there is none
	words  string
}

// Error gives the words.
func (e *Error) Error() string { return e.words }

// maxRefusal is far above the sentence and the code that a refusal holds.
const maxRefusal = 64 << 10

// unreachable is for a request without an answer, or whose answer broke off.
func (c *Client) unreachable(err error) *Error {
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err // the rest of it is the address, which is said below
	}
	if inner, ok := errors.AsType[*net.OpError](err); ok {
		err = inner.Err
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &Error{words: "interrupted"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("no answer within %s", patience)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{words: fmt.Sprintf("the server at %s broke off in the middle of its answer; ask again", c.Server)}
	}
	return &Error{words: fmt.Sprintf("no server at %s (address from %s): %v; start one with `mooring serve`, or name another with --server",
		c.Server, c.Server.From, err)}
}

// refusal is for an answer that is an error.
func (c *Client) refusal(res *http.Response) *Error {
	var said struct {
		Error struct {
			Message string       `json:"message"`
			Code    mooring.Code `json:"code"`
		} `json:"error"`
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxRefusal))
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	if err != nil || said.Error.Message == "" {
		return c.stranger(res, "with "+res.Status)
	}
	e := &Error{Status: res.StatusCode, Code: said.Error.Code, words: said.Error.Message}
	e.words, _, _ = strings.Cut(e.words, "; GET /api/sessions") // the command below says the same
	if !strings.HasSuffix(e.words, ".") {
		e.words += "."
	}
	if hint := advice(res, e.Code, e.words, c.Key); hint != "" {
		e.words += " " + hint
	}
	return e
}

// advice is what the server cannot know: which command helps.
func advice(res *http.Response, code mooring.Code, said string, key mooring.Secret) string {
	switch {
	case res.StatusCode == http.StatusUnauthorized && key == "":
		return "Put a key of this server into MOORING_KEY, or give it with --key."
	case res.StatusCode == http.StatusUnauthorized:
		return "The key from --key or MOORING_KEY is none of this server's, or no longer."
	case code == mooring.CodeSessionNotFound, code == mooring.CodeAmbiguousKey:
		return "(`mooring sessions list` shows those there are.)"
	case code == mooring.CodeNotFound && strings.Contains(res.Request.URL.Path, turnsPath):
		return "(`mooring sessions show SESSION` names the turns of a session.)"
	case code == mooring.CodeNotFound && strings.HasPrefix(said, "There is nothing at this path"):
		return "(The server may be of an earlier release.)"
	}
	return ""
}

// stranger is for an answer that the session API does not give.
func (c *Client) stranger(res *http.Response, how string) *Error {
	return &Error{Status: res.StatusCode, words: fmt.Sprintf(
		"%s (address from %s) answered %s: no Mooring of this release; check the address, or name another with --server", c.Server, c.Server.From, how)}
}
