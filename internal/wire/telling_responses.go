package wire

import "bytes"

// responsesEvent tells an event of OpenAI's responses.
func (t *Teller) responsesEvent(name, data []byte) {
	e := readResponsesData(data)
	if len(e.kind) == 0 {
		e.kind = name
	}
	switch string(e.kind) {
	case "response.output_text.delta", "response.refusal.delta":
		t.say(ToldText, e.delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		t.say(ToldThinking, e.delta)
	case "response.output_item.added":
		t.responsesOpen(number(e.output), e.item)
	case "response.output_item.done":
		t.responsesClose(number(e.output), e.item)
	case "response.failed":
		r := readResponse(e.response)
		if t.failure = r.failure(); t.failure == nil {
			t.failure = answerError(r.err)
		}
	case "error":
		t.failure = answerError(data)
	default:
		if present(e.failure) {
			t.failure = answerError(e.failure)
		}
	}
}

// calls says whether an item is a tool's call, and the tool's name: items of a server's own tools have none but their type.
func calledIn(item []byte) (name []byte, ok bool) {
	kind := inner(member(item, "type"))
	if !bytes.HasSuffix(kind, []byte("_call")) {
		return nil, false
	}
	if name = member(item, "name"); present(name) {
		return name, true
	}
	return quoted(bytes.TrimSuffix(kind, []byte("_call"))), true
}

// responsesOpen tells the beginning of an item.
func (t *Teller) responsesOpen(index int, item []byte) {
	if name, ok := calledIn(item); ok {
		t.open(index, firstOf(item, "call_id", "id"), name)
	}
}

// responsesClose tells the end of an item. A call that brings no call_id was the server's own, and is over.
func (t *Teller) responsesClose(index int, item []byte) {
	name, ok := calledIn(item)
	if !ok {
		return
	}
	c := t.call(index)
	if c == nil {
		c = t.open(index, firstOf(item, "call_id", "id"), name)
	}
	if args := firstOf(item, "arguments", "input"); kindOf(args) == '"' {
		c.args = c.args[:0]
		c.more(inner(args))
	}
	t.close(c)
	if !present(member(item, "call_id")) {
		t.tool(c, PhaseComplete)
	}
}

// responsesWhole tells the items of an answer: one, or a list of them.
func (t *Teller) responsesWhole(message []byte) {
	if kindOf(message) != '[' {
		t.responsesItem(0, message)
		return
	}
	i := 0
	for item := range elements(message) {
		t.responsesItem(i, item)
		i++
	}
}

func (t *Teller) responsesItem(index int, item []byte) {
	switch string(inner(member(item, "type"))) {
	case "message", "":
		for part := range elements(member(item, "content")) {
			t.say(ToldText, firstOf(part, "text", "refusal"))
		}
	case "reasoning":
		for _, list := range []string{"summary", "content"} {
			for part := range elements(member(item, list)) {
				t.say(ToldThinking, member(part, "text"))
			}
		}
	default:
		t.responsesClose(index, item)
	}
}
