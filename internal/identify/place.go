package identify

import (
	"context"
	"slices"

	"mooring"
	"mooring/internal/wire"
)

// Place is where a request's messages stand in their session's tree.
type Place struct {
	Parent  mooring.MessageID // what the first new message follows; empty at the root
	New     []int             // positions in the request of the messages that are not stored yet
	Digests []wire.Digest     // of all messages of the request; zero for system and developer messages
	Seen    wire.Digest       // chain digest of the request's conversation, as its client sees it
	View    *mooring.View     // what the request left out of its branch; nil for nothing
}

// lookBack is how many of the last answers of a request one query asks for: an edit rarely reaches further back.
const lookBack = 8

// Locate aligns a request with the tree of its session. A request that shows an answer known to the session goes on behind
// it; one that shows none goes on at the tip, as clients that leave the history to the server expect.
func (e *Engine) Locate(ctx context.Context, f *Finding, q Request) (*Place, error) {
	a, err := e.talkOf(f, q)
	if err != nil {
		return nil, err
	}
	a.session = &f.Known
	p := &Place{Digests: a.digests}
	if len(a.chain) > 0 {
		p.Seen = a.chain[len(a.chain)-1]
	}
	switch {
	case f.Kind == mooring.KindSide:
		return p, nil
	case f.New:
		p.New = a.talk
		return p, nil
	}
	again, err := a.asked(ctx, f)
	if err != nil {
		return nil, err
	}
	if again != nil {
		p.again(again)
		return p, nil
	}
	from, err := a.start(ctx, f, p)
	if err != nil {
		return nil, err
	}
	if p.Parent, from, err = a.follow(ctx, p.Parent, from); err != nil {
		return nil, err
	}
	p.New = a.talk[from:]
	if from == 0 && p.Parent != "" {
		p.View = &mooring.View{Sent: len(a.talk)}
	}
	return p, nil
}

// start gives the position behind the last message of the request that is known to stand in the session, and sets the parent of
// what follows: that message, else the session's tip.
func (a *alignment) start(ctx context.Context, f *Finding, p *Place) (int, error) {
	if p.Parent = f.below; p.Parent != "" {
		return f.from, nil
	}
	id, from, err := a.find(ctx)
	if p.Parent = id; from == 0 {
		p.Parent = f.Known.Tip
	}
	return from, err
}

// again places a lone question below itself.
func (p *Place) again(question *mooring.Message) {
	p.Parent = question.ID
	if question.Parent != "" {
		p.View = &mooring.View{From: question.ID, Sent: 1}
	}
}

// talkOf digests the messages of a request, once for all that is asked of them.
func (e *Engine) talkOf(f *Finding, q Request) (*alignment, error) {
	known := f.talk != nil && f.talk.of(q.Messages)
	if known && f.talk.skip == q.Skip {
		return f.talk, nil
	}
	d := e.Digester(q.Tenant)
	a := &alignment{engine: e, digester: d, tenant: q.Tenant, messages: q.Messages, skip: q.Skip}
	if known {
		a.digests = f.talk.digests
	} else {
		digests, err := d.Messages(q.Wire.Protocol, q.Messages)
		if err != nil {
			return nil, err
		}
		a.digests = digests
	}
	a.walk()
	f.talk = a
	return a, nil
}

// of says that it is about these very messages: the session of a command is looked for without the command.
func (a *alignment) of(messages []wire.Message) bool {
	return len(a.messages) == len(messages) && (len(messages) == 0 || &a.messages[0] == &messages[0])
}

// asked gives the message at the tip where the request is that lone question, without an answer so far: sent again after a
// failure, it is another turn below the same message. Where the last answer is remembered the tip is that answer.
func (a *alignment) asked(ctx context.Context, f *Finding) (*mooring.Message, error) {
	if f.below != "" || len(a.talk) != 1 || a.session.Tip == "" || !a.session.Seen.Zero() {
		return nil, nil
	}
	trail, err := a.engine.Store.Trail(ctx, a.session.Tenant, a.session.ID, a.session.Tip, 1)
	if err != nil || len(trail) == 0 || trail[0].Role == roleAssistant || !a.same(0, &trail[0]) {
		return nil, err
	}
	return &trail[0], nil
}

// alignment is one request held against one session. Positions in talk and chain count conversational messages only.
type alignment struct {
	engine   *Engine
	digester *wire.Digester
	tenant   mooring.Tenant
	session  *Known // the one it is held against; nil while that is not known
	messages []wire.Message
	skip     int // messages before it are no part of the talk
	digests  []wire.Digest
	talk     []int         // positions in messages
	chain    []wire.Digest // of talk[0..i]
}

func (a *alignment) walk() {
	var prev wire.Digest
	a.talk = make([]int, 0, len(a.messages))
	a.chain = make([]wire.Digest, 0, len(a.messages))
	for i := range a.messages {
		if i < a.skip || !a.messages[i].Conversational() {
			continue
		}
		prev = a.digester.Chain(prev, a.digests[i])
		a.talk = append(a.talk, i)
		a.chain = append(a.chain, prev)
	}
}

