package identify

import (
	"cmp"
	"context"
	"slices"

	"mooring"
)

// best chooses the session whose answers a request holds; nil where none was given here, or what agrees may do so by chance.
func (a *alignment) best(ctx context.Context, l *look, t *traits) (*rival, error) {
	if len(l.rivals) == 0 {
		return nil, nil //nolint:nilnil // nothing found is an answer
	}
	top := l.rivals[:1]
	for n := 1; n < len(l.rivals) && l.rivals[n].weight == top[0].weight && l.rivals[n].from == top[0].from; n++ {
		top = l.rivals[:n+1]
	}
	if len(top) == 1 || top[0].whole {
		r, err := a.settle(ctx, top, t)
		if err != nil || r == nil || r.whole || r.own && r.weight >= enough {
			return r, err
		}
		return a.confirmed(ctx, []*rival{r}, t)
	}
	return a.confirmed(ctx, top, t)
}

// contextDepth is how many messages above an answer are held against the session.
const contextDepth = 32

// confirmed looks at what stands above the answers that a request shares with sessions: the one that has most of it too goes on,
// where that is enough to be no chance, or all that the request holds and the session's last word.
func (a *alignment) confirmed(ctx context.Context, rivals []*rival, t *traits) (*rival, error) {
	ids := make([]mooring.MessageID, 0, len(rivals))
	for _, r := range rivals {
		if r.message != "" {
			ids = append(ids, r.message)
		}
	}
	near, err := a.engine.Store.Around(ctx, a.tenant, ids, contextDepth, 0)
	if err != nil {
		return nil, err
	}
	var left []*rival
	var known map[mooring.SessionID]Known
	most := 0
	for _, r := range rivals {
		said, sure := a.proves(r, near)
		if !sure && said > 0 && known == nil {
			if known, err = a.engine.sessionsOf(ctx, a.tenant, sessionsIn(rivals)); err != nil {
				return nil, err
			}
		}
		if k, ok := known[r.session]; !sure && (!ok || k.Tip != r.message) {
			continue
		}
		if said > most {
			most, left = said, nil
		}
		if said > 0 && said == most {
			left = append(left, r)
		}
	}
	return a.settle(ctx, left, t)
}

// proves is how much of what request and session have in common says, and whether that is no chance; 0 where it is as good as nothing.
// What is not sure counts where it is all that the request shows, and the session's last word.
func (a *alignment) proves(r *rival, near []mooring.Neighbour) (said int, sure bool) {
	n, said := a.agreement(r, near)
	if n < 2 || said < enough && n < r.from {
		return 0, false
	}
	return said, said >= enough
}

// agreement counts the messages, from the answer upwards, that request and session have in common without a gap, and how much they
// say.
func (a *alignment) agreement(r *rival, near []mooring.Neighbour) (n, said int) {
	for i := range near { // the nearest first
		m := &near[i]
		if m.Of != r.message || -m.Depth != n {
			continue
		}
		at := r.from - 1 - n
		if at < 0 || !a.same(at, &m.Message) {
			break
		}
		n++
		said += a.info(at)
	}
	return n, said
}

// settle chooses between sessions that explain as much of a request: those that look most like where it comes from; a session
// without an id of its own, since the request has none; the one that stands at the answer, for that is where a client goes on, a
// copy only where there is no other; else the one that has the request's next message behind it already; else the newest.
func (a *alignment) settle(ctx context.Context, rivals []*rival, t *traits) (*rival, error) {
	if len(rivals) == 0 {
		return nil, nil //nolint:nilnil // nothing is left
	}
	if len(rivals) == 1 {
		return rivals[0], nil
	}
	known, err := a.engine.sessionsOf(ctx, a.tenant, sessionsIn(rivals))
	if err != nil {
		return nil, err
	}
	var left []claim
	for _, r := range rivals {
		k, ok := known[r.session]
		if !ok {
			continue
		}
		c := claim{rival: r, known: k}
		if old, ok := readTraits(k.Traits); ok {
			c.alike = old.alike(t)
		}
		left = append(left, c)
	}
	if left = nearest(left); len(left) == 0 {
		return nil, nil //nolint:nilnil // deleted just now
	}
	return a.firm(ctx, left)
}

func sessionsIn(rivals []*rival) []mooring.SessionID {
	out := make([]mooring.SessionID, len(rivals))
	for i, r := range rivals {
		out[i] = r.session
	}
	return out
}

// claim is what a session has to say for a request being its own.
type claim struct {
	*rival
	known Known
	alike float64
	firm  int
}

// unlike is by how much two sessions have to look different for that to count: a clock in the instructions is less.
const unlike = 0.25

// nearest keeps the claims of sessions that look like the request.
func nearest(all []claim) []claim {
	most := 0.0
	for _, c := range all {
		most = max(most, c.alike)
	}
	left := slices.DeleteFunc(all, func(c claim) bool { return c.alike < most-unlike })
	if nameless := slices.DeleteFunc(slices.Clone(left), func(c claim) bool { return len(c.known.Named) > 0 }); len(nameless) > 0 {
		return nameless
	}
	return left
}

// How firm a session's claim is whose last answer a request holds.
const (
	movedOn    = iota // it has gone on otherwise
	wentThere         // it has gone on as the request does
	copyStands        // it is a copy and stands at the answer
	standsHere
)

func (a *alignment) firm(ctx context.Context, left []claim) (*rival, error) {
	most := movedOn
	for i := range left {
		c := &left[i]
		if c.known.Tip == c.message {
			if c.firm = standsHere; c.known.Relation == mooring.RelationFork {
				c.firm = copyStands
			}
		}
		most = max(most, c.firm)
	}
	if most == movedOn && len(left) > 1 && left[0].from < len(a.talk) {
		ids := make([]mooring.MessageID, len(left))
		for i := range left {
			ids[i] = left[i].message
		}
		near, err := a.engine.Store.Around(ctx, a.tenant, ids, 0, 1)
		if err != nil {
			return nil, err
		}
		for i := range left {
			c := &left[i]
			if a.next(near, c.message, c.from) != "" {
				c.firm = wentThere
			} else {
				a.leaves = append(a.leaves, c.message)
			}
		}
	}
	return slices.MaxFunc(left, func(x, y claim) int {
		return cmp.Or(cmp.Compare(x.firm, y.firm), cmp.Compare(x.newest, y.newest))
	}).rival, nil
}
