package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// Answer is a reply as a server of the request's protocol gives it.
type Answer struct {
	Status int
	Type   string // of the content
	Body   []byte // what arrives of it
	Length int    // bytes announced; -1 for a stream
	Broken bool   // the connection ends behind Body, before the answer does
}

type object map[string]any

// Answer gives the line's reply in the protocol of its path, streamed where the line says so. A line without a reply has none.
func (l *Line) Answer() Answer {
	r := l.Reply
	path, _, _ := strings.Cut(l.Path, "?")
	d := answering{line: l, reply: r, model: l.model(), text: r.Text}
	d.anthropic = strings.Contains(path, "/messages")
	if r.Status != http.StatusOK && r.Status != 0 {
		return Answer{Status: r.Status, Type: jsonType, Body: encode(d.failure()), Length: len(encode(d.failure()))}
	}
	if r.Status == 0 && d.text == "" {
		d.text = strings.Repeat("this does not reach its end ", 4)
	}
	switch {
	case strings.HasSuffix(path, "/count_tokens"):
		body := encode(object{"input_tokens": max(1, len(l.Body)/4)})
		return Answer{Status: http.StatusOK, Type: jsonType, Body: body, Length: len(body)}
	case d.anthropic:
		d.message()
	case strings.HasSuffix(path, "/responses") || strings.HasSuffix(path, "/responses/compact"):
		d.response()
	case strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions"):
		d.completion()
	default:
		d.chat()
	}
	return d.send()
}

const jsonType = "application/json"

// answering puts an answer together, whole and as events.
type answering struct {
	line      *Line
	reply     *Reply
	model     string
	text      string
	anthropic bool

	whole  object
	events [][]byte
	number int // of the next event of a response
}

func (d *answering) send() Answer {
	broken := d.reply.Status == 0
	if d.line.Stream {
		events := d.events
		if broken {
			events = events[:max(2, len(events)/2)]
		}
		a := Answer{Status: http.StatusOK, Type: "text/event-stream", Length: -1, Broken: broken}
		for _, e := range events {
			a.Body = append(a.Body, e...)
		}
		return a
	}
	body := encode(d.whole)
	a := Answer{Status: http.StatusOK, Type: jsonType, Body: body, Length: len(body), Broken: broken}
	if broken {
		a.Body = body[:len(body)/2]
	}
	return a
}

func (d *answering) failure() object {
	words := "The model cannot answer right now."
	if d.anthropic {
		return object{"type": "error", "error": object{"type": "overloaded_error", "message": words}}
	}
	return object{"error": object{"message": words, "type": "server_error", "param": nil, "code": nil}}
}

func (d *answering) tokens() (in, out int) { return len(d.line.Body) / 4, max(1, len(d.text)/4) }

func (d *answering) event(name string, data object) {
	if name == "" {
		d.events = append(d.events, fmt.Appendf(nil, "data: %s\n\n", encode(data)))
		return
	}
	d.events = append(d.events, fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, encode(data)))
}

