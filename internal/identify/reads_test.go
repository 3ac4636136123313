package identify_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

const mostReads = 4

// chat is a conversation of n questions and answers that each say something of their own, less the last answer.
func chat(about string, n int) []string {
	var out []string
	for i := 1; i <= n; i++ {
		out = append(out, fmt.Sprintf("u: question %d about the %s: which of its parts is to be looked at next?", i, about), "a: "+answerAbout(about, i))
	}
	return out[:len(out)-1]
}

func answerAbout(about string, i int) string {
	return fmt.Sprintf("answer %d about the %s: the part behind the harbour, for nobody has looked at it since step %d of the work was done", i, about, i)
}

// held is a house with a session of n turns, under an id or without one.
func held(tb testing.TB, h *house, id, about string, n int) found {
	tb.Helper()
	var last found
	for i := range n {
		last = h.turn(ask{header: called(id), talk: chat(about, i+1), answer: answerAbout(about, i+1)})
	}
	return last
}

// called are the headers of a client with an id, and of one without; each sends a name that may be learned.
func called(id string) http.Header {
	if id == "" {
		return header("X-Quay-Number", "not-an-id")
	}
	return header("X-Session-Id", id, "X-Quay-Number", "not-an-id")
}

const (
	spawning = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"task","arguments":"{\"prompt\":\"Go through all the ropes of the northern quay and write down which of them are worn and must be replaced before winter.\"}"}}]}`
	task     = "u: Go through all the ropes of the northern quay and write down which of them are worn and must be replaced before winter."
	summing  = "a summary: the harbour was measured, seven of the ropes are worn, the lantern on the northern quay is to be lit before the ships come in at dusk, and the ledger is still open"
)

// TestReads holds all ways by which a request finds its place against the number of reads that one may take.
func TestReads(t *testing.T) {
	t.Parallel()
	twins := func(h *house, id func(i int) string) {
		for i := range 40 {
			h.turn(ask{header: called(id(i)), talk: []string{"u: hi"}, answer: "Hello. What may I do for you today? I can look at the harbour, or at the ledger of the ships."})
		}
	}
	none := func(int) string { return "" }
	twinTalk := []string{"u: hi", "a: Hello. What may I do for you today? I can look at the harbour, or at the ledger of the ships.", "u: the ledger, please"}
	for _, tt := range []struct {
		flow  string
		begin func(h *house)
		ask   ask
		warm  int64 // reads at most while all is in memory
	}{
		{"id known", func(h *house) { held(t, h, "s1", "ship", 5) }, ask{header: called("s1"), talk: chat("ship", 6)}, 0},
		{"new id", func(h *house) { held(t, h, "s1", "ship", 5) }, ask{header: called("s2"), talk: chat("lantern", 6)}, mostReads},
		{"new id, first message", func(h *house) { held(t, h, "s1", "ship", 5) }, ask{header: called("s2"), talk: chat("lantern", 1)}, mostReads},
		{"new id, known messages", func(h *house) { held(t, h, "s1", "ship", 5) }, ask{header: called("s2"), talk: chat("ship", 6)}, mostReads},
		{"an id that comes later", func(h *house) { held(t, h, "", "ship", 5) }, ask{header: called("s2"), talk: chat("ship", 6)}, mostReads},
		{"no id", func(h *house) { held(t, h, "", "ship", 5) }, ask{header: called(""), talk: chat("ship", 6)}, 0},
		{"no id, first message", func(h *house) { held(t, h, "", "ship", 5) }, ask{header: called(""), talk: chat("lantern", 1)}, mostReads},
		{"no id, unknown history", func(h *house) { held(t, h, "", "ship", 5) }, ask{header: called(""), talk: chat("lantern", 30)}, mostReads},
		{"id, edit", func(h *house) { held(t, h, "s1", "ship", 9) }, ask{header: called("s1"), talk: append(chat("ship", 4)[:6], "u: edited")}, mostReads},
		{"no id, edit", func(h *house) { held(t, h, "", "ship", 9) }, ask{header: called(""), talk: append(chat("ship", 4)[:6], "u: edited")}, mostReads},
		{"id, asked again", func(h *house) { held(t, h, "s1", "ship", 9) }, ask{header: called("s1"), talk: chat("ship", 9)}, mostReads},
		{"no id, asked again", func(h *house) { held(t, h, "", "ship", 9) }, ask{header: called(""), talk: chat("ship", 9)}, mostReads},
		{"id, window", func(h *house) { held(t, h, "s1", "ship", 9) }, ask{header: called("s1"), talk: chat("ship", 10)[10:]}, 0},
		{"no id, window", func(h *house) { held(t, h, "", "ship", 9) }, ask{header: called(""), talk: chat("ship", 10)[10:]}, 0},
		{"no id, altered answers", func(h *house) { held(t, h, "", "ship", 3) }, ask{header: called(""), talk: append(chat("ship", 3)[:4], "a: altered", "u: more")}, mostReads},
		{"id, altered answers", func(h *house) { held(t, h, "s1", "ship", 1) }, ask{header: called("s1"), talk: append(chat("ship", 1), "a: altered", "u: more")}, mostReads},
		{"twins without an id", func(h *house) { twins(h, none) }, ask{header: called(""), talk: twinTalk}, mostReads},
		{"twins with short answers", func(h *house) {
			for range 40 {
				h.turn(ask{header: called(""), talk: []string{"s: be brief", "u: hi"}, answer: "Hello."})
				h.turn(ask{header: called(""), talk: []string{"u: well", "a: altered", "u: hi"}, answer: "Hello."})
			}
		}, ask{header: called(""), talk: []string{"u: else", "a: gone", "u: hi", "a: Hello.", "u: on"}}, mostReads},
		{"twins under an id", func(h *house) { twins(h, func(i int) string { return fmt.Sprint("twin-", i) }) }, ask{header: called("twin-7"), talk: twinTalk}, 0},
		{"twins, another id", func(h *house) { twins(h, func(i int) string { return fmt.Sprint("twin-", i) }) }, ask{header: called("twin-77"), talk: twinTalk}, mostReads},
		{"very many twins under an id", func(h *house) {
			twins(h, func(i int) string { return fmt.Sprint("twin-", i) })
			twins(h, func(i int) string { return fmt.Sprint("more-", i) })
		}, ask{header: called("twin-7"), talk: twinTalk}, 0},
		{"twins under an id of a process", func(h *house) {
			for i := range 40 {
				h.turn(ask{header: header("X-Session-Affinity", fmt.Sprint("process-", i)), talk: twinTalk[:1], answer: twinTalk[1][3:]})
			}
		}, ask{header: header("X-Session-Affinity", "process-7"), talk: twinTalk}, 0},
		{"an edit under an id of a process", func(h *house) {
			for i := range 3 {
				for n := range 6 {
					h.turn(ask{header: header("X-Session-Affinity", fmt.Sprint("process-", i)), talk: chat("ship", n+1), answer: answerAbout("ship", n+1)})
				}
			}
		}, ask{header: header("X-Session-Affinity", "process-1"), talk: append(chat("ship", 4)[:6], "u: edited")}, mostReads},
		{"twins, edited", func(h *house) {
			for range 3 {
				held(t, h, "", "ship", 6)
			}
		}, ask{header: called(""), talk: append(chat("ship", 4)[:6], "u: edited")}, mostReads},
		{"an orphan is edited once its parent is there", func(h *house) {
			for n := range 6 {
				h.turn(ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1"), talk: chat("rope", n+1), answer: answerAbout("rope", n+1)})
			}
			h.turn(ask{header: header(claudeHeader, uuidA), talk: chat("ship", 1), answer: "well"})
		}, ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1"), talk: append(chat("rope", 4)[:6], "u: edited")}, mostReads},
		{"sub-agent by content", func(h *house) { h.turn(ask{header: called(""), talk: chat("ship", 1), answer: spawning}) }, ask{header: called(""), talk: []string{"s: you are a helper", task}}, mostReads},
		{"sub-agent under its parent's id", func(h *house) { h.turn(ask{header: called("s1"), talk: chat("ship", 1), answer: spawning}) }, ask{header: called("s1"), talk: []string{"s: you are a helper", task}}, mostReads},
		{"sub-agent by another id", func(h *house) { h.turn(ask{header: called("s1"), talk: chat("ship", 1), answer: spawning}) }, ask{header: called("s2"), talk: []string{"s: you are a helper", task}}, mostReads},
		{"summary", func(h *house) {
			h.turn(ask{header: called(""), talk: append(chat("ship", 3), "a: noted", "u: sum it up"), answer: summing})
		}, ask{header: called(""), talk: []string{"s: go on", "u: This is what was done. " + summing}}, mostReads},
		{"summary under an id", func(h *house) {
			h.turn(ask{header: called("s1"), talk: append(chat("ship", 3), "a: noted", "u: sum it up"), answer: summing})
		}, ask{header: called("s1"), talk: []string{"s: go on", "u: This is what was done. " + summing}}, mostReads},
		{"agent of a session", func(h *house) {
			h.turn(ask{header: header(claudeHeader, uuidA), talk: chat("ship", 1), answer: "well"})
		}, ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1"), talk: chat("rope", 1)}, mostReads},
		{"agent without a parent", func(h *house) {
			h.turn(ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1"), talk: chat("rope", 1), answer: answerAbout("rope", 1)})
		}, ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1"), talk: chat("rope", 2)}, 0},
		{"agent whose parent comes later", func(h *house) {
			h.turn(ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1"), talk: chat("rope", 1), answer: answerAbout("rope", 1)})
			h.turn(ask{header: header(claudeHeader, uuidA), talk: chat("ship", 1), answer: "well"})
		}, ask{header: header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1"), talk: chat("rope", 2)}, 0},
		{"a title asked for beside", func(h *house) { held(t, h, "", "ship", 2) }, ask{header: called(""), talk: []string{"s: You write titles.", "u: Write a title for this conversation:\n" + chat("ship", 1)[0][3:] + "\n" + answerAbout("ship", 1)}}, mostReads},
	} {
		t.Run(tt.flow, func(t *testing.T) {
			t.Parallel()
			for _, run := range []struct{ cold, others bool }{{}, {cold: true}, {cold: true, others: true}} {
				h := newHouse(t)
				if run.others { // write the store too
					h.refresh = time.Hour
					h.cold()
				}
				tt.begin(h)
				most := tt.warm
				if run.cold {
					h.cold()
					most = mostReads
				}
				if got := h.turn(tt.ask); got.reads > most {
					t.Errorf("%s, %+v: %d reads, want %d at most", tt.flow, run, got.reads, most)
				}
			}
		})
	}
}

// A window that slides costs no read and stores no old message again, whatever its client calls the conversation and however little
// its answers say.
func TestWindowsAreWarm(t *testing.T) {
	t.Parallel()
	const turns, window = 200, 50
	short := func(int) string { return "OK." }
	long := func(i int) string { return answerAbout("ship", i) }
	for name, answer := range map[string]func(i int) string{"short": short, "long": long} {
		for _, id := range []string{"s1", ""} {
			t.Run(fmt.Sprintf("%s answers, id %q", name, id), func(t *testing.T) {
				t.Parallel()
				h := newHouse(t)
				var history []string
				var session mooring.SessionID
				for i := range turns {
					history = append(history, fmt.Sprint("u: question ", i))
					f := h.turn(ask{header: called(id), talk: history[max(0, len(history)-window):], answer: answer(i)})
					history = append(history, "a: "+answer(i))
					if i == 0 {
						session = f.Known.ID
						continue
					}
					if f.reads > 0 || len(f.stored) != 1 || f.Known.ID != session {
						t.Fatalf("turn %d: %d reads, %q stored in %s, want none, one message, and %s", i, f.reads, f.stored, f.Known.ID, session)
					}
				}
			})
		}
	}
}

// A sub-agent whose parent never comes does not ask for it with each turn; one that comes is found at once.
func TestOrphans(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	agent := header(claudeHeader, uuidA, "X-Claude-Code-Agent-Id", "a1")
	for i := 1; i <= 20; i++ {
		f := h.turn(ask{header: agent, talk: chat("rope", i), answer: answerAbout("rope", i)})
		if i > 1 && f.reads > 0 || f.Known.Parent != "" {
			t.Fatalf("turn %d: %d reads, parent %q, want none of both", i, f.reads, f.Known.Parent)
		}
	}
	parent := h.turn(ask{header: header(claudeHeader, uuidA), talk: chat("ship", 1), answer: "well"})
	f := h.turn(ask{header: agent, talk: chat("rope", 21), answer: "done"})
	if diff := cmp.Diff([]mooring.SessionID{parent.Known.ID}, slices.Compact([]mooring.SessionID{f.Known.Parent, f.Known.Root})); diff != "" || !f.Attach {
		t.Errorf("Attach = %v, parent and root (-want +got):\n%s", f.Attach, diff)
	}
}
