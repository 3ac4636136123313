package wire

import (
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

// DigestCache keeps the digests of messages by a key of their raw bytes, so that what did not change costs one fast hash.
// It must be safe for concurrent use, and belong to one Digester: keys of two are not comparable.
type DigestCache interface {
	Get(key [16]byte) (Digest, bool)
	Set(key [16]byte, d Digest)
}

// Digester makes the digests of one tenant. It is safe for concurrent use.
type Digester struct {
	cache  DigestCache // nil where nothing is cached
	seeds  [2]maphash.Seed
	pool   sync.Pool // of *digesting
	sketch [2]uint64 // key of what is found in part
}

// digesting is what making one digest takes.
type digesting struct {
	mac    hash.Hash
	sum    [sha256.Size]byte
	pair   [2 * len(Digest{})]byte // here, so that Chain allocates nothing
	normal normal
}

// keptForm bounds the buffers that go back to the pool; a message with images is larger.
const keptForm = 1 << 20

// NewDigester makes the Digester of the tenant that the subkey is of; cache may be nil.
func NewDigester(tenantSubkey []byte, cache DigestCache) *Digester {
	key := append([]byte(nil), tenantSubkey...)
	d := &Digester{cache: cache, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	part := sha256.Sum256(append([]byte("sketch\x00"), key...))
	d.sketch = [2]uint64{binary.LittleEndian.Uint64(part[:8]), binary.LittleEndian.Uint64(part[8:16])}
	d.pool.New = func() any { return &digesting{mac: hmac.New(sha256.New, key)} }
	return d
}

// Message digests what a message object means: role and normalised parts. Equal digests are equal meanings, whoever wrote
// the message and however it was sent.
func (d *Digester) Message(p mooring.Protocol, raw []byte) (Digest, error) {
	var key [16]byte
	if d.cache != nil {
		key = d.key(p, raw)
		if known, ok := d.cache.Get(key); ok {
			return known, nil
		}
	}
	dia, ok := dialectOf(p)
	if !ok {
		return Digest{}, unsupported(p)
	}
	w := d.work()
	defer d.done(w)
	if err := w.normal.message(dia, raw); err != nil {
		return Digest{}, fmt.Errorf("digest a message of %d bytes: %w", len(raw), err)
	}
	out := w.digest('m', w.normal.form)
	out[len(out)-1] = weight(len(w.normal.form))
	if d.cache != nil {
		d.cache.Set(key, out)
	}
	return out, nil
}

// Messages digests each message; instructions get the zero digest.
func (d *Digester) Messages(p mooring.Protocol, messages []Message) ([]Digest, error) {
	out := make([]Digest, len(messages))
	for i, m := range messages {
		if !m.Conversational() {
			continue
		}
		digest, err := d.Message(p, m.Raw)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		out[i] = digest
	}
	return out, nil
}

// Chain digests a message with everything before it: prev is the chain digest of the message above, zero at the root.
func (d *Digester) Chain(prev, message Digest) Digest {
	w := d.work()
	defer d.done(w)
	n := copy(w.pair[:], prev[:])
	copy(w.pair[n:], message[:])
	return w.digest('c', w.pair[:])
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
	if cap(w.normal.form)+cap(w.normal.scratch)+cap(w.normal.words) > keptForm {
		w.normal = normal{}
	}
	w.normal.form = w.normal.form[:0]
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
