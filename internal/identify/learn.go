package identify

import (
	"context"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"mooring"
	"mooring/internal/wire"
)

// trait is a header that may name a session, as one request has it.
type trait struct {
	name  [longestName]byte
	n     int
	value string
}

func (t *trait) key() []byte { return t.name[:t.n] }

// traits collects what a request has of headers that are neither known for what they are nor excluded from learning.
func (e *Engine) traits(header http.Header, into []trait) []trait {
	for key, values := range header {
		if e.apart.plain[key] {
			continue
		}
		name, n := canonical(key)
		if n == 0 || e.apart.never(name[:n]) {
			continue
		}
		if _, known := e.byHeader[string(name[:n])]; known {
			continue
		}
		v, err := single(key, "", values)
		if err != nil || !mayBeID(v) || len(into) == maxTraits {
			continue
		}
		into = append(into, trait{name, n, v})
	}
	return into
}

// learnedDigest stands for a value everywhere but in the request: nobody knows whether it is a secret.
func learnedDigest(d *wire.Digester, name []byte, value string) wire.Digest {
	buf := make([]byte, 0, longestName+MaxID+8)
	buf = append(append(append(buf, "learned\x00"...), name...), 0)
	return d.Bytes(append(buf, value...))
}

func learnedAlias(name string, d wire.Digest) mooring.Alias {
	return mooring.Alias{Class: mooring.ClassLearned + mooring.AliasClass(name), Value: hex.EncodeToString(d[:])}
}

// hint is what a header that is believed says of a request.
type hint struct {
	name    string
	since   time.Time
	alias   mooring.Alias
	session mooring.SessionID // empty where the value is new
}

func (h *hint) signal() string { return "learned:" + h.name }

// learned finds the session of a request without ids by the headers that were learned to name sessions. They rank before the
// messages, which are asked all the same: where those are another session's they win. A value that is new joins the session that
// the messages belong to, else it opens one. False: nothing says anything.
func (e *Engine) learned(ctx context.Context, q Request, f *Finding, byMessages func(context.Context, Request, *Finding) (bool, error)) (bool, error) {
	hints, err := e.hints(ctx, q, f)
	if err != nil {
		return false, err
	}
	found, err := byMessages(ctx, q, f)
	switch {
	case err != nil:
		return false, err
	case found:
		f.weigh(hints)
		return true, nil
	}
	for i := range hints {
		found, err = e.hinted(ctx, q, f, &hints[i])
		if found || err != nil {
			return found, err
		}
	}
	if len(hints) == 0 {
		return false, nil
	}
	e.minted(q, f)
	f.openedBy(hints)
	return true, nil
}

// hints reads the headers that are believed, and says which ones are not any more.
func (e *Engine) hints(ctx context.Context, q Request, f *Finding) ([]hint, error) {
	if !q.Learn {
		return nil, nil
	}
	var buf [maxTraits]trait
	traits := e.traits(q.Header, buf[:0])
	if len(traits) == 0 {
		return nil, nil
	}
	t, err := e.lessonsOf(ctx, q.Tenant)
	if err != nil {
		return nil, err
	}
	hints := e.believed(t, q.Tenant, traits, f)
	if len(hints) == 0 {
		return nil, nil
	}
	aliases := make([]mooring.Alias, len(hints))
	for i := range hints {
		aliases[i] = hints[i].alias
	}
	hits, err := e.lookup(ctx, q.Tenant, aliases)
	if err != nil {
		return nil, err
	}
	for i := range hints {
		hints[i].session = hits[hints[i].alias]
	}
	return hints, nil
}

// believed gives the hints of a request, of the header that was believed first the first one.
func (e *Engine) believed(t *lessons, tenant mooring.Tenant, traits []trait, f *Finding) []hint {
	t.mu.Lock()
	defer t.mu.Unlock()
	var hints []hint
	for i := range traits {
		l := t.names[string(traits[i].key())]
		switch {
		case l == nil || l.believed.IsZero() && l.state != mooring.LearnBelieved:
		case l.state == mooring.LearnRefused:
			f.Evidence = append(f.Evidence, mooring.Evidence{Signal: "learned:" + l.name, Use: "ignored", Why: l.story()})
		default:
			d := learnedDigest(e.Digester(tenant), traits[i].key(), traits[i].value)
			hints = append(hints, hint{name: l.name, since: l.believed, alias: learnedAlias(l.name, d)})
		}
	}
	slices.SortFunc(hints, func(a, b hint) int {
		if n := a.since.Compare(b.since); n != 0 {
			return n
		}
		return strings.Compare(a.name, b.name)
	})
	return hints
}

