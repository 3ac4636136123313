package wire

import (
	"bytes"

	"mooring"
)

// Continued gives an assistant message as its client will have it: what the request's last message began, and what the answer
// adds. The prefill is that last message as the request has it, the answer is Answer.Message. Without a prefill, of a role that
// is not the assistant's, and where the protocol has none, it is the answer itself.
func Continued(p mooring.Protocol, prefill, answer []byte) []byte {
	d, ok := dialectOf(p)
	prefill, answer = bytes.TrimSpace(prefill), bytes.TrimSpace(answer)
	if !ok || d.join == nil || len(prefill) == 0 || len(answer) == 0 || !wellFormed(prefill) || !wellFormed(answer) {
		return answer
	}
	return d.join(prefill, answer)
}

// joinMessages puts the parts of the prefill before those of the answer, which keeps its other members.
func joinMessages(prefill, answer []byte) []byte {
	if string(plain(member(prefill, "role"))) != roleAssistant || kindOf(answer) != '{' {
		return answer
	}
	content := append([]byte{'['}, contentParts(member(prefill, "content"))...)
	if more := contentParts(member(answer, "content")); len(more) > 0 {
		if len(content) > 1 {
			content = append(content, ',')
		}
		content = append(content, more...)
	}
	content = append(content, ']')
	start, end := memberSpan(answer, "content")
	if end > start {
		return replaced(answer, start, end, content)
	}
	out := appendMember([]byte{'{'}, "content", content)
	for name, v := range members(answer) {
		out = appendMember(out, string(name), v)
	}
	return append(out, '}')
}

// contentParts gives what stands between the brackets of a content that is a list, or would if it was one.
func contentParts(content []byte) []byte {
	switch kindOf(content) {
	case '"':
		part := appendStringMember([]byte{'{'}, "type", []byte("text"))
		return append(appendMember(part, "text", content), '}')
	case '[':
		return bytes.TrimSpace(content[1 : len(content)-1])
	}
	return nil
}

// joinItems makes one answer of the items of both.
func joinItems(prefill, answer []byte) []byte {
	if kindOf(prefill) != '[' && speakerOf(prefill) != roleAssistant {
		return answer
	}
	out := append([]byte{'['}, listed(prefill)...)
	if more := listed(answer); len(more) > 0 {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, more...)
	}
	return append(out, ']')
}

// listed gives the items of an answer as they stand in a list.
func listed(message []byte) []byte {
	if kindOf(message) != '[' {
		return message
	}
	return bytes.TrimSpace(message[1 : len(message)-1])
}
