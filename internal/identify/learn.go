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
	name  string // canonical
	value string
}

// traits collects what a request has of headers that are neither known for what they are nor excluded from learning.
func (e *Engine) traits(header http.Header, into []trait) []trait {
	var buf [8]string
	seen, fresh := *e.apart.seen.Load(), buf[:0]
	for key, values := range header {
		name, ok := seen[key]
		if !ok {
			name = e.apart.learnable(key)
			if len(fresh) < len(buf) && len(key) <= longestName {
				fresh = append(fresh, key)
			}
		}
		if name == "" || len(into) == maxTraits {
			continue
		}
		if v, ok := single(values); ok && mayBeID(v) {
			into = append(into, trait{name, v})
		}
	}
	if len(fresh) > 0 {
		e.apart.remember(fresh)
	}
	return into
}

// single gives the one value of a header; false where it has several.
func single(values []string) (one string, ok bool) {
	for _, v := range values {
		v = bare(v)
		if v != "" && one != "" && v != one {
			return "", false
		}
		if v != "" {
			one = v
		}
	}
	return one, one != ""
}

// learnedDigest stands for a value everywhere but in the request: nobody knows whether it is a secret.
func learnedDigest(d *wire.Digester, name, value string) wire.Digest {
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
func (e *Engine) learned(ctx context.Context, q Request, f *Finding, byMessages func() (bool, error)) (bool, error) {
	hints, err := e.hints(ctx, q, f)
	if err != nil {
		return false, err
	}
	found, err := byMessages()
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
		l := t.names[traits[i].name]
		switch {
		case l == nil || l.believed.IsZero() && l.state != mooring.LearnBelieved:
		case l.state == mooring.LearnRefused:
			f.Evidence = append(f.Evidence, mooring.Evidence{Signal: "learned:" + l.name, Use: "ignored", Why: l.story()})
		default:
			d := learnedDigest(e.Digester(tenant), traits[i].name, traits[i].value)
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
