package identify

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"mooring"
)

// MaxID is the longest id in bytes; a longer one is refused, because a cut one could name another session.
const MaxID = 256

// placeholder says whether a value stands for "no id": what programs send before they have one, and templates that nobody
// filled in. Such a value would join strangers.
func placeholder(v string) bool {
	switch strings.ToLower(v) {
	case "", "new", "null", "undefined", "none", "default", "unknown":
		return true
	}
	return strings.Trim(v, "0-") == "" || unfilled(v)
}

// template is "{{…}}" or "${…}" anywhere, "<…>" as a whole, or "{name}" anywhere.
var template = regexp.MustCompile(`\{\{.*\}\}|\$\{.*\}|^<.*>$|\{([A-Za-z_][A-Za-z0-9_.:\- ]*)\}`)

// unfilled recognises templates. A GUID in braces is how some systems write an id.
func unfilled(v string) bool {
	if !strings.ContainsAny(v, "{<") {
		return false
	}
	found := template.FindStringSubmatch(v)
	return found != nil && !uuidShape.MatchString(found[1])
}

// bare takes off what HTTP takes off a header, so that one id is the same in a header and in a body.
func bare(v string) string { return strings.Trim(v, " \t") }

// checkValue refuses a value that could not be kept or sent safely; name says where it stood.
func checkValue(name, v string) error {
	switch {
	case len(v) > MaxID:
		return mooring.Errorf(mooring.CodeInvalidSessionID, "The session id in %s has %d bytes; use at most %d.", name, len(v), MaxID)
	case strings.ContainsFunc(v, isControl):
		return mooring.Errorf(mooring.CodeInvalidSessionID, "The session id in %s holds a control character; leave it out.", name)
	}
	return nil
}

// check refuses an id that could not be kept or sent safely under this signal.
func (s *signal) check(v string) error {
	if s.hermes && (strings.ContainsAny(v, `/\`) || strings.Contains(v, "..")) {
		return mooring.Errorf(mooring.CodeInvalidSessionID, "The session id in %s may not hold a slash, a backslash or two dots in a row.", s.name)
	}
	return checkValue(s.name, v)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

var (
	uuidShape  = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)
	ulidShape  = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
	idPrefix   = regexp.MustCompile(`^[A-Za-z]{1,16}[_-]`)
	plainShape = regexp.MustCompile(`^[0-9A-Za-z]{16,}$`)

	// A time to the millisecond with a few random characters behind it, as Cline makes its task ids.
	timedShape  = regexp.MustCompile(`^1[0-9]{12}[_-][0-9a-z]{4,16}$`)
	vendorShape = regexp.MustCompile(`^[A-Za-z0-9_.:-]{8,128}$`)
	gooseShape  = regexp.MustCompile(`^[0-9]{8}_[0-9]{1,9}$`)
	hexShape    = regexp.MustCompile(`^(ses_)?[0-9a-f]{16,64}$`)
)

// unguessable says whether an id was made by a machine so that no two programs come to the same one by themselves: a UUID, a
// ULID, or 16 and more random characters, with or without a prefix such as "ses_".
func unguessable(v string) bool {
	for range 2 {
		if uuidShape.MatchString(v) || ulidShape.MatchString(v) || timedShape.MatchString(v) || plainShape.MatchString(v) && random(v) {
			return true
		}
		cut := idPrefix.FindString(v)
		if cut == "" {
			return false
		}
		v = v[len(cut):]
	}
	return false
}

// random tells machine-made letters and digits from words and counters: words have no digits between their letters, counters
// few different characters.
func random(v string) bool {
	var seen [128]bool
	different, turns, digits, mixed := 0, 0, 0, 0
	for i := range len(v) {
		if kindOf(v[i]) == digit {
			digits++
		}
		if c := v[i]; !seen[c] {
			seen[c] = true
			different++
		}
		if i > 0 && kindOf(v[i]) != kindOf(v[i-1]) {
			turns++
			if kindOf(v[i]) == digit || kindOf(v[i-1]) == digit {
				mixed++
			}
		}
	}
	return different >= 8 && turns >= 4 && digits >= 2 && mixed >= 2
}

// The kinds of the characters of a plain id.
const (
	digit = iota
	lower
	upper
)

func kindOf(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return digit
	case c >= 'a' && c <= 'z':
		return lower
	}
	return upper
}

// vendorValue is what an id looks like under a name that nobody has documented.
func vendorValue(v string) bool { return vendorShape.MatchString(v) }

// cacheKey is what a cache key looks like that was made for one conversation: an application's constant is made of words.
func cacheKey(v string) bool {
	return len(v) <= MaxID && (unguessable(v) || hexShape.MatchString(v) && strings.ContainsAny(v, "0123456789") && strings.ContainsAny(v, "abcdef"))
}

// gooseDate is the id that Goose gives a session: the day and a number.
func gooseDate(v string) bool { return gooseShape.MatchString(v) }

// claudeUserID takes the session out of the metadata.user_id that Claude Code sends: a JSON text since 2.1.84, before that
// one that ends in "_session_" and a UUID. Anything else is a person or a machine.
func claudeUserID(in *texts, v string) string {
	if strings.HasPrefix(v, "{") {
		return in.member(v, "session_id")
	}
	_, session, _ := strings.Cut(v, "_session_")
	if !uuidShape.MatchString(session) {
		return ""
	}
	return session
}

// codexThread takes the thread out of the turn metadata that Codex sends as a JSON text.
func codexThread(in *texts, v string) string {
	if thread := in.member(v, "thread_id"); thread != "" {
		return thread
	}
	return in.member(v, "session_id")
}

// texts are the JSON texts that a request holds in headers and fields, each read once: several rows look into the same one, and a
// program may send it in both places.
type texts []struct {
	text    string
	members map[string]json.RawMessage
}

// member gives a text that is a member of a JSON text; of an object its JSON. Empty where there is none.
func (in *texts) member(text, name string) string {
	var out string
	switch raw := in.read(text)[name]; {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &out) == nil:
		return out
	default:
		return string(raw)
	}
}

func (in *texts) read(text string) map[string]json.RawMessage {
	for _, known := range *in {
		if known.text == text {
			return known.members
		}
	}
	var all map[string]json.RawMessage
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &all) != nil {
		all = nil
	}
	*in = append(*in, struct {
		text    string
		members map[string]json.RawMessage
	}{text, all})
	return all
}

// baggageSession takes session.id out of a W3C baggage header.
func baggageSession(_ *texts, v string) string {
	for entry := range strings.SplitSeq(v, ",") {
		entry, _, _ = strings.Cut(entry, ";")
		name, value, _ := strings.Cut(entry, "=")
		if strings.TrimSpace(name) != "session.id" {
			continue
		}
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); err == nil {
			return plain
		}
	}
	return ""
}
