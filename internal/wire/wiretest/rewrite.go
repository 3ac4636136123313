// Package wiretest writes messages as other clients would: every way of writing one down that is known to mean nothing.
// It is for tests.
package wiretest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"mooring"
)

// most is how many changes one rewriting makes at most.
const most = 6

// Rewrite gives a message of a protocol as another client, or the same one later, would send it: other marks, parts, blocks,
// spacing, order and encodings, and the same meaning. The message must be JSON without half surrogates.
func Rewrite(r *rand.Rand, p mooring.Protocol, message []byte) []byte {
	w := writer{Rand: r}
	value, err := decode(message)
	if err != nil {
		panic(fmt.Sprintf("wiretest: the message is no JSON: %v", err))
	}
	for range 1 + r.IntN(most) {
		switch p {
		case mooring.Responses:
			value = w.items(value)
		case mooring.Completions:
			value = w.prompt(value)
		case mooring.Chat, mooring.Messages, mooring.API:
			if m, ok := value.(map[string]any); ok {
				w.message(p, m)
			}
		}
	}
	return w.render(nil, value)
}

func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// writer makes the choices of one rewriting.
type writer struct{ *rand.Rand }

func (w writer) one(choices ...string) string { return choices[w.IntN(len(choices))] }
func (w writer) coin() bool                   { return w.IntN(2) == 0 }

// message changes a message of chat or messages once.
func (w writer) message(p mooring.Protocol, m map[string]any) {
	role, _ := m["role"].(string)
	if role == "system" || role == "developer" {
		m["role"] = w.one("system", "developer")
	}
	switch w.IntN(6) {
	case 0:
		w.mark(m)
	case 1:
		w.served(p, m, role)
	case 2:
		w.calls(p, m)
	default:
		if content, there := m["content"]; there {
			m["content"] = w.content(p, role, content)
			return
		}
		if w.coin() {
			m["content"] = nil
		}
	}
	if m["content"] == nil || m["content"] == "" {
		w.nothing(m)
	}
}

// nothing writes down that there is no content, in one of the ways there are.
func (w writer) nothing(m map[string]any) {
	delete(m, "content")
	switch w.IntN(4) {
	case 0:
		m["content"] = nil
	case 1:
		m["content"] = ""
	case 2:
		m["content"] = []any{}
	}
}

// mark moves a cache mark.
func (w writer) mark(at map[string]any) {
	if _, there := at["cache_control"]; there {
		delete(at, "cache_control")
		return
	}
	at["cache_control"] = map[string]any{"type": "ephemeral", "ttl": w.one("5m", "1h")}
}

// served adds what servers add to answers, or takes it away.
func (w writer) served(p mooring.Protocol, m map[string]any, role string) {
	if p == mooring.Messages || role != "assistant" {
		m["name"] = w.one("nina", "tool")
		return
	}
	for _, name := range []string{"refusal", "audio", "function_call", "reasoning"} {
		if m[name] != nil {
			continue
		}
		if delete(m, name); w.coin() {
			m[name] = nil
		}
	}
	delete(m, "annotations")
	delete(m, "reasoning_content")
	delete(m, "reasoning_details")
	if w.coin() {
		m["annotations"] = []any{}
	}
	if w.coin() {
		m["reasoning_content"] = "hm, " + w.one("a", "b")
		m["reasoning_details"] = []any{map[string]any{"type": "reasoning.encrypted", "data": "AAAA"}}
	}
	if m["tool_calls"] == nil {
		if delete(m, "tool_calls"); w.coin() {
			m["tool_calls"] = []any{}
		}
	}
}

// content changes what a message or a tool result holds.
func (w writer) content(p mooring.Protocol, role string, content any) any {
	if content == nil {
		return nil
	}
	if text, ok := content.(string); ok {
		if w.coin() {
			return w.text(role, text, loose)
		}
		content = []any{w.textPart(p, role, text)}
	}
	parts, ok := content.([]any)
	if !ok {
		return content
	}
	return w.parts(p, role, parts)
}

func (w writer) parts(p mooring.Protocol, role string, parts []any) any {
	if len(parts) == 1 && w.IntN(3) == 0 {
		if text, ok := textOf(parts[0]); ok {
			return text
		}
	}
	switch w.IntN(8) {
	case 0:
		return w.insert(parts, w.silent(p, role))
	case 1:
		return w.without(role, parts)
	case 2:
		return w.split(p, role, parts)
	case 3:
		return w.join(p, role, parts)
	case 4:
		return w.swapResults(parts)
	}
	if len(parts) > 0 {
		i := w.IntN(len(parts))
		where := tight
		if len(parts) == 1 {
			where = loose
		}
		parts[i] = w.part(p, role, parts[i], where)
	}
	return parts
}

// silent is a part that means nothing.
func (w writer) silent(p mooring.Protocol, role string) any {
	if role == "assistant" && w.coin() {
		switch {
		case p == mooring.Responses:
			return map[string]any{"type": "reasoning_text", "text": "hm"}
		case w.coin():
			return map[string]any{"type": "redacted_thinking", "data": "AAAA"}
		}
		return map[string]any{"type": "thinking", "thinking": "hm", "signature": "c2ln"}
	}
	if role == "assistant" || w.coin() {
		return w.textPart(p, role, w.one("", " ", "\n", "\r\n\t"))
	}
	return w.textPart(p, role, w.reminder()+w.one("", "\n"))
}

