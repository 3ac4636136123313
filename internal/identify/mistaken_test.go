package identify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
		for _, first := range []string{
			longA, "Is this right?\n\n" + longA, "Another assistant told me this: " + longA + "\nWhat do you think?", "Translate into German:\n" + longA,
			"Suggest a title for this text:\n\n" + longA, "Give me keywords of this:\n\n" + longA,
		} {
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

// A client that leaves the history to the server may change all that stands around what it says.
func TestLoneMessagesUnderOtherSettings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.turn(ask{header: header("X-Session-Id", "s1"), body: tools, talk: []string{"s: You are a sailor and speak of nothing but boats and the sea.", "u: Tell me of boats"}, answer: longA})
	next := h.turn(ask{header: header("X-Session-Id", "s1"), talk: []string{"s: Answer like a librarian who has read every book of the town.", "u: And what about kettles?"}, answer: longB})
	if next.Known.ID != first.Known.ID || next.Kind != mooring.KindMain || len(next.stored) != 1 {
		t.Errorf("kind %s, stored %q", next.Kind, next.stored)
	}
}

func TestHugeRequestsTakeBoundedTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for name, text := range map[string]string{
		"words":  strings.Repeat("rope boat ", 400<<10),
		"tags":   strings.Repeat("<", 4<<20),
		"titles": strings.Repeat("give a ", 600<<10),
		"lines":  strings.Repeat("a\n", 2<<20),
	} {
		q := ask{talk: []string{"u: " + text}}.decode(t)
		began := time.Now()
		if _, err := h.engine.Resolve(t.Context(), q); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %s", name, took)
		} else {
			t.Log(name, took)
		}
	}
	calls := strings.Repeat(`{"id":"c","type":"function","function":{"name":"task","arguments":"{\"prompt\":\"look at the rope of the boat in the harbour\"}"}},`, 10000)
	one := h.turn(ask{talk: []string{"u: go"}, answer: ""})
	a, err := h.engine.Answer("acme", mooring.Chat, one.at, nil, []byte(`{"role":"assistant","content":null,"tool_calls":[`+strings.TrimSuffix(calls, ",")+`]}`))
	if err != nil || len(a.Marks) > 9 {
		t.Errorf("%d marks, %v", len(a.Marks), err)
	}
}

func TestContentDecidesNothingWhereItMayNot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := h.turn(ask{talk: []string{"u: Tell me of boats"}, answer: longA})
	q := ask{talk: []string{"u: Tell me of boats", "a: " + longA, "u: more"}}.decode(t)
	q.Content = false
	f, err := h.engine.Resolve(t.Context(), q)
	if err != nil || f.Known.ID == one.Known.ID || f.Identity != "minted" {
		t.Errorf("found by %s, %v", f.Identity, err)
	}
	named := ask{header: header("X-Session-Id", "s1"), talk: []string{"u: Tell me of boats", "a: " + longA, "u: more"}}.decode(t)
	named.Content = false
	if f, err = h.engine.Resolve(t.Context(), named); err != nil || f.Known.ID == one.Known.ID || f.Known.Parent != "" {
		t.Errorf("found by %s under %q, %v", f.Identity, f.Known.Parent, err)
	}
	again := ask{header: header("X-Session-Id", "s2"), talk: []string{"u: hi"}, answer: longA}
	h.turn(again)
	again.talk = []string{"u: hi", "a: " + longA, "u: Suggest three follow-up questions that the user may ask, as JSON only."}
	quiet := again.decode(t)
	quiet.Content = false
	if f, err = h.engine.Resolve(t.Context(), quiet); err != nil || f.Kind != mooring.KindMain {
		t.Errorf("kind %s, %v", f.Kind, err)
	}
}

// Going back behind a summary, and two chats that were summed up alike.
func TestSummariesAndBranches(t *testing.T) {
	t.Parallel()
	const order = "u: Summarise our conversation so far so that another assistant can continue with the next step."
	h := newHouse(t)
	said := func(n int) []string {
		return []string{"u: Tell me of boats", fmt.Sprint("a: ", n, ". ", longB), "u: and of ropes?", fmt.Sprint("a: Ropes, number ", n, ". ", longB)}
	}
	var id [2]mooring.SessionID
	for n := range 2 {
		q := ask{body: tools, talk: said(n)[:1], answer: strings.TrimPrefix(said(n)[1], "a: ")}
		id[n] = h.turn(q).Known.ID
		q.talk, q.answer = said(n)[:3], strings.TrimPrefix(said(n)[3], "a: ")
		h.turn(q)
		q.talk, q.answer = append(said(n), order), longA
		if f := h.turn(q); f.Kind != mooring.KindCompaction || f.Known.ID != id[n] {
			t.Fatalf("chat %d: kind %s in %s", n, f.Kind, f.Known.ID)
		}
	}
	one := h.turn(ask{body: tools, talk: []string{"u: This is the summary:\n\n" + longA}, answer: "One " + longB})
	two := h.turn(ask{body: tools, talk: []string{"u: This is the summary:\n\n" + longA}, answer: "Two " + longB})
	if one.Known.ID == two.Known.ID || one.Identity != "content:summary" || two.Identity != "content:summary" {
		t.Errorf("two equal summaries: %s by %s, %s by %s", one.Known.ID, one.Identity, two.Known.ID, two.Identity)
	}
	h.cold()
	for n := range 2 {
		back := h.turn(ask{body: tools, talk: append(said(n), "u: no, go back to the ropes"), answer: fmt.Sprint("Back ", n)})
		if back.Known.ID != id[n] || back.Kind != mooring.KindMain {
			t.Errorf("chat %d goes back in %s as %s, want %s", n, back.Known.ID, back.Kind, id[n])
		}
	}
}

// What is deleted is found by nobody, warm or cold.
func TestDeletedSessionsAreFoundByNobody(t *testing.T) {
	t.Parallel()
	for _, cold := range []string{"warm", "cold"} {
		h := newHouse(t)
		q := ask{header: header("X-Session-Id", "s1"), talk: []string{"u: Tell me of boats"}, answer: longA}
		one := h.turn(q)
		h.commit(&mooring.Delete{Tenant: "acme", Session: one.Known.ID})
		if h.engine.Forget("acme", one.Known.ID, nil); cold == "cold" {
			h.cold()
		}
		for _, next := range []ask{
			{header: q.header, talk: []string{"u: Tell me of boats", "a: " + longA, "u: more"}},
			{talk: []string{"u: Tell me of boats", "a: " + longA, "u: more"}},
			{talk: []string{"u: Suggest a title:\n\n" + longA}},
		} {
			if f := h.resolve(next); f.Known.ID == one.Known.ID || !f.New {
				t.Errorf("%s: %q is found by %s", cold, next.talk, f.Identity)
			}
		}
	}
}

// After a restart memory holds only the later one of two sessions that were given the same long answer.
func TestOneLongAnswerInTwoSessionsOverARestart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	one := h.turn(ask{talk: []string{"u: Tell me of boats"}, answer: longA})
	h.cold()
	two := h.turn(ask{talk: []string{"u: Tell me of kettles"}, answer: longA})
	for want, opener := range map[mooring.SessionID]string{one.Known.ID: "boats", two.Known.ID: "kettles"} {
		if f := h.resolve(ask{talk: []string{"u: Tell me of " + opener, "a: " + longA, "u: more"}}); f.Known.ID != want {
			t.Errorf("the one of %s is in %s by %s, want %s", opener, f.Known.ID, f.Identity, want)
		}
	}
}
