package wire

import (
	"bytes"

	"mooring"
)

// unanswered stands where a tool's call was never answered: strict servers take no call without a result.
const unanswered = "The call was not answered; it broke off."

// Talk puts stored messages into the list of a request of chat or messages, such as strict servers take it. What was said in the
// request's own protocol keeps its form, images included; the rest is told as text. Thinking is left out, and so is a message of which
// nothing remains. Calls of tools stay calls in chat, each with its result; elsewhere, where the request would have to offer these
// tools, they are text.
func Talk(p mooring.Protocol, said []mooring.Message) [][]byte {
	var out [][]byte
	for i := 0; i < len(said); i++ {
		m := &said[i]
		switch {
		case p == mooring.Chat && m.Protocol == p && m.Role == roleAssistant:
			results := resultsBehind(said[i+1:])
			out = append(out, chatRound(m, results)...)
			i += len(results)
		case m.Role == roleAssistant:
			if text := toldText(m); len(text) > 0 && (p != mooring.Messages || len(out) > 0) { // there the user has to begin
				out = append(out, spokenBy(roleAssistant, appendText(nil, text)))
			}
		case m.Role == roleTool && m.Protocol == mooring.Chat && p == mooring.Chat: // its call is not there
		default:
			if content := userContent(p, m); content != nil {
				out = append(out, spokenBy(roleUser, content))
			}
		}
	}
	return out
}

// spokenBy makes a message of a raw content.
func spokenBy(role string, content []byte) []byte {
	out := appendStringMember([]byte{'{'}, "role", []byte(role))
	return append(appendMember(out, "content", content), '}')
}

// resultsBehind are the results of tools at the start of a list.
func resultsBehind(said []mooring.Message) []mooring.Message {
	n := 0
	for n < len(said) && said[n].Role == roleTool && said[n].Protocol == mooring.Chat {
		n++
	}
	return said[:n]
}

// chatRound is an assistant's message of chat with the results of its calls. A call that has none is given one.
func chatRound(m *mooring.Message, results []mooring.Message) [][]byte {
	text := toldWords(m)
	message := spokenBy(roleAssistant, []byte("null"))
	if len(text) > 0 {
		message = spokenBy(roleAssistant, appendText(nil, text))
	}
	var answers [][]byte
	calls := []byte{'['}
	for call := range elements(member(m.Content, "tool_calls")) {
		id := member(call, "id")
		if len(inner(id)) == 0 {
			continue
		}
		if len(calls) > 1 {
			calls = append(calls, ',')
		}
		calls = append(calls, call...)
		answers = append(answers, resultOf(id, results))
	}
	if len(answers) == 0 {
		if len(text) == 0 {
			return nil
		}
		return [][]byte{message}
	}
	message = append(appendMember(message[:len(message)-1], "tool_calls", append(calls, ']')), '}')
	return append([][]byte{message}, answers...)
}

// resultOf is the message with the result of a call.
func resultOf(id []byte, results []mooring.Message) []byte {
	content := appendText(nil, []byte(unanswered))
	for i := range results {
		if bytes.Equal(plain(member(results[i].Content, "tool_call_id")), plain(id)) {
			if c := member(results[i].Content, "content"); present(c) {
				content = c
			}
			break
		}
	}
	out := appendStringMember([]byte{'{'}, "role", []byte(roleTool))
	out = appendMember(out, "tool_call_id", id)
	return append(appendMember(out, "content", content), '}')
}

// userContent is the raw content of what a user said, or a tool gave, as a request has it; nil for nothing.
func userContent(p mooring.Protocol, m *mooring.Message) []byte {
	content := member(m.Content, "content")
	if m.Protocol == p && m.Role == roleUser && present(content) && (p == mooring.Chat || !holdsToolResult(content)) {
		if kindOf(content) == '"' && !blank(content) {
			return content
		}
		if list := withoutMarks(content); len(list) > len("[]") {
			return list
		}
	}
	_, text := Render(m.Protocol, m.Content)
	if blankText([]byte(text)) {
		return nil
	}
	return appendText(nil, []byte(text))
}

// withoutMarks is a list of parts without the marks of what to keep in a cache: a server takes only a few of them, and each of the
// client's requests had its own.
func withoutMarks(list []byte) []byte {
	out := []byte{'['}
	for part := range elements(list) {
		if text, ok := partText(part); ok && blank(text) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		if kindOf(part) != '{' {
			out = append(out, part...)
			continue
		}
		out = append(out, '{')
		for name, v := range members(part) {
			if string(name) != "cache_control" {
				out = appendMember(out, string(name), v)
			}
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// toldWords are the words of an answer alone.
func toldWords(m *mooring.Message) []byte {
	var out []byte
	for _, told := range tellMessage(m) {
		if told.Kind == ToldText {
			out = append(out, told.Text...)
		}
	}
	return bytes.TrimSpace(out)
}

// toldText is an answer as text: its words, and a line for each call of a tool.
func toldText(m *mooring.Message) []byte {
	var out []byte
	called := false
	for _, told := range tellMessage(m) {
		switch {
		case told.Kind == ToldText && called:
			out, called = joinLine(out, []byte(told.Text)), false
		case told.Kind == ToldText:
			out = append(out, told.Text...)
		case told.Kind == ToldTool && told.Tool.Phase == PhaseCalling:
			out, called = joinLine(out, []byte("["+told.Tool.Name+" "+told.Tool.Args+"]")), true
		}
	}
	return bytes.TrimSpace(out)
}

func tellMessage(m *mooring.Message) []Told {
	if !wellFormed(m.Content) {
		return nil
	}
	t := NewTeller(m.Protocol)
	t.message(bytes.TrimSpace(m.Content))
	return t.out
}
