package identify

import (
	"cmp"
	"context"
	"slices"

	"github.com/maypok86/otter/v2"

	"mooring"
	"mooring/internal/wire"
)

// answerKey is a conversation up to an answer, as its client has it.
type answerKey struct {
	tenant mooring.Tenant
	seen   wire.Digest
}

// answered is the session that gave such an answer.
type answered struct {
	session mooring.SessionID
	shared  bool // others gave the same one in the same conversation
}

// remember notes which session a conversation belongs to.
func (e *Engine) remember(t mooring.Tenant, seen wire.Digest, id mooring.SessionID) {
	e.answers.Compute(answerKey{t, seen}, func(old answered, found bool) (answered, otter.ComputeOp) {
		return answered{session: id, shared: found && (old.shared || old.session != id)}, otter.WriteOp
	})
}

// The limits of what is compared where several sessions hold the same answer.
const (
	maxTwins     = 32 // sessions that hold the same conversation
	maxRivals    = 8  // sessions that hold the same answer
	contextDepth = 16 // messages above the answer
)

// longReply is from how many bytes on an answer is its session's alone, as long as no other session holds it too: two model
// answers of that length are not equal by chance.
const longReply = 96

// hit is a place where a request and a session meet.
type hit struct {
	session mooring.SessionID
	message mooring.MessageID // the session's last message that the request holds; empty for the answer that opened the session
	from    int               // the position in the talk behind it
}

// byContent finds the session whose answers a request holds. False: none of them was given here.
func (e *Engine) byContent(ctx context.Context, q Request, f *Finding) (bool, error) {
	a, err := e.talkOf(f, q)
	if err != nil {
		return false, err
	}
	h, how, err := a.meet(ctx, q)
	if h == nil || err != nil {
		return false, err
	}
	k, err := e.session(ctx, q.Tenant, h.session)
	if mooring.KindOf(err) == mooring.KindNotFound {
		return false, nil // deleted just now
	}
	if err != nil {
		return false, err
	}
	f.Known, f.ClientID, f.Identity, f.Kind = k, k.Key, how, kindOfSession(k.Session)
	f.below, f.from = h.message, h.from
	f.Evidence = append(f.Evidence, mooring.Evidence{Signal: how, Use: "decided", Why: "it sends no id, and its messages hold an answer that this session was given"})
	return true, nil
}

// meet looks for the session, by what says most first: an answer that opened a session is that one's alone.
func (a *alignment) meet(ctx context.Context, q Request) (h *hit, how string, err error) {
	if q.Opening != nil {
		if h, err = a.byOpening(ctx, q); h != nil || err != nil {
			return h, "content:reply", err
		}
	}
	if h, err = a.byPrefix(ctx); h != nil || err != nil {
		return h, "content:prefix", err
	}
	h, err = a.byReply(ctx)
	return h, "content:reply", err
}

// byPrefix looks for the conversation up to one of the last answers of the request, as whole as the client sends it.
func (a *alignment) byPrefix(ctx context.Context) (*hit, error) {
	answers := a.answers()
	if len(answers) == 0 {
		return nil, nil //nolint:nilnil // nothing found is an answer
	}
	if h, ok := a.warm(answers[0]); ok {
		return h, nil
	}
	for _, at := range [][]int{answers[:min(lookBack, len(answers))], sample(answers)} {
		hits, err := a.everywhere(ctx, mooring.ByChain, at, func(i int) wire.Digest { return a.chain[i] })
		if err != nil {
			return nil, err
		}
		if len(hits) > 0 {
			return a.settle(ctx, hits)
		}
	}
	return nil, nil //nolint:nilnil // as above
}

// warm answers from memory where the session is known to stand at this answer and no other one has it.
func (a *alignment) warm(at int) (*hit, bool) {
	known, ok := a.engine.answers.GetIfPresent(answerKey{a.tenant, a.chain[at]})
	if !ok || known.shared {
		return nil, false
	}
	k, ok := a.engine.sessions.GetIfPresent(sessionKey{a.tenant, known.session})
	if !ok {
		return nil, false
	}
	if stands := k.known(a.tenant, known.session); stands.Seen == a.chain[at] {
		return &hit{known.session, stands.Tip, at + 1}, true
	}
	return nil, false
}

