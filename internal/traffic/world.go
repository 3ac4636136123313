package traffic

import (
	"fmt"
	"math/rand/v2"

	"mooring"
	"mooring/internal/eval"
)

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
