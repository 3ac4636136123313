package identify

import (
	"context"
	"iter"
	"maps"
	"slices"
	"sync"

	"mooring"
	"mooring/internal/wire"
)

// Known is a session and where its conversation stands. Of a known session the fields that a turn needs are filled, no more:
// not its title, its use, its times.
type Known struct {
	mooring.Session
	Seen  wire.Digest // chain digest of the last answer as its client has seen the conversation; zero where unknown
	Said  wire.Digest // the mark by which that answer is found by itself, or with what it answers; zero where unknown
	Calls bool        // an answer handed texts to tools, or it is not known whether one did

	recent []wire.Digest // of the messages before that answer, the last last: one where it is a long one; nil where unknown
}

// recently is how many messages before a short answer are remembered: enough for short ones too to be no chance together.
const recently = 16

// kept is a Known as memory keeps it: there may be many.
type kept struct {
	mu       sync.Mutex // guards the fields below
	key      string
	parent   mooring.SessionID
	root     mooring.SessionID
	relation mooring.Relation
	upstream mooring.UpstreamName
	models   []string
	tip      mooring.MessageID
	tipTurn  mooring.TurnID
	seen     wire.Digest
	state    mooring.TurnState // of the last turn
	resetOf  mooring.SessionID
	cut      []byte
	named    []string
	traits   []byte
	said     wire.Digest
	calls    bool
	recent   []wire.Digest
}

func (k *kept) set(from Known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key, k.parent, k.root, k.relation, k.upstream = from.Key, from.Parent, from.Root, from.Relation, from.Upstream
	k.models, k.tip, k.tipTurn, k.seen = from.Models, from.Tip, from.TipTurn, from.Seen
	k.state, k.resetOf, k.cut = from.State, from.ResetOf, from.Cut
	k.named, k.traits, k.said, k.calls, k.recent = from.Named, from.Traits, from.Said, from.Calls, from.recent
}

func (k *kept) known(t mooring.Tenant, id mooring.SessionID) Known {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Known{
		Session: mooring.Session{
			Tenant: t, ID: id, Key: k.key, Parent: k.parent, Root: k.root, Relation: k.relation, Upstream: k.upstream, Models: k.models,
			Tip: k.tip, TipTurn: k.tipTurn, State: k.state, ResetOf: k.resetOf, Cut: k.cut, Named: k.named, Traits: k.traits,
		},
		Seen: k.seen, Said: k.said, Calls: k.calls, recent: k.recent,
	}
}

// Learn remembers a session as it stands after the commit of what was found, and the aliases that name it.
func (e *Engine) Learn(k Known, f *Finding, aliases []mooring.Alias) {
	if f.Kind != mooring.KindSide {
		k.recent = f.recent()
	}
	id := sessionKey{k.Tenant, k.ID}
	if old, ok := e.sessions.GetIfPresent(id); ok {
		old.set(k)
	} else {
		fresh := &kept{}
		fresh.set(k)
		e.sessions.Set(id, fresh)
	}
	if f.Reset != nil {
		e.renamed(k.Tenant, aliases)
		return
	}
	e.name(k.Tenant, k.ID, aliases, f.resets)
}

// recent digests the last messages of the request.
func (f *Finding) recent() []wire.Digest {
	if f.talk == nil {
		return nil
	}
	last := f.talk.talk[max(0, len(f.talk.talk)-recently):]
	out := make([]wire.Digest, len(last))
	for i, at := range last {
		out[i] = f.talk.digests[at]
	}
	return out
}

// name remembers what aliases name, unless a chat was reset since that was read or written: then it may name another session by
// now, and is read again.
func (e *Engine) name(t mooring.Tenant, id mooring.SessionID, aliases []mooring.Alias, since uint64) {
	if len(aliases) == 0 {
		return
	}
	e.naming.RLock()
	defer e.naming.RUnlock()
	for _, a := range aliases {
		if e.resets == since {
			e.aliases.Set(aliasKey{t, a}, id)
		}
		e.nobody.Invalidate(aliasKey{t, a})
	}
}

// renamed forgets what aliases named before a chat was reset. Which of several resets came last only the store knows.
func (e *Engine) renamed(t mooring.Tenant, aliases []mooring.Alias) {
	e.naming.Lock()
	defer e.naming.Unlock()
	e.resets++
	for _, a := range aliases {
		e.aliases.Invalidate(aliasKey{t, a})
		e.nobody.Invalidate(aliasKey{t, a})
	}
}

// since is a mark for name.
func (e *Engine) since() uint64 {
	e.naming.RLock()
	defer e.naming.RUnlock()
	return e.resets
}

