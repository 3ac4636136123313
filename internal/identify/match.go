package identify

import (
	"cmp"
	"context"
	"slices"

	"mooring"
	"mooring/internal/wire"
)

// byContent finds the session of a request without ids. False: it is of none that is known.
func (e *Engine) byContent(ctx context.Context, q Request, r *reading, f *Finding) (bool, error) {
	a, err := e.talkOf(f, q)
	if err != nil || len(a.talk) == 0 {
		return false, err
	}
	h, err := a.meet(ctx, q.Opening, &r.traits)
	if err != nil {
		return false, err
	}
	if h != nil {
		f.take(h, "it sends no id, and its messages hold an answer that this session was given")
		return true, nil
	}
	return e.byQuote(ctx, q, f, a, &r.traits)
}

// held is a session with the place that a request has in it.
type held struct {
	known   Known
	message mooring.MessageID
	from    int
	how     string
}

// take makes a session that answers show the finding's.
func (f *Finding) take(h *held, why string) {
	f.Known, f.Identity, f.Kind, f.New = h.known, h.how, kindOfSession(h.known.Session), false
	if !f.Sent {
		f.ClientID = h.known.Key
	}
	f.below, f.from = h.message, h.from
	f.Evidence = append(f.Evidence, mooring.Evidence{Signal: h.how, Use: "decided", Why: why})
}

// meet finds the session whose answers a request holds; nil where none was given here.
func (a *alignment) meet(ctx context.Context, opening []byte, t *traits) (*held, error) {
	if h := a.warm(); h != nil {
		return h, nil
	}
	if len(a.answers()) == 0 && opening == nil {
		return nil, nil //nolint:nilnil // nothing found is an answer
	}
	l, err := a.look(ctx, opening)
	if err != nil {
		return nil, err
	}
	r, err := a.best(ctx, l, t)
	if r == nil || err != nil {
		return nil, err
	}
	return a.hold(ctx, r)
}

// hold gives the session of a rival, nil where it is gone by now.
func (a *alignment) hold(ctx context.Context, r *rival) (*held, error) {
	k, err := a.engine.session(ctx, a.tenant, r.session)
	if mooring.KindOf(err) == mooring.KindNotFound {
		return nil, nil //nolint:nilnil // deleted just now
	}
	if err != nil {
		return nil, err
	}
	h := &held{known: k, message: r.message, from: r.from, how: "content:prefix"}
	if a.partly = !r.whole; a.partly || r.message == "" {
		h.how = "content:reply"
	}
	return h, nil
}

// warm answers from memory where a session is known to stand at the last answer of the request and no other one has it.
func (a *alignment) warm() *held {
	answers := a.answers()
	if len(answers) == 0 {
		return nil
	}
	last := answers[0]
	h := a.standing(answerKey{a.tenant, a.chain[last]})
	if h == nil {
		self := selfMark(a.digester, a.digests[a.talk[last]], a.before(last))
		h = a.standing(answerKey{a.tenant, wire.Digest(self.Digest)})
		if h != nil && !a.familiar(&h.known, last) { // memory may not know of others that gave the same answer
			a.partly, h = false, nil
		}
	}
	return h
}

// familiar says that the messages above an answer are those that a session's last answer follows, and that they say enough to be
// no chance, or are all that the request holds.
func (a *alignment) familiar(k *Known, answer int) bool {
	said, at := a.info(answer), answer-1
	for _, d := range slices.Backward(k.recent) {
		if at < 0 || a.digests[a.talk[at]] != d {
			break
		}
		said += a.info(at)
		at--
	}
	return at < answer-1 && (said >= enough || at < 0)
}

// standing gives the one session that is known to have said something, where that is its last word.
func (a *alignment) standing(key answerKey) *held {
	known, ok := a.engine.answers.GetIfPresent(key)
	if !ok || known.shared {
		return nil
	}
	k, ok := a.engine.sessions.GetIfPresent(sessionKey{a.tenant, known.session})
	if !ok {
		return nil
	}
	h := &held{known: k.known(a.tenant, known.session), how: "content:prefix"}
	if h.from, ok = a.atTip(&h.known); !ok {
		return nil
	}
	if h.message = h.known.Tip; a.partly {
		h.how = "content:reply"
	}
	return h
}

