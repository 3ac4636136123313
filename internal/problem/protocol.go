package problem

import (
	"strings"

	"mooring"
)

// ProtocolOf says in whose shape an error on that path is written, also for paths that lead nowhere. Below /anthropic
// whatever names no other protocol is taken for Anthropic's.
func ProtocolOf(path string) mooring.Protocol {
	other := mooring.Chat
	if rest, ok := strings.CutPrefix(path, "/anthropic/"); ok {
		path, other = "/"+rest, mooring.Messages
	} else if rest, ok := strings.CutPrefix(path, "/openai/"); ok {
		path = "/" + rest
	}
	switch {
	case within(path, "/v1/messages"):
		return mooring.Messages
	case within(path, "/v1/responses"):
		return mooring.Responses
	case within(path, "/v1/completions"):
		return mooring.Completions
	case within(path, "/v1/chat"):
		return mooring.Chat
	case within(path, "/api"):
		return mooring.API
	}
	return other
}

// within says that path is root or lies below it.
func within(path, root string) bool {
	rest, ok := strings.CutPrefix(path, root)
	return ok && (rest == "" || rest[0] == '/')
}
