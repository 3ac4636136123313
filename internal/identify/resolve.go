package identify

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"mooring"
	"mooring/internal/wire"
)

// Request is what identification needs of a request.
type Request struct {
	Tenant   mooring.Tenant
	Header   http.Header
	Wire     *wire.Request
	Messages []wire.Message  // the request's, as its upstream is to have them; of the same length
	Skip     int             // the first of them that belongs to the conversation: what stands before was said before the chat was reset
	Opening  []byte          // the answer with which the chat was reset, as the client sends it back; nil where it does not
	Kind     mooring.Kind    // KindSide or KindCompaction where the route says so; empty where the request decides
	Content  bool            // a request without ids may be recognised by its messages
	Learn    bool            // headers may be learned to name sessions
	Key      mooring.KeyName // of the caller; it tells clients apart, and is no evidence by itself

	Under *mooring.MessageID // the message that the last one of the request follows, whatever they say; empty at the root, nil where they decide
	Below []mooring.Message  // what follows that one already
}

// Finding is the answer: a session, new or known, and why.
type Finding struct {
	Known    Known // the session; where New, as it is to be stored
	New      bool
	Aliases  []mooring.Alias // to be added, the deciding one first
	Names    []mooring.Alias // all that the request carries, known ones included, less those of other sessions
	Named    mooring.Alias   // by which a known session was found; zero where by none
	ClientID string          // what the client should go on with: the id it sent, else the session's key
	Sent     bool            // the client sent that id
	Attach   bool            // a known session that had no parent: the one in Known is to be kept
	Reset    *mooring.Reset  // the session takes its aliases from another one; nil where it does not
	Kind     mooring.Kind
	Identity string
	Evidence []mooring.Evidence
	Signals  []string       // names of the signals that have named the session, these ones included; nil where there is no new one
	Traits   []byte         // what its requests are like; nil where that is known
	Origin   mooring.Object // what the request names by the id that its upstream keeps it under; zero where it names nothing that is known here

	resets  uint64            // how often chats had been reset before it was looked for
	told    bool              // its messages are known to belong to the session, whatever decided
	learned bool              // a header that was learned to name sessions decided
	key     string            // the key that a session named by the request's ids would have
	talk    *alignment        // the request's messages; nil until they are needed
	aside   bool              // it speaks about the session and is no part of it
	sums    bool              // it asks for a summary that the conversation may go on from
	below   mooring.MessageID // the message that is known to precede the first new one; empty where nothing is known
	from    int               // the position in the talk that follows it
}

// Resolve finds the session of a request. It only reads. The first signal that holds decides; names that come with the same
// value become aliases of one session; a lower one with another value is noted and joins nothing.
func (e *Engine) Resolve(ctx context.Context, q Request) (*Finding, error) {
	r, err := e.read(q)
	if err != nil {
		return nil, err
	}
	f := &Finding{Kind: mooring.KindMain, resets: e.since()}
	if err = e.find(ctx, q, r, f); err != nil {
		return nil, err
	}
	e.told(q, r, f)
	return f, e.complete(q, r, f)
}

// find asks one kind of evidence after the other.
func (e *Engine) find(ctx context.Context, q Request, r *reading, f *Finding) error {
	if r.exact != "" {
		if err := e.mayName(ctx, q.Tenant, r.ids, f); err != nil {
			return err
		}
		return e.exactly(ctx, q, r, f)
	}
	found, err := e.follows(ctx, q, r, f)
	switch {
	case err != nil || found:
		return err
	case len(r.ids) > 0:
		return e.named(ctx, q, r, f)
	}
	return e.unnamed(ctx, q, r, f)
}

// unnamed finds the session of a request that names none by its messages, or opens one.
func (e *Engine) unnamed(ctx context.Context, q Request, r *reading, f *Finding) error {
	found, err := e.learned(ctx, q, f, func() (bool, error) {
		if !q.Content {
			return false, nil
		}
		return e.byContent(ctx, q, r, f)
	})
	if found || err != nil {
		return err
	}
	e.minted(q, f)
	return nil
}