// byQuote finds what a request without a known answer begins with: a task that another session gave, a summary that goes on in its
// place, or words of a session that it only asks about.
func (e *Engine) byQuote(ctx context.Context, q Request, f *Finding, a *alignment, t *traits) (bool, error) {
	l, err := a.look(ctx, q.Opening)
	if err != nil || len(l.quotes) == 0 {
		return false, err
	}
	known, err := e.sessionsOf(ctx, q.Tenant, quotedIn(l.quotes))
	if err != nil {
		return false, err
	}
	if parent, ok := spawner(l.quotes, known, a); ok {
		e.spawned(q, f, &parent)
		return true, nil
	}
	k, about := asksAbout(q, l.quotes, known, a, t)
	if sum, ok := summed(l.quotes, known, t); ok && (!about || !titled(q, a)) {
		f.take(&held{known: sum, how: "content:summary"}, "it begins with a summary that this session was given")
		return true, nil
	}
	if !about {
		return false, nil
	}
	if k.ID == "" {
		e.minted(q, f)
	} else {
		f.take(&held{known: k, how: "content:reply"}, "it speaks of this session and is no part of it")
	}
	f.aside = true
	return true, nil
}

func quotedIn(quotes []quote) []mooring.SessionID {
	var out []mooring.SessionID
	for _, q := range quotes {
		if !slices.Contains(out, q.session) && len(out) < maxRivals {
			out = append(out, q.session)
		}
	}
	return out
}

// What has to be there of a text for it to be that text.
const (
	wholeTask  = 0.9  // of a task whose result is still waited for: clients add to it
	oldTask    = 0.95 // of one whose result is there
	oldSample  = 4    // and by how many samples that has to be judged
	partOfSum  = 0.4  // of a summary: clients leave out what stands around it
	leastOfSum = 4    // samples of it
	wholeSum   = 0.9  // of one that is there as it was given
	wholeWords = 0.8  // of words that are spoken about
)

// spawner gives the session that gave the task which a request begins with: of several the latest that still waits for the result.
func spawner(quotes []quote, known map[mooring.SessionID]Known, a *alignment) (Known, bool) {
	if len(a.answers()) > 0 {
		return Known{}, false
	}
	type task struct {
		quote
		waits int // 1 for its result
	}
	var tasks []task
	for _, q := range quotes {
		k, ok := known[q.session]
		if !ok || q.kind != mooring.ByCall {
			continue
		}
		t := task{quote: q}
		if k.Tip == q.message {
			t.waits = 1
		}
		if t.waits > 0 && q.part >= wholeTask || q.part >= oldTask && q.size >= oldSample {
			tasks = append(tasks, t)
		}
	}
	if len(tasks) == 0 {
		return Known{}, false
	}
	best := slices.MaxFunc(tasks, func(x, y task) int {
		return cmp.Or(x.waits-y.waits, cmp.Compare(x.part, y.part), cmp.Compare(x.message, y.message))
	})
	return known[best.session], true
}

// spawned opens the session of a sub-agent.
func (e *Engine) spawned(q Request, f *Finding, parent *Known) {
	key := e.NewKey()
	alias := mooring.Alias{Class: mooring.ClassAny, Value: key}
	f.open(e.fresh(q, key))
	f.Aliases, f.Named, f.Identity = []mooring.Alias{alias}, mooring.Alias{}, "content:spawn"
	f.Names = f.Aliases
	if !f.Sent {
		f.ClientID = key
	}
	f.below, f.from = "", 0
	f.under(parent)
	f.Evidence = append(f.Evidence, mooring.Evidence{Signal: f.Identity, Use: "decided", Why: "it begins with a task that an answer in its parent's session handed to a tool"})
}

// under makes a new session a sub-agent of another one.
func (f *Finding) under(parent *Known) {
	s := &f.Known.Session
	s.Relation, s.Parent, s.Root, f.Kind = mooring.RelationSubagent, parent.ID, parent.Root, mooring.KindSubagent
}

