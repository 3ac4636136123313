package traffic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"mooring"
	"mooring/internal/eval"
)

// protocol is what a client speaks.
type protocol string

const (
	chat      protocol = "/v1/chat/completions"
	messages  protocol = "/v1/messages"
	responses protocol = "/v1/responses"
)

type object map[string]any

// message is one entry of a history as its client has it.
type message struct {
	role     string // user, assistant, tool or system
	text     string
	image    string // base64 of a picture
	calls    []eval.Call
	results  []result
	thinking string
}

type result struct{ id, text string }

// talk is one conversation as its client has it.
type talk struct {
	w       *world
	tenant  string
	client  string
	session string
	parent  *talk
	kind    mooring.Kind
	proto   protocol
	path    string // where it is not the protocol's own
	model   string
	system  string
	tools   bool
	stream  bool
	topic   string
	lang    *language
	habits  habits
	headers func() eval.Headers // of the next request; nil for none
	fields  func(body object)   // puts further members into the next request's body; nil for none
	named   bool                // it sends an id
	front   []message           // before the history; never trimmed
	history []message
	now     float64
	sent    int // requests
}

// turnOptions say how a request differs from the usual.
type turnOptions struct {
	kind    mooring.Kind
	ownOK   bool
	reply   *eval.Reply // the answer; made up where nil
	body    object      // in place of the one made of the history
	path    string
	headers eval.Headers // in place of the talk's
	parent  *talk
}

// wait lets time pass.
func (t *talk) wait(least, most float64) { t.now += least + t.w.rng.Float64()*(most-least) }

// say sends what a person says and takes the answer into the history.
func (t *talk) say(text string) *eval.Reply {
	t.history = append(t.history, message{role: "user", text: text})
	return t.ask(turnOptions{})
}

// ask sends the history as it stands and takes the answer into it.
func (t *talk) ask(o turnOptions) *eval.Reply {
	r := t.send(o)
	if r.Status == 200 {
		t.history = append(t.history, message{role: "assistant", text: r.Text, calls: r.ToolCalls, thinking: r.Thinking})
	}
	return r
}

// send sends a request and gives its answer.
func (t *talk) send(o turnOptions) *eval.Reply {
	t.wait(0.5, 9)
	body := o.body
	if body == nil {
		body = t.body(t.view())
	}
	reply := o.reply
	if reply == nil {
		reply = t.answer()
	}
	if reply.ID == "" {
		reply.ID = t.answerID()
	}
	path := o.path
	if path == "" {
		path = t.path
	}
	if path == "" {
		path = string(t.proto)
	}
	truth := &eval.Truth{Session: t.session, Kind: t.kind, OwnOK: o.ownOK}
	if o.kind != "" {
		truth.Kind = o.kind
	}
	if t.parent != nil {
		truth.Parent = &t.parent.session
	}
	line := eval.Line{
		T: t.now, Tenant: t.tenant, Client: t.client, Method: "POST", Path: path, Headers: eval.Headers{}, Body: encode(body),
		Reply: reply, Stream: body["stream"] == true, Truth: truth, Family: t.w.family,
	}
	switch {
	case o.headers != nil:
		line.Headers = o.headers
	case t.headers != nil:
		line.Headers = t.headers()
	}
	t.w.lines = append(t.w.lines, line)
	if t.sent == 0 && !t.named && reply.Status == 200 {
		t.w.openers = append(t.w.openers, opener{len(t.w.lines) - 1, t.twinKey(reply)})
	}
	t.sent++
	t.wait(0.5, 3)
	return reply
}

// twinKey is what tells first requests apart: what was said in them and what was answered.
func (t *talk) twinKey(r *eval.Reply) string {
	return fmt.Sprint(t.tenant, "|", t.system, "|", string(encode(t.front)), fmt.Sprintf("%+v", t.front), fmt.Sprintf("%+v", t.history), "|", r.Text, r.ToolCalls)
}

