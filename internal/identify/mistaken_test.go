package identify_test

import (
	"fmt"
	"testing"

	"mooring"
)

const (
	longA = "The bollard on the quay holds the rope, the rope holds the boat, and the boat holds the crew that holds the bollard dear, whatever the weather does to the harbour master's plans for the regatta in the early days of September."
	longB = "A kettle whistles when its steam is pressed through two small plates, between which eddies form that sing at a pitch that depends on the speed of the steam and on the gap, as two engineers from Cambridge showed some years ago."
	tools = `"stream":true,"tools":[{"type":"function","function":{"name":"bash"}}],`
)

// What people ask of a title, a summary or a user is a turn of their conversation, and what they say is kept.
func TestQuestionsThatOnlySoundLikeOrders(t *testing.T) {
	t.Parallel()
	for _, last := range []string{
		"Give me five short titles for my novel about a chat", "Suggest a title for my essay about the history of Rome", "Suggest a title for my essay", "Name the user's tags in the database we made above",
		"summarise the conversation between Romeo and Juliet", "What could I ask next in the session with my boss?", "Give me keywords for my talk on thread safety",
		"Write a headline for the discussion section", "What title did the user have in the chat app?", "Which emoji fits that message?", "Name the contexts in which Rilke uses it",
		"Please write a summary of the chat history above", "Summarise the dialogue and continue it with a fourth act", "Wie lautet der Titel des Gesprächs zwischen Faust und Mephisto?",
		"Add a title field to the messages above", "Can you recap our session so far?",
	} {
		for name, body := range map[string]string{"plain": "", "stream": `"stream":true,`, "agent": tools} {
			h := newHouse(t)
			q := ask{body: body, talk: []string{"s: Be kind.", "u: Tell me of boats"}, answer: longA}
			first := h.turn(q)
			q.talk = append(q.talk, "a: "+longA, "u: "+last)
			q.answer = longB
			two := h.turn(q)
			q.talk = append(q.talk, "a: "+longB, "u: and then?")
			three := h.turn(q)
			if two.Kind != mooring.KindMain || two.Known.ID != first.Known.ID || three.Known.ID != first.Known.ID || len(two.stored) != 1 {
				t.Errorf("%s %q: %s, stored %q then %q, same %v %v", name, last, two.Kind, two.stored, three.stored, two.Known.ID == first.Known.ID, three.Known.ID == first.Known.ID)
			}
		}
	}
}

// An agent's work on summaries, sessions and messages is a turn too.
func TestWorkThatOnlySoundsLikeCompaction(t *testing.T) {
	t.Parallel()
	for _, last := range []string{
		"Write a summary of the chat module into docs/chat.md", "Add a compact mode to the chat widget", "Resume the session handling refactor", "Fix the summary of the thread view",
		"The context manager leaks; write a summary of what causes it", "Give the session page a title", "distil the history table into one query", "Condense the messages package and go on with the next step",
	} {
		for name, hd := range map[string][]string{"none": nil, "id": {"X-Session-Id", "s1"}} {
			h := newHouse(t)
			q := ask{header: header(hd...), body: tools, talk: []string{"s: You code.", "u: Look at the repository and tell me of it"}, answer: longA}
			first := h.turn(q)
			q.talk = append(q.talk, "a: "+longA, "u: "+last)
			two := h.turn(q)
			if two.Kind != mooring.KindMain || two.Known.ID != first.Known.ID || len(two.stored) != 1 {
				t.Errorf("%s %q: %s, stored %q", name, last, two.Kind, two.stored)
			}
		}
	}
}

// An answer that somebody pastes into a new chat is not a summary to go on from.
func TestPastedAnswers(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"plain": "", "agent": tools} {
		for _, first := range []string{longA, "Is this right?\n\n" + longA, "Another assistant told me this: " + longA + "\nWhat do you think?", "Translate into German:\n" + longA,
			"Suggest a title for this text:\n\n" + longA, "Give me keywords of this:\n\n" + longA} {
			h := newHouse(t)
			one := h.turn(ask{body: body, talk: []string{"s: Be kind.", "u: Tell me of boats"}, answer: longA})
			two := h.turn(ask{body: body, talk: []string{"s: Be kind.", "u: " + first}, answer: longB})
			if two.Known.ID == one.Known.ID || two.Kind != mooring.KindMain {
				t.Errorf("%s %.30q: merged %v kind %s by %s", name, first, two.Known.ID == one.Known.ID, two.Kind, two.Identity)
			}
		}
	}
}

func TestPastedAnswersUnderAnID(t *testing.T) {
	t.Parallel()
	for _, first := range []string{longA, "Is this right?\n\n" + longA} {
		h := newHouse(t)
		one := h.turn(ask{header: header("X-Session-Id", "s1"), talk: []string{"s: Be kind.", "u: Tell me of boats"}, answer: longA})
		two := h.turn(ask{header: header("X-Session-Id", "s2"), talk: []string{"s: Be kind.", "u: " + first}, answer: longB})
		three := h.turn(ask{header: header("X-Chat-Id", "s3"), talk: []string{"s: Be kind.", "u: " + first}, answer: longB})
		if two.Known.ID == one.Known.ID || three.Known.ID == one.Known.ID {
			t.Errorf("%.30q: merged by %s %s", first, two.Identity, three.Identity)
		}
		if two.Known.Parent != "" || three.Known.Parent != "" {
			t.Errorf("parent %s %s", two.Known.Relation, three.Known.Relation)
		}
	}
}

// What an agent runs or looks for is not a task for somebody else.
func TestArgumentsThatAreNoTasks(t *testing.T) {
	t.Parallel()
	call := func(args string) string {
		return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":%q}}]}`, args)
	}
	for _, arg := range []string{"npm run test", "git log --oneline | head", "What is the capital of France?", "how do I fix a flaky test in go"} {
		h := newHouse(t)
		one := h.turn(ask{body: tools, talk: []string{"s: You code.", "u: Fix my build please"}, answer: call(fmt.Sprintf(`{"command":%q}`, arg))})
		two := h.turn(ask{talk: []string{"u: " + arg}, answer: longB})
		three := h.turn(ask{body: tools, talk: []string{"s: You code.", "u: " + arg}, answer: longB})
		if two.Kind != mooring.KindMain || three.Kind != mooring.KindMain || two.Known.ID == one.Known.ID {
			t.Errorf("%q: %s %s by %s", arg, two.Kind, three.Kind, two.Identity)
		}
	}
}
