// Package identify finds the session that a request belongs to and says why: it turns signals into a session, with evidence,
// and places the request's messages in that session's tree. It reads and never writes; what is to be stored goes back to its
// caller. It keeps what it has seen in bounded caches: a stale entry costs a look into the store, never a wrong answer,
// because the store checks again when the turn begins. It has no goroutines.
package identify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"mooring"
	"mooring/internal/wire"
)

// Store reads sessions and the index of their messages.
type Store interface {
	AliasHits(ctx context.Context, t mooring.Tenant, aliases []mooring.Alias) ([]mooring.AliasHit, error)
	Session(ctx context.Context, t mooring.Tenant, id mooring.SessionID) (mooring.Session, error)
	Chain(ctx context.Context, t mooring.Tenant, s mooring.SessionID, kind mooring.ChainKind, digests [][]byte) ([]mooring.ChainEntry, error)
	Children(ctx context.Context, t mooring.Tenant, s mooring.SessionID, parent mooring.MessageID) ([]mooring.Message, error)
	Trail(ctx context.Context, t mooring.Tenant, s mooring.SessionID, tip mooring.MessageID, limit int) ([]mooring.Message, error)
	Owners(ctx context.Context, t mooring.Tenant, object string) ([]mooring.Object, error)
}

// Options of an Engine.
type Options struct {
	Store       Store
	Secret      []byte                   // keys every digest
	NewSession  func() mooring.SessionID // a fresh "ses_" id
	NewKey      func() string            // a fresh "api-" id for a client that sent none
	Headers     []string                 // further header names that carry a session id here
	MemoryBytes int64                    // bound of the caches together; 0 for 64 MiB

	Lessons func(ctx context.Context, t mooring.Tenant) ([]mooring.LearnedHeader, error) // reads what Observe gave; nil where memory alone has it
	Refresh time.Duration                                                                // how long what was read of that holds; 0 where no other process writes it
	Now     func() time.Time                                                             // nil for none: nothing is dated
}

// Engine identifies requests.
type Engine struct {
	Options
	signals  []signal
	byHeader map[string]int
	byField  map[string]int

	aliases  *otter.Cache[aliasKey, mooring.SessionID]
	sessions *otter.Cache[sessionKey, *kept]
	digests  *otter.Cache[[16]byte, wire.Digest]
	answers  *otter.Cache[answerKey, answered]
	lessons  *otter.Cache[mooring.Tenant, *lessons]
	apart    *names // of headers that are never learned

	naming sync.RWMutex // held to remember what an alias names, and to forget that
	resets uint64       // how often chats were reset; guarded by naming

	mu        sync.Mutex // guards the map below
	digesters map[mooring.Tenant]*wire.Digester
}

type aliasKey struct {
	tenant mooring.Tenant
	mooring.Alias
}

type sessionKey struct {
	tenant mooring.Tenant
	id     mooring.SessionID
}

// companion marks header names that say more about an id without being one.
const companion = -1

// Rough sizes of cache entries in bytes, to turn the memory bound into numbers of entries.
const (
	aliasBytes   = 320
	sessionBytes = 600
	digestBytes  = 150
	answerBytes  = 220
)

// learningShare is the part of the memory that what is being learned of headers may take.
const learningShare = 16

// New makes an Engine.
func New(o Options) *Engine {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 64 << 20
	}
	e := &Engine{Options: o, signals: catalogue(), byHeader: map[string]int{}, byField: map[string]int{}, digesters: map[mooring.Tenant]*wire.Digester{}}
	for _, name := range o.Headers {
		e.signals = append(e.signals, signal{name: lowerName(name), tier: tierGeneric, source: "sessions.headers"})
	}
	for i := range e.signals {
		if s := &e.signals[i]; s.body {
			e.byField[s.name] = i
		} else if _, taken := e.byHeader[s.name]; !taken {
			e.byHeader[s.name] = i
		}
	}
	for _, name := range append(parents(), headerAgent, headerParentAgent, lowerName(headerMooring)) {
		e.byHeader[name] = companion
	}
	e.apart = newNames(e.byHeader)
	learning := o.MemoryBytes / learningShare
	e.lessons = otter.Must(&otter.Options[mooring.Tenant, *lessons]{
		MaximumWeight: uint64(max(learning, tenantBytes)), Weigher: func(_ mooring.Tenant, t *lessons) uint32 { return uint32(t.size.Load()) }, //nolint:gosec // bounded by its limits
	})
	share := (o.MemoryBytes - learning) / 4
	e.aliases = otter.Must(&otter.Options[aliasKey, mooring.SessionID]{MaximumSize: int(share / aliasBytes)})
	e.sessions = otter.Must(&otter.Options[sessionKey, *kept]{MaximumSize: int(share / sessionBytes)})
	e.digests = otter.Must(&otter.Options[[16]byte, wire.Digest]{MaximumSize: int(share / digestBytes)})
	e.answers = otter.Must(&otter.Options[answerKey, answered]{MaximumSize: int(share / answerBytes)})
	return e
}

// HeaderNames are the request headers that carry an id here, in the spelling with hyphens.
func (e *Engine) HeaderNames() []string {
	out := make([]string, 0, len(e.byHeader))
	for name := range e.byHeader {
		out = append(out, name)
	}
	return out
}

// digestCache hands the engine's cache to a digester. Entries of all tenants share the bound; the digester's seeds keep them apart.
type digestCache struct {
	*otter.Cache[[16]byte, wire.Digest]
}

// Get gives the digest that is known for a message's raw bytes.
func (c digestCache) Get(key [16]byte) (wire.Digest, bool) { return c.GetIfPresent(key) }

// Set remembers it.
func (c digestCache) Set(key [16]byte, d wire.Digest) { c.Cache.Set(key, d) }

// Digester gives the tenant's digester, keyed by a subkey of the secret, so that digests of two tenants never agree.
func (e *Engine) Digester(t mooring.Tenant) *wire.Digester {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d, ok := e.digesters[t]; ok {
		return d
	}
	h := hmac.New(sha256.New, e.Secret)
	_, _ = h.Write([]byte("mooring tenant digests\x00" + string(t)))
	d := wire.NewDigester(h.Sum(nil), digestCache{e.digests})
	e.digesters[t] = d
	return d
}
