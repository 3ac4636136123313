package identify

import (
	"bytes"
	"slices"

	"mooring"
	"mooring/internal/wire"
)

// complete says what kind of request it is, and what is new about its session.
func (e *Engine) complete(q Request, r *reading, f *Finding) error {
	a, err := e.talkOf(f, q)
	if err != nil {
		return err
	}
	t := r.traits
	old, known := readTraits(f.Known.Traits)
	switch {
	case q.Kind != "" || r.kind != "" && r.kind != mooring.KindSubagent:
	case f.aside || aside(q, f, a, &t, &old, known):
		f.Kind = mooring.KindSide
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: "content:kind", Says: string(saysKind), Use: "decided", Why: "by what it says and is asked under, it is about the conversation and no part of it"})
	case compacts(q, f, &t, &old, known):
		f.Kind = mooring.KindCompaction
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: "content:kind", Says: string(saysKind), Use: "decided", Why: "its last words ask for a summary of the conversation that it continues"})
	}
	f.signals(r)
	if f.Kind == mooring.KindSide || f.Kind == mooring.KindCompaction && known {
		return nil
	}
	if t.opening = old.opening; f.Known.Tip == "" {
		t.opening = leastOf(a.digester, a.opening())
	}
	if now := t.encode(); !bytes.Equal(now, f.Known.Traits) {
		f.Traits = now
		f.Known.Traits = now
	}
	return nil
}

// signals notes the names of the ids that name the session from now on.
func (f *Finding) signals(r *reading) {
	names := f.Known.Named
	for i := range r.ids {
		id := &r.ids[i]
		if slices.Contains(f.Names, id.alias) && !slices.Contains(names, id.name) {
			names = append(slices.Clone(names), id.name)
		}
	}
	if r.agent != "" && len(names) == 0 && !slices.Contains(names, headerAgent) {
		names = append(slices.Clone(names), headerAgent)
	}
	if len(names) > len(f.Known.Named) {
		f.Signals, f.Known.Named = names, names
	}
}

// aside says that a request which its id gives to a session asks about it and is no part of it.
func aside(q Request, f *Finding, a *alignment, t, old *traits, known bool) bool {
	if known && f.from > 0 {
		return asksBeside(q, t, old)
	}
	if !f.Sent || f.from > 0 || len(a.answers()) > 0 || len(a.talk) == 0 || len(a.talk) > 2 || t.tools || q.Wire.HasResult() {
		return false
	}
	return f.Known.Tip != "" && known && about(q, a, t, old)
}

// asksBeside says that a request which shows a whole conversation asks something about it that its people do not: a title, tags, what
// they may ask next. People speak of neither the conversation nor its user.
func asksBeside(q Request, t, old *traits) bool {
	last := &q.Messages[len(q.Messages)-1]
	if t.tools || last.Role != "user" || q.Wire.HasResult() {
		return false
	}
	text := wire.Text(last.Raw)
	if len(text) > longestOrder || !speaksOfTitle(text) {
		return false
	}
	return old.stream && !t.stream || mentions(text, conversationWords) || mentions(text, userWords)
}

// about says that a request speaks about a conversation which had those traits: of what would make it another program's, and of what
// it says, at least two things.
func about(q Request, a *alignment, t, old *traits) bool {
	if t.tools || len(a.answers()) > 0 || len(a.talk) > 2 || q.Wire.HasResult() {
		return false
	}
	n := 0
	grams := a.digester.Grams(a.opening())
	if slices.Equal(leastOf(a.digester, a.opening()), old.opening) {
		return false // it begins as the conversation did
	}
	for _, sign := range []bool{
		shared(t.system, old.system) < unlikely,
		old.tools,
		old.stream && !t.stream,
		holds(grams, old.opening),
		titled(q, a),
	} {
		n += truth(sign)
	}
	return n > 1
}

// titled says that a request gives an order to name something, beside what that is to be named after.
func titled(q Request, a *alignment) bool {
	return speaksOfTitle(orders(a.opening())) || instructs(q, speaksOfTitle)
}

// holds says that a text has nearly all of a sample of another one.
func holds(grams, sample []uint64) bool {
	if len(sample) == 0 {
		return false
	}
	n := 0
	for _, g := range sample {
		n += truth(slices.Contains(grams, g))
	}
	return float64(n) >= wholeWords*float64(len(sample))
}

// instructs says that one of the instructions of a request speaks of something.
func instructs(q Request, speaks func(text []byte) bool) bool {
	for _, text := range q.Wire.Instructions() {
		if words := wire.Text(text); len(words) <= longestPrompt && speaks(words) {
			return true
		}
	}
	return false
}

// compacts says that a request asks for a summary in whose place its conversation is to go on: it continues a conversation of a
// program with tools, or under other instructions, and asks for one with its last words.
func compacts(q Request, f *Finding, t, old *traits, known bool) bool {
	if f.New || f.from == 0 || q.Wire.EndsInResult() {
		return false
	}
	last := &q.Messages[len(q.Messages)-1]
	if last.Role != "user" {
		return false
	}
	other := known && shared(t.system, old.system) < unlikely
	text := wire.Text(last.Raw)
	if !t.tools && !q.Wire.HasResult() && !other { // people ask for summaries too, but not to go on from them
		return speaksOfSummary(text) && goesOn(text)
	}
	return speaksOfSummary(text) || other && instructs(q, saysSummary)
}
