package wire

import (
	"bytes"
	"slices"
	"strings"
)

// keepsake is a member whose value names what a server keeps, how such a value begins, and the route that makes those things. File ids
// begin with file- (OpenAI) or file_ (Anthropic). A conversation that has a name of the client's own is made by its first turn.
type keepsake struct{ member, value, path string }

func keepsakes() [4]keepsake {
	return [...]keepsake{
		{`"file_id"`, `"file`, "/v1/files"},
		{`"file_ids"`, `["file`, "/v1/files"},
		{`"container"`, `"cntr_`, "/v1/containers"},
		{`"vector_store_ids"`, `["vs_`, "/v1/vector_stores"},
	}
}

// KeptRoutes are the routes that make what a request can name by an id.
func KeptRoutes() []string {
	return []string{"/v1/conversations", "/v1/files", "/v1/containers", "/v1/vector_stores"}
}

// Keeps says whether the request names something that such a route makes. It reads all of the body, so it is asked only where something
// hangs on it.
func (r *Request) Keeps(body []byte, path string) bool {
	if path == "/v1/conversations" {
		return slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Path == "conversation" && strings.HasPrefix(f.Value, "conv_") })
	}
	all := keepsakes()
	return slices.ContainsFunc(all[:], func(k keepsake) bool { return k.path == path && k.in(body) })
}

func (k keepsake) in(body []byte) bool {
	for {
		i := bytes.Index(body, []byte(k.member))
		if i < 0 {
			return false
		}
		if body = body[i+len(k.member):]; k.begins(body) {
			return true
		}
	}
}

// begins says that a value begins there as the ids do, white space aside.
func (k keepsake) begins(rest []byte) bool {
	const space = " \t\r\n"
	rest, ok := bytes.CutPrefix(bytes.TrimLeft(rest, space), []byte(":"))
	for _, c := range []byte(k.value) {
		if c == '"' || c == '[' {
			rest = bytes.TrimLeft(rest, space)
		}
		if !ok || len(rest) == 0 || rest[0] != c {
			return false
		}
		rest = rest[1:]
	}
	return true
}
