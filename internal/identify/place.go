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
	Last    wire.Digest       // digest of its last message; zero where there is none
	Prior   wire.Digest       // digest of the one before
	Above   wire.Digest       // chain digest of what stands above the last one
	Opening []mooring.Mark    // by which the first new message is found; nil where it opens no session
	View    *mooring.View     // what the request left out of its branch; nil for nothing
	Sums    bool              // the answer may be what the conversation goes on from
}

// Locate aligns a request with the tree of its session. A request that shows an answer known to the session goes on behind
// it; one that shows none goes on at the tip, as clients that leave the history to the server expect.
func (e *Engine) Locate(ctx context.Context, f *Finding, q Request) (*Place, error) {
	a, err := e.talkOf(f, q)
	if err != nil {
		return nil, err
	}
	a.session = &f.Known
	p := a.place()
	p.Sums = f.sums
	switch {
	case f.Kind == mooring.KindSide:
		return p, nil
	case f.New:
		p.New, p.Opening = a.talk, openingMark(a.digester, a.opening())
		return p, nil
	}
	if q.Under != nil {
		a.under(p, *q.Under, q.Below)
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
	switch {
	case p.Parent == "":
		p.Opening = openingMark(a.digester, a.opening())
	case from == 0 || a.partly:
		p.View = &mooring.View{Sent: len(a.talk)}
	}
	return p, nil
}

// under places the last message of a request below one that the caller names. Of those that follow it already, one that says the same
// is taken for it: it is asked once more, and gets another answer.
func (a *alignment) under(p *Place, parent mooring.MessageID, below []mooring.Message) {
	last := len(a.talk) - 1
	if p.Parent = parent; last < 0 {
		return
	}
	if parent != "" && last == 0 {
		p.View = &mooring.View{Sent: 1}
	}
	for i := range below {
		if below[i].Role == a.messages[a.talk[last]].Role && a.same(last, &below[i]) {
			p.Parent = below[i].ID
			return
		}
	}
	p.New = a.talk[last:]
	if parent == "" {
		p.Opening = openingMark(a.digester, a.opening())
	}
}

// place is one that says where nothing stands yet.
func (a *alignment) place() *Place {
	p := &Place{Digests: a.digests}
	if n := len(a.talk); n > 0 {
		p.Seen, p.Last = a.chain[n-1], a.digests[a.talk[n-1]]
		if n > 1 {
			p.Prior, p.Above = a.digests[a.talk[n-2]], a.chain[n-2]
		}
	}
	return p
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
	a := &alignment{engine: e, digester: d, tenant: q.Tenant, protocol: q.Wire.Protocol, messages: q.Messages, skip: q.Skip}
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
	if known {
		f.cut(len(f.talk.talk) - len(a.talk))
	}
	f.talk = a
	return a, nil
}

// cut leaves out the first n messages of the talk: they were said before the chat was reset.
func (f *Finding) cut(n int) {
	if f.from -= n; f.from <= 0 {
		f.below, f.from = "", 0
	}
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
	tip, err := a.engine.Store.Around(ctx, a.tenant, []mooring.MessageID{a.session.Tip}, 0, 0)
	if err != nil || len(tip) == 0 || tip[0].Role == roleAssistant || !a.same(0, &tip[0].Message) {
		return nil, err
	}
	return &tip[0].Message, nil
}

// alignment is one request held against one session. Positions in talk and chain count conversational messages only.
type alignment struct {
	engine   *Engine
	digester *wire.Digester
	tenant   mooring.Tenant
	protocol mooring.Protocol
	session  *Known // the one it is held against; nil while that is not known
	messages []wire.Message
	skip     int // messages before it are no part of the talk
	digests  []wire.Digest
	talk     []int               // positions in messages
	replies  []int               // positions of the answers in the talk, the last first
	chain    []wire.Digest       // of talk[0..i]
	leaves   []mooring.MessageID // messages below which the request's next one is known not to stand
	looked   *look               // what the index says; nil while it has not been asked
	opened   []byte              // what the request opens with, and its grams; nil until they are needed
	grams    []uint64
	partly   bool // the request shows a part of its branch only
}

func (a *alignment) walk() {
	a.talk = make([]int, 0, len(a.messages))
	a.replies = make([]int, 0, len(a.messages)/2+1)
	a.chain = make([]wire.Digest, 0, len(a.messages))
	if a.skip >= len(a.messages) {
		return
	}
	chains := a.digester.Chains(a.digests[a.skip:])
	for i := a.skip; i < len(a.messages); i++ {
		if a.messages[i].Conversational() {
			a.talk = append(a.talk, i)
			a.chain = append(a.chain, chains[i-a.skip])
		}
	}
	for i, at := range slices.Backward(a.talk) {
		if a.messages[at].Role == roleAssistant {
			a.replies = append(a.replies, i)
		}
	}
}

// atTip says that the last answer of the request is the last one that the session gave, and gives the position behind it. A client
// that leaves out what is old shows it by the answer itself.
func (a *alignment) atTip(k *Known) (from int, ok bool) {
	answers := a.answers()
	if len(answers) == 0 || k.Tip == "" || k.Seen.Zero() {
		return 0, false
	}
	last := answers[0]
	if a.chain[last] == k.Seen {
		return last + 1, true
	}
	self := selfMark(a.digester, a.digests[a.talk[last]], a.before(last))
	if k.Said.Zero() || string(self.Digest) != string(k.Said[:]) {
		return 0, false
	}
	a.partly = true
	return last + 1, true
}

// find gives the last answer of the request that the session holds, and the position behind it; 0 where it holds none.
func (a *alignment) find(ctx context.Context) (mooring.MessageID, int, error) {
	if from, ok := a.atTip(a.session); ok {
		return a.session.Tip, from, nil
	}
	if len(a.answers()) == 0 {
		return "", 0, nil
	}
	l, err := a.look(ctx, nil)
	if err != nil {
		return "", 0, err
	}
	if r := l.of(a.session.ID); r != nil && r.message != "" {
		a.partly = !r.whole
		return r.message, r.from, nil
	}
	return a.alike(ctx)
}

// trailLength bounds how far back a client that alters all answers is followed.
const trailLength = 400

// alike aligns a request none of whose answers is known: its client alters them (trims, re-wraps, translates). The questions it
// sends are the ones it sent before, so the last of them that stands on the current branch shows the place; what follows it
// there is taken for the same as long as the same side speaks.
func (a *alignment) alike(ctx context.Context) (mooring.MessageID, int, error) {
	if a.session.Tip == "" {
		return "", 0, nil
	}
	trail, err := a.engine.Store.Around(ctx, a.tenant, []mooring.MessageID{a.session.Tip}, trailLength, 0)
	if err != nil {
		return "", 0, err
	}
	slices.Reverse(trail)
	for i := len(a.talk) - 2; i >= 0; i-- { // the last message is what is new
		if a.messages[a.talk[i]].Role == roleAssistant {
			continue
		}
		for j := len(trail) - 1; j >= 0; j-- {
			if a.same(i, &trail[j].Message) {
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
func (a *alignment) along(trail []mooring.Neighbour, at int) (mooring.MessageID, int) {
	id, behind := trail[0].ID, at+1
	for k := 1; k < len(trail) && behind < len(a.talk); k++ {
		answer := a.messages[a.talk[behind]].Role == roleAssistant
		if (trail[k].Role == roleAssistant) != answer || !answer && !a.same(behind, &trail[k].Message) {
			break
		}
		id, behind = trail[k].ID, behind+1
	}
	return id, behind
}

const roleAssistant = "assistant"

// answers are the positions of the request's answers, the last first.
func (a *alignment) answers() []int { return a.replies }

// longestFollow is how far a request is followed down from an answer that it holds.
const longestFollow = 64

// follow goes down from a known answer as long as the request's next messages are stored below it already: the same question
// asked again gets another answer, not another copy of itself.
func (a *alignment) follow(ctx context.Context, parent mooring.MessageID, from int) (mooring.MessageID, int, error) {
	if parent == "" || parent == a.session.Tip || from == len(a.talk) || slices.Contains(a.leaves, parent) {
		return parent, from, nil
	}
	near, err := a.engine.Store.Around(ctx, a.tenant, []mooring.MessageID{parent}, 0, min(longestFollow, len(a.talk)-from))
	if err != nil {
		return "", 0, err
	}
	for from < len(a.talk) {
		next := a.next(near, parent, from)
		if next == "" {
			break
		}
		parent, from = next, from+1
	}
	return parent, from, nil
}

// next is the message below another one that is the request's at a position; empty for none.
func (a *alignment) next(near []mooring.Neighbour, parent mooring.MessageID, at int) mooring.MessageID {
	for i := range near {
		if near[i].Parent == parent && a.same(at, &near[i].Message) {
			return near[i].ID
		}
	}
	return ""
}
