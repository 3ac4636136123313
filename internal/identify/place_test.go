package identify_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mooring"
)

// talk is a conversation of n questions and answers, less the last answer.
func talk(n int) []string {
	var out []string
	for i := 1; i <= n; i++ {
		out = append(out, fmt.Sprint("u: question ", i), fmt.Sprint("a: answer ", i))
	}
	return out[:len(out)-1]
}

// grown is a house with one session that has had n turns.
func grown(tb testing.TB, n int) (*house, []found) {
	tb.Helper()
	h := newHouse(tb)
	turns := make([]found, n)
	for i := range n {
		turns[i] = h.say(fmt.Sprint("answer ", i+1), talk(i+1)...)
	}
	return h, turns
}

// say is a turn of the session that grown makes.
func (h *house) say(answer string, talk ...string) found {
	h.tb.Helper()
	return h.turn(ask{header: header("X-Session-Id", "s1"), talk: talk, answer: answer})
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	tail := func(n, cut int) []string { return talk(n)[2*cut:] }
	for _, tt := range []struct {
		rule   string
		talk   []string
		after  int // the turn whose answer the first new message follows, 0 for none
		stored []string
		view   bool
		warm   int64 // store reads at most, with the session in memory
		cold   int64 // and without
	}{
		{"the next turn follows the last answer", talk(6), 5, []string{"u: question 6"}, false, 0, 3},
		{"system messages take no part", append([]string{"s: it is ten o'clock"}, talk(6)...), 5, []string{"u: question 6"}, false, 0, 3},
		{"blanks around a text are nothing", append(talk(5), "a:  answer 5\n", "u: question 6"), 5, []string{"u: question 6"}, false, 0, 3},
		{"several new messages are stored in their order", append(talk(6), "u: and more"), 5, []string{"u: question 6", "u: and more"}, false, 0, 3},
		{"a sliding window follows the last answer", tail(6, 3), 5, []string{"u: question 6"}, true, 0, 3},
		{"a window of one answer follows it", tail(6, 4), 5, []string{"u: question 6"}, true, 0, 3},
		{"a lone message goes on at the tip", []string{"u: question 6"}, 5, []string{"u: question 6"}, true, 0, 4},
		{"an edit is a branch below the answer before it", append(talk(4)[:6], "u: question 4, better"), 3, []string{"u: question 4, better"}, false, 2, 4},
		{"an edit of the first message is a branch at the tip", []string{"u: question 1, better"}, 5, []string{"u: question 1, better"}, true, 0, 4},
		{"an answer asked for again keeps its question", talk(4), -4, nil, false, 2, 4},
		{"the last answer asked for again keeps its question", talk(5), -5, nil, false, 2, 4},
		{"an answer from elsewhere is stored where it stands", append(talk(5), "a: answer 5", "u: x", "a: elsewhere", "u: y"), 5, []string{"u: x", "a: elsewhere", "u: y"}, false, 1, 3},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			t.Parallel()
			for _, cold := range []bool{false, true} {
				h, turns := grown(t, 5)
				reads := tt.warm
				if cold {
					h.cold()
					reads = tt.cold
				}
				got := h.say("answer", tt.talk...)
				if diff := cmp.Diff(tt.stored, got.stored); diff != "" {
					t.Errorf("cold = %v: stored (-want +got):\n%s", cold, diff)
				}
				var want mooring.MessageID
				switch {
				case tt.after > 0:
					want = turns[tt.after-1].tip
				case tt.after < 0: // the question of that turn
					want = h.parentOf(turns[-tt.after-1].tip)
				}
				if got.at.Parent != want {
					t.Errorf("cold = %v: parent = %s, want %s", cold, got.at.Parent, want)
				}
				if (got.at.View != nil) != tt.view {
					t.Errorf("cold = %v: view = %+v, want one: %v", cold, got.at.View, tt.view)
				}
				if got.reads > reads {
					t.Errorf("cold = %v: %d reads of the store, want %d at most", cold, got.reads, reads)
				}
			}
		})
	}
}

