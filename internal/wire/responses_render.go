package wire

import "bytes"

// responsesRender shows a text, an item, or the items of an answer one behind the other.
func responsesRender(r *rendering, message []byte) {
	if kindOf(message) != '[' {
		r.item(message)
		return
	}
	for item := range elements(message) {
		r.item(item)
	}
}

func (r *rendering) item(item []byte) {
	if kindOf(item) != '{' {
		r.content(item)
		return
	}
	kind := inner(member(item, "type"))
	switch {
	case len(kind) == 0 || string(kind) == "message":
		r.content(member(item, "content"))
	case bytes.HasSuffix(kind, []byte("_output")):
		r.result(member(item, "output"))
	case string(kind) == "image_generation_call":
		r.part(item)
		r.add([]byte(screenshot))
	case present(member(item, "call_id")) && !aside(kind):
		r.part(toolCall(kind, item))
	default:
		r.part(legible(item))
	}
}

// result shows what a call gave: text, a list of parts, or one of them.
func (r *rendering) result(output []byte) {
	if kindOf(output) == '{' {
		r.part(output)
		r.read(output)
		return
	}
	r.content(output)
}

// toolCall gives a call the shape that chat has for it, so that readers know one.
func toolCall(kind, item []byte) []byte {
	holder, argument, name := "function", "arguments", member(item, "name")
	value := member(item, "arguments")
	if string(kind) == "custom_tool_call" {
		holder, argument, value = "custom", "input", member(item, "input")
	}
	if !present(value) {
		value = firstOf(item, "action", "actions", "operation")
	}
	if !present(name) {
		name = quoted(bytes.TrimSuffix(kind, []byte("_call")))
	}
	call := appendMember([]byte{'{'}, "name", name)
	if present(value) {
		call = appendMember(call, argument, value)
	}
	part := appendStringMember([]byte{'{'}, "type", []byte("tool_call"))
	part = appendMember(part, "id", member(item, "call_id"))
	return append(appendMember(part, holder, append(call, '}')), '}')
}

func firstOf(object []byte, names ...string) []byte {
	for _, name := range names {
		if v := member(object, name); present(v) {
			return v
		}
	}
	return nil
}

// legible leaves out what only the server that made it can read.
func legible(item []byte) []byte {
	if member(item, "encrypted_content") == nil {
		return item
	}
	out := []byte{'{'}
	for name, v := range members(item) {
		if string(name) != "encrypted_content" {
			out = appendMember(out, string(name), v)
		}
	}
	return append(out, '}')
}
