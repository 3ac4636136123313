package config

import (
	"fmt"
	"strings"
)

// Error is what is wrong with one key. Its text is one line and holds no secret.
type Error struct {
	Key  string // path of the key, as in upstreams[0].name; empty where the file as a whole is wrong
	Msg  string
	File string // empty where no file set the key
	Line int    // 0 where no line is known
}

// Error gives the line for a person to read.
func (e *Error) Error() string {
	text := e.Msg
	if e.Key != "" {
		text = e.Key + ": " + text
	}
	if e.Line > 0 {
		text += fmt.Sprintf(" at line %d", e.Line)
	}
	if e.File != "" {
		text += " of " + e.File
	}
	return strings.Join(strings.Fields(text), " ")
}

func wrong(key, format string, args ...any) *Error {
	return &Error{Key: key, Msg: fmt.Sprintf(format, args...)}
}