// parentOf is what a message of the session follows.
func (h *house) parentOf(id mooring.MessageID) mooring.MessageID {
	h.tb.Helper()
	list, _, err := h.store.Branch(h.tb.Context(), "acme", h.resolve(ask{header: header("X-Session-Id", "s1")}).Known.ID, mooring.BranchPage{Tip: id, Limit: 1})
	if err != nil || len(list) != 1 {
		h.tb.Fatalf("Branch = %v, %v", list, err)
	}
	return list[0].Parent
}

func TestReadsDoNotGrowWithTheHistory(t *testing.T) {
	t.Parallel()
	const n = 60
	h, turns := grown(t, n)
	for _, f := range turns[1:] {
		if f.reads != 0 || len(f.stored) != 1 {
			t.Fatalf("%d reads, %q stored, want none and one message in each turn of a warm session", f.reads, f.stored)
		}
	}
	h.cold()
	if f := h.say("", talk(n+1)...); f.reads > 4 || len(f.stored) != 1 || f.at.Parent != turns[n-1].tip {
		t.Errorf("cold: %d reads, %q stored after %s", f.reads, f.stored, f.at.Parent)
	}
	h.cold()
	if f := h.say("", append(talk(4)[:6], "u: far back")...); f.reads > 4 || len(f.stored) != 1 || f.at.Parent != turns[2].tip {
		t.Errorf("edit far back: %d reads, %q stored after %s, want it after %s", f.reads, f.stored, f.at.Parent, turns[2].tip)
	}
}

func TestWindowsStoreOneMessageATurn(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for i := 1; i <= 40; i++ {
		f := h.say(fmt.Sprint("answer ", i), talk(i)[2*max(0, i-5):]...)
		if len(f.stored) != 1 || f.reads > 4 {
			t.Fatalf("turn %d: stored %q with %d reads", i, f.stored, f.reads)
		}
	}
}

func TestImportedHistory(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	first := h.say("answer 3", talk(3)...)
	if diff := cmp.Diff(talk(3), first.stored); diff != "" || first.at.Parent != "" || first.at.View != nil {
		t.Errorf("parent %q, view %v, stored (-want +got):\n%s", first.at.Parent, first.at.View, diff)
	}
	for _, question := range []string{"u: warm", "u: cold"} {
		if f := h.say("", append(talk(3), "a: answer 3", question)...); f.at.Parent != first.tip || len(f.stored) != 1 {
			t.Errorf("%s: %q stored after %s, want the new question after %s", question, f.stored, f.at.Parent, first.tip)
		}
		h.cold()
	}
}

// A client may alter the answers that it sends back; its questions show the place.
func TestAlteredAnswers(t *testing.T) {
	t.Parallel()
	altered := func(n int) []string {
		out := talk(n)
		for i := 1; i < len(out); i += 2 {
			out[i] += " (translated)"
		}
		return out
	}
	h := newHouse(t)
	last := h.say("answer 1", talk(1)...)
	for i := 2; i <= 12; i++ {
		f := h.say(fmt.Sprint("answer ", i), altered(i)...)
		if diff := cmp.Diff([]string{fmt.Sprint("u: question ", i)}, f.stored); diff != "" || f.at.Parent != last.tip {
			t.Fatalf("turn %d: after %s, want %s; stored (-want +got):\n%s", i, f.at.Parent, last.tip, diff)
		}
		last = f
	}
}

// A lone question that has no answer yet is not stored again when it is sent again.
func TestQuestionSentAgain(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{false, true} {
		h, turns := grown(t, 2)
		lost := h.say("", "u: lost")
		if lost.at.Parent != turns[1].tip {
			t.Fatalf("parent = %s, want %s", lost.at.Parent, turns[1].tip)
		}
		if cold {
			h.cold()
		}
		again := h.say("found", "u: lost")
		if len(again.stored) > 0 || h.parentOf(again.tip) != again.at.Parent || h.parentOf(again.at.Parent) != turns[1].tip {
			t.Errorf("cold = %v: %q stored below %s, want the answer alone, below the first copy", cold, again.stored, again.at.Parent)
		}
		if again.at.View == nil || again.at.View.From != again.at.Parent || again.at.View.Sent != 1 {
			t.Errorf("cold = %v: view = %+v, want the one message", cold, again.at.View)
		}
		if f := h.say("", "u: lost"); len(f.stored) != 1 || f.at.Parent != again.tip {
			t.Errorf("cold = %v: %q stored below %s, want the question once more: it has been answered", cold, f.stored, f.at.Parent)
		}
	}
}

