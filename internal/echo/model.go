// Package echo owns the model that is built into the binary: it answers chat completions, responses, messages and
// completions by repeating what the user said, so that a first chat works without any key.
//
// It is an http.RoundTripper and stands where the transport to a real upstream would; it never opens a connection, keeps
// no state and starts no goroutine.
package echo

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
	"time"
)

// Name is the id under which the model lists itself. It answers to any other name too.
const Name = "echo"

// maxBody bounds what is read of a request; the server in front has a limit of its own.
const maxBody = 256 << 20

// Model answers requests as an OpenAI and an Anthropic server would.
type Model struct {
	now func() time.Time
}

// New returns the model; now gives the time of its answers.
func New(now func() time.Time) *Model { return &Model{now: now} }

// RoundTrip answers one request. It fails only where the request's context has ended or its body cannot be read.
func (m *Model) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, fmt.Errorf("read request to the echo model: %w", err)
	}
	if err := req.Context().Err(); err != nil {
		return nil, fmt.Errorf("ask the echo model: %w", err)
	}
	return m.answer(req, body), nil
}

func (m *Model) answer(req *http.Request, body []byte) *http.Response {
	d := dialectOf(req.URL.Path)
	method, handle := m.route(req.URL.Path)
	switch {
	case handle == nil:
		return d.fail(req, http.StatusNotFound, "the echo model has no route "+req.URL.Path)
	case req.Method != method && (method != http.MethodGet || req.Method != http.MethodHead):
		return d.fail(req, http.StatusMethodNotAllowed, "use "+method+" for "+req.URL.Path)
	}
	return handle(req, body)
}

type handler func(req *http.Request, body []byte) *http.Response

func (m *Model) route(path string) (string, handler) {
	switch path {
	case "/v1/chat/completions":
		return http.MethodPost, m.chat
	case "/v1/messages":
		return http.MethodPost, m.messages
	case "/v1/completions":
		return http.MethodPost, m.completions
	case "/v1/responses":
		return http.MethodPost, m.responses
	case "/v1/responses/compact":
		return http.MethodPost, m.compact
	case "/v1/messages/count_tokens":
		return http.MethodPost, countTokens
	case "/v1/models":
		return http.MethodGet, models
	case "/health":
		return http.MethodGet, health
	}
	return "", nil
}

func models(req *http.Request, _ []byte) *http.Response {
	entry := object{"id": Name, "object": "model", "created": 0, "owned_by": "mooring", "type": "model", "display_name": "Echo"}
	return whole(req, http.StatusOK, object{"object": "list", "data": []object{entry}, "has_more": false})
}

func health(req *http.Request, _ []byte) *http.Response {
	return whole(req, http.StatusOK, object{"status": "ok"})
}

// dialect is how a protocol words an error.
type dialect string

const (
	openAI    dialect = "openai"
	anthropic dialect = "anthropic"
)

func dialectOf(path string) dialect {
	if path == "/v1/messages" || strings.HasPrefix(path, "/v1/messages/") {
		return anthropic
	}
	return openAI
}

func (d dialect) fail(req *http.Request, status int, message string) *http.Response {
	kind := "invalid_request_error"
	if status == http.StatusNotFound && d == anthropic {
		kind = "not_found_error"
	}
	if d == anthropic {
		return whole(req, status, object{"type": "error", "error": object{"type": kind, "message": message}})
	}
	return whole(req, status, object{"error": object{"message": message, "type": kind, "param": nil, "code": nil}})
}

// readBody closes the request's body, as a RoundTripper has to.
func readBody(req *http.Request) (body []byte, err error) {
	if req.Body == nil {
		return nil, nil
	}
	body, err = io.ReadAll(io.LimitReader(req.Body, maxBody))
	if closed := req.Body.Close(); err == nil {
		err = closed
	}
	return body, err
}

// identity is the same for the same request, so that answers can be compared byte for byte.
func identity(body []byte) string {
	h := fnv.New64a()
	_, _ = h.Write(body) // a hash takes everything
	return fmt.Sprintf("%016x", h.Sum64())
}

// object is a JSON object of an answer.
type object map[string]any

func (o object) encode() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic("echo: answer is no JSON: " + err.Error()) // built from texts and numbers only
	}
	return b
}
