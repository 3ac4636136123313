package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mooring"
)

// raw binds a value that may be any bytes. An empty one binds as NULL: no row equals it, so that whoever comes without a
// tenant sees nothing.
func raw[T ~string](v T) []byte {
	if v == "" {
		return nil
	}
	return []byte(v)
}

// bytes binds a value that may be any bytes, or none.
func bytes[T ~string](v T) []byte { return append([]byte{}, v...) }

// text binds words: on both databases what is not UTF-8 becomes U+FFFD, and NUL, which PostgreSQL cannot keep, the sign for it,
// U+2400, as wire writes it in a text: so a search for it finds what was stored.
func text[T ~string](v T) string {
	s := strings.ToValidUTF8(string(v), "\uFFFD")
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\u2400")
	}
	return s
}

// known binds ids that came from outside as they are, but for those that no row can have, and PostgreSQL cannot read.
func known(args []any) []any {
	for i, arg := range args {
		switch id := arg.(type) {
		case mooring.SessionID:
			keep(args, i, id)
		case mooring.TurnID:
			keep(args, i, id)
		case mooring.MessageID:
			keep(args, i, id)
		}
	}
	return args
}

func keep[T ~string](args []any, i int, id T) {
	if strings.IndexByte(string(id), 0) >= 0 || !utf8.ValidString(string(id)) {
		args[i] = text(id)
	}
}

// micros binds a time, 0 for the zero one.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(v int64) time.Time {
	if v == 0 {
		return time.Time{}
	}
	return time.UnixMicro(v).UTC()
}

// tokens binds a count, NULL where it was never told.
func tokens(t mooring.Tokens) any {
	if !t.Known {
		return nil
	}
	return t.N
}

// dollars binds a price, NULL where it is unknown.
func dollars(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}

// list binds values as a JSON list, empty where there are none.
func list[T any](values []T) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	b, err := json.Marshal(values)
	return string(b), err
}

// object binds a value as a JSON object, empty where there is none.
func object[T any](v *T) (string, error) {
	if v == nil {
		return "", nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func parse(doc string, into any) error {
	if doc == "" {
		return nil
	}
	return json.Unmarshal([]byte(doc), into)
}

// count scans a number of tokens.
type count struct{ to *mooring.Tokens }

// Scan implements sql.Scanner.
func (c count) Scan(src any) error {
	n, known := src.(int64)
	*c.to = mooring.Tokens{N: n, Known: known}
	return nil
}

// moment scans a time.
type moment struct{ to *time.Time }

// Scan implements sql.Scanner.
func (m moment) Scan(src any) error {
	n, _ := src.(int64)
	*m.to = timeOf(n)
	return nil
}

// padded gives the length of a list in a statement's text for n values: few lengths make few texts to prepare.
func padded(n int) int {
	size := 1
	for size < n {
		size *= 2
	}
	return size
}

// marks are the placeholders of a list of values, from a number up to another.
func marks(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i)
	}
	return b.String()
}

// rawText scans a value that may be any bytes.
type rawText string

// Scan implements sql.Scanner.
func (r *rawText) Scan(src any) error {
	switch v := src.(type) {
	case []byte:
		*r = rawText(v)
	case string:
		*r = rawText(v)
	default:
		*r = ""
	}
	return nil
}
