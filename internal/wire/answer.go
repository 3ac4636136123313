package wire

import (
	"bytes"
	"errors"
	"strconv"

	"mooring"
)

// Answer is what an upstream's answer holds, or what has arrived of it.
type Answer struct {
	Message []byte // the assistant message as a client sends it back, in the protocol's JSON; nil where nothing arrived
	ID      string
	Model   string
	Usage   mooring.Usage
	Ended   bool         // the protocol's own end was seen
	Finish  string       // why the model stopped, in the protocol's words; empty where it did not say
	Err     *AnswerError // the error that stands in the answer, though its status was a success

	Container string // where a tool of the upstream ran its code, by the upstream's id; empty where it says none
}

// AnswerError is an error that an upstream put into an answer.
type AnswerError struct {
	Type    string
	Code    string
	Message string
}

// Error gives the upstream's words, for the log.
func (e *AnswerError) Error() string {
	return "upstream answered " + e.Type + " " + e.Code + ": " + e.Message
}

// ErrNotAnswer says that a body is no JSON object.
var ErrNotAnswer = errors.New("the answer is not a JSON object")

// DecodeAnswer reads a buffered answer. The message is a span of the body where its protocol allows.
func DecodeAnswer(p mooring.Protocol, body []byte) (Answer, error) {
	d, ok := dialectOf(p)
	if !ok {
		return Answer{}, unsupported(p)
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte(bom)))
	if kindOf(body) != '{' || !wellFormed(body) {
		return Answer{}, ErrNotAnswer
	}
	a := d.answer(body)
	a.Ended = a.Err == nil
	return a, nil
}

// answerError reads an error value: an object, or just words.
func answerError(raw []byte) *AnswerError {
	if kindOf(raw) == '"' {
		return &AnswerError{Message: readable(plain(raw))}
	}
	e := &AnswerError{}
	for name, v := range members(raw) {
		text := readable(plain(v))
		switch string(name) {
		case "type":
			e.Type = text
		case "message":
			e.Message = text
		case "code":
			if e.Code = text; kindOf(v) != '"' && present(v) {
				e.Code = string(v)
			}
		}
	}
	return e
}

// count reads a number of tokens; unknown where it is missing, null or no whole number.
func count(raw []byte) mooring.Tokens {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return mooring.Tokens{}
	}
	return mooring.Count(n)
}
