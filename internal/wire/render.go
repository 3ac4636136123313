package wire

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"mooring"
)

// screenshot stands for an image in a text.
const screenshot = "[screenshot]"

// rendering is a message put into the shape that pages and search read.
type rendering struct {
	parts []byte // a list that is not closed yet
	text  []byte
}

// Render reads a stored message: its content as a list of parts, and the text that a person reads in it. Images and files
// are lines of their own there, thinking and tool calls are left out. Half a surrogate pair becomes U+FFFD. NUL becomes U+2400,
// its visible sign: stores and search take no NUL, and the parts keep it escaped.
func Render(p mooring.Protocol, content []byte) (parts []byte, text string) {
	d, ok := dialectOf(p)
	if !ok || !wellFormed(content) {
		return []byte("[]"), ""
	}
	r := rendering{parts: []byte{'['}}
	d.render(&r, bytes.TrimSpace(content))
	return repaired(append(r.parts, ']')), readable(r.text)
}

// repaired gives JSON whose texts are texts: half surrogates become U+FFFD.
func repaired(parts []byte) []byte {
	if jsontext.Value(parts).IsValid(jsontext.AllowDuplicateNames(true)) {
		return parts
	}
	out, err := jsontext.AppendFormat(nil, parts, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	_ = err // what cannot be repaired stays as it came
	return out
}

func (r *rendering) content(content []byte) {
	if kindOf(content) == '"' {
		part := appendStringMember([]byte{'{'}, "type", []byte("text"))
		r.part(append(appendMember(part, "text", content), '}'))
		r.line(content)
		return
	}
	for part := range elements(content) {
		r.part(part)
		r.read(part)
	}
}

// part appends a part to the list as it is.
func (r *rendering) part(raw []byte) {
	if len(r.parts) > 1 {
		r.parts = append(r.parts, ',')
	}
	r.parts = append(r.parts, raw...)
}

// read appends the lines of a part.
func (r *rendering) read(part []byte) {
	if text, ok := partText(part); ok {
		r.line(text)
		return
	}
	if string(inner(member(part, "type"))) != "tool_result" {
		r.mark(part)
		return
	}
	result := member(part, "content")
	r.line(result)
	for inside := range elements(result) {
		if text, ok := partText(inside); ok {
			r.line(text)
			continue
		}
		r.mark(inside)
	}
}

// mark appends the line that stands for an image, a file or a refusal; nothing for other parts.
func (r *rendering) mark(part []byte) {
	switch string(inner(member(part, "type"))) {
	case "image", "image_url", "input_image", "computer_screenshot":
		r.add([]byte(screenshot))
	case "file", "input_file", "document":
		r.add([]byte("[file: " + fileName(part) + "]"))
	case "refusal":
		r.line(member(part, "refusal"))
	}
}

// line appends a raw string; nothing where it is empty or no string.
func (r *rendering) line(raw []byte) { r.add(unquote(nil, raw)) }

func (r *rendering) add(line []byte) {
	if len(line) == 0 {
		return
	}
	if len(r.text) > 0 {
		r.text = append(r.text, '\n')
	}
	r.text = append(r.text, line...)
}

// fileName looks for a file's name where the protocols put it.
func fileName(part []byte) string {
	for _, holder := range [][]byte{part, member(part, "file"), member(part, "source")} {
		for _, name := range []string{"filename", "title", "name", "file_id"} {
			if v := plain(member(holder, name)); len(v) > 0 {
				return string(v)
			}
		}
	}
	return "unnamed"
}

// chatRender shows tool calls and a refusal too, which stand beside the content in a chat message.
func chatRender(r *rendering, message []byte) {
	r.content(member(message, "content"))
	for call := range elements(member(message, "tool_calls")) {
		part := appendStringMember([]byte{'{'}, "type", []byte("tool_call"))
		for name, v := range members(call) {
			if string(name) != "type" {
				part = appendMember(part, string(name), v)
			}
		}
		r.part(append(part, '}'))
	}
	r.line(member(message, "refusal"))
}
