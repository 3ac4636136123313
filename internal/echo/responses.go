package echo

import (
	"encoding/base64"
	"net/http"
)

// responses answers in the shape of OpenAI's responses.
func (m *Model) responses(req *http.Request, body []byte) *http.Response {
	q, refusal := hear(req, body)
	if refusal != nil {
		return refusal
	}
	r := reply{question: q, id: identity(body), created: m.now().Unix()}
	if q.Stream {
		return streamed(req, r.events())
	}
	return whole(req, http.StatusOK, r.done())
}

// compact makes of a conversation the one item that stands for it. This model needs none of it to go on.
func (m *Model) compact(req *http.Request, body []byte) *http.Response {
	q, refusal := hear(req, body)
	if refusal != nil {
		return refusal
	}
	r := reply{question: q, id: identity(body), created: m.now().Unix()}
	sealed := base64.StdEncoding.EncodeToString([]byte("echo " + r.id))
	return whole(req, http.StatusOK, object{
		"id": "resp_" + r.id, "object": "response.compaction", "created_at": r.created,
		"output": []object{{"id": "cmp_" + r.id, "type": "compaction", "encrypted_content": sealed}}, "usage": r.usage(),
	})
}

// reply is one answer, which is one item.
type reply struct {
	question
	id      string
	created int64
}

func (r reply) object(status string, output ...object) object {
	if output == nil {
		output = []object{} // clients expect a list
	}
	return object{
		"id": "resp_" + r.id, "object": "response", "created_at": r.created, "status": status, "model": r.Model,
		"output": output, "error": nil, "incomplete_details": nil, "usage": nil,
	}
}

func (r reply) done() object {
	o := r.object("completed", r.item("completed", r.part(r.reply())))
	o["usage"] = r.usage()
	return o
}

func (r reply) item(status string, content ...object) object {
	if content == nil {
		content = []object{}
	}
	return object{"id": "msg_" + r.id, "type": "message", "status": status, "role": "assistant", "content": content}
}

func (reply) part(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}

func (r reply) usage() object {
	in, out := r.inputTokens(), words(r.reply())
	return object{
		"input_tokens": in, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": out, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + out,
	}
}

// events open the response, its item and its part, give each word, and close them again; the last one holds it all.
func (r reply) events() []event {
	var events []event
	say := func(name string, fields object) {
		fields["sequence_number"] = len(events)
		events = append(events, named("response."+name, fields))
	}
	within := func(name string, fields object) {
		fields["item_id"], fields["output_index"], fields["content_index"] = "msg_"+r.id, 0, 0
		say(name, fields)
	}
	text := r.reply()
	say("created", object{"response": r.object("in_progress")})
	say("in_progress", object{"response": r.object("in_progress")})
	say("output_item.added", object{"output_index": 0, "item": r.item("in_progress")})
	within("content_part.added", object{"part": r.part("")})
	for _, word := range pieces(text) {
		within("output_text.delta", object{"delta": word})
	}
	within("output_text.done", object{"text": text})
	within("content_part.done", object{"part": r.part(text)})
	say("output_item.done", object{"output_index": 0, "item": r.item("completed", r.part(text))})
	say("completed", object{"response": r.done()})
	return events
}
