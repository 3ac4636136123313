package traffic

import (
	"fmt"
	"slices"

	"mooring/internal/eval"
)

// retries: the same request again after its answer failed or broke off.
func retries(w *world) {
	for i := range 12 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		t.client = "sdk"
		again, key := 0, ""
		marked := i%2 == 0
		t.headers = func() eval.Headers {
			if !marked {
				return nil
			}
			return eval.Headers{"x-stainless-retry-count": {fmt.Sprint(again)}, "idempotency-key": {key}}
		}
		for j := range 4 {
			key, again = "retry-"+uuid(w.rng), 0
			words := t.follow() + " " + codeName(w.rng)
			if j == 0 {
				words = t.opening() + " " + codeName(w.rng) // nobody else asks that
			}
			t.history = append(t.history, message{role: "user", text: words})
			body := t.body(t.view())
			for range w.rng.IntN(3) {
				status := pick(w.rng, []int{429, 503, 529, 500, 0})
				text := ""
				if status == 0 {
					text = t.lang.paragraph(w.rng, t.topic)
				}
				t.send(turnOptions{body: body, reply: &eval.Reply{Status: status, Text: text, ToolCalls: []eval.Call{}}})
				t.wait(1, 50)
				again++
			}
			t.ask(turnOptions{body: body})
		}
	}
	for range 3 { // much later it is somebody else
		first := w.open(chat)
		words := first.opening() + " " + codeName(w.rng)
		first.history = append(first.history, message{role: "user", text: words})
		first.send(turnOptions{reply: &eval.Reply{Status: 503, ToolCalls: []eval.Call{}}})
		second := w.open(chat)
		second.system, second.model, second.now, second.stream = first.system, first.model, first.now+660, first.stream
		second.say(words)
		second.say(second.follow())
	}
}

// restart puts a restart of the gateway into the world.
func (w *world) restart(at float64) {
	w.lines = append(w.lines, eval.Line{T: at, Restart: true})
}

// restarts: the gateway stops and starts again while conversations go on, also between a summary and its use.
func restarts(w *world) {
	for i := range 8 {
		t := w.coder(pick(w.rng, []protocol{chat, messages}))
		t.habits = w.some(t.proto, 1)
		switch i % 4 {
		case 0:
			t.stretch()
			t.compact(t.lang, nil)
			w.restart(t.now)
			t.stretch()
		case 1:
			t.history = append(t.history, message{role: "user", text: chore(w.rng)})
			p := errand(w.rng)
			t.spawn(p)
			w.restart(t.now)
			reports, _ := t.helpers([]string{p}, false)
			t.collect(reports)
			t.work(1)
		case 2:
			t.tools = false
			t.chatter(2)
			w.restart(t.now)
			t.say(t.follow())
			t.history = t.history[:2]
			t.say(t.follow())
		default:
			n := pick(w.rng, namings())
			t.proto, t.habits = n.proto, habits{}
			n.name(t, n.id(w))
			t.task(chore(w.rng), 2)
			w.restart(t.now)
			t.task(chore(w.rng), 1)
		}
	}
}

// tenants: the same ids, words and answers under two keys.
func tenants(w *world) {
	n := namings()
	for i := range 6 {
		t := w.coder(pick(w.rng, []protocol{chat, messages}))
		switch i % 3 {
		case 0:
			how := pick(w.rng, n)
			t.proto = how.proto
			how.name(t, how.id(w))
			t.task(chore(w.rng), 2)
			t.task(chore(w.rng), 1)
		case 1:
			t.stretch()
			t.compact(t.lang, nil)
			t.stretch()
		default:
			t.history = append(t.history, message{role: "user", text: chore(w.rng)})
			p := errand(w.rng)
			t.spawn(p)
			reports, _ := t.helpers([]string{p}, false)
			t.collect(reports)
			t.work(1)
		}
	}
	for _, line := range slices.Clone(w.lines) {
		line.Tenant = "south"
		line.T += 7.3
		truth := *line.Truth
		line.Truth = &truth
		w.lines = append(w.lines, line)
	}
}

// chains: requests that follow an answer by its id, and conversations that the server keeps.
func chains(w *world) {
	for i := range 9 {
		c := &chain{talk: w.open(responses)}
		c.client = "assistants"
		switch i % 3 {
		case 0:
			c.ask("")
			for range 3 {
				c.ask(c.answers[len(c.answers)-1])
			}
			c.ask(c.answers[1]) // from an older answer
			c.ask(c.answers[len(c.answers)-1])
		case 1:
			c.named = true
			var conversation any = "conv_" + hexText(w.rng, 40)
			if w.rng.IntN(2) == 0 {
				conversation = object{"id": conversation}
			}
			c.fields = func(b object) { b["conversation"] = conversation }
			for range 4 {
				c.ask("")
			}
		default:
			c.ask("resp_" + hexText(w.rng, 48)) // of somewhere else
			c.ask(c.answers[0])
			c.ask(c.answers[1])
		}
	}
}

// chain is a talk whose history the server keeps.
type chain struct {
	*talk
	answers []string // their ids
}

// ask sends what is new alone.
func (c *chain) ask(previous string) {
	words := c.opening()
	if len(c.answers) > 0 {
		words = c.follow()
	}
	var input any = words
	if c.w.rng.IntN(2) == 0 {
		input = []object{{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": words}}}}
	}
	body := object{"model": c.model, "instructions": c.system, "input": input, "store": true}
	if previous != "" {
		body["previous_response_id"] = previous
	}
	if c.fields != nil {
		c.fields(body)
	}
	c.answers = append(c.answers, c.send(turnOptions{body: body}).ID)
}

// everything: a little of all at once, under two keys.
func everything(w *world) {
	small := []func(w *world){
		weave, subagents, claude, opencode, retries, branches, lateIDs, imports, func(w *world) { sides(w, true) }, func(w *world) { compactions(w, false) },
	}
	for i, f := range small {
		w.tenant = []string{"north", "south"}[i%2]
		f(w)
	}
}