// answer makes up what a model says.
func (t *talk) answer() *eval.Reply {
	text := t.lang.paragraph(t.w.rng, t.topic)
	if t.w.rng.IntN(4) == 0 {
		text = pick(t.w.rng, []string{"\n" + text, text + "\n\n", text + " "})
	}
	return &eval.Reply{Text: text, Status: 200, ToolCalls: []eval.Call{}}
}

func (t *talk) answerID() string {
	switch t.proto {
	case messages:
		return "msg_01" + mixedText(t.w.rng, 22)
	case responses:
		return "resp_" + hexText(t.w.rng, 48)
	}
	return "chatcmpl-" + mixedText(t.w.rng, 24)
}

func (t *talk) callID() string {
	if t.proto == messages {
		return "toolu_01" + mixedText(t.w.rng, 20)
	}
	return "call_" + mixedText(t.w.rng, 22)
}

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
	default:
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
			if m.thinking != "" {
				out = append(out, object{"type": "reasoning", "id": "rs_" + eval.Signature(m.thinking), "summary": []object{}, "encrypted_content": eval.Signature(m.thinking)})
			}
			if m.text != "" {
				out = append(out, object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": m.text, "annotations": []object{}}}})
			}
			for _, c := range m.calls {
				out = append(out, object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": t.habits.arguments(t, c)})
			}
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
		default:
			out = append(out, object{"type": "function", "function": object{"name": name, "parameters": schema}})
		}
	}
	return out
}

const delegating = 4 // position of the tool that starts a sub-agent

// call makes up a tool call that starts no sub-agent.
func (t *talk) call() eval.Call {
	r := t.w.rng
	i := r.IntN(delegating)
	var arguments object
	switch i {
	case 0:
		arguments = object{"path": codeFile(r), "from": r.IntN(400), "count": 80}
	case 1:
		arguments = object{"line": fmt.Sprintf("make %s ARGS=-n%d", codeName(r), r.IntN(50)), "seconds": 30 + r.IntN(90)}
	case 2:
		arguments = object{"pattern": codeName(r), "under": pick(r, []string{"pkg", "lib", "app"}), "limit": 10 + r.IntN(90)}
	default:
		arguments = object{"path": codeFile(r), "replace": codeName(r) + "()", "with": fmt.Sprintf("%s(%d)", codeName(r), r.IntN(99))}
	}
	return eval.Call{ID: t.callID(), Name: t.toolName(i), Arguments: string(encode(arguments))}
}

// step makes up an answer that calls tools.
func (t *talk) step() *eval.Reply {
	r := t.w.rng
	reply := &eval.Reply{Status: 200}
	for range 1 + r.IntN(3) {
		reply.ToolCalls = append(reply.ToolCalls, t.call())
	}
	if r.IntN(2) == 0 {
		reply.Text = fmt.Sprintf(pick(r, []string{"First a look at %s.", "%s next.", "I suspect %s."}), codeFile(r))
	}
	if t.proto != chat && r.IntN(2) == 0 {
		reply.Thinking = fmt.Sprintf("The %s may be stale after %d runs; %s is the place to look.", pick(r, codeNouns()), r.IntN(90), codeName(r))
	}
	return reply
}

// report makes up the last answer of a task.
func (t *talk) report() *eval.Reply {
	r := t.w.rng
	return &eval.Reply{Status: 200, ToolCalls: []eval.Call{}, Text: fmt.Sprintf(
		pick(r, []string{"Done. %s in %s now checks the %s first; %d tests pass.", "%s was the cause. I changed %s and left the %s alone; %d assertions hold."}),
		codeName(r), codeFile(r), pick(r, codeNouns()), r.IntN(900))}
}

// results answers the calls of the last answer.
func (t *talk) results() {
	last := t.history[len(t.history)-1]
	m := message{role: "tool"}
	for _, c := range last.calls {
		m.results = append(m.results, result{c.ID, output(t.w.rng)})
	}
	t.history = append(t.history, m)
}