// everywhere looks for digests in all sessions of the tenant and gives the hits of the last answer that has any.
func (a *alignment) everywhere(ctx context.Context, kind mooring.ChainKind, answers []int, digest func(int) wire.Digest) ([]hit, error) {
	if len(answers) == 0 {
		return nil, nil
	}
	keys := make([][]byte, len(answers))
	for i, at := range answers {
		d := digest(at)
		keys[i] = d[:]
	}
	entries, err := a.engine.Store.Chain(ctx, a.tenant, "", kind, keys)
	if err != nil {
		return nil, err
	}
	for i, at := range answers {
		var hits []hit
		for _, e := range entries {
			if string(e.Digest) == string(keys[i]) && e.Message != "" {
				hits = append(hits, hit{e.Session, e.Message, at + 1})
			}
		}
		if len(hits) > 0 {
			return hits, nil
		}
	}
	return nil, nil
}

// settle chooses between sessions that hold the whole conversation up to the same answer, the newest first: the one that stands
// there, for that is where a client goes on, a copy only where there is no other; else the one that has the request's next message
// behind it already; else the newest.
func (a *alignment) settle(ctx context.Context, hits []hit) (*hit, error) {
	if len(hits) == 1 {
		return &hits[0], nil
	}
	slices.SortFunc(hits, func(x, y hit) int { return cmp.Compare(y.message, x.message) })
	var best *hit
	most := 0
	for i := range hits[:min(maxTwins, len(hits))] {
		claim, err := a.claim(ctx, &hits[i])
		if err != nil {
			return nil, err
		}
		if claim > most {
			best, most = &hits[i], claim
		}
		if most == standsHere {
			break
		}
	}
	return best, nil
}

// How much of a claim to a request a session has that holds its last answer.
const (
	gone       = iota
	movedOn    // it has gone on otherwise
	wentThere  // it has gone on as the request does
	copyStands // it is a copy and stands at the answer
	standsHere
)

func (a *alignment) claim(ctx context.Context, h *hit) (int, error) {
	k, err := a.engine.session(ctx, a.tenant, h.session)
	switch {
	case mooring.KindOf(err) == mooring.KindNotFound:
		return gone, nil
	case err != nil:
		return gone, err
	case k.Tip == h.message && k.Relation == mooring.RelationFork:
		return copyStands, nil
	case k.Tip == h.message:
		return standsHere, nil
	case h.from >= len(a.talk):
		return movedOn, nil
	}
	children, err := a.engine.Store.Children(ctx, a.tenant, h.session, h.message)
	if err == nil && a.child(children, h.from) != "" {
		return wentThere, nil
	}
	return movedOn, err
}

// byReply looks for single answers, for clients that change what stands before them. A short answer ("OK.") is only followed
// where what stands above it agrees too.
func (a *alignment) byReply(ctx context.Context) (*hit, error) {
	answers := a.answers()
	hits, err := a.everywhere(ctx, mooring.BySelf, answers[:min(lookBack, len(answers))], func(i int) wire.Digest { return a.digests[a.talk[i]] })
	if err != nil || len(hits) == 0 {
		return nil, err
	}
	if len(hits) == 1 && len(a.messages[a.talk[hits[0].from-1]].Raw) >= longReply {
		return &hits[0], nil
	}
	var best *hit
	most := 1 // the answer itself
	for i := range hits[:min(maxRivals, len(hits))] {
		agree, err := a.agreement(ctx, &hits[i])
		if err != nil {
			return nil, err
		}
		if agree > most {
			best, most = &hits[i], agree
		}
	}
	return best, nil
}

// agreement counts the messages, from the answer upwards, that request and session have in common without a gap.
func (a *alignment) agreement(ctx context.Context, h *hit) (int, error) {
	trail, err := a.engine.Store.Trail(ctx, a.tenant, h.session, h.message, contextDepth)
	if err != nil {
		return 0, err
	}
	n := 0
	for n < len(trail) && h.from-1-n >= 0 && a.same(h.from-1-n, &trail[n]) {
		n++
	}
	return n, nil
}

// byOpening finds the session that was opened with this answer.
func (a *alignment) byOpening(ctx context.Context, q Request) (*hit, error) {
	d, err := a.digester.Message(q.Wire.Protocol, q.Opening)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // no answer of this product
	}
	entries, err := a.engine.Store.Chain(ctx, a.tenant, "", mooring.BySelf, [][]byte{d[:]})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Message == "" {
			return &hit{session: e.Session}, nil
		}
	}
	return nil, nil //nolint:nilnil // as above
}
