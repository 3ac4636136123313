package traffic

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"mooring/internal/eval"
)

// openers: the same first words and the same short first answers under the same key.
func openers(w *world) {
	words := []string{"hey", "hi!", "good evening", "help", "Can I ask you something?"}
	answers := []string{"Good day! What can I do for you?", "Of course. What is it about?", "Hello."}
	for range 16 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		t.client, t.system = "desk", pick(w.rng, systems())
		t.history = append(t.history, message{role: "user", text: pick(w.rng, words)})
		t.ask(turnOptions{reply: &eval.Reply{Status: 200, Text: pick(w.rng, answers), ToolCalls: []eval.Call{}}})
		for range 2 + w.rng.IntN(4) {
			t.wait(1, 30)
			t.say(t.opening() + " " + t.follow())
		}
	}
}

// weave: many chats at the same time.
func weave(w *world) {
	for range 24 {
		t := w.open(pick(w.rng, []protocol{chat, messages, responses}))
		t.habits = w.some(t.proto, w.rng.IntN(2))
		t.chatter(2 + w.rng.IntN(6))
	}
}

// coders: agents with tools.
func coders(w *world, p protocol) {
	same := chore(w.rng)
	for i := range 9 {
		t := w.coder(p)
		t.habits = w.some(p, 1+w.rng.IntN(3))
		prompt := chore(w.rng)
		if i < 3 {
			prompt = same
		}
		for range 1 + w.rng.IntN(3) {
			t.task(prompt, 1+w.rng.IntN(5))
			t.wait(5, 60)
			prompt = chore(w.rng)
		}
	}
}

// rewrites: every habit by itself.
func rewrites(w *world) {
	for _, p := range []protocol{chat, messages} {
		for _, h := range each() {
			if h.midway && p == messages || (h.marks || h.thoughts) && p == chat {
				continue
			}
			t := w.coder(p)
			if !w.plain {
				t.habits = h
			}
			for range 2 {
				t.task(chore(w.rng), 2+w.rng.IntN(3))
				t.say(chore(w.rng))
			}
			talk := w.open(p)
			if !w.plain {
				talk.habits = h
			}
			talk.chatter(6)
		}
	}
}

// windows: only the newest messages are sent, and answers are short.
func windows(w *world) {
	short := []string{"Yes.", "No.", "Noted.", "Done.", "ok"}
	for range 10 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		if window := 3 + 2*w.rng.IntN(3); !w.plain {
			t.habits.window = window
		}
		for i := range 9 {
			t.history = append(t.history, message{role: "user", text: fmt.Sprintf("Entry %d: %s", i+1, chore(w.rng))})
			t.ask(turnOptions{reply: &eval.Reply{Status: 200, Text: pick(w.rng, short), ToolCalls: []eval.Call{}}})
			t.wait(1, 9)
		}
	}
}

// examples: exchanges that nobody here answered stand before every chat of a program.
func examples(w *world) {
	for range 3 {
		shots := w.open(chat)
		var front []message
		for range 2 + w.rng.IntN(3) {
			front = append(front, message{role: "user", text: shots.opening()}, message{role: "assistant", text: pick(w.rng, []string{shots.lang.paragraph(w.rng, shots.topic), "Category: crafts"})})
		}
		for range 5 {
			t := w.open(pick(w.rng, []protocol{chat, messages}))
			t.front, t.system = front, shots.system
			t.habits = w.some(t.proto, w.rng.IntN(2))
			t.chatter(1 + w.rng.IntN(4))
		}
	}
}

// prefill: a request ends with the beginning of its answer.
func prefill(w *world) {
	for range 8 {
		t := w.open(messages)
		for i := range 4 {
			start := pick(w.rng, []string{"{", "Step 1:", "In short,", "<list>"})
			words := t.opening()
			if i > 0 {
				words = t.follow()
			}
			t.history = append(t.history, message{role: "user", text: words}, message{role: "assistant", text: start})
			r := t.send(turnOptions{})
			t.history[len(t.history)-1].text = start + r.Text
		}
	}
}

// pictures: messages that hold a picture and no word.
func pictures(w *world) {
	for range 8 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		t.habits = w.some(t.proto, w.rng.IntN(2))
		for i := range 4 {
			m := message{role: "user", image: base64.StdEncoding.EncodeToString([]byte(mixedText(w.rng, 120)))}
			if i == 2 {
				m = message{role: "user", text: t.follow()}
			}
			t.history = append(t.history, m)
			t.ask(turnOptions{})
		}
	}
}

// branches: edits, answers asked for again, and live branches of one talk.
func branches(w *world) {
	for range 8 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		t.habits = w.some(t.proto, w.rng.IntN(2))
		t.chatter(4)
		again := slices.Clone(t.history[:len(t.history)-1])
		t.history = again
		t.ask(turnOptions{}) // the last answer once more
		t.history = slices.Clone(t.history[:4])
		t.say(t.follow() + " " + t.follow()) // an edited third question
		t.say(t.follow())
		left, right := slices.Clone(t.history), slices.Clone(t.history[:2])
		for range 3 { // two branches that both go on
			t.history = left
			t.say(t.follow())
			left = t.history
			t.history = right
			t.say(t.follow())
			right = t.history
		}
		edited := w.open(t.proto) // an edited first question shares no answer
		edited.now, edited.system = t.now, t.system
		edited.say(t.history[0].text + " " + t.follow())
		edited.say(t.follow())
	}
}

// imports: histories that other programs made.
func imports(w *world) {
	for range 8 {
		t := w.open(pick(w.rng, []protocol{chat, messages}))
		past := w.open(t.proto)
		for range 1 + w.rng.IntN(4) {
			t.history = append(t.history, message{role: "user", text: past.follow() + " " + past.opening()}, message{role: "assistant", text: past.lang.paragraph(w.rng, past.topic)})
		}
		history := slices.Clone(t.history)
		for range 3 {
			t.say(t.follow())
		}
		if w.rng.IntN(2) == 0 {
			continue
		}
		other := w.open(t.proto) // the same import, somebody else's chat
		other.system, other.history, other.now = t.system, history, t.now
		for range 3 {
			other.say(other.follow() + " " + other.opening())
		}
	}
}

// twins: first requests that are equal in everything, with equal answers.
func twins(w *world) {
	for range 5 {
		first := w.open(pick(w.rng, []protocol{chat, messages}))
		question, answer := first.opening(), first.lang.paragraph(w.rng, first.topic)
		if w.rng.IntN(2) == 0 {
			answer = "Yes, gladly."
		}
		for i := range 2 + w.rng.IntN(2) {
			t := first
			if i > 0 {
				t = w.open(first.proto)
				t.system, t.now, t.topic, t.lang = first.system, first.now, first.topic, first.lang
			}
			at := t.now
			t.history = append(t.history, message{role: "user", text: question})
			t.ask(turnOptions{reply: &eval.Reply{Status: 200, Text: answer, ToolCalls: []eval.Call{}}})
			for range 2 + w.rng.IntN(2) {
				t.say(t.follow() + " " + strings.ToUpper(codeName(w.rng)))
			}
			first.now = at + 3*w.rng.Float64()*float64(i+1)
		}
	}
}

// models: the model changes on the way.
func models(w *world) {
	for range 8 {
		t := w.coder(pick(w.rng, []protocol{chat, messages}))
		for i := range 4 {
			t.model = fmt.Sprintf("lake-%d", w.rng.IntN(4))
			if i == 2 {
				t.system += " Answer in short sentences."
			}
			t.task(chore(w.rng), w.rng.IntN(3))
		}
	}
}
