package wire

// What a request says of itself beside its facts. Nothing here is read twice: these look at spans that Decode has found.

// Instructions gives the texts that tell the model how to behave, each a raw JSON string of the body: the system prompt beside the
// messages, then those of the system and developer messages that stand before the conversation, in their order. What programs put
// between the turns later is none: it says how things are at that moment. Lines that bill a request are still among them.
func (r *Request) Instructions() [][]byte {
	out := appendTexts(nil, r.System)
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Conversational() {
			break
		}
		out = appendTexts(out, member(m.Raw, "content"))
	}
	return out
}

// appendTexts adds the raw texts of a content that is one or has some.
func appendTexts(dst [][]byte, content []byte) [][]byte {
	if kindOf(content) == '"' {
		return append(dst, content)
	}
	for part := range elements(content) {
		if text, ok := partText(part); ok && kindOf(text) == '"' {
			dst = append(dst, text)
		}
	}
	return dst
}

// EndsInResult says that the conversation ends in what a tool gave: the model goes on working, nobody has asked anew.
func (r *Request) EndsInResult() bool {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := &r.Messages[i]; m.Conversational() {
			return m.Result
		}
	}
	return false
}

// HasResult says that a tool has given something in the conversation.
func (r *Request) HasResult() bool {
	for i := range r.Messages {
		if r.Messages[i].Result {
			return true
		}
	}
	return false
}
