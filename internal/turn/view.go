package turn

import (
	"bytes"
	"io"
	"slices"

	"mooring"
	"mooring/internal/forward"
	"mooring/internal/wire"
)

// view is what of a request's messages belongs to its conversation: what was said before the chat's last reset does not.
type view struct {
	messages []wire.Message // the request's, less the words of a command
	skip     int            // the first of them that belongs to it
	opening  []byte         // the answer to a command that stands before them, as the client sends it back; nil for none
	reset    bool           // the last message is a command
	bare     bool           // and nothing but the command
}

// viewOf looks for the last command among the messages of a request.
func viewOf(messages []wire.Message) view {
	v := view{messages: messages}
	for i := range slices.Backward(messages) {
		if messages[i].Role != "user" {
			continue
		}
		remains, ok := wire.NewCommand(messages[i].Raw)
		if !ok {
			continue
		}
		v.reset, v.bare, v.skip = i == len(messages)-1, remains == nil, i
		if remains != nil {
			v.messages = slices.Clone(messages)
			v.messages[i].Raw = remains
			return v
		}
		v.skip = i + 1
		if v.skip < len(messages) && messages[v.skip].Role == "assistant" {
			v.opening = messages[v.skip].Raw
			v.skip++
		}
		return v
	}
	return v
}

// kept are the messages that the upstream gets: those of the conversation, and the instructions wherever they stand.
func (v view) kept() []wire.Message {
	out := make([]wire.Message, 0, len(v.messages))
	for i, m := range v.messages {
		if i >= v.skip || !m.Conversational() {
			out = append(out, m)
		}
	}
	return out
}

// bodyOf is the request's body as the upstream gets it: as it came, unless the chat was reset in it or before it, or a model is asked
// for in the place of an alias.
func bodyOf(req *Request, v view, model string) forward.Body { //nolint:ireturn // the request's own, or a new one
	edit := wire.Edit{Model: model}
	if v.skip > 0 || len(v.messages) != len(req.Wire.Messages) || changed(v.messages, req.Wire.Messages) {
		edit.Messages = v.kept()
	}
	if edit.Messages == nil && model == "" {
		return req.Body
	}
	return rewritten(req.Wire.Edited(req.Body.Bytes(), edit))
}

// changed says that a message has lost a command.
func changed(now, before []wire.Message) bool {
	return len(now) > 0 && &now[0] != &before[0]
}

// rewritten is a body in memory.
type rewritten []byte

// Bytes gives the body.
func (b rewritten) Bytes() []byte { return b }

// Open gives a reader of it.
func (b rewritten) Open() io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }

// commands says whether the request may hold commands: on the chat route and from a page, where they are switched on.
func (t *running) commands() bool {
	return (t.req.Protocol == mooring.Chat || t.own) && t.Rules().Commands
}
