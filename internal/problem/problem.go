// Package problem turns an error into the answer that a client sees: one table from code to status and error type, and
// the two envelopes of CONTRACT 3.5. It shows an error's safe words and never its cause, decides nothing about requests
// and has no goroutines.
package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"mooring"
)

// unexplained is what a client reads where an error has no words for it.
const unexplained = "Internal error."

// Status is the HTTP status of an error; 500 for one without a code.
func Status(err error) int { return rowOf(shownCode(err)).status }

// Body is the error in the envelope of that protocol, for an answer or for the error event of a stream that has begun.
func Body(p mooring.Protocol, err error) []byte {
	code := shownCode(err)
	if p == mooring.Messages {
		return encode(anthropicEnvelope{Type: "error", Error: anthropicError{Type: rowOf(code).anthropic, Message: words(err)}})
	}
	return encode(openaiEnvelope{Error: openaiError{Message: words(err), Type: rowOf(code).openai, Code: code}})
}

// Write answers with the error; nothing may have been written before. A caller that sends no X-Mooring headers removes
// X-Mooring-Error where the header goes out (serve does so by its rules).
func Write(w http.ResponseWriter, p mooring.Protocol, err error) {
	code := shownCode(err)
	h := w.Header()
	// What the handler meant for its own answer does not describe this one.
	for _, name := range []string{"Content-Encoding", "Content-Length", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Mooring-Error", string(code))
	if wait := retryAfter(err); wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(wholeSeconds(wait), 10))
	}
	if code == mooring.CodeInvalidAPIKey {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(rowOf(code).status)
	_, _ = w.Write(Body(p, err)) // a client that is gone cannot be told
}

type anthropicEnvelope struct {
	Type  string         `json:"type"`
	Error anthropicError `json:"error"`
}

type anthropicError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

type openaiEnvelope struct {
	Error openaiError `json:"error"`
}

type openaiError struct {
	Message string       `json:"message"`
	Type    string       `json:"type"`
	Param   *string      `json:"param"` // always null, yet SDKs want the member
	Code    mooring.Code `json:"code"`
}

// encode leaves <, > and & as they are: the words are for people, and the type is JSON.
func encode(envelope any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(envelope); err != nil {
		return []byte(`{"error":{"message":"` + unexplained + `","type":"server_error","param":null,"code":"internal_error"}}`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// shownCode is the code that leaves the house.
func shownCode(err error) mooring.Code {
	code := mooring.CodeOf(err)
	if code == mooring.CodeSessionGone {
		return mooring.CodeSessionNotFound
	}
	if !known(code) {
		return mooring.CodeInternal
	}
	return code
}

func words(err error) string {
	if e, ok := errors.AsType[*mooring.Error](err); ok && e.Safe != "" {
		return e.Safe
	}
	return unexplained
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*mooring.Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// wholeSeconds rounds up: a client that comes a moment too early is refused again.
func wholeSeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}
