package traffic

import (
	"fmt"
	"slices"
	"strings"

	"mooring"
	"mooring/internal/eval"
)

// compact asks for a summary, and opens the history anew with it; headers changes those of the request, nil for nothing.
func (t *talk) compact(lang *language, headers func(eval.Headers) eval.Headers) {
	w := t.w
	history := slices.Clone(t.history)
	t.history = append(t.history, message{role: "user", text: pick(w.rng, lang.compact)})
	summary := fill(w.rng, pick(w.rng, lang.summaries), t.topic)
	for range 3 + w.rng.IntN(4) {
		summary += "\n- " + fill(w.rng, pick(w.rng, lang.sentences), t.topic)
	}
	if t.tools {
		summary += fmt.Sprintf("\nFiles: %s, %s\nNext: %s", codeFile(w.rng), codeFile(w.rng), chore(w.rng))
	}
	full := summary
	tagged := w.rng.IntN(2) == 0
	if tagged {
		full = "<analysis>\n" + fill(w.rng, pick(w.rng, lang.sentences), t.topic) + "\n</analysis>\n\n<summary>\n" + summary + "\n</summary>"
		if w.rng.IntN(3) == 0 {
			summary = full
		}
	}
	o := turnOptions{kind: mooring.KindCompaction, reply: &eval.Reply{Status: 200, Text: full, ToolCalls: []eval.Call{}}}
	if headers != nil {
		o.headers = headers(t.headers())
	}
	system, tools := t.system, t.tools
	if w.rng.IntN(2) == 0 {
		t.system, t.tools = "You condense conversations.", false
	}
	t.send(o)
	t.system, t.tools = system, tools
	t.history = []message{{role: "user", text: pick(w.rng, lang.resume) + summary + pick(w.rng, lang.carryOn)}}
	switch w.rng.IntN(3) {
	case 0: // the client acknowledges in the model's place
		t.history = append(t.history, message{role: "assistant", text: pick(w.rng, []string{"Understood.", "I have read the summary.", "OK"})})
	case 1: // and keeps the last exchange
		if n := len(history); n >= 2 && history[n-2].role == "user" && history[n-1].role == "assistant" {
			t.history = append(t.history, message{role: "assistant", text: "Understood."}, history[n-2], history[n-1])
		}
	}
}

// compactions: histories that are replaced by their summaries, twice in a long talk.
func compactions(w *world, named bool) { //nolint:revive // it is a variant of a family
	for i := range 12 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		if i%2 == 0 {
			t = w.coder(t.proto)
		}
		t.lang = languages()[i%len(languages())]
		t.topic = pick(w.rng, t.lang.topics)
		if named {
			n := pick(w.rng, namings())
			t.proto, t.model = n.proto, "lake-9"
			n.name(t, n.id(w))
		}
		t.habits = w.some(t.proto, w.rng.IntN(2))
		for range 1 + w.rng.IntN(2) {
			t.stretch()
			t.compact(t.lang, nil)
		}
		t.stretch()
	}
}

// stretch is some work or some talk.
func (t *talk) stretch() {
	if t.tools {
		t.task(chore(t.w.rng), 2+t.w.rng.IntN(3))
		return
	}
	for range 3 {
		t.say(t.follow() + " " + t.opening())
	}
}

// subagents: helpers without ids; alone, side by side, below each other, asked again.
func subagents(w *world) {
	for i := range 8 {
		p := []protocol{chat, messages, responses}[i%3]
		t := w.coder(p)
		t.habits = w.some(p, w.rng.IntN(2))
		t.task(chore(w.rng), 1)
		t.history = append(t.history, message{role: "user", text: chore(w.rng)})
		prompts := make([]string, 1+w.rng.IntN(3))
		for j := range prompts {
			prompts[j] = errand(w.rng)
		}
		t.spawn(prompts...)
		reports, last := t.helpers(prompts, i%2 == 0)
		t.collect(reports)
		t.work(1)
		if i%3 == 0 { // the helper is asked again, with its history
			last.now = t.now
			last.task(errand(w.rng), 1)
			t.now = last.now
		}
		t.task(chore(w.rng), 1)
	}
}

