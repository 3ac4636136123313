package traffic

import (
	"encoding/json"
	"fmt"

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
}

// wait lets time pass.
func (t *talk) wait(least, most float64) { t.now += least + t.w.rng.Float64()*(most-least) }

// say sends what a person says and takes the answer into the history.
func (t *talk) say(text string) {
	t.history = append(t.history, message{role: "user", text: text})
	t.ask(turnOptions{})
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
	case chat:
	}
	return "chatcmpl-" + mixedText(t.w.rng, 24)
}

func (t *talk) callID() string {
	if t.proto == messages {
		return "toolu_01" + mixedText(t.w.rng, 20)
	}
	return "call_" + mixedText(t.w.rng, 22)
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

// spawn has the model start sub-agents with these prompts.
func (t *talk) spawn(prompts ...string) {
	reply := &eval.Reply{Status: 200, Text: pick(t.w.rng, []string{"", "I hand this out.", "Two things at once."})}
	for _, p := range prompts {
		reply.ToolCalls = append(reply.ToolCalls, eval.Call{
			ID: t.callID(), Name: t.toolName(delegating), Arguments: string(encode(object{"title": codeName(t.w.rng), "prompt": p})),
		})
	}
	t.ask(turnOptions{reply: reply})
}

// collect takes what sub-agents reported as the results of the last answer's calls.
func (t *talk) collect(reports []string) {
	last := t.history[len(t.history)-1]
	m := message{role: "tool"}
	for i, report := range reports {
		m.results = append(m.results, result{last.calls[i].ID, report})
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
