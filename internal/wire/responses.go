package wire

import (
	"bytes"

	"mooring"
)

// The statuses of a response that are told apart. The others are a good end: completed, incomplete, and of a response that is
// made in the background queued and in_progress.
const (
	statusCompleted = "completed"
	statusFailed    = "failed"
	statusCancelled = "cancelled"
)

// responsesDialect reads OpenAI's responses. There a message is an item, or all items of one answer: what a model says in one
// go is a list there, and one message to Mooring.
func responsesDialect() dialect {
	return dialect{
		talk:     "input",
		lists:    true,
		read:     responsesInput,
		system:   "instructions",
		form:     responsesForm,
		part:     responsesPart,
		join:     joinItems,
		render:   responsesRender,
		answer:   responsesAnswer,
		usage:    func(a *assembly) mooring.Usage { return responsesUsage(a.usage) },
		ends:     responsesEnds,
		event:    responsesEvent,
		message:  responsesMessage,
		whole:    responsesWhole,
		fault:    responsesFault,
		faultFor: chatFaultType,
	}
}

// responsesAnswer reads a buffered answer, of a compaction too.
func responsesAnswer(body []byte) Answer {
	var a Answer
	var output, failure []byte
	r := readResponse(body)
	a.ID, a.Model, a.Usage = readable(plain(r.id)), readable(plain(r.model)), responsesUsage(r.usage)
	a.Finish = readable(plain(r.finish()))
	a.Err = r.failure()
	output, failure = r.output, r.err
	a.Message = outputMessage(output)
	if a.Message == nil && a.Err == nil {
		switch {
		case present(failure):
			a.Err = answerError(failure)
		case r.over() && kindOf(output) == '[':
			a.Message = []byte(emptyOutput)
		}
	}
	return a
}

// emptyOutput is the message of an answer that holds nothing.
const emptyOutput = `{"type":"message","role":"assistant","content":[]}`

// response is what is read of a response object; raw values.
type response struct {
	id, model, created, status, details, usage, output, err []byte
}

func readResponse(object []byte) response {
	var r response
	for name, v := range members(object) {
		switch string(name) {
		case "id":
			r.id = v
		case "model":
			r.model = v
		case "created_at":
			r.created = v
		case "status":
			r.status = v
		case "incomplete_details":
			r.details = v
		case "usage":
			r.usage = v
		case "output":
			r.output = v
		case "error":
			r.err = v
		}
	}
	return r
}

// finish is why the model stopped: the reason where it did not complete, else the status.
func (r *response) finish() []byte {
	if reason := member(r.details, "reason"); len(inner(reason)) > 0 {
		return reason
	}
	return r.status
}

// over says that nothing more will come of it: it is not being made in the background.
func (r *response) over() bool {
	status := string(inner(r.status))
	return status != "queued" && status != "in_progress"
}

// failure is the error of a response that says so; nil for any other.
func (r *response) failure() *AnswerError {
	status := string(inner(r.status))
	if status != statusFailed && status != statusCancelled {
		return nil
	}
	e := answerError(r.err)
	if e.Type == "" {
		e.Type = status
	}
	return e
}

// outputMessage makes one message of what the model says in an output list: the item where it is alone, else a list. What a
// compaction repeats of the others' messages is no part of it. Nil where there is nothing.
func outputMessage(output []byte) []byte {
	var first []byte
	said, all := 0, 0
	for item := range elements(output) {
		if all++; speakerOf(item) == roleAssistant {
			if said++; said == 1 {
				first = item
			}
		}
	}
	switch {
	case said < 2:
		return first
	case said == all:
		return output
	}
	list := []byte{'['}
	for item := range elements(output) {
		if speakerOf(item) != roleAssistant {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']')
}

// responsesUsage reads a usage object. Tokens of a cache are part of input_tokens there, and counted apart here, as in chat.
func responsesUsage(raw []byte) mooring.Usage {
	var u mooring.Usage
	for name, v := range members(raw) {
		switch string(name) {
		case "input_tokens":
			u.Input = count(v)
		case "output_tokens":
			u.Output = count(v)
		case "input_tokens_details":
			u.CacheRead = count(member(v, "cached_tokens"))
			u.CacheWrite5m = count(member(v, "cache_write_tokens"))
		}
	}
	return lessCached(u)
}

// responsesFault is the event that OpenAI's SDKs read in the middle of a stream. How many came before it is not known here, and
// no SDK looks at the number.
func responsesFault(dst []byte, e AnswerError) []byte {
	dst = append(dst, "event: error\ndata: "...)
	dst = appendStringMember(append(dst, '{'), "type", []byte("error"))
	dst = appendMember(dst, "code", appendText(nil, []byte(e.Code)))
	dst = appendMember(dst, "message", appendText(nil, []byte(e.Message)))
	dst = appendMember(dst, "param", []byte("null"))
	dst = appendMember(dst, "sequence_number", []byte{'0'})
	return append(dst, "}\n\n"...)
}

// speakerOf gives the role of an item that is one value.
func speakerOf(item []byte) string {
	if kindOf(item) == '"' {
		return roleUser
	}
	var kind, role []byte
	for name, v := range members(item) {
		switch string(name) {
		case "type":
			kind = plain(v)
		case "role":
			role = plain(v)
		}
	}
	return itemRole(kind, role)
}

const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
	roleSystem    = "system"
	roleDeveloper = "developer"
)

// itemRole says who speaks in an item. Of the kinds that have no role all are the model's but results, and what a client alone
// can say: more kinds come every year, and nearly all of them are calls. A reference to a stored item stands for something that
// the model said, a compaction is what it made of the history: both are answers, so that they fall where an answer stood.
func itemRole(kind, role []byte) string {
	switch string(kind) {
	case "", "message":
		return roleOf(role)
	case "mcp_approval_response", "compaction_trigger":
		return roleUser
	}
	if bytes.HasSuffix(kind, []byte("_output")) {
		return roleTool
	}
	return roleAssistant
}

// aside says that an item tells how an answer came about and is none: reasoning, and what the server did on its own. Each client
// keeps and drops its own choice of these.
func aside(kind []byte) bool {
	switch string(kind) {
	case "reasoning", "web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "mcp_list_tools":
		return true
	}
	return false
}
