package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/maphash"
	"sync"

	"mooring"
)

// Digest is a keyed digest: it says nothing to whoever lacks the tenant's subkey.
type Digest [16]byte

// Weight says how much a message says, so that it is found again by itself: 0 for a word or two, 1 for a short sentence, 2 for what
// nobody says twice by chance, 3 for what is longer. It is all that a digest tells of a message.
func (d Digest) Weight() int { return int(d[len(d)-1]) }

// weight is that of a normal form of so many bytes.
func weight(size int) byte {
	switch {
	case size < 48:
		return 0
	case size < 88:
		return 1
	case size < 240:
		return 2
	}
	return 3
}

// Zero says that there is no digest.
func (d Digest) Zero() bool { return d == Digest{} }

// DigestCache keeps what is known of messages by a key of their raw bytes, so that what did not change costs one fast hash.
// It must be safe for concurrent use. Digesters may share one: no key of one is a key of another.
type DigestCache interface {
	Get(key [16]byte) (Known, bool)
	Set(key [16]byte, k Known)
}

// Digester makes the digests of one tenant. It is safe for concurrent use.
type Digester struct {
	cache  DigestCache // nil where nothing is cached
	seeds  [2]maphash.Seed
	chain  [chainKey]byte
	pool   sync.Pool // of *digesting
	sketch [2]uint64 // key of what is found in part
}

// digesting is what making one digest takes.
type digesting struct {
	mac      hash.Hash
	sum      [sha256.Size]byte
	normal   normal
	skeleton []byte
}

// keptForm bounds the buffers that go back to the pool; a message with images is larger.
const keptForm = 1 << 20

// chainKey is how long the key of chain digests is: with two digests behind it, it fills one block of SHA-256.
const chainKey = 55 - 2*len(Digest{})

// NewDigester makes the Digester of the tenant that the subkey is of; cache may be nil.
func NewDigester(tenantSubkey []byte, cache DigestCache) *Digester {
	key := append([]byte(nil), tenantSubkey...)
	d := &Digester{cache: cache, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	part := sha256.Sum256(append([]byte("sketch\x00"), key...))
	d.sketch = [2]uint64{binary.LittleEndian.Uint64(part[:8]), binary.LittleEndian.Uint64(part[8:16])}
	d.pool.New = func() any { return &digesting{mac: hmac.New(sha256.New, key)} }
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("chains"))
	copy(d.chain[:], mac.Sum(nil))
	return d
}

// Message digests what a message object means: role and normalised parts. Equal digests are equal meanings, whoever wrote
// the message and however it was sent.
func (d *Digester) Message(p mooring.Protocol, raw []byte) (Digest, error) {
	known, err := d.digested(p, raw)
	return known.Digest, err
}

func (d *Digester) digested(p mooring.Protocol, raw []byte) (Known, error) {
	var key [16]byte
	var known Known
	if d.cache != nil {
		key = d.key(p, raw)
		if known, _ = d.cache.Get(key); known.facts&factDigest != 0 {
			return known, nil
		}
	}
	if !wellFormed(bytes.TrimSpace(raw)) {
		return Known{}, fmt.Errorf("digest a message of %d bytes: %w", len(raw), errNotMessage)
	}
	return d.make(p, raw, key, known)
}

// make digests a message that is JSON, and keeps what is known of it now.
func (d *Digester) make(p mooring.Protocol, raw []byte, key [16]byte, known Known) (Known, error) {
	dia, ok := dialectOf(p)
	if !ok {
		return Known{}, unsupported(p)
	}
	w := d.work()
	defer d.done(w)
	if err := w.normal.checked(dia, bytes.TrimSpace(raw)); err != nil {
		return Known{}, fmt.Errorf("digest a message of %d bytes: %w", len(raw), err)
	}
	known.Digest = w.digest('m', w.normal.form)
	known.Digest[len(known.Digest)-1] = weight(len(w.normal.form))
	known.facts |= factDigest
	if d.cache != nil {
		d.cache.Set(key, known)
	}
	return known, nil
}

// Messages digests each message; instructions get the zero digest.
func (d *Digester) Messages(p mooring.Protocol, messages []Message) ([]Digest, error) {
	out := make([]Digest, len(messages))
	for i := range messages {
		m := &messages[i]
		if !m.Conversational() {
			continue
		}
		known, err := d.of(p, m)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out[i] = known.Digest
	}
	return out, nil
}

// of is what is known of a request's message, whose digest is made where there is none yet.
func (d *Digester) of(p mooring.Protocol, m *Message) (Known, error) {
	seen := d.remembered(m)
	switch {
	case seen == nil:
		return d.digested(p, m.Raw)
	case seen.known.facts&factDigest != 0:
		return seen.known, nil
	}
	known, err := d.make(p, m.Raw, seen.key, seen.known)
	return known, err
}

// Chain digests a message with everything before it: prev is the chain digest of the message above, zero at the root. Keyed
// like all digests, it takes one block of SHA-256 instead of an HMAC's four: a request has hundreds, all of this one length.
func (d *Digester) Chain(prev, message Digest) Digest {
	var block [chainKey + 2*len(Digest{})]byte
	n := copy(block[:], d.chain[:])
	n += copy(block[n:], prev[:])
	copy(block[n:], message[:])
	sum := sha256.Sum256(block[:])
	return Digest(sum[:len(Digest{})])
}

// Chains gives the chain digest of each message of a conversation, from its root on. A zero digest, as instructions have it, is
// passed over: in its place stands the chain digest of what is above, zero at the root.
func (d *Digester) Chains(digests []Digest) []Digest {
	out := make([]Digest, len(digests))
	var prev Digest
	for i, one := range digests {
		if !one.Zero() {
			prev = d.Chain(prev, one)
		}
		out[i] = prev
	}
	return out
}

// Bytes digests bytes as they are.
func (d *Digester) Bytes(b []byte) Digest {
	w := d.work()
	defer d.done(w)
	return w.digest('b', b)
}

func (d *Digester) work() *digesting {
	w, _ := d.pool.Get().(*digesting)
	return w
}

func (d *Digester) done(w *digesting) {
	if cap(w.normal.form)+cap(w.normal.scratch)+cap(w.normal.words)+cap(w.normal.results) > keptForm {
		w.normal = normal{}
	}
	if cap(w.skeleton) > keptForm {
		w.skeleton = nil
	}
	d.pool.Put(w)
}

// digest is the HMAC of a purpose and bytes, cut to the size of a Digest.
func (w *digesting) digest(purpose byte, b []byte) Digest {
	w.sum[0] = purpose
	w.mac.Reset()
	w.mac.Write(w.sum[:1])
	w.mac.Write(b)
	w.mac.Sum(w.sum[:0])
	return Digest(w.sum[:len(Digest{})])
}

// key is two seeded 64-bit hashes: together they are out of reach for whoever does not know the seeds.
func (d *Digester) key(p mooring.Protocol, raw []byte) [16]byte {
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:8], maphash.Bytes(d.seeds[0], raw)^maphash.String(d.seeds[1], string(p)))
	binary.LittleEndian.PutUint64(key[8:], maphash.Bytes(d.seeds[1], raw))
	return key
}
