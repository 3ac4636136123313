package identify

import (
	"context"
	"slices"
	"strings"
	"time"

	"mooring"
)

// Observe says what a turn that has begun teaches of the headers that it came with; nil for nothing. It is to be written down,
// and nobody need wait for that. Only sessions that content or a stronger signal told from others count; of a new one that nothing
// has told apart yet its value is kept in memory until something does.
func (e *Engine) Observe(ctx context.Context, q Request, f *Finding) *mooring.Learning {
	if !q.Learn || f.Kind == mooring.KindSide || f.Identity == "content:retry" {
		return nil
	}
	var buf [maxTraits]trait
	traits := e.traits(q.Header, buf[:0])
	if len(traits) == 0 {
		return nil
	}
	t, err := e.lessonsOf(ctx, q.Tenant)
	if err != nil {
		return nil // the next turn shows the same
	}
	o := observation{engine: e, lessons: t, q: q, f: f, told: f.tells()}
	for i := range traits {
		if o.told || f.New { // a header that was learned teaches no other one
			o.trait(ctx, &traits[i])
		} else {
			o.blind(&traits[i])
		}
	}
	if !o.moved {
		return nil
	}
	return o.done()
}

// tells says that this turn's session is known to be this one and no other.
func (f *Finding) tells() bool {
	for _, by := range []string{"header:", "body:", "response:", "content:"} {
		if strings.HasPrefix(f.Identity, by) {
			return true
		}
	}
	return f.told
}

// observation is what one turn teaches.
type observation struct {
	engine  *Engine
	lessons *lessons
	q       Request
	f       *Finding
	told    bool
	change  mooring.Learning
	moved   bool // something was new
	client  [8]byte
	asked   bool // client is known
}

func (o *observation) now() time.Time {
	if o.engine.Now == nil {
		return time.Time{}
	}
	return o.engine.Now()
}

// trait takes in one header.
func (o *observation) trait(ctx context.Context, tr *trait) {
	l, s, more := o.look(tr)
	if !more {
		return
	}
	o.moved = true
	switch {
	case s.twoValues:
		o.refuse(l, whyTwoValues)
	case o.rivalled(ctx, l, s.rivals) || o.told && o.taken(ctx, l, tr):
		o.refuse(l, whyTwoSessions)
	case o.told:
		o.keep(l)
	}
	o.change.Dropped = append(o.change.Dropped, s.dropped...)
}

// blind is for a turn that only a learned header put where it is.
func (o *observation) blind(tr *trait) {
	o.lessons.mu.Lock()
	defer o.lessons.mu.Unlock()
	l := o.lessons.of(tr.name)
	if l == nil || o.f.Named.Class != mooring.ClassLearned+mooring.AliasClass(l.name) {
		return
	}
	counted, tooMany := l.doubt(o.f.Known.ID)
	if tooMany {
		l.refuse(whyDoubts, o.now())
	}
	if counted {
		o.moved = true
		o.change.Headers = append(o.change.Headers, l.header(nil))
	}
}

// look takes the value in. False: it shows nothing new.
func (o *observation) look(tr *trait) (l *lesson, s shown, more bool) {
	t, id := o.lessons, o.f.Known.ID
	t.mu.Lock()
	defer t.mu.Unlock()
	if l = t.of(tr.name); l != nil && l.state == mooring.LearnRefused {
		return nil, s, false
	}
	d := learnedDigest(o.engine.Digester(o.q.Tenant), tr.name, tr.value)
	switch {
	case l != nil && l.settled(id, d):
		return nil, s, false
	case l == nil:
		var forgot string
		if l, forgot = t.begin(tr.name); l == nil {
			return nil, s, false
		}
		if forgot != "" {
			o.change.Forgot = append(o.change.Forgot, forgot)
		}
	}
	s = l.see(seeing{seenValue{session: id, digest: d, client: o.who(), told: o.told, whole: o.whole(), at: o.now()}, o.f.Known.ResetOf})
	return l, s, true
}

// whole says that the messages told the session.
func (o *observation) whole() bool { return o.f.told || strings.HasPrefix(o.f.Identity, "content:") }

// who digests the client key's name and the program: a header that goes with either has one value for it.
func (o *observation) who() [8]byte {
	if !o.asked {
		d := o.engine.Digester(o.q.Tenant).Bytes([]byte("learned from\x00" + string(o.q.Key) + "\x00" + o.f.Known.Client))
		copy(o.client[:], d[:])
		o.asked = true
	}
	return o.client
}

