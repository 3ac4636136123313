package identify_test

import (
	"fmt"
	"testing"
	"time"

	"mooring"
	"mooring/internal/identify"
)

// twoProcesses gives a house whose engine can be changed for another one that has the same store.
func twoProcesses(t *testing.T) (h *house, one, two *identify.Engine) {
	t.Helper()
	h = newHouse(t)
	h.refresh = 30 * time.Second
	h.cold()
	one = h.engine
	h.cold()
	return h, one, h.engine
}

// What another process did is never hidden by what is in memory: where a session stands decides whose a summary or a task is.
func TestSessionsThatAnotherProcessWentOnWith(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		last, answer string
		next         ask
		identity     string
	}{
		"a summary": {
			"Summarise our conversation so far so that somebody else can continue the work.", summing,
			ask{body: tools, talk: []string{"u: Here is what was done before:\n" + summing}},
			"content:summary",
		},
		"a task": {"Have the ropes looked at", spawning, ask{body: tools, talk: []string{task}}, "content:spawn"},
		"a task under its parent's id": {
			"Have the ropes looked at", spawning, ask{header: header("X-Session-Id", "chat-1"), body: tools, talk: []string{task}}, "content:spawn",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, one, two := twoProcesses(t)
			h.engine = one
			first := h.turn(ask{header: tt.next.header, body: tools, talk: []string{"u: Look at the harbour"}, answer: longA})
			h.engine = two
			h.turn(ask{header: tt.next.header, body: tools, talk: []string{"u: Look at the harbour", "a: " + longA, "u: " + tt.last}, answer: tt.answer})
			h.engine = one
			got := h.turn(tt.next)
			if got.Identity != tt.identity {
				t.Errorf("found by %s, want %s", got.Identity, tt.identity)
			}
			switch tt.identity {
			case "content:spawn":
				if got.Known.Parent != first.Known.ID || got.Kind != mooring.KindSubagent {
					t.Errorf("%s below %s, want a sub-agent below %s", got.Kind, got.Known.Parent, first.Known.ID)
				}
			default:
				if got.Known.ID != first.Known.ID {
					t.Errorf("in %s, want %s", got.Known.ID, first.Known.ID)
				}
			}
		})
	}
}

// A helper that begins after its session has gone on is found whether memory or the store is asked.
func TestHelperThatBeginsLate(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} {
		h := newHouse(t)
		id := header("X-Session-Id", "chat-1")
		first := h.turn(ask{header: id, body: tools, talk: []string{"u: Have the ropes looked at"}, answer: spawning})
		h.turn(ask{header: id, body: tools, talk: []string{"u: Have the ropes looked at", spawning, `{"role":"tool","tool_call_id":"c1","content":"begun"}`}, answer: longA})
		if cold {
			h.cold()
		}
		helper := h.turn(ask{header: id, body: tools, talk: []string{task}, answer: longB})
		if helper.Identity != "content:spawn" || helper.Known.Parent != first.Known.ID {
			t.Errorf("cold = %v: found by %s below %s", cold, helper.Identity, helper.Known.Parent)
		}
		again := h.turn(ask{header: id, body: tools, talk: []string{task, "a: " + longB, "u: and then?"}})
		back := h.turn(ask{header: id, body: tools, talk: []string{"u: Have the ropes looked at", spawning, `{"role":"tool","tool_call_id":"c1","content":"begun"}`, "a: " + longA, "u: well?"}})
		if again.Known.ID != helper.Known.ID || back.Known.ID != first.Known.ID || again.ClientID != "chat-1" {
			t.Errorf("cold = %v: helper %s then %s, session %s then %s", cold, helper.Known.ID, again.Known.ID, first.Known.ID, back.Known.ID)
		}
	}
}

// Two live chats of one process that sends one value for both are told apart by what they say; a better id beside it counts more.
func TestChatsThatShareAnAffinity(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		header []string
		apart  bool
	}{
		"alone":              {[]string{"X-Session-Affinity", "8Kuyd1UUIcgrzu3oQbGyJ"}, true},
		"beside a better id": {[]string{"X-Session-Affinity", "8Kuyd1UUIcgrzu3oQbGyJ", "X-Opencode-Session-Id", "8Kuyd1UUIcgrzu3oQbGyJ"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			sent := tt.header // with the first request; the others have the shared value alone
			say := func(answer string, talk ...string) found {
				q := ask{header: header(sent...), talk: talk, answer: answer}
				sent = tt.header[:2]
				return h.turn(q)
			}
			const one, two = "u: How do I moor a boat of nine metres?", "u: Why does the kettle whistle when it boils?"
			a := say(longA, one)
			b := say(longB, two)
			if (a.Known.ID != b.Known.ID) != tt.apart {
				t.Errorf("apart = %v, want %v", a.Known.ID != b.Known.ID, tt.apart)
			}
			for i := range 2 {
				again, other := say("", one, "a: "+longA, fmt.Sprint("u: more ", i)), say("", two, "a: "+longB, fmt.Sprint("u: more ", i))
				if again.Known.ID != a.Known.ID || other.Known.ID != b.Known.ID {
					t.Errorf("later in %s and %s, want %s and %s", again.Known.ID, other.Known.ID, a.Known.ID, b.Known.ID)
				}
				h.cold()
			}
		})
	}
}

// Where messages may not be matched nothing that they say decides anything, their kind included.
func TestMessagesThatMayNotDecide(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"Summarise our conversation so far so that somebody else can continue the work.", "Give this conversation a short title, as JSON"} {
		h := newHouse(t)
		id := header("X-Session-Id", "chat-1")
		first := h.turn(ask{header: id, noTalk: true, body: tools, talk: []string{"s: Be kind.", "u: Look at the harbour and tell me of it"}, answer: longA})
		for _, talk := range [][]string{{"s: You name things.", "u: " + last}, {"s: You name things.", "u: Look at the harbour and tell me of it", "a: " + longA, "u: " + last}} {
			got := h.turn(ask{header: id, noTalk: true, talk: talk})
			if got.Kind != mooring.KindMain || got.Known.ID != first.Known.ID {
				t.Errorf("%q of %d messages: %s in %s", last, len(talk), got.Kind, got.Known.ID)
			}
		}
	}
}

// A client has what it began and what was added to it as one message, or as two.
func TestAnswersThatWereBegun(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string][]string{
		"as one": {"a: The harbour was measured and found to be deep enough."},
		"as two": {"a: The harbour was", "a:  measured and found to be deep enough."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, cold := range []bool{false, true} {
				h := newHouse(t)
				first := h.turn(ask{talk: []string{"u: hi", "a: The harbour was"}, answer: " measured and found to be deep enough."})
				if cold {
					h.cold()
				}
				next := h.turn(ask{talk: append(append([]string{"u: hi"}, sent...), "u: and then?")})
				if next.Known.ID != first.Known.ID || next.at.Parent != first.tip {
					t.Errorf("cold = %v: in %s below %s by %s, want %s below %s", cold, next.Known.ID, next.at.Parent, next.Identity, first.Known.ID, first.tip)
				}
			}
		})
	}
}