// exactly continues the session of X-Mooring-Session; nothing else is asked.
func (e *Engine) exactly(ctx context.Context, q Request, r *reading, f *Finding) error {
	k, err := e.session(ctx, q.Tenant, mooring.SessionID(r.exact))
	if mooring.CodeOf(err) == mooring.CodeSessionNotFound || !strings.HasPrefix(r.exact, "ses_") {
		return mooring.Errorf(mooring.CodeSessionNotFound, "There is no session of the id in X-Mooring-Session; leave the header out to begin one.")
	}
	if err != nil {
		return err
	}
	f.Known, f.ClientID, f.Identity = k, k.Key, "header:x-mooring-session"
	f.Kind = kindOfSession(k.Session)
	f.Evidence = append(f.Evidence, mooring.Evidence{Signal: f.Identity, Says: string(saysSession), Value: r.exact, Points: string(k.ID), Use: "decided", Why: "it names exactly this session"})
	for _, id := range r.ids {
		f.Evidence = append(f.Evidence, mooring.Evidence{Signal: id.String(), Says: string(saysSession), Value: id.value, Use: "ignored", Why: "X-Mooring-Session was sent"})
	}
	return nil
}

func kindOfSession(s mooring.Session) mooring.Kind {
	if s.Relation == mooring.RelationSubagent {
		return mooring.KindSubagent
	}
	return mooring.KindMain
}

// named finds the session by the explicit ids that the request carries, the strongest first, and holds it against what the request
// says.
func (e *Engine) named(ctx context.Context, q Request, r *reading, f *Finding) error {
	first := &r.ids[0]
	deciding := []mooring.Alias{first.alias}
	if r.agent != "" {
		deciding = []mooring.Alias{agentAlias(first.value, r.agent)}
	}
	f.ClientID, f.Sent, f.Identity, f.key = first.value, true, first.String(), first.value
	if r.agent != "" {
		f.key += "#" + r.agent
	}
	if r.agent == "" {
		deciding = append(deciding, equals(r.ids)...)
	}
	f.Names = deciding
	hits, err := e.lookup(ctx, q.Tenant, e.together(q.Tenant, deciding, r.above()))
	if err != nil {
		return err
	}
	if len(hits) > 1 {
		if err = e.preload(ctx, q.Tenant, maps.Values(hits)); err != nil { // all in one read
			return err
		}
	}
	f.Evidence = append(f.Evidence, e.evidence(q.Tenant, r, hits)...)
	for _, a := range deciding {
		found, err := e.holder(ctx, q.Tenant, a, hits)
		if err != nil {
			return err
		}
		if found == nil {
			continue
		}
		f.heldBy(found, a, deciding, hits)
		if err := e.check(ctx, q, r, f); err != nil || f.Identity != first.String() {
			return err
		}
		return e.attach(ctx, q, r, f)
	}
	f.Aliases = deciding
	if q.Content && !r.nested() && !r.sub {
		found, err := e.late(ctx, q, r, f)
		if found || err != nil {
			return err
		}
	}
	f.open(e.fresh(q, first.value))
	return e.attach(ctx, q, r, f)
}