func (w writer) reminder() string {
	return "<system-reminder>" + w.one("", "\n") + w.one("The time is 12:0"+fmt.Sprint(w.IntN(10)), "todo: é <b>", "a > b") + w.one("", "\n") + "</system-reminder>"
}

func (w writer) insert(parts []any, part any) []any {
	i := w.IntN(len(parts) + 1)
	out := append([]any{}, parts[:i]...)
	return append(append(out, part), parts[i:]...)
}

// without takes out what means nothing.
func (w writer) without(role string, parts []any) []any {
	out := []any{}
	for _, each := range parts {
		part, _ := each.(map[string]any)
		switch part["type"] {
		case "thinking", "redacted_thinking", "reasoning_text":
			continue
		}
		if text, isText := textOf(each); isText && saysNothing(role, text) {
			continue
		}
		out = append(out, each)
	}
	return out
}

// saysNothing says that a text is blank, or was put there by a program.
func saysNothing(role, text string) bool {
	for role != "assistant" {
		before, rest, open := strings.Cut(text, "<system-reminder>")
		_, after, closed := strings.Cut(rest, "</system-reminder>")
		if !open || !closed {
			break
		}
		text = before + after
	}
	return strings.TrimSpace(text) == ""
}

// split makes two parts of a text.
func (w writer) split(p mooring.Protocol, role string, parts []any) []any {
	if len(parts) == 0 {
		return parts
	}
	i := w.IntN(len(parts))
	text, ok := textOf(parts[i])
	if !ok || len(text) < 2 || strings.Contains(text, "system-reminder") {
		return parts
	}
	at := 1 + w.IntN(len(text)-1)
	for !utf8.RuneStart(text[at]) {
		at--
	}
	left, right := text[:at], text[at:]
	if strings.TrimSpace(left) == "" || strings.TrimSpace(right) == "" {
		return parts
	}
	out := append([]any{}, parts[:i]...)
	out = append(out, w.textPart(p, role, left), w.textPart(p, role, right))
	return append(out, parts[i+1:]...)
}

// join makes one part of two texts that stand beside each other.
func (w writer) join(p mooring.Protocol, role string, parts []any) []any {
	for i := 0; i+1 < len(parts); i++ {
		left, isText := textOf(parts[i])
		right, beside := textOf(parts[i+1])
		if !isText || !beside || saysNothing(role, left) || saysNothing(role, right) {
			continue
		}
		between := w.one("", "\n", "\n\n", "\r\n")
		if last := left[len(left)-1]; last == ' ' || last == '\t' {
			between = ""
		}
		out := append([]any{}, parts[:i]...)
		return append(append(out, w.textPart(p, role, left+between+right)), parts[i+2:]...)
	}
	return parts
}

// swapResults changes the order of two results of parallel calls.
func (w writer) swapResults(parts []any) []any {
	var at []int
	for i, each := range parts {
		if part, ok := each.(map[string]any); ok && part["type"] == "tool_result" {
			at = append(at, i)
		}
	}
	if len(at) > 1 {
		i, j := at[w.IntN(len(at))], at[w.IntN(len(at))]
		parts[i], parts[j] = parts[j], parts[i]
	}
	return parts
}

// part changes one part.
func (w writer) part(p mooring.Protocol, role string, each any, where edge) any {
	part, ok := each.(map[string]any)
	if !ok {
		return each
	}
	if text, isText := textOf(each); isText {
		out := w.textPart(p, role, w.text(role, text, where))
		if w.coin() {
			w.mark(out)
		}
		return out
	}
	switch part["type"] {
	case "tool_result":
		if text, isText := part["content"].(string); isText || part["content"] != nil && w.coin() {
			_ = text
			part["content"] = w.content(p, "tool", part["content"])
		}
		if part["is_error"] != true {
			if delete(part, "is_error"); w.coin() {
				part["is_error"] = false
			}
		}
		w.mark(part)
	case "image", "image_url", "input_image":
		w.image(part)
	case "tool_use", "document", "file", "input_file", "input_audio":
		w.mark(part)
	}
	return part
}

// textPart is a part that holds a text.
func (w writer) textPart(p mooring.Protocol, role, text string) map[string]any {
	part := map[string]any{"type": "text", "text": text}
	switch {
	case p == mooring.Responses && role == "assistant":
		part["type"] = "output_text"
		if w.coin() {
			part["annotations"] = []any{}
			part["logprobs"] = []any{}
		}
	case p == mooring.Responses:
		part["type"] = "input_text"
	case role == "assistant" && w.coin():
		part["citations"] = nil
	}
	return part
}

func textOf(each any) (string, bool) {
	part, ok := each.(map[string]any)
	if !ok {
		return "", false
	}
	switch part["type"] {
	case "text", "input_text", "output_text":
		text, isText := part["text"].(string)
		return text, isText
	}
	return "", false
}
