// Package identify finds the session that a request belongs to and says why: it turns signals into a session, with evidence,
// and places the request's messages in that session's tree. It reads and never writes; what is to be stored goes back to its
// caller. It keeps what it has seen in bounded caches: a stale entry costs a look into the store, never a wrong answer,
// because the store checks again when the turn begins. It has no goroutines.
package identify

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"hash/maphash"
	"slices"
	"strings"
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
	SessionsOf(ctx context.Context, t mooring.Tenant, ids []mooring.SessionID) ([]mooring.Session, error)
	Chain(ctx context.Context, t mooring.Tenant, digests [][]byte) ([]mooring.ChainEntry, error)
	Around(ctx context.Context, t mooring.Tenant, ids []mooring.MessageID, up, down int) ([]mooring.Neighbour, error)
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
	byHeader map[string][]int
	byField  map[string][]int
	wild     []int // rows that stand for many headers
	phrases  []phrase
	programs map[string]program

	aliases  *otter.Cache[aliasKey, mooring.SessionID]
	nobody   *otter.Cache[aliasKey, time.Time] // names of no session, and when that was read
	sessions *otter.Cache[sessionKey, *kept]
	digests  *otter.Cache[[16]byte, wire.Known]
	answers  *otter.Cache[answerKey, answered]
	samples  *otter.Cache[sampleKey, instruction]
	seeds    [2]maphash.Seed // of sampleKey
	lessons  *otter.Cache[mooring.Tenant, *lessons]
	apart    *names // of headers that are never learned
	words    *language

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

// Rough sizes of cache entries in bytes, to turn the memory bound into numbers of entries.
const (
	aliasBytes   = 320
	sessionBytes = 1000
	digestBytes  = 150
	answerBytes  = 220
	sampleBytes  = 300
)

// nobodyShare is the part of the memory for names that those of no session may take.
const nobodyShare = 16

// learningShare is the part of the memory that what is being learned of headers may take.
const learningShare = 16

// New makes an Engine.
func New(o Options) *Engine {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 64 << 20
	}
	e := &Engine{Options: o, phrases: phrases(), programs: programs(), digesters: map[mooring.Tenant]*wire.Digester{}}
	e.apart, e.words = newNames(e.listed), newLanguage()
	e.index()
	e.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	learning := o.MemoryBytes / learningShare
	e.lessons = otter.Must(&otter.Options[mooring.Tenant, *lessons]{
		MaximumWeight: uint64(max(learning, tenantBytes)), Weigher: func(_ mooring.Tenant, t *lessons) uint32 { return uint32(t.size.Load()) }, //nolint:gosec // bounded by its limits
	})
	share := (o.MemoryBytes - learning) / 5
	e.aliases = otter.Must(&otter.Options[aliasKey, mooring.SessionID]{MaximumSize: int((share - share/nobodyShare) / aliasBytes)})
	e.nobody = otter.Must(&otter.Options[aliasKey, time.Time]{MaximumSize: int(share / nobodyShare / aliasBytes)})
	e.sessions = otter.Must(&otter.Options[sessionKey, *kept]{MaximumSize: int(share / sessionBytes)})
	e.digests = otter.Must(&otter.Options[[16]byte, wire.Known]{MaximumSize: int(share / digestBytes)})
	e.answers = otter.Must(&otter.Options[answerKey, answered]{MaximumSize: int(share / answerBytes)})
	e.samples = otter.Must(&otter.Options[sampleKey, instruction]{MaximumSize: int(share / sampleBytes)})
	return e
}

// index puts the rows of the catalogue and of the configuration into their order. A name of the configuration carries an id here,
// whatever the catalogue says of it, unless it is a credential.
func (e *Engine) index() {
	e.byHeader, e.byField = map[string][]int{}, map[string][]int{}
	all := catalogue()
	for _, name := range e.Headers {
		name = lowerName(name)
		if slices.ContainsFunc(all, func(s signal) bool {
			return s.name == name && s.place == inHeader && s.says == saysSession || s.name == name && s.secret()
		}) {
			continue
		}
		all = slices.DeleteFunc(all, func(s signal) bool { return s.name == name && s.place == inHeader && s.says == saysNever })
		all = append(all, signal{name: name, says: saysSession, tier: tierGeneric, source: "sessions.headers"})
	}
	slices.SortStableFunc(all, func(x, y signal) int {
		return cmp.Or(cmp.Compare(x.after(), y.after()), cmp.Compare(x.tier, y.tier))
	})
	e.signals = all
	for i := range all {
		s := &all[i]
		s.rank, s.label = i, s.labelled(s.name)
		switch {
		case strings.Contains(s.name, anyValue):
			e.wild = append(e.wild, i)
		case s.place == inBody:
			e.byField[s.name] = append(e.byField[s.name], i)
		default:
			e.byHeader[s.name] = append(e.byHeader[s.name], i)
		}
	}
	slices.SortStableFunc(e.wild, func(x, y int) int { // what is never used first, then the narrower pattern
		return cmp.Or(all[x].used()-all[y].used(), cmp.Compare(len(all[y].name), len(all[x].name)))
	})
}

// after is 0 for ids of sessions, which come first, and 1 for what is said beside them.
func (s *signal) after() int {
	if s.says == saysSession {
		return 0
	}
	return 1
}

// used is 0 for what is never used.
func (s *signal) used() int {
	if s.says == saysNever {
		return 0
	}
	return 1
}

// secret says that the row is a credential's.
func (s *signal) secret() bool { return s.says == saysNever && strings.Contains(s.why, "credential") }

// HeaderNames are the request headers that carry an id here, in the spelling with hyphens.
func (e *Engine) HeaderNames() []string {
	out := make([]string, 0, len(e.byHeader))
	for name, rows := range e.byHeader {
		if slices.ContainsFunc(rows, func(at int) bool {
			return e.signals[at].says != saysNever && e.signals[at].says != saysClient && name != "baggage"
		}) {
			out = append(out, name)
		}
	}
	return out
}

// digestCache hands the engine's cache to a digester. Entries of all tenants share the bound; the digester's seeds keep them apart.
type digestCache struct {
	*otter.Cache[[16]byte, wire.Known]
}

// Get gives the digest that is known for a message's raw bytes.
func (c digestCache) Get(key [16]byte) (wire.Known, bool) { return c.GetIfPresent(key) }

// Set remembers it.
func (c digestCache) Set(key [16]byte, k wire.Known) { c.Cache.Set(key, k) }

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
