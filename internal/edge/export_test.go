package edge

import (
	"context"
	"net/http"
	"net/url"
	"testing"
)

// What the fuzz targets look at from inside.

// ReadCookies gives the values that would go to a slot.
func ReadCookies(lines []string, names [2]string) (values [2]string, ok bool) {
	b, err := cookiesIn(lines, names)
	return b.values, err == nil
}

// The parts that are tested by themselves.
var (
	PlainPath  = plainPath
	FindHead   = findHead
	Trim       = trim
	SafeReturn = safeReturn
	SubjectOf  = subjectOf
)

// Tag is what goes into pages.
func Tag(testing.TB) []byte { s := continuityScript(); return s.tag("0123456789abcdef") }

// Look has the edge see at once what others have done to claims.
func (e *Edge) Look(ctx context.Context) error { return e.book.look(ctx) }

// Via is what a slot is asked by.
func Via(u *url.URL) *http.Transport { return newSlot("tenant-0", u).via }