// find gives the last answer of the request that the session holds, and the position behind it; 0 where it holds none.
func (a *alignment) find(ctx context.Context) (mooring.MessageID, int, error) {
	answers := a.answers()
	if len(answers) == 0 {
		return "", 0, nil
	}
	last := answers[0]
	if !a.session.Seen.Zero() && a.chain[last] == a.session.Seen {
		return a.session.Tip, last + 1, nil
	}
	recent := answers[:min(lookBack, len(answers))]
	for _, q := range []struct {
		kind   mooring.ChainKind
		at     []int
		digest func(int) wire.Digest
	}{
		{mooring.ByChain, recent, func(i int) wire.Digest { return a.chain[i] }},
		{mooring.BySelf, recent, func(i int) wire.Digest { return a.digests[a.talk[i]] }},
		{mooring.ByChain, sample(answers), func(i int) wire.Digest { return a.chain[i] }},
	} {
		id, at, err := a.ask(ctx, q.kind, q.at, q.digest)
		if err != nil || at > 0 {
			return id, at, err
		}
	}
	return a.alike(ctx)
}

// trailLength bounds how far back a client that alters all answers is followed.
const trailLength = 400

// alike aligns a request none of whose answers is known: its client alters them (trims, re-wraps, translates). The questions it
// sends are the ones it sent before, so the last of them that stands on the current branch shows the place; what follows it
// there is taken for the same as long as the same side speaks.
func (a *alignment) alike(ctx context.Context) (mooring.MessageID, int, error) {
	trail, err := a.engine.Store.Trail(ctx, a.session.Tenant, a.session.ID, a.session.Tip, trailLength)
	if err != nil {
		return "", 0, err
	}
	slices.Reverse(trail)
	for i := len(a.talk) - 2; i >= 0; i-- { // the last message is what is new
		if a.messages[a.talk[i]].Role == roleAssistant {
			continue
		}
		for j := len(trail) - 1; j >= 0; j-- {
			if a.same(i, &trail[j]) {
				id, at := a.along(trail[j:], i)
				return id, at, nil
			}
		}
	}
	return "", 0, nil
}

func (a *alignment) same(at int, m *mooring.Message) bool {
	return string(m.Digest) == string(a.digests[a.talk[at]][:])
}

// along follows a branch from a message that both have. It ends behind an answer: what a client asks again is another turn.
func (a *alignment) along(trail []mooring.Message, at int) (mooring.MessageID, int) {
	id, behind := trail[0].ID, at+1
	for k := 1; k < len(trail) && behind < len(a.talk); k++ {
		answer := a.messages[a.talk[behind]].Role == roleAssistant
		if (trail[k].Role == roleAssistant) != answer || !answer && !a.same(behind, &trail[k]) {
			break
		}
		id, behind = trail[k].ID, behind+1
	}
	return id, behind
}

const roleAssistant = "assistant"

// answers are the positions of the request's answers, the last first.
func (a *alignment) answers() []int {
	var out []int
	for i, at := range slices.Backward(a.talk) {
		if a.messages[at].Role == roleAssistant {
			out = append(out, i)
		}
	}
	return out
}

// ask looks for the digests of some answers in the session, the last one first. An answer that the session holds more than once
// ("OK.") shows by itself no place.
func (a *alignment) ask(ctx context.Context, kind mooring.ChainKind, answers []int, digest func(int) wire.Digest) (mooring.MessageID, int, error) {
	if len(answers) == 0 {
		return "", 0, nil
	}
	keys := make([][]byte, len(answers))
	for i, at := range answers {
		d := digest(at)
		keys[i] = d[:]
	}
	hits, err := a.engine.Store.Chain(ctx, a.session.Tenant, a.session.ID, kind, keys)
	if err != nil {
		return "", 0, err
	}
	for i, at := range answers {
		var found []mooring.MessageID
		for _, h := range hits {
			if string(h.Digest) == string(keys[i]) {
				found = append(found, h.Message)
			}
		}
		if len(found) == 1 || len(found) > 1 && kind == mooring.ByChain {
			return found[0], at + 1, nil
		}
	}
	return "", 0, nil
}

// sample spreads one more query over the answers that the first one left out.
func sample(answers []int) []int {
	if len(answers) <= lookBack {
		return nil
	}
	rest := answers[lookBack:]
	step := max(1, len(rest)/32)
	out := make([]int, 0, len(rest)/step+1)
	for i := 0; i < len(rest); i += step {
		out = append(out, rest[i])
	}
	return out
}

// follow goes down from a known answer as long as the request's next messages are stored below it already: the same question
// asked again gets another answer, not another copy of itself.
func (a *alignment) follow(ctx context.Context, parent mooring.MessageID, from int) (mooring.MessageID, int, error) {
	if parent == "" || parent == a.session.Tip {
		return parent, from, nil
	}
	for from < len(a.talk) {
		children, err := a.engine.Store.Children(ctx, a.session.Tenant, a.session.ID, parent)
		if err != nil {
			return "", 0, err
		}
		next := a.child(children, from)
		if next == "" {
			break
		}
		parent, from = next, from+1
	}
	return parent, from, nil
}

func (a *alignment) child(children []mooring.Message, at int) mooring.MessageID {
	want := a.digests[a.talk[at]]
	for _, c := range children {
		if string(c.Digest) == string(want[:]) {
			return c.ID
		}
	}
	return ""
}