func (d *answering) chat() {
	calls := make([]object, len(d.reply.ToolCalls))
	for i, c := range d.reply.ToolCalls {
		calls[i] = object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}}
	}
	message := object{"role": "assistant", "content": d.text}
	finish := "stop"
	if len(calls) > 0 {
		message["tool_calls"], finish = calls, "tool_calls"
		if d.text == "" {
			message["content"] = nil
		}
	}
	in, out := d.tokens()
	d.whole = object{
		"id": d.id(), "object": "chat.completion", "created": created, "model": d.model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	}
	chunk := func(delta object, finish any) {
		d.event("", object{
			"id": d.id(), "object": "chat.completion.chunk", "created": created, "model": d.model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(d.text) {
		chunk(object{"content": piece}, nil)
	}
	for i, c := range d.reply.ToolCalls {
		chunk(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range pieces(c.Arguments) {
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	chunk(object{}, finish)
	d.events = append(d.events, []byte("data: [DONE]\n\n"))
}

func (d *answering) completion() {
	in, out := d.tokens()
	d.whole = object{
		"id": d.id(), "object": "text_completion", "created": created, "model": d.model,
		"choices": []object{{"index": 0, "text": d.text, "finish_reason": "stop"}},
		"usage":   object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	}
	for _, piece := range pieces(d.text) {
		d.event("", object{
			"id": d.id(), "object": "text_completion", "created": created, "model": d.model,
			"choices": []object{{"index": 0, "text": piece, "finish_reason": nil}},
		})
	}
	d.event("", object{
		"id": d.id(), "object": "text_completion", "created": created, "model": d.model,
		"choices": []object{{"index": 0, "text": "", "finish_reason": "stop"}},
	})
	d.events = append(d.events, []byte("data: [DONE]\n\n"))
}

func (d *answering) message() {
	stop := "end_turn"
	if len(d.reply.ToolCalls) > 0 {
		stop = "tool_use"
	}
	blocks := d.blocks()
	in, out := d.tokens()
	d.whole = object{
		"id": d.id(), "type": "message", "role": "assistant", "model": d.model, "content": blocks, "stop_reason": stop, "stop_sequence": nil,
		"usage": object{"input_tokens": in, "output_tokens": out},
	}
	opening := object{
		"id": d.id(), "type": "message", "role": "assistant", "model": d.model, "content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": in, "output_tokens": 1},
	}
	d.event("message_start", object{"type": "message_start", "message": opening})
	for i, b := range blocks {
		d.block(i, b)
	}
	d.event("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": out}})
	d.event("message_stop", object{"type": "message_stop"})
}

func (d *answering) blocks() []object {
	var out []object
	if t := d.reply.Thinking; t != "" {
		out = append(out, object{"type": "thinking", "thinking": t, "signature": Signature(t)})
	}
	if d.text != "" || len(d.reply.ToolCalls) == 0 {
		out = append(out, object{"type": "text", "text": d.text})
	}
	for _, c := range d.reply.ToolCalls {
		out = append(out, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": arguments(c)})
	}
	return out
}

func (d *answering) block(i int, b object) {
	open := object{"type": b["type"]}
	var deltas []object
	switch b["type"] {
	case "text":
		open["text"] = ""
		for _, piece := range pieces(d.text) {
			deltas = append(deltas, object{"type": "text_delta", "text": piece})
		}
	case "thinking":
		open["thinking"], open["signature"] = "", ""
		for _, piece := range pieces(d.reply.Thinking) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": piece})
		}
		deltas = append(deltas, object{"type": "signature_delta", "signature": b["signature"]})
	default:
		open["id"], open["name"], open["input"] = b["id"], b["name"], object{}
		for _, piece := range pieces(string(encode(b["input"]))) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
		}
	}
	d.event("content_block_start", object{"type": "content_block_start", "index": i, "content_block": open})
	for _, delta := range deltas {
		d.event("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
	}
	d.event("content_block_stop", object{"type": "content_block_stop", "index": i})
}

func (d *answering) response() {
	var out []object
	if d.text != "" || len(d.reply.ToolCalls) == 0 {
		out = append(out, object{
			"id": "msg_" + d.id(), "type": "message", "status": "completed", "role": "assistant",
			"content": []object{{"type": "output_text", "text": d.text, "annotations": []object{}}},
		})
	}
	for _, c := range d.reply.ToolCalls {
		out = append(out, object{"id": "fc_" + c.ID, "type": "function_call", "status": "completed", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments})
	}
	in, n := d.tokens()
	d.whole = object{
		"id": d.id(), "object": "response", "created_at": created, "status": "completed", "model": d.model, "output": out, "error": nil,
		"usage": object{"input_tokens": in, "output_tokens": n, "total_tokens": in + n},
	}
	begun := object{"id": d.id(), "object": "response", "created_at": created, "status": "in_progress", "model": d.model, "output": []object{}, "error": nil, "usage": nil}
	d.numbered("response.created", object{"response": begun})
	for i, item := range out {
		d.item(i, item)
	}
	d.numbered("response.completed", object{"response": d.whole})
}

func (d *answering) item(i int, item object) {
	open := object{"id": item["id"], "type": item["type"], "status": "in_progress"}
	if item["type"] != "message" {
		args, _ := item["arguments"].(string)
		open["call_id"], open["name"], open["arguments"] = item["call_id"], item["name"], ""
		d.numbered("response.output_item.added", object{"output_index": i, "item": open})
		for _, piece := range pieces(args) {
			d.numbered("response.function_call_arguments.delta", object{"item_id": item["id"], "output_index": i, "delta": piece})
		}
		d.numbered("response.function_call_arguments.done", object{"item_id": item["id"], "output_index": i, "arguments": args})
		d.numbered("response.output_item.done", object{"output_index": i, "item": item})
		return
	}
	open["role"], open["content"] = "assistant", []object{}
	at := func(more object) object {
		more["item_id"], more["output_index"], more["content_index"] = item["id"], i, 0
		return more
	}
	d.numbered("response.output_item.added", object{"output_index": i, "item": open})
	d.numbered("response.content_part.added", at(object{"part": object{"type": "output_text", "text": "", "annotations": []object{}}}))
	for _, piece := range pieces(d.text) {
		d.numbered("response.output_text.delta", at(object{"delta": piece}))
	}
	d.numbered("response.output_text.done", at(object{"text": d.text}))
	d.numbered("response.content_part.done", at(object{"part": object{"type": "output_text", "text": d.text, "annotations": []object{}}}))
	d.numbered("response.output_item.done", object{"output_index": i, "item": item})
}

func (d *answering) numbered(name string, data object) {
	data["type"], data["sequence_number"] = name, d.number
	d.number++
	d.event(name, data)
}

// created is the time of every answer: it says nothing about its request.
const created = 1790000000

func (d *answering) id() string {
	if d.reply.ID != "" {
		return d.reply.ID
	}
	return fmt.Sprintf("answer-%d", d.line.N)
}

// Signature is what an answer's thinking is signed with; a client that sends the thinking back sends it too.
func Signature(thinking string) string {
	sum := sha256.Sum256([]byte(thinking))
	return hex.EncodeToString(sum[:20])
}

func arguments(c Call) json.RawMessage {
	if !json.Valid([]byte(c.Arguments)) {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Arguments)
}

// pieceBytes is about what one event of a stream carries.
const pieceBytes = 24

// pieces cuts a text between characters.
func pieces(text string) []string {
	var out []string
	for len(text) > 0 {
		n := min(pieceBytes, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

func (l *Line) model() string {
	var b struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(l.Body, &b) // a body without a model names none
	if b.Model == "" {
		return "m"
	}
	return b.Model
}

func encode(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("eval: answer is no JSON: " + err.Error()) // built from texts, numbers and checked JSON only
	}
	return out
}
