package wire

import "mooring"

// ErrorEvent makes the event that tells a client of a stream what went wrong, in its protocol. It ends with a blank line; the
// terminator, where the protocol wants one behind it, is the caller's.
func ErrorEvent(p mooring.Protocol, code mooring.Code, message string) []byte {
	d, ok := dialectOf(p)
	if !ok {
		d = chatDialect()
	}
	return d.fault(nil, AnswerError{Type: d.faultFor(code), Code: string(code), Message: message})
}

func kindOfCode(code mooring.Code) mooring.ErrorKind {
	return mooring.KindOf(&mooring.Error{Code: code})
}
