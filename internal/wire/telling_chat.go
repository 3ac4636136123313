package wire

import "strconv"

// chatChunk tells a chunk of chat or completions; of several choices the first alone.
func (t *Teller) chatChunk(data []byte) {
	for name, v := range members(data) {
		switch string(name) {
		case "choices":
			for choice := range elements(v) {
				t.chatChoice(choice)
			}
		case "error":
			if present(v) {
				t.failure = answerError(v)
			}
		}
	}
}

func (t *Teller) chatChoice(choice []byte) {
	if index := member(choice, "index"); present(index) && string(index) != "0" {
		return
	}
	for name, v := range members(choice) {
		switch string(name) {
		case "delta":
			t.chatDelta(v)
		case "text":
			t.say(ToldText, v)
		}
	}
	if len(inner(member(choice, "finish_reason"))) > 0 {
		t.closeAll()
	}
}

func (t *Teller) chatDelta(delta []byte) {
	thought := false
	for name, v := range members(delta) {
		switch string(name) {
		case "content", "refusal":
			t.saying(ToldText, v)
		case "reasoning_content", "reasoning": // some servers send both, with the same words
			if !thought && present(v) {
				thought = true
				t.saying(ToldThinking, v)
			}
		case "tool_calls":
			for call := range elements(v) {
				t.chatCall(call)
			}
		}
	}
}

// chatCall tells a piece of a call. One with an id of its own, or a name, begins another call.
func (t *Teller) chatCall(call []byte) {
	function := member(call, "function")
	if !present(function) {
		function = member(call, "custom")
	}
	id, name := member(call, "id"), member(function, "name")
	index, err := strconv.Atoi(string(member(call, "index")))
	if err != nil {
		index = max(0, len(t.calls)-1)
	}
	c := t.call(index)
	if c == nil || len(inner(id)) > 0 && readable(plain(id)) != c.id {
		t.close(c)
		c = t.open(index, id, name)
	}
	for _, member := range [][]byte{member(function, "arguments"), member(function, "input")} {
		c.more(inner(member))
	}
}

// chatWhole tells an assistant message.
func (t *Teller) chatWhole(message []byte) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if thought := member(message, name); present(thought) {
			t.saying(ToldThinking, thought)
			break
		}
	}
	t.saying(ToldText, member(message, "content"))
	t.saying(ToldText, member(message, "refusal"))
	for call := range elements(member(message, "tool_calls")) {
		t.calls = t.calls[:0]
		t.chatCall(call)
		t.closeAll()
	}
}
