package identify

import (
	"context"
	"sync"

	"mooring"
	"mooring/internal/wire"
)

// Known is a session and where its conversation stands. Of a known session the fields that a turn needs are filled, no more:
// not its title, its use, its times.
type Known struct {
	mooring.Session
	Seen wire.Digest // chain digest of the last answer as its client has seen the conversation; zero where unknown
}

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
}

func (k *kept) set(from Known) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key, k.parent, k.root, k.relation, k.upstream = from.Key, from.Parent, from.Root, from.Relation, from.Upstream
	k.models, k.tip, k.tipTurn, k.seen = from.Models, from.Tip, from.TipTurn, from.Seen
	k.state, k.resetOf, k.cut = from.State, from.ResetOf, from.Cut
}

func (k *kept) known(t mooring.Tenant, id mooring.SessionID) Known {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Known{
		Session: mooring.Session{
			Tenant: t, ID: id, Key: k.key, Parent: k.parent, Root: k.root, Relation: k.relation, Upstream: k.upstream, Models: k.models,
			Tip: k.tip, TipTurn: k.tipTurn, State: k.state, ResetOf: k.resetOf, Cut: k.cut,
		},
		Seen: k.seen,
	}
}

// Learn remembers a session as it stands after the commit of what was found, and the aliases that name it.
func (e *Engine) Learn(k Known, f *Finding, aliases []mooring.Alias) {
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

// name remembers what aliases name, unless a chat was reset since that was read or written: then it may name another session by
// now, and is read again.
func (e *Engine) name(t mooring.Tenant, id mooring.SessionID, aliases []mooring.Alias, since uint64) {
	if len(aliases) == 0 {
		return
	}
	e.naming.RLock()
	defer e.naming.RUnlock()
	if e.resets != since {
		return
	}
	for _, a := range aliases {
		e.aliases.Set(aliasKey{t, a}, id)
	}
}

// renamed forgets what aliases named before a chat was reset. Which of several resets came last only the store knows.
func (e *Engine) renamed(t mooring.Tenant, aliases []mooring.Alias) {
	e.naming.Lock()
	defer e.naming.Unlock()
	e.resets++
	for _, a := range aliases {
		e.aliases.Invalidate(aliasKey{t, a})
	}
}

// since is a mark for name.
func (e *Engine) since() uint64 {
	e.naming.RLock()
	defer e.naming.RUnlock()
	return e.resets
}

// Ended moves what is remembered of a session on to how a turn ended, unless a later turn has begun. seen digests the
// conversation up to the answer, as the client has it; it is zero where there is no answer.
func (e *Engine) Ended(turn *mooring.Turn, seen wire.Digest) {
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
	if !seen.Zero() {
		k.tip, k.seen = turn.Answer, seen
	}
}

// Forget drops what is remembered of a session and of these aliases, after a store said that it is gone or taken.
func (e *Engine) Forget(t mooring.Tenant, id mooring.SessionID, aliases []mooring.Alias) {
	e.sessions.Invalidate(sessionKey{t, id})
	for _, a := range aliases {
		e.aliases.Invalidate(aliasKey{t, a})
	}
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
	read := &kept{}
	read.set(Known{Session: s})
	held, _ := e.sessions.SetIfAbsent(key, read)
	return held.known(t, id), nil
}
