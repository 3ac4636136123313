package wire

import (
	"bytes"
	"slices"
	"strings"

	"mooring"
)

// keepsake is a member whose value names what a server keeps, what stands behind its name, white space aside, and the route that makes those things. File ids
// begin with file- (OpenAI) or file_ (Anthropic). A conversation that has a name of the client's own is made by its first turn.
type keepsake struct{ member, value, path string }

func keepsakes() [4]keepsake {
	return [...]keepsake{
		{`"file_id`, `":"file`, "/v1/files"},
		{`"file_id`, `s":["file`, "/v1/files"},
		{`"container"`, `:"cntr_`, "/v1/containers"},
		{`"vector_store_ids"`, `:["vs_`, "/v1/vector_stores"},
	}
}

// KeptRoutes are the routes that make what the request can name by an id.
func (r *Request) KeptRoutes() []string {
	if r.Protocol != mooring.Responses {
		return []string{"/v1/files"}
	}
	return []string{"/v1/conversations", "/v1/files", "/v1/containers", "/v1/vector_stores"}
}

// Keeps says whether the request names something that such a route makes. It reads all of the body, so it is asked only where something
// hangs on it.
func (r *Request) Keeps(body []byte, path string) bool {
	if path == "/v1/conversations" {
		return slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Path == "conversation" && strings.HasPrefix(f.Value, "conv_") })
	}
	all := keepsakes()
	at := slices.IndexFunc(all[:], func(k keepsake) bool { return k.path == path })
	if at < 0 {
		return false
	}
	for member := []byte(all[at].member); ; {
		i := bytes.Index(body, member)
		if i < 0 {
			return false
		}
		body = body[i+len(member):]
		if slices.ContainsFunc(all[:], func(k keepsake) bool { return k.path == path && k.follows(body) }) {
			return true
		}
	}
}

// follows says that a value comes there that begins as the ids do.
func (k keepsake) follows(rest []byte) bool {
	for i := range len(k.value) {
		c := k.value[i]
		if c == ':' || i > 0 && (c == '"' || c == '[') {
			rest = bytes.TrimLeft(rest, " \t\r\n")
		}
		if len(rest) == 0 || rest[0] != c {
			return false
		}
		rest = rest[1:]
	}
	return true
}
