package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mooring/internal/apiclient"
)

// unknown stands where nobody told a figure, or nothing is there.
const unknown = "–"

// thousands writes a number as 12,345.
func thousands(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

func grouped(digits string) string {
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func tokens(n *int64) string {
	if n == nil {
		return unknown
	}
	return thousands(*n)
}

// prompt is all that went in: read from a cache, written to one, or neither.
func prompt(u apiclient.Usage) *int64 {
	var sum *int64
	for _, n := range []*int64{u.Input, u.CacheRead, u.CacheWrite} {
		switch {
		case n == nil:
		case sum == nil:
			sum = new(*n)
		default:
			*sum += *n
		}
	}
	return sum
}

// dollars shows cents, and of less than a dollar the hundredths of a cent.
func dollars(usd *float64) string {
	const least = 0.0001
	switch {
	case usd == nil:
		return unknown
	case *usd == 0:
		return "$0"
	case *usd < least:
		return "under $0.0001"
	case *usd < 1:
		return "$" + strconv.FormatFloat(*usd, 'f', 4, 64)
	}
	whole, cents, _ := strings.Cut(strconv.FormatFloat(*usd, 'f', 2, 64), ".")
	return "$" + grouped(whole) + "." + cents
}

const (
	day       = 24 * time.Hour
	longSince = 30 * day // beyond it a date says more than a number of days
)

// ago says how long before now a time was.
func (p Page) ago(at time.Time) string {
	if at.IsZero() {
		return unknown
	}
	past := p.Now.Sub(at)
	switch {
	case past < time.Second: // clocks of two machines differ
		return "now"
	case past < time.Minute:
		return fmt.Sprintf("%ds ago", past/time.Second)
	case past < time.Hour:
		return fmt.Sprintf("%dm ago", past/time.Minute)
	case past < day:
		return fmt.Sprintf("%dh ago", past/time.Hour)
	case past < longSince:
		return fmt.Sprintf("%dd ago", past/day)
	}
	return at.In(p.Zone).Format(time.DateOnly)
}

// clock gives a time in the reader's zone.
func (p Page) clock(at time.Time) string {
	if at.IsZero() {
		return unknown
	}
	return at.In(p.Zone).Format("2006-01-02 15:04:05 MST")
}

// lasted writes a span the way people read one: 20 ms, 1.5 s, 2m5s.
func lasted(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// count writes a number with its noun: 1 turn, 2 turns.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return thousands(int64(n)) + " " + noun + "s"
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
