package wire

import "bytes"

// responsesForm appends the form of a message: a text, an item, or the items of an answer. An item's own id and status are left
// out, as clients do.
func responsesForm(n *normal, _ dialect, raw []byte) error {
	if kindOf(raw) != '[' {
		n.role(speakerOf(raw))
		responsesItem(n, raw)
		return nil
	}
	n.role(roleAssistant)
	for item := range elements(raw) {
		responsesItem(n, item)
	}
	return nil
}

// responsesItem appends an item. The texts of an answer are one text: clients join the parts of an item, or make an item of each.
func responsesItem(n *normal, item []byte) {
	if kindOf(item) != '{' {
		n.content(item, responsesPart)
		return
	}
	switch kind := inner(member(item, "type")); {
	case len(kind) == 0 || string(kind) == "message":
		n.content(member(item, "content"), responsesPart)
	case aside(kind):
	case string(kind) == "image_generation_call" && present(member(item, "result")):
		n.spoken(0)
		n.encoded(plain(member(item, "result")))
	case bytes.HasSuffix(kind, []byte("_output")):
		responsesResult(n, item)
	case present(member(item, "call_id")):
		n.spoken(0)
		responsesCall(n, item)
	default:
		n.spoken(0)
		n.without(item, unsaid)
	}
}

// responsesPart normalises a part of a message's content.
func responsesPart(n *normal, kind, part []byte) {
	switch string(kind) {
	case "input_image", "computer_screenshot":
		if url := member(part, "image_url"); present(url) {
			n.image(url)
			return
		}
		n.id('i', member(part, "file_id"))
	case "refusal":
		n.refusal(member(part, "refusal"))
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
	case present(arguments) || !present(other):
		n.call(id, name, arguments)
	case kindOf(other) == '"':
		n.custom(id, name, other)
	default:
		n.id('c', id)
		n.without(other, unsaid)
	}
}

// responsesResult appends what a call gave, in the order that chat has.
func responsesResult(n *normal, item []byte) {
	output := member(item, "output")
	kind := inner(member(output, "type"))
	switch first := kindOf(output); {
	case first == '"', first == '[':
		n.content(output, responsesPart)
		n.spoken(0)
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