// holder is the session that an alias names; nil where it names none. A name of a session that is gone is taken out of hits, as it may
// be given to another.
func (e *Engine) holder(ctx context.Context, t mooring.Tenant, a mooring.Alias, hits map[mooring.Alias]mooring.SessionID) (*Known, error) {
	id, ok := hits[a]
	if !ok {
		return nil, nil
	}
	k, err := e.session(ctx, t, id)
	if mooring.CodeOf(err) == mooring.CodeSessionNotFound {
		e.Forget(t, id, []mooring.Alias{a})
		delete(hits, a)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &k, nil
}

// heldBy makes the finding one of a session that a name led to; those of the others that name no session are to name it too.
func (f *Finding) heldBy(k *Known, by mooring.Alias, deciding []mooring.Alias, hits map[mooring.Alias]mooring.SessionID) {
	f.Known, f.Kind, f.Named = *k, kindOfSession(k.Session), by
	f.Aliases = missing(deciding, hits)
	f.Names = slices.DeleteFunc(slices.Clone(deciding), func(other mooring.Alias) bool {
		holder, held := hits[other]
		return held && holder != k.ID
	})
}

// open makes the finding one of a session that is not there yet.
func (f *Finding) open(s mooring.Session) {
	f.New, f.Known.Session = true, s
}

// minted opens a session for a request that names none.
func (e *Engine) minted(q Request, f *Finding) {
	key := e.NewKey()
	f.New, f.Identity, f.ClientID = true, "minted", key
	f.Aliases = []mooring.Alias{{Class: mooring.ClassAny, Value: key}}
	f.Names = f.Aliases
	f.Known.Session = e.fresh(q, key)
}

// equals are the aliases of the other names that came with the first one's value.
func equals(ids []seen) []mooring.Alias {
	var out []mooring.Alias
	for _, id := range ids[1:] {
		if id.value == ids[0].value && id.alias != ids[0].alias && !slices.Contains(out, id.alias) {
			out = append(out, id.alias)
		}
	}
	return out
}

// together adds names that may be asked for to some of which one has to be read: one read gives both.
func (e *Engine) together(t mooring.Tenant, first, more []mooring.Alias) []mooring.Alias {
	for _, a := range first {
		if _, ok := e.aliases.GetIfPresent(aliasKey{t, a}); !ok {
			return compact(slices.Concat(first, more))
		}
	}
	return first
}

// lookup finds which aliases are known, in memory first and with one query for the rest.
func (e *Engine) lookup(ctx context.Context, t mooring.Tenant, aliases []mooring.Alias) (map[mooring.Alias]mooring.SessionID, error) {
	hits := make(map[mooring.Alias]mooring.SessionID, len(aliases))
	var rest []mooring.Alias
	for _, a := range aliases {
		if id, ok := e.aliases.GetIfPresent(aliasKey{t, a}); ok {
			hits[a] = id
		} else {
			rest = append(rest, a)
		}
	}
	if len(rest) == 0 {
		return hits, nil
	}
	since := e.since()
	found, err := e.Store.AliasHits(ctx, t, rest)
	if err != nil {
		return nil, err
	}
	for _, h := range found {
		hits[h.Alias] = h.Session
		e.name(t, h.Session, []mooring.Alias{h.Alias}, since)
	}
	for _, a := range missing(rest, hits) {
		e.nobody.Set(aliasKey{t, a}, e.now())
		if _, ok := e.aliases.GetIfPresent(aliasKey{t, a}); ok { // it was given meanwhile
			e.nobody.Invalidate(aliasKey{t, a})
		}
	}
	return hits, nil
}

// names says that an alias may name a session: nobody read of late that it does not. Other processes may have written since.
func (e *Engine) names(t mooring.Tenant, a mooring.Alias) bool {
	if _, ok := e.aliases.GetIfPresent(aliasKey{t, a}); ok {
		return true
	}
	read, ok := e.nobody.GetIfPresent(aliasKey{t, a})
	return !ok || e.Refresh > 0 && e.now().Sub(read) >= e.Refresh
}

func (e *Engine) now() time.Time {
	if e.Now == nil {
		return time.Time{}
	}
	return e.Now()
}

func missing(all []mooring.Alias, hits map[mooring.Alias]mooring.SessionID) []mooring.Alias {
	var out []mooring.Alias
	for _, a := range all {
		if _, ok := hits[a]; !ok {
			out = append(out, a)
		}
	}
	return out
}