// Ended moves what is remembered of a session on to how a turn ended, unless a later turn has begun. seen digests the
// conversation up to the answer, as the client has it, and is zero where there is no answer; marks are what that is found by.
func (e *Engine) Ended(turn *mooring.Turn, seen wire.Digest, marks []mooring.Mark) {
	var said wire.Digest
	calls, short := false, false
	for _, m := range marks {
		switch m.Kind {
		case mooring.BySelf:
			said = wire.Digest(m.Digest)
			e.remember(turn.Tenant, said, turn.Session)
		case mooring.ByPair:
			said, short = wire.Digest(m.Digest), true
			e.remember(turn.Tenant, said, turn.Session)
		case mooring.ByCall:
			calls = true
		case mooring.ByChain, mooring.ByText, mooring.ByOpening, mooring.BySummary:
		}
	}
	if !seen.Zero() {
		e.remember(turn.Tenant, seen, turn.Session)
	}
	k, ok := e.sessions.GetIfPresent(sessionKey{turn.Tenant, turn.Session})
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.tipTurn != turn.ID {
		return
	}
	k.state = turn.State
	if n := len(k.recent); !short && n > 1 {
		k.recent = slices.Clone(k.recent[n-1:])
	}
	if !seen.Zero() {
		k.tip, k.seen, k.said, k.calls = turn.Answer, seen, said, k.calls || calls
	}
}

// Forget drops what is remembered of a session and of these aliases, after a store said that it is gone or taken.
func (e *Engine) Forget(t mooring.Tenant, id mooring.SessionID, aliases []mooring.Alias) {
	e.sessions.Invalidate(sessionKey{t, id})
	for _, a := range aliases {
		e.aliases.Invalidate(aliasKey{t, a})
	}
}

// Gone drops what is remembered of a session that was removed. Those below it have no parent any more.
func (e *Engine) Gone(t mooring.Tenant, id mooring.SessionID) {
	e.Forget(t, id, nil)
	for key, k := range e.sessions.All() {
		if key.tenant == t && k.below(id) {
			e.sessions.Invalidate(key)
		}
	}
}

func (k *kept) below(id mooring.SessionID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.parent == id || k.root == id
}

// session gives a session from memory or store. What a turn learned meanwhile is newer than what was read.
func (e *Engine) session(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (Known, error) {
	key := sessionKey{t, id}
	if k, ok := e.sessions.GetIfPresent(key); ok {
		return k.known(t, id), nil
	}
	s, err := e.Store.Session(ctx, t, id)
	if err != nil {
		return Known{}, err
	}
	return e.keep(s), nil
}

// keep remembers a session that was read, and gives what is known of it by now.
func (e *Engine) keep(s mooring.Session) Known {
	read := &kept{}
	read.set(Known{Session: s, Calls: true})
	held, _ := e.sessions.SetIfAbsent(sessionKey{s.Tenant, s.ID}, read)
	return held.known(s.Tenant, s.ID)
}

// sessionsOf gives those of some sessions that are there, with at most one read of the store. Where other processes write too, all are
// read: which of them stands at an answer is for the store to say.
func (e *Engine) sessionsOf(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) (map[mooring.SessionID]Known, error) {
	if e.Refresh > 0 {
		return e.readSessions(ctx, t, ids)
	}
	out := make(map[mooring.SessionID]Known, len(ids))
	var rest []mooring.SessionID
	for _, id := range ids {
		if k, ok := e.sessions.GetIfPresent(sessionKey{t, id}); ok {
			out[id] = k.known(t, id)
		} else {
			rest = append(rest, id)
		}
	}
	read, err := e.readSessions(ctx, t, rest)
	maps.Copy(out, read)
	return out, err
}

// preload brings sessions into memory that are not there, with one read.
func (e *Engine) preload(ctx context.Context, t mooring.Tenant, ids iter.Seq[mooring.SessionID]) error {
	var rest []mooring.SessionID
	for id := range ids {
		if _, ok := e.sessions.GetIfPresent(sessionKey{t, id}); !ok {
			rest = append(rest, id)
		}
	}
	_, err := e.readSessions(ctx, t, rest)
	return err
}

// readSessions reads sessions, and remembers those that are not in memory.
func (e *Engine) readSessions(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) (map[mooring.SessionID]Known, error) {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := e.Store.SessionsOf(ctx, t, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[mooring.SessionID]Known, len(list))
	for i := range list {
		k := e.keep(list[i])
		if e.Refresh > 0 && k.Tip != list[i].Tip { // another process went on with it
			k = Known{Session: list[i], Calls: true}
		}
		out[k.ID] = k
	}
	return out, nil
}