// summed gives the session whose last word is a summary that the request goes on from.
func summed(quotes []quote, known map[mooring.SessionID]Known, t *traits) (Known, bool) {
	for _, q := range quotes {
		k, ok := known[q.session]
		if !ok || q.kind != mooring.BySummary || q.part < partOfSum || q.part*float64(q.size) < leastOfSum || k.Tip != q.message {
			continue
		}
		if old, ok := readTraits(k.Traits); !ok || q.part >= wholeSum || shared(old.system, t.system) >= unlikely || old.tools && t.tools {
			return k, true
		}
	}
	return Known{}, false
}

// unlikely is how little of the instructions is the same where they are others.
const unlikely = 0.5

// asksAbout says whether a request without ids is one about a conversation (for its title, say), and which session that is: none
// where several may be meant.
func asksAbout(q Request, quotes []quote, known map[mooring.SessionID]Known, a *alignment, t *traits) (Known, bool) {
	var meant []Known
	sure, titled := false, titled(q, a)
	for _, quoted := range quotes {
		k, ok := known[quoted.session]
		if !ok || quoted.kind == mooring.ByCall || quoted.part < wholeWords {
			continue
		}
		old, ok := readTraits(k.Traits)
		if !ok || !about(q, a, t, &old) {
			continue
		}
		given := quoted.kind != mooring.ByOpening
		if !given && !titled { // others open with the same words
			continue
		}
		if given && !sure { // an answer that it repeats says more than a question, which others ask too
			meant, sure = nil, true
		}
		if given == sure && !slices.ContainsFunc(meant, func(o Known) bool { return o.ID == k.ID }) {
			meant = append(meant, k)
		}
	}
	switch len(meant) {
	case 0:
		return Known{}, false
	case 1:
		return meant[0], true
	}
	return Known{}, true
}

// check holds a request against the session that its id names. A sub-agent may use its parent's id, and an id that is made anew with
// each start of a program, or is only a hint, gives way to what the messages prove.
func (e *Engine) check(ctx context.Context, q Request, r *reading, f *Finding) error {
	if !q.Content {
		return nil
	}
	a, err := e.talkOf(f, q)
	if err != nil || len(a.talk) == 0 || f.Known.Tip == "" {
		return err
	}
	if from, ok := a.atTip(&f.Known); ok {
		f.below, f.from = f.Known.Tip, from
		return nil
	}
	if r.agent != "" {
		return nil
	}
	a.session = &f.Known
	id := r.ids[0].signal
	if h := a.warm(); h != nil && mayOverrule(id, &f.Known, &h.known) {
		f.overrule(h, id)
		return nil
	}
	if len(a.answers()) > 0 {
		done, err := e.overruled(ctx, f, a, id, &r.traits)
		if done || err != nil {
			return err
		}
	}
	return e.anew(ctx, q, r, f, a)
}

// anew is a request that begins a history under the id of a session which has one: a sub-agent's, another conversation's where the
// id may be that of several, or the session's own, begun anew.
func (e *Engine) anew(ctx context.Context, q Request, r *reading, f *Finding, a *alignment) error {
	id := r.ids[0].signal
	if id.loose() && alone(id, &f.Known) && e.opensElse(&f.Known, a) {
		f.unname(id, "it named another conversation, and this one begins otherwise")
		return e.unnamed(ctx, q, r, f)
	}
	if len(a.answers()) > 0 || !f.Known.Calls && !r.unplaced && e.Refresh == 0 {
		return nil
	}
	l, err := a.look(ctx, nil)
	if err != nil {
		return err
	}
	tasks := slices.DeleteFunc(slices.Clone(l.quotes), func(q quote) bool { return q.kind != mooring.ByCall })
	known, err := e.sessionsOf(ctx, q.Tenant, quotedIn(tasks))
	if err != nil {
		return err
	}
	for s, k := range known {
		if k.Root != f.Known.Root {
			delete(known, s)
		}
	}
	parent, ok := spawner(tasks, known, a)
	if !ok && r.unplaced {
		parent, ok = f.Known, true
	}
	if ok {
		f.unname(id, "it is the id of the session that this one works for")
		e.spawned(q, f, &parent)
	}
	return nil
}

// opensElse says that a request opens with other words than a session did.
func (e *Engine) opensElse(k *Known, a *alignment) bool {
	old, ok := readTraits(k.Traits)
	if !ok || len(old.opening) == 0 {
		return false
	}
	now := leastOf(a.digester, a.opening())
	return len(now) > 0 && shared(old.opening, now) < unlikely
}
