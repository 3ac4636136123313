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
	was := &old
	if !known {
		was = nil
	}
	f.sums = q.Content && asksToSum(q, f, a, &t, was)
	switch {
	case !q.Content || q.Kind != "" || r.kind != "" && r.kind != mooring.KindSubagent:
	case compacts(q, f, a, &t, was):
		f.Kind = mooring.KindCompaction
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: "content:kind", Says: string(saysKind), Use: "decided", Why: "its last words ask for a summary of the conversation that it continues"})
	case f.aside || aside(q, f, a, &t, was):
		f.Kind = mooring.KindSide
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: "content:kind", Says: string(saysKind), Use: "decided", Why: "by what it says and is asked under, it is about the conversation and no part of it"})
	}
	f.sums = f.sums || f.Kind == mooring.KindCompaction
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

// aside says that a request which its id gives to a session asks about it and is no part of it. The session's traits are nil where
// they are not known.
func aside(q Request, f *Finding, a *alignment, t, old *traits) bool {
	if old != nil && f.from > 0 {
		return asksBeside(q, a, t, old)
	}
	if !f.Sent || f.from > 0 || len(a.answers()) > 0 || len(a.talk) == 0 || len(a.talk) > 2 || t.tools || q.Wire.HasResult() {
		return false
	}
	return f.Known.Tip != "" && old != nil && about(q, a, t, old) && (titled(q, a) || holds(a.openingGrams(), old.opening))
}

// asksBeside says that a request which shows a whole conversation asks something about it that its people do not: a title, tags, what
// they may ask next. People ask for titles too, but seldom for that of this very conversation, and for one of a given form.
func asksBeside(q Request, a *alignment, t, old *traits) bool {
	last := &q.Messages[len(q.Messages)-1]
	if t.tools || last.Role != "user" || q.Wire.HasResult() {
		return false
	}
	words, text := a.engine.words, wire.Text(last.Raw)
	if len(text) > longestOrder || !words.title.in(text) {
		return false
	}
	here := words.here.in(text) || words.user.in(text) && words.further.in(text)
	if old.stream && !t.stream || otherwise(t, old) {
		return here || words.form.in(text) && words.conversation.in(text)
	}
	return here && words.form.in(text)
}

// about says that a request speaks about a conversation which had those traits: of what would make it another program's, and of what
// it says, at least two things.
func about(q Request, a *alignment, t, old *traits) bool {
	if t.tools || len(a.answers()) > 0 || len(a.talk) > 2 || q.Wire.HasResult() {
		return false
	}
	n := 0
	if slices.Equal(leastOf(a.digester, a.opening()), old.opening) {
		return false // it begins as the conversation did
	}
	for _, sign := range []bool{
		shared(t.system, old.system) < unlikely,
		old.tools,
		old.stream && !t.stream,
		holds(a.openingGrams(), old.opening),
		titled(q, a),
	} {
		if sign {
			n++
		}
	}
	return n > 1
}

// titled says that a request gives an order to name something, beside what that is to be named after.
func titled(q Request, a *alignment) bool {
	title := &a.engine.words.title
	return title.in(orders(a.opening())) || instructs(q, title)
}

// holds says that a text has nearly all of a sample of another one.
func holds(grams, sample []uint64) bool {
	if len(sample) == 0 {
		return false
	}
	n := 0
	for _, g := range sample {
		if slices.Contains(grams, g) {
			n++
		}
	}
	return float64(n) >= wholeWords*float64(len(sample))
}

// instructs says that one of the instructions of a request has one of some words.
func instructs(q Request, words *vocabulary) bool {
	for _, text := range q.Wire.Instructions() {
		if said := wire.Text(text); len(said) <= longestPrompt && words.in(said) {
			return true
		}
	}
	return false
}

// asksToSum says that a request may ask for a summary that its conversation goes on from: the weaker half of compacts, by which an
// answer is marked, because a summary that is not found again splits a conversation.
func asksToSum(q Request, f *Finding, a *alignment, t, old *traits) bool {
	last := lastWords(q)
	if f.New || last == nil {
		return false
	}
	words, other := a.engine.words, otherwise(t, old)
	if !t.tools && !q.Wire.HasResult() && !other {
		return words.asksSummary(last) && words.goingOn.in(last)
	}
	return words.asksSummary(last) || words.goingOn.in(last) && words.conversation.in(last) || other && instructs(q, &words.summary)
}

// compacts says that a request asks for a summary in whose place its conversation is to go on: it continues a conversation, and asks
// with its last words for a summary of that to go on from, or for any under instructions of another kind or without the tools. People
// ask for summaries too, but not for that.
func compacts(q Request, f *Finding, a *alignment, t, old *traits) bool {
	last := lastWords(q)
	if f.New || last == nil {
		return false
	}
	words := a.engine.words
	wanted := words.summary.in(last) && words.talk.in(last) && words.goingOn.in(last)
	if f.from == 0 { // it shows nothing of the conversation that its id names
		return f.Sent && f.Known.Tip != "" && len(last) <= longestOrder && wanted
	}
	apart := otherwise(t, old) || old != nil && old.tools && !t.tools
	return wanted || apart && words.asksSummary(last) || otherwise(t, old) && instructs(q, &words.summary)
}

// otherwise says that the instructions are others than those of the conversation.
func otherwise(t, old *traits) bool { return old != nil && shared(t.system, old.system) < unlikely }

// lastWords is what the user says last; nil where the last message is another one.
func lastWords(q Request) []byte {
	if len(q.Messages) == 0 || q.Wire.EndsInResult() {
		return nil
	}
	last := &q.Messages[len(q.Messages)-1]
	if last.Role != "user" {
		return nil
	}
	return wire.Text(last.Raw)
}
