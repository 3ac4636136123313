// Package wire turns bytes into the few facts that the other rooms need: what a request asks and which ids it carries,
// what a message means whoever wrote it down (its digest), and what an answer holds, buffered or streamed.
//
// It never changes a byte that passes, decodes no more than it is asked for, and knows no clock, no log, no network. It is
// pure and has no goroutines; a Digester may be shared, everything else belongs to one request.
//
// jsontext says whether bytes are JSON; the cursor then finds the spans in them. What differs between the protocols stands in
// one dialect each, in the file named for it: a further protocol is a further file and a line in dialectOf.
package wire

import (
	"mooring"
)

// A dialect is what differs between the protocols. Its functions are pure; the state of a stream is in the assembly.
type dialect struct {
	talk        string                    // request member that holds the conversation
	lists       bool                      // it is a list of objects, or may be one
	read        func(r *reader) error     // reads that member
	holdsResult func(content []byte) bool // of a protocol where a user's message can hold what a tool gave: says whether it does
	judge       func(r *Request) error    // refuses what no upstream would take; nil where the upstream judges
	system      string                    // request member that holds the system prompt beside the conversation; empty where there is none
	terminator  string                    // the event that ends a stream; empty where that event holds the answer
	lastEvent   int                       // bounds what is looked at to find a terminal event without its blank line; 0 is no bound

	form   func(n *normal, d dialect, message []byte) error // normalises a message
	part   partForm                                         // normalises a part that is neither text nor thinking
	extras func(n *normal, h *held)                         // normalises what a message holds beside its content; nil for nothing

	join   func(prefill, answer []byte) []byte // makes one message of what a request began and its answer; nil where none begins one
	render func(r *rendering, message []byte)  // puts a message into the shape that is shown

	answer func(body []byte) Answer // reads a buffered answer
	usage  func(a *assembly) mooring.Usage

	ends     func(name, data []byte) bool // says whether an event is the terminator
	event    func(a *assembly, name, data []byte) EventClass
	message  func(a *assembly) []byte // the assistant message so far, nil where nothing arrived
	whole    func(a *assembly, message []byte) []byte
	fault    func(dst []byte, e AnswerError) []byte // an error event
	faultFor func(code mooring.Code) string         // the protocol's name for a kind of error
}

// dialectOf gives the dialect of a protocol; false where this package does not read it.
func dialectOf(p mooring.Protocol) (dialect, bool) {
	switch p {
	case mooring.Chat:
		return chatDialect(), true
	case mooring.Messages:
		return messagesDialect(), true
	case mooring.Responses:
		return responsesDialect(), true
	case mooring.Completions:
		return completionsDialect(), true
	case mooring.API:
		return dialect{}, false
	}
	return dialect{}, false
}

func unsupported(p mooring.Protocol) error {
	return mooring.Errorf(mooring.CodeInvalidRequest, "The protocol %s is not served yet.", p)
}