// rivalled says that another session had the same value. One that is gone proves nothing.
func (o *observation) rivalled(ctx context.Context, l *lesson, rivals []mooring.SessionID) bool {
	for _, id := range rivals {
		if o.there(ctx, id) {
			return true
		}
		o.lessons.mu.Lock()
		l.without(id)
		o.lessons.mu.Unlock()
	}
	return false
}

func (o *observation) there(ctx context.Context, id mooring.SessionID) bool {
	_, err := o.engine.session(ctx, o.q.Tenant, id)
	return err == nil
}

// taken says that the value of a header that is believed names another session.
func (o *observation) taken(ctx context.Context, l *lesson, tr *trait) bool {
	o.lessons.mu.Lock()
	believed := l.state == mooring.LearnBelieved
	o.lessons.mu.Unlock()
	if !believed {
		return false
	}
	a := o.alias(l, tr)
	hits, err := o.engine.lookup(ctx, o.q.Tenant, []mooring.Alias{a})
	if err != nil {
		return false
	}
	switch id, ok := hits[a]; {
	case !ok:
		o.change.Aliases = append(o.change.Aliases, mooring.AliasHit{Alias: a, Session: o.f.Known.ID})
		return false
	case id == o.f.Known.ID || id == o.f.Known.ResetOf:
		return false
	default:
		return o.there(ctx, id)
	}
}

func (o *observation) alias(l *lesson, tr *trait) mooring.Alias {
	return learnedAlias(l.name, learnedDigest(o.engine.Digester(o.q.Tenant), tr.name, tr.value))
}

// refuse makes a header one that is not believed again.
func (o *observation) refuse(l *lesson, why string) {
	o.lessons.mu.Lock()
	defer o.lessons.mu.Unlock()
	l.refuse(why, o.now())
	l.fresh = false
	class := mooring.ClassLearned + mooring.AliasClass(l.name)
	o.change.Aliases = slices.DeleteFunc(o.change.Aliases, func(h mooring.AliasHit) bool { return h.Class == class })
	o.change.Headers = append(o.change.Headers, l.header(nil))
}

// keep notes what the store does not know yet, and believes the header where that was the last thing that was missing.
func (o *observation) keep(l *lesson) {
	o.lessons.mu.Lock()
	defer o.lessons.mu.Unlock()
	var values []mooring.LearnedValue
	if i := l.at(o.f.Known.ID); i >= 0 && l.values[i].turns > l.values[i].stored {
		v := &l.values[i]
		if v.stored == 0 && l.state == mooring.LearnBelieved {
			l.doubts = max(0, l.doubts-newValues)
		}
		v.stored = v.turns
		values = append(values, v.row())
	}
	if l.state == mooring.LearnWatched && len(o.lessons.believed) < maxBelieved && l.convincing() {
		l.state, l.believed = mooring.LearnBelieved, o.now()
		o.lessons.sort()
		o.change.Aliases = append(o.change.Aliases, l.aliases()...)
	} else if len(values) == 0 {
		return
	}
	l.fresh = false
	o.change.Headers = append(o.change.Headers, l.header(values))
}

func (v *seenValue) row() mooring.LearnedValue {
	return mooring.LearnedValue{
		Session: v.session, Digest: slices.Clone(v.digest[:]), Client: slices.Clone(v.client[:]), Turns: v.turns, Whole: v.whole, At: v.at,
	}
}

// aliases names the sessions whose values are known.
func (l *lesson) aliases() []mooring.AliasHit {
	var out []mooring.AliasHit
	for i := range l.values {
		if v := &l.values[i]; v.told {
			out = append(out, mooring.AliasHit{Alias: learnedAlias(l.name, v.digest), Session: v.session})
		}
	}
	return out
}

func (l *lesson) header(values []mooring.LearnedValue) mooring.LearnedHeader {
	return mooring.LearnedHeader{Name: l.name, State: l.state, Believed: l.believed, Refused: l.refused, Why: l.why, Doubts: l.doubts, Values: values}
}

// done gives the change, where there is one.
func (o *observation) done() *mooring.Learning {
	c, t := &o.change, o.lessons
	c.Tenant = o.q.Tenant
	t.mu.Lock()
	before := t.size.Load()
	t.sort()
	c.Dropped = append(c.Dropped, t.surplus...)
	t.surplus = nil
	grown := t.size.Load() != before
	t.mu.Unlock()
	if grown {
		o.engine.lessons.Set(o.q.Tenant, t) // weighs it anew
	}
	for _, h := range c.Aliases {
		o.engine.name(o.q.Tenant, h.Session, []mooring.Alias{h.Alias}, o.f.resets)
	}
	if len(c.Headers)+len(c.Dropped)+len(c.Forgot)+len(c.Aliases) == 0 {
		return nil
	}
	return c
}
