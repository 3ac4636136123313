package wire

import "bytes"

// messagesEvent tells an event of Anthropic's.
func (t *Teller) messagesEvent(name, data []byte) {
	if kind := inner(member(data, "type")); len(kind) > 0 {
		name = kind
	}
	switch string(name) {
	case "content_block_start":
		t.messagesOpen(blockIndex(data), member(data, "content_block"))
	case "content_block_delta":
		t.messagesDelta(blockIndex(data), member(data, "delta"))
	case "content_block_stop":
		t.close(t.call(blockIndex(data)))
	case "error":
		t.failure = answerError(member(data, "error"))
	}
}

// messagesOpen tells the beginning of a block. What a server's own tool gave comes as a block of its own.
func (t *Teller) messagesOpen(index int, block []byte) {
	kind := inner(member(block, "type"))
	switch {
	case string(kind) == blockText:
		t.say(ToldText, member(block, "text"))
	case string(kind) == blockThinking:
		t.say(ToldThinking, member(block, "thinking"))
	case bytes.HasSuffix(kind, []byte("tool_use")):
		t.open(index, member(block, "id"), member(block, "name"))
	case bytes.HasSuffix(kind, []byte("_tool_result")):
		told := ToolTold{Phase: PhaseComplete, CallID: readable(plain(member(block, "tool_use_id"))), Name: string(bytes.TrimSuffix(kind, []byte("_tool_result")))}
		if bytes.HasSuffix(inner(member(member(block, "content"), "type")), []byte("_error")) {
			told.Phase = PhaseError
		}
		t.out = append(t.out, Told{Kind: ToldTool, Tool: told})
	}
}

func (t *Teller) messagesDelta(index int, delta []byte) {
	for name, v := range members(delta) {
		switch string(name) {
		case "text":
			t.say(ToldText, v)
		case "thinking":
			t.say(ToldThinking, v)
		case "partial_json":
			if c := t.call(index); c != nil {
				c.more(inner(v))
			}
		}
	}
}

// messagesWhole tells an assistant message.
func (t *Teller) messagesWhole(message []byte) {
	i := 0
	for block := range elements(member(message, "content")) {
		t.messagesOpen(i, block)
		if c := t.call(i); c != nil {
			if input := member(block, "input"); present(input) {
				c.more(inner(appendText(nil, input)))
			}
			t.close(c)
		}
		i++
	}
}
