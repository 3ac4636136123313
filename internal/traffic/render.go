package traffic

import (
	"encoding/json"
	"slices"

	"mooring/internal/eval"
)

// body is a request with these messages.
func (t *talk) body(view []message) object {
	b := object{"model": t.model}
	if t.stream {
		b["stream"] = true
	}
	system := t.habits.systemOf(t)
	switch t.proto {
	case messages:
		b["max_tokens"] = 4096
		if system != "" {
			b["system"] = t.habits.systemBlocks(system)
		}
		b["messages"] = t.messagesList(view)
	case responses:
		if system != "" {
			b["instructions"] = system
		}
		b["input"] = t.responsesList(view)
	case chat:
		list := t.chatList(view)
		if system != "" {
			list = slices.Insert(list, 0, object{"role": "system", "content": system})
		}
		b["messages"] = list
	}
	if t.tools {
		b["tools"] = t.toolList()
	}
	if t.fields != nil {
		t.fields(b)
	}
	return b
}

func (t *talk) chatList(view []message) []object {
	var out []object
	for i, m := range view {
		switch m.role {
		case "tool":
			for _, r := range m.results {
				out = append(out, object{"role": "tool", "tool_call_id": r.id, "content": r.text})
			}
		case "assistant":
			a := object{"role": "assistant", "content": t.habits.chatContent(t, view, i)}
			if len(m.calls) > 0 {
				if m.text == "" {
					a["content"] = nil
				}
				calls := make([]object, len(m.calls))
				for j, c := range m.calls {
					calls[j] = object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": t.habits.arguments(t, c)}}
				}
				a["tool_calls"] = calls
			}
			out = append(out, a)
		default:
			out = append(out, object{"role": m.role, "content": t.habits.chatContent(t, view, i)})
		}
	}
	return out
}

func (t *talk) messagesList(view []message) []object {
	var out []object
	for i, m := range view {
		switch m.role {
		case "tool":
			blocks := make([]object, 0, len(m.results))
			for _, r := range m.results {
				blocks = append(blocks, object{"type": "tool_result", "tool_use_id": r.id, "content": r.text})
			}
			t.habits.mark(blocks, len(view)-1-i)
			out = append(out, object{"role": "user", "content": blocks})
		case "assistant":
			var blocks []object
			if m.thinking != "" && t.habits.keepsThinking(view, i) {
				blocks = append(blocks, object{"type": "thinking", "thinking": m.thinking, "signature": eval.Signature(m.thinking)})
			}
			if m.text != "" {
				blocks = append(blocks, object{"type": "text", "text": m.text})
			}
			for _, c := range m.calls {
				blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(t.habits.arguments(t, c))})
			}
			if len(blocks) == 1 && m.text != "" && t.habits.plainText(len(view)-1-i) {
				out = append(out, object{"role": "assistant", "content": m.text})
				continue
			}
			out = append(out, object{"role": "assistant", "content": blocks})
		default:
			out = append(out, object{"role": m.role, "content": t.habits.messagesContent(t, view, i)})
		}
	}
	return out
}

func (t *talk) responsesList(view []message) []object {
	var out []object
	for _, m := range view {
		switch m.role {
		case "tool":
			for _, r := range m.results {
				out = append(out, object{"type": "function_call_output", "call_id": r.id, "output": r.text})
			}
		case "assistant":
			out = append(out, t.answerItems(&m)...)
		default:
			parts := []object{}
			if m.image != "" {
				parts = append(parts, object{"type": "input_image", "image_url": "data:image/png;base64," + m.image})
			}
			if m.text != "" {
				parts = append(parts, object{"type": "input_text", "text": m.text})
			}
			out = append(out, object{"type": "message", "role": m.role, "content": parts})
		}
	}
	return out
}

func (t *talk) answerItems(m *message) []object {
	var out []object
	if m.thinking != "" {
		out = append(out, object{"type": "reasoning", "id": "rs_" + eval.Signature(m.thinking), "summary": []object{}, "encrypted_content": eval.Signature(m.thinking)})
	}
	if m.text != "" {
		out = append(out, object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": m.text, "annotations": []object{}}}})
	}
	for _, c := range m.calls {
		out = append(out, object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": t.habits.arguments(t, c)})
	}
	return out
}

type tool struct{ chat, messages string }

func toolNames() []tool {
	return []tool{{"open_file", "View"}, {"shell", "Shell"}, {"find_text", "Find"}, {"patch", "Patch"}, {"delegate", "Agent"}}
}

func (t *talk) toolName(i int) string {
	if t.proto == messages {
		return toolNames()[i].messages
	}
	return toolNames()[i].chat
}

func (t *talk) toolList() []object {
	var out []object
	for i := range toolNames() {
		name, schema := t.toolName(i), object{"type": "object", "properties": object{"input": object{"type": "string"}}}
		switch t.proto {
		case messages:
			out = append(out, object{"name": name, "input_schema": schema})
		case responses:
			out = append(out, object{"type": "function", "name": name, "parameters": schema})
		case chat:
			out = append(out, object{"type": "function", "function": object{"name": name, "parameters": schema}})
		}
	}
	return out
}