// story says what became of a header that was believed once.
func (l *lesson) story() string {
	return "it was believed to name sessions from " + day(l.believed) + " to " + day(l.refused) + ", and is not any more: " + l.why
}

func day(t time.Time) string { return t.UTC().Format(time.DateTime) + " UTC" }

// hinted takes the session that a header names.
func (e *Engine) hinted(ctx context.Context, q Request, f *Finding, h *hint) (bool, error) {
	if h.session == "" {
		return false, nil
	}
	k, err := e.session(ctx, q.Tenant, h.session)
	if mooring.KindOf(err) == mooring.KindNotFound {
		e.Forget(q.Tenant, h.session, []mooring.Alias{h.alias})
		h.session = ""
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.Known, f.ClientID, f.Kind = k, k.Key, kindOfSession(k.Session)
	f.Named, f.Names = h.alias, []mooring.Alias{h.alias}
	f.decidedBy(h, "its value is this session's")
	return true, nil
}

// weigh holds what the messages have shown against what the headers say.
func (f *Finding) weigh(hints []hint) {
	f.told = true
	how := f.Identity
	for i := range hints {
		h := &hints[i]
		switch {
		case h.session == "":
		case h.session != f.Known.ID:
			f.Evidence = append(f.Evidence, mooring.Evidence{
				Signal: h.signal(), Use: "ignored", Why: "its value is another session's, but the messages hold an answer of this one: the header is not believed any more",
			})
		case f.Named == (mooring.Alias{}) && !f.New && strings.HasPrefix(how, "content:"):
			for j := range f.Evidence {
				if ev := &f.Evidence[j]; ev.Signal == how && ev.Use == "decided" {
					ev.Use = "agreed"
				}
			}
			f.Named, f.Names = h.alias, []mooring.Alias{h.alias}
			f.decidedBy(h, "its value is this session's, as the messages are")
		}
	}
}

func (f *Finding) decidedBy(h *hint, why string) {
	f.Identity, f.learned = h.signal(), true
	f.Evidence = append(f.Evidence, mooring.Evidence{Signal: h.signal(), Use: "decided", Why: why + "; the header is believed to name sessions since " + day(h.since)})
}

// openedBy gives a new session the values that came with its first request. Of two such requests at once one opens it.
func (f *Finding) openedBy(hints []hint) {
	aliases := make([]mooring.Alias, 0, len(hints)+len(f.Aliases))
	for i := range hints {
		if hints[i].session == "" {
			aliases = append(aliases, hints[i].alias)
		}
	}
	if len(aliases) == 0 {
		return
	}
	f.Aliases = append(aliases, f.Aliases...)
	f.Names = f.Aliases
	for i := range hints {
		if hints[i].session == "" {
			f.decidedBy(&hints[i], "its value names no session yet")
			return
		}
	}
}

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
		o.keep(l, tr)
	}
	o.change.Dropped = append(o.change.Dropped, s.dropped...)
}

// blind is for a turn that only a learned header put where it is.
func (o *observation) blind(tr *trait) {
	o.lessons.mu.Lock()
	defer o.lessons.mu.Unlock()
	l := o.lessons.of(tr.key())
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
	if l = t.of(tr.key()); l != nil && l.state == mooring.LearnRefused {
		return nil, s, false
	}
	d := learnedDigest(o.engine.Digester(o.q.Tenant), tr.key(), tr.value)
	switch {
	case l != nil && l.settled(id, d):
		return nil, s, false
	case l == nil:
		var forgot string
		if l, forgot = t.begin(string(tr.key())); l == nil {
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
		d := o.engine.Digester(o.q.Tenant).Bytes([]byte("learned from\x00" + string(o.q.Key) + "\x00" + clientOf(o.q.Header.Get("User-Agent"))))
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
	return learnedAlias(l.name, learnedDigest(o.engine.Digester(o.q.Tenant), tr.key(), tr.value))
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
func (o *observation) keep(l *lesson, tr *trait) {
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

// lessonsOf gives a tenant's table, read from the store where that is due.
func (e *Engine) lessonsOf(ctx context.Context, tenant mooring.Tenant) (*lessons, error) {
	t, ok := e.lessons.GetIfPresent(tenant)
	if !ok {
		t, _ = e.lessons.SetIfAbsent(tenant, newLessons())
	}
	if e.Lessons == nil {
		return t, nil
	}
	var now time.Time
	if e.Now != nil {
		now = e.Now()
	}
	if !t.due(now, e.Refresh) {
		return t, nil
	}
	list, err := e.Lessons(ctx, tenant)
	if err != nil {
		first := t.unread(now)
		if first {
			return nil, err
		}
		return t, nil
	}
	t.merge(list, now)
	return t, nil
}
