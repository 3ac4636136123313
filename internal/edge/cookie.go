package edge

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mooring"
)

const (
	maxCookies     = 64
	maxCookieBytes = 16 << 10
	maxCookieValue = 256

	// bindingName is the cookie that says which slot the other two came from; no other host can set it.
	bindingName = "__Host-mooring_slot"
	// bindingAge is as long as browsers keep a cookie at all.
	bindingAge = 400 * 24 * 60 * 60
	// sessionAge is how long the web UI's session cookie lasts where it does not say (hermes-webui: 30 days).
	sessionAge = "2592000"
)

// The two cookies' places in lists of two.
const (
	sessionCookie = iota
	profileCookie
)

// valueOf is what the web UI gives the two cookies: a token and its signature, a profile and its signature (hermes-webui api/auth.py
// and api/profiles.py at df65251d).
func valueOf(which int, value string) bool {
	if len(value) > maxCookieValue {
		return false
	}
	if which == sessionCookie {
		return sessionValue.MatchString(value)
	}
	return profileValue.MatchString(value)
}

var (
	sessionValue = regexp.MustCompile(`^[0-9a-f]{64}\.[0-9a-f]{32,64}$`)
	profileValue = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}\.[0-9a-f]{64}$`)
)

// brought is what a request's cookies hold of those that mean something to the edge.
type brought struct {
	values  [2]string // of the two, where there once and well formed
	named   [2]bool   // whether they were there at all
	binding string
	others  map[string]string // the edge's own others
}

// cookiesIn reads all Cookie lines together, by hand: what stands there twice, in whatever line, counts for nothing, since
// the readers behind disagree on which one holds.
func cookiesIn(lines []string, names [2]string) (brought, error) {
	b := brought{others: map[string]string{}}
	count, size := 0, 0
	seen := map[string]int{}
	for _, line := range lines {
		size += len(line)
		for pair := range strings.SplitSeq(line, ";") {
			name, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
			if name == "" && value == "" {
				continue
			}
			if count++; count > maxCookies || size > maxCookieBytes {
				return b, &refusal{status: http.StatusRequestHeaderFieldsTooLarge, code: mooring.CodeBadRequest, words: "Your browser sent too many cookies; they were taken away, try again.", clear: true}
			}
			seen[name]++
			if seen[name] > 1 {
				value = "" // no cookie of the edge's or the web UI's is empty
			}
			b.take(name, value, names)
		}
	}
	return b, nil
}

func (b *brought) take(name, value string, names [2]string) {
	for i, known := range names {
		if name != known {
			continue
		}
		b.named[i] = true
		if b.values[i] = ""; valueOf(i, value) {
			b.values[i] = value
		}
		return
	}
	switch {
	case name == bindingName:
		b.binding = value
	case strings.HasPrefix(name, "__Host-mooring_"):
		b.others[name] = value
	}
}

func (b *brought) any() bool { return b.named[sessionCookie] || b.named[profileCookie] }

// binding is what the browser of a slot's tenant holds: it dies with the slot's epoch.
func binding(key []byte, c mooring.Claim) string {
	h := hmac.New(sha256.New, key)
	for _, part := range []string{string(c.Key), string(c.Slot), strconv.FormatInt(c.Epoch, 10)} {
		writeSized(h, part)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// writeSized writes a text behind its length, so that no two lists of texts are one.
func writeSized(h interface{ Write(p []byte) (int, error) }, part string) {
	_, _ = h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(part)))) //nolint:gosec // headers are not that long
	_, _ = h.Write([]byte(part))
}

func bake(name, value string, maxAge int) string {
	c := http.Cookie{Name: name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode}
	return c.String()
}

// setCookies gives the lines that an answer carries: of the slot's own the two alone, in the edge's terms, and an end to those that
// the slot is not shown.
func setCookies(names [2]string, fromSlot []string, stale [2]bool) []string {
	var last [2]*setCookie
	for _, line := range fromSlot {
		c := parseSetCookie(line)
		if i := slices.Index(names[:], c.name); i >= 0 {
			last[i] = c
		}
	}
	age := sessionAge
	if s := last[sessionCookie]; s != nil && s.attrs["max-age"] != "" {
		age = s.attrs["max-age"]
	}
	var out []string
	for i, c := range last {
		line := ""
		switch {
		case c != nil:
			line = c.rebaked(i, age)
		case stale[i]:
			line = bake(names[i], "", -1)
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// setCookie is a Set-Cookie line of a slot.
type setCookie struct {
	name, value string
	attrs       map[string]string
}

// rebaked gives the slot's cookie the edge's attributes; "" for one that no web UI sets. The profile cookie gets the session's age where it
// has none: it counts with that one alone.
func (c *setCookie) rebaked(which int, age string) string {
	maxAge, has := c.attrs["max-age"]
	if n, err := strconv.Atoi(maxAge); has && err == nil && n <= 0 || c.value == "" {
		return bake(c.name, "", -1)
	}
	if !valueOf(which, c.value) {
		return ""
	}
	if !has && which == profileCookie {
		maxAge = age
	}
	n, err := strconv.Atoi(maxAge)
	if err != nil {
		n = 0
	}
	return bake(c.name, c.value, n)
}

func parseSetCookie(line string) *setCookie {
	first, rest, _ := strings.Cut(line, ";")
	c := &setCookie{attrs: map[string]string{}}
	c.name, c.value, _ = strings.Cut(strings.Trim(first, " \t"), "=")
	for attr := range strings.SplitSeq(rest, ";") {
		k, v, _ := strings.Cut(strings.Trim(attr, " \t"), "=")
		c.attrs[strings.ToLower(k)] = v
	}
	return c
}