// An answer that stands in a session more than once shows by itself no place.
func TestRepeatedAnswers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var history []string
	var last found
	for i := range 4 {
		history = append(history, fmt.Sprint("u: q", i))
		last = h.say("OK", history...)
		history = append(history, "a: OK")
	}
	edited := []string{"u: q0, edited", "a: OK", "u: q1"}
	if f := h.say("", edited...); !cmp.Equal(f.stored, edited) || f.at.Parent != last.tip {
		t.Errorf("%q stored below %s, want all of %q below %s", f.stored, f.at.Parent, edited, last.tip)
	}
	h.cold()
	if f := h.say("", "u: q2", "a: OK", "u: q3", "a: OK", "u: q4"); !cmp.Equal(f.stored, []string{"u: q4"}) || f.at.Parent != last.tip {
		t.Errorf("window: %q stored below %s, want q4 below %s", f.stored, f.at.Parent, last.tip)
	}
}

func TestAnswersAreNotFoundInOtherSessions(t *testing.T) {
	t.Parallel()
	h, _ := grown(t, 3)
	f := h.turn(ask{header: header("X-Session-Id", "s2"), talk: talk(4)})
	if f.at.Parent != "" || len(f.stored) != 7 {
		t.Errorf("%d messages stored after %q, want all at the root of their own session", len(f.stored), f.at.Parent)
	}
}

func TestTwoBranchesGoOnSideBySide(t *testing.T) {
	t.Parallel()
	h, turns := grown(t, 2)
	left := h.say("left 1", append(talk(2), "a: answer 2", "u: left?")...)
	right := h.say("right 1", append(talk(2), "a: answer 2", "u: right?")...)
	if left.at.Parent != turns[1].tip || right.at.Parent != turns[1].tip {
		t.Fatalf("parents %s and %s, want %s", left.at.Parent, right.at.Parent, turns[1].tip)
	}
	for name, of := range map[string]struct {
		tip  mooring.MessageID
		talk []string
	}{
		"left":  {left.tip, append(talk(2), "a: answer 2", "u: left?", "a: left 1", "u: on")},
		"right": {right.tip, append(talk(2), "a: answer 2", "u: right?", "a: right 1", "u: on")},
	} {
		if f := h.say("", of.talk...); f.at.Parent != of.tip || len(f.stored) != 1 {
			t.Errorf("%s: %q stored after %s, want one after %s", name, f.stored, f.at.Parent, of.tip)
		}
	}
}

// A turn that ended behind a later one does not move what is remembered.
func TestLateAnswers(t *testing.T) {
	t.Parallel()
	h, turns := grown(t, 2)
	known := h.resolve(ask{header: header("X-Session-Id", "s1")}).Known
	h.engine.Ended(&mooring.Turn{Tenant: "acme", Session: known.ID, ID: "trn_of_before", Answer: "msg_late"}, known.Seen, nil)
	if now := h.resolve(ask{header: header("X-Session-Id", "s1")}).Known; now.Tip != turns[1].tip {
		t.Errorf("tip = %s, want %s", now.Tip, turns[1].tip)
	}
	h.engine.Ended(&mooring.Turn{Tenant: "acme", Session: "ses_unknown", ID: "trn_1", Answer: "msg_1"}, known.Seen, nil) // nothing is remembered of it
}

// The digest of what did not change is looked up, not made anew; tenants' digests never agree.
func TestDigests(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	raw := []byte(messageJSON("u: hello"))
	one, other := h.engine.Digester("acme"), h.engine.Digester("globex")
	if h.engine.Digester("acme") != one {
		t.Error("a tenant has two digesters")
	}
	first, err := one.Message(mooring.Chat, raw)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := one.Message(mooring.Chat, raw); again != first {
		t.Error("the digest that is kept is another one")
	}
	if foreign, _ := other.Message(mooring.Chat, raw); foreign == first {
		t.Error("two tenants have one digest")
	}
	h.cold()
	if anew, _ := h.engine.Digester("acme").Message(mooring.Chat, raw); anew != first {
		t.Error("the digest is another one after a restart")
	}
}
