package wire

import "strconv"

// ChatReply is an answer that no model gave.
type ChatReply struct {
	ID      string
	Model   string
	Text    string
	Created int64 // seconds since 1970
}

// Message is the assistant message of the answer, as clients send it back.
func (c ChatReply) Message() []byte {
	out := appendStringMember([]byte{'{'}, "role", []byte("assistant"))
	return append(appendMember(out, chatContent, appendText(nil, []byte(c.Text))), '}')
}

// Whole is the answer in one piece.
func (c ChatReply) Whole() []byte {
	choice := append(appendMember([]byte(`{"index":0`), "message", c.Message()), `,"finish_reason":"stop"}`...)
	out := append(appendMember(c.head("chat.completion"), "choices", append([]byte{'['}, choice...)), ']')
	return append(out, `,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`...)
}

// Stream is the answer as events: role, text, stop.
func (c ChatReply) Stream() []byte {
	text := append(appendMember([]byte{'{'}, chatContent, appendText(nil, []byte(c.Text))), '}')
	var out []byte
	for _, chunk := range [][2]string{{`{"role":"assistant","content":""}`, "null"}, {string(text), "null"}, {"{}", `"stop"`}} {
		choice := `[{"index":0,"delta":` + chunk[0] + `,"finish_reason":` + chunk[1] + `}]`
		out = append(append(out, "data: "...), appendMember(c.head("chat.completion.chunk"), "choices", []byte(choice))...)
		out = append(out, "}\n\n"...)
	}
	return out
}

func (c ChatReply) head(kind string) []byte {
	out := appendMember([]byte{'{'}, "id", appendText(nil, []byte(c.ID)))
	out = appendStringMember(out, "object", []byte(kind))
	out = appendMember(out, "created", strconv.AppendInt(nil, c.Created, 10))
	return appendMember(out, "model", appendText(nil, []byte(c.Model)))
}