// task is a chore with so many tool steps and a report.
func (t *talk) task(prompt string, steps int) *eval.Reply {
	t.history = append(t.history, message{role: "user", text: prompt})
	return t.work(steps)
}

// work goes on from the history with so many tool steps and a report.
func (t *talk) work(steps int) *eval.Reply {
	for range steps {
		t.ask(turnOptions{reply: t.step()})
		t.results()
	}
	return t.ask(turnOptions{reply: t.report()})
}

// sub makes a talk below this one.
func (t *talk) sub(system string) *talk {
	s := t.w.open(t.proto)
	s.tenant, s.client, s.model, s.path, s.parent, s.kind = t.tenant, t.client, t.model, t.path, t, mooring.KindSubagent
	s.system, s.tools, s.stream, s.now, s.lang = system, true, t.stream, t.now, t.lang
	return s
}

// spawn has the model start sub-agents with these prompts, and gives its answer.
func (t *talk) spawn(prompts ...string) *eval.Reply {
	reply := &eval.Reply{Status: 200, Text: pick(t.w.rng, []string{"", "I hand this out.", "Two things at once."})}
	for _, p := range prompts {
		reply.ToolCalls = append(reply.ToolCalls, eval.Call{
			ID: t.callID(), Name: t.toolName(delegating), Arguments: string(encode(object{"title": codeName(t.w.rng), "prompt": p})),
		})
	}
	t.ask(turnOptions{reply: reply})
	return reply
}

// collect takes what sub-agents reported as the results of the last answer's calls.
func (t *talk) collect(reports []string) {
	last := t.history[len(t.history)-1]
	m := message{role: "tool"}
	for i, c := range last.calls {
		m.results = append(m.results, result{c.ID, reports[i]})
	}
	t.history = append(t.history, m)
}

func encode(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic("traffic: no JSON: " + err.Error()) // built from texts and numbers only
	}
	return out
}

// opener is the first request of a talk without an id.
type opener struct {
	line int
	key  string
}

// world is where the talks of a family take place.
type world struct {
	rng     *rand.Rand // what is said
	whim    *rand.Rand // how it is sent
	plain   bool       // nobody changes a history
	tenant  string     // of the next talks
	family  string
	lines   []eval.Line
	openers []opener
	talks   int
}

// open begins a talk.
func (w *world) open(p protocol) *talk {
	w.talks++
	t := &talk{
		w: w, tenant: w.tenant, client: "program", session: fmt.Sprintf("T%d", w.talks), kind: mooring.KindMain, proto: p, stream: w.rng.IntN(2) == 0,
		now: w.rng.Float64() * 240, lang: pick(w.rng, languages()), system: pick(w.rng, systems()),
	}
	t.topic = pick(w.rng, t.lang.topics)
	t.model = map[protocol]string{chat: "mist-2", messages: "claude-heron-3", responses: "gpt-lake-1"}[p]
	return t
}

func systems() []string {
	return []string{"You help people who build things with their hands.", "Answer like a patient workshop teacher.", "You are the assistant of a small museum of crafts.", ""}
}

func coderSystems() []string {
	return []string{"You change code in a repository. Use the tools, one small step at a time.", "You are a terminal companion for programmers. Tests come first."}
}

// coder begins a talk with a coding agent.
func (w *world) coder(p protocol) *talk {
	t := w.open(p)
	t.client, t.tools, t.system = "coder", true, pick(w.rng, coderSystems())
	return t
}

// opening is a first question.
func (t *talk) opening() string { return fill(t.w.rng, pick(t.w.rng, t.lang.openers), t.topic) }

// follow is a further one.
func (t *talk) follow() string { return fill(t.w.rng, pick(t.w.rng, t.lang.follows), t.topic) }

// chatter is a talk of so many questions.
func (t *talk) chatter(turns int) {
	for i := range turns {
		if i == 0 {
			t.say(t.opening())
			continue
		}
		t.wait(2, 40)
		t.say(t.follow())
	}
}
