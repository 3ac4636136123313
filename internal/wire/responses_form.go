package wire

import "bytes"

// responsesForm appends the form of a message: a text, an item, or the items of an answer. An item's own id and status are left
// out, as clients do.
func responsesForm(n *normal, d dialect, raw []byte) error {
	n.words = n.words[:0]
	if kindOf(raw) != '[' {
		n.role(speakerOf(raw))
		responsesItem(n, d, raw)
		n.spoken()
		return nil
	}
	n.role(roleAssistant)
	for item := range elements(raw) {
		responsesItem(n, d, item)
	}
	n.spoken()
	return nil
}

func (n *normal) role(role string) {
	n.assistant = role == roleAssistant
	n.put('m', []byte(role))
}

// spoken appends the text of an answer as one: clients join the parts of an item, or make an item of each.
func (n *normal) spoken() {
	if len(n.words) > 0 {
		n.say(n.words)
		n.words = n.words[:0]
	}
}

func responsesItem(n *normal, d dialect, item []byte) {
	if kindOf(item) != '{' {
		n.content(d, item)
		return
	}
	switch kind := inner(member(item, "type")); {
	case len(kind) == 0 || string(kind) == "message":
		responsesContent(n, d, member(item, "content"))
	case aside(kind):
	case string(kind) == "image_generation_call" && present(member(item, "result")):
		n.spoken()
		n.id('i', member(item, "result"))
	case bytes.HasSuffix(kind, []byte("_output")):
		responsesResult(n, d, item)
	case present(member(item, "call_id")):
		n.spoken()
		responsesCall(n, item)
	default:
		n.spoken()
		n.without(item, unsaid)
	}
}

// responsesContent appends the content of a message item.
func responsesContent(n *normal, d dialect, content []byte) {
	if !n.assistant {
		n.content(d, content)
		return
	}
	if kindOf(content) == '"' {
		n.words = unquote(n.words, content)
		return
	}
	for part := range elements(content) {
		if text, ok := partText(part); ok {
			n.words = unquote(n.words, text)
			continue
		}
		n.spoken()
		responsesPart(n, inner(member(part, "type")), part)
	}
}

// responsesPart normalises a part of a message's content.
func responsesPart(n *normal, kind, part []byte) {
	switch string(kind) {
	case "input_image", "computer_screenshot":
		if url := member(part, "image_url"); present(url) {
			n.id('i', url)
			return
		}
		n.id('i', member(part, "file_id"))
	case "refusal":
		n.refusal(member(part, "refusal"))
	case "reasoning_text", "summary_text":
	default:
		n.without(part, unsaid)
	}
}

// responsesCall appends a call that the client answers.
func responsesCall(n *normal, item []byte) {
	var id, name, arguments, other []byte
	for member, v := range members(item) {
		switch string(member) {
		case "call_id":
			id = v
		case "name":
			name = v
		case "arguments":
			arguments = v
		case "input", "action", "actions", "operation":
			other = v
		}
	}
	switch {
	case kindOf(arguments) == '"' || !present(other):
		n.call(id, name, unquote(nil, arguments))
	case kindOf(other) == '"':
		n.call(id, name, unquote(nil, other))
	default:
		n.id('c', id)
		n.without(other, unsaid)
	}
}

// responsesResult appends what a call gave, in the order that chat has.
func responsesResult(n *normal, d dialect, item []byte) {
	output := member(item, "output")
	kind := inner(member(output, "type"))
	switch first := kindOf(output); {
	case first == '"', first == '[':
		n.content(d, output)
	case len(kind) > 0:
		responsesPart(n, kind, output)
	case first == '{':
		n.without(output, unsaid)
	}
	n.id('r', member(item, "call_id"))
}

// unsaid says that a member of an item means nothing: clients leave it out, or make it up.
func unsaid(name, value []byte) bool {
	switch string(name) {
	case "id", "status", "cache_control", "created_by":
		return true
	}
	return !present(value)
}
