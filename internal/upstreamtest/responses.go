package upstreamtest

import (
	"fmt"
)

// responses has the shapes of OpenAI's responses.
type responses struct{ question }

func (r responses) whole() object {
	o := r.object("completed", r.items("completed"))
	o["usage"] = r.usage()
	return o
}

// items are reasoning, text and call, as far as the reply has them.
func (r responses) items(status string) []object {
	items := []object{}
	if r.reply.Thinking != "" {
		items = append(items, object{
			"id": r.id("rs"), "type": "reasoning", "encrypted_content": "c2VhbGVk",
			"summary": []object{{"type": "summary_text", "text": r.reply.Thinking}},
		})
	}
	if text := r.reply.text(r.turn); text != "" {
		items = append(items, r.message(status, part(text)))
	}
	if t := r.reply.Tool; t != nil {
		items = append(items, r.call(status, t.Arguments))
	}
	return items
}

func (r responses) message(status string, content ...object) object {
	if content == nil {
		content = []object{}
	}
	return object{"id": r.id("msg"), "type": "message", "status": status, "role": "assistant", "content": content}
}

func (r responses) call(status, arguments string) object {
	t := r.reply.Tool
	o := object{"id": r.id("fc"), "type": "function_call", "status": status, "call_id": t.ID, "name": t.Name, "arguments": arguments}
	if t.Namespace != "" {
		o["namespace"] = t.Namespace
	}
	return o
}

func part(text string) object {
	return object{"type": "output_text", "text": text, "annotations": []object{}}
}

func (r responses) id(kind string) string { return fmt.Sprintf("%s_fake%d", kind, r.turn) }

func (r responses) object(status string, output []object) object {
	return object{
		"id": r.id("resp"), "object": "response", "created_at": 1700000000, "status": status, "model": r.Model,
		"output": output, "error": nil, "incomplete_details": nil, "usage": nil,
	}
}

func (r responses) usage() object {
	u := r.reply.usage(r.reply.text(r.turn))
	in := u.Input + u.CacheRead
	return object{
		"input_tokens": in, "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": in + u.Output,
	}
}

func (r responses) events() [][]byte {
	s := spoken{responses: r}
	for _, name := range []string{"created", "in_progress"} {
		s.say(name, object{"response": r.object("in_progress", []object{})})
	}
	whole := r.items("completed")
	for i, item := range whole {
		s.index = i
		s.item(item)
	}
	done := r.object("completed", whole)
	done["usage"] = r.usage()
	s.say("completed", object{"response": done})
	return s.events
}

// spoken is a stream that is being made.
type spoken struct {
	responses
	events [][]byte
	index  int // of the item at hand
}

func (s *spoken) say(name string, fields object) {
	fields["sequence_number"] = len(s.events)
	s.events = append(s.events, named("response."+name, fields))
}

// within tells of a place in the item at hand.
func (s *spoken) within(name, place string, item, fields object) {
	fields["item_id"], fields["output_index"] = item["id"], s.index
	if place != "" {
		fields[place] = 0
	}
	s.say(name, fields)
}

func (s *spoken) item(item object) {
	switch item["type"] {
	case "reasoning":
		s.open(object{"id": item["id"], "type": "reasoning", "summary": []object{}})
		for _, word := range pieces(s.reply.Thinking) {
			s.within("reasoning_summary_text.delta", "summary_index", item, object{"delta": word})
		}
	case "message":
		s.open(s.message("in_progress"))
		s.within("content_part.added", "content_index", item, object{"part": part("")})
		text := s.reply.text(s.turn)
		for _, word := range pieces(text) {
			s.within("output_text.delta", "content_index", item, object{"delta": word})
		}
		s.within("output_text.done", "content_index", item, object{"text": text})
		s.within("content_part.done", "content_index", item, object{"part": part(text)})
	case "function_call":
		s.open(s.call("in_progress", ""))
		arguments := s.reply.Tool.Arguments
		half := len(arguments) / 2
		for _, piece := range []string{arguments[:half], arguments[half:]} {
			s.within("function_call_arguments.delta", "", item, object{"delta": piece})
		}
		s.within("function_call_arguments.done", "", item, object{"arguments": arguments})
	}
	s.say("output_item.done", object{"output_index": s.index, "item": item})
}

func (s *spoken) open(item object) {
	s.say("output_item.added", object{"output_index": s.index, "item": item})
}

func (r responses) failure(status int, message string) object {
	return chat(r).failure(status, message)
}

func (responses) failureEvent() []byte {
	return named("error", object{"code": "server_error", "message": "the fake model broke off", "param": nil, "sequence_number": 0})
}

// compaction is what a conversation is made into: one item that its server can read.
type compaction struct{ responses }

func (c compaction) whole() object {
	return object{
		"id": c.id("resp"), "object": "response.compaction", "created_at": 1700000000, "usage": c.usage(),
		"output": []object{{"id": c.id("cmp"), "type": "compaction", "encrypted_content": "c2VhbGVk"}},
	}
}
