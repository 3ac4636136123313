package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	day      = 24 * time.Hour
	kibibyte = 1 << 10
	mebibyte = 1 << 20
	gibibyte = 1 << 30
)

// Bytes is a size, written as a number and B, KiB, MiB or GiB.
type Bytes int64

// String gives the size with the largest unit that divides it.
func (b Bytes) String() string {
	for _, unit := range byteUnits() {
		if b != 0 && int64(b)%unit.size == 0 {
			return strconv.FormatInt(int64(b)/unit.size, 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

type byteUnit struct {
	name string
	size int64
}

// byteUnits lists the units so that no name is the end of one before it.
func byteUnits() []byteUnit {
	return []byteUnit{{"GiB", gibibyte}, {"MiB", mebibyte}, {"KiB", kibibyte}, {"B", 1}}
}

func parseBytes(text string) (Bytes, error) {
	text = strings.TrimSpace(text)
	for _, unit := range byteUnits() {
		number, ok := strings.CutSuffix(text, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/unit.size {
			break
		}
		return Bytes(n * unit.size), nil
	}
	return 0, fmt.Errorf("%q is no size; write a number with B, KiB, MiB or GiB, as in 32MiB", text)
}

// parseDuration reads Go's durations and whole days, as in 90d or 1d12h.
func parseDuration(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q is no duration; write numbers with ms, s, m, h or d, as in 10s or 90d", text)
	days, rest, found := strings.Cut(strings.TrimSpace(text), "d")
	if !found {
		days, rest = "0", days
	}
	n, err := strconv.ParseInt(days, 10, 64)
	if err != nil || n < 0 || n > 36500 {
		return 0, wrong
	}
	total := time.Duration(n) * day
	if rest == "" {
		return total, nil
	}
	d, err := time.ParseDuration(rest)
	switch {
	case err != nil && strings.Contains(err.Error(), "missing unit"):
		return 0, fmt.Errorf("%q has no unit; write ms, s, m, h or d behind the number, as in 10s or 90d", text)
	case err != nil:
		return 0, wrong
	case d < 0:
		return 0, fmt.Errorf("%q is negative", text)
	}
	return total + d, nil
}

// formatDuration writes a duration as short as parseDuration reads it.
func formatDuration(d time.Duration) string {
	if d != 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func parseTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, errors.New("must be a time as in 2027-01-31T00:00:00Z (RFC 3339)")
	}
	return at, nil
}