// helpers runs a sub-agent for each prompt, side by side; nested: the first one has a helper of its own.
func (t *talk) helpers(prompts []string, nested bool) (reports []string, last *talk) { //nolint:revive // nested is what its caller varies
	w := t.w
	end := t.now
	for i, p := range prompts {
		s := t.sub(pick(w.rng, []string{"You carry out one errand and report in a few lines.", "You only read. Report what you find."}))
		s.habits = t.habits
		if w.rng.IntN(3) == 0 {
			p += pick(w.rng, []string{"\n\nReport in at most ten lines.", " Work in the folder /srv/code only.", "\n\nThe user will not see your answer."})
		}
		if i == 0 && nested {
			s.history = append(s.history, message{role: "user", text: p})
			deeper := errand(w.rng)
			s.spawn(deeper)
			n := s.sub("You read a single file.")
			got := n.task(deeper, 1).Text
			s.now = n.now
			s.collect([]string{got})
			reports = append(reports, s.work(1).Text)
		} else {
			reports = append(reports, s.task(p, w.rng.IntN(4)).Text)
		}
		end = max(end, s.now)
		last = s
	}
	t.now = end
	return reports, last
}

// subagentsTemplate: helpers whose prompts share most of their words, of several parents at the same time.
func subagentsTemplate(w *world) {
	frame := "You are one of several helpers. Read the module named below completely, list its exported functions, say for each of them whether it may block, and report as a Markdown table. Change nothing. Module: %s"
	for i := range 5 {
		t := w.coder([]protocol{chat, messages}[i%2])
		t.history = append(t.history, message{role: "user", text: chore(w.rng)})
		prompts := make([]string, 3)
		for j := range prompts {
			prompts[j] = fmt.Sprintf(frame, codeFile(w.rng)+fmt.Sprintf(" (revision %d)", w.rng.IntN(9000)))
		}
		t.spawn(prompts...)
		reports, _ := t.helpers(prompts, false)
		t.collect(reports)
		t.work(1)
	}
}

// subagentsAgain: the same prompt is handed out by one program after the other.
func subagentsAgain(w *world) {
	for range 4 {
		prompt := errand(w.rng)
		at := w.rng.Float64() * 60
		for i := range 3 {
			t := w.coder([]protocol{chat, messages}[i%2])
			t.now = at
			t.history = append(t.history, message{role: "user", text: chore(w.rng)})
			t.spawn(prompt)
			reports, _ := t.helpers([]string{prompt}, false)
			t.collect(reports)
			t.work(1)
			at = t.now
		}
	}
}

// sides: titles, tags and further questions beside a talk.
func sides(w *world, named bool) { //nolint:revive // it is a variant of a family
	for i := range 16 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		t.lang = languages()[i%len(languages())]
		t.topic = pick(w.rng, t.lang.topics)
		t.client = "pages"
		if named {
			id := uuid(w.rng)
			t.named = true
			t.headers = func() eval.Headers { return eval.Headers{"x-conversation-id": {id}} }
		}
		t.say(t.opening())
		t.aside(pick(w.rng, t.lang.titles), 3)
		t.say(t.follow())
		t.aside(pick(w.rng, t.lang.tags), 4)
		t.aside(pick(w.rng, t.lang.suggest), 4)
		t.say(t.follow())
	}
}

// aside asks something about the talk: with the talk in the prompt, as a transcript, or with its messages before the prompt, which
// is the fourth way: a person may ask for a title there.
func (t *talk) aside(prompt string, ways int) {
	w := t.w
	var said strings.Builder
	for _, m := range t.history {
		fmt.Fprintf(&said, "%s: %s\n", strings.ToUpper(m.role), m.text)
	}
	system, words, ownOK := "", prompt+"\n\n"+said.String(), !t.named
	text := fill(w.rng, pick(w.rng, []string{"%s, %d", "{\"tags\": [\"%s\", \"crafts %d\"]}", "[\"%s?\", \"%d?\"]"}), t.topic)
	reply := &eval.Reply{Status: 200, Text: text, ToolCalls: []eval.Call{}}
	switch w.rng.IntN(ways) {
	case 3: // the answers that it holds name the session
		view := append(t.view(), message{role: "user", text: prompt})
		t.send(turnOptions{kind: mooring.KindSide, body: t.body(view), reply: reply})
		return
	case 0:
		system, words = prompt, said.String()
	case 1:
		words = prompt + "\n\n<chat_history>\n" + said.String() + "</chat_history>"
	}
	list := []object{{"role": "user", "content": words}}
	body := object{"model": t.model, "messages": list}
	if t.proto == messages {
		body["max_tokens"] = 300
	}
	switch {
	case system == "":
	case t.proto == messages:
		body["system"] = system
	default:
		body["messages"] = append([]object{{"role": "system", "content": system}}, list...)
	}
	t.send(turnOptions{kind: mooring.KindSide, ownOK: ownOK, body: body, reply: reply})
}
