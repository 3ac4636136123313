package sqlstore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"mooring"
)

// inlineMax is the longest content that stands in its message's row; longer ones are kept once per tenant in blob.
const inlineMax = 2 << 10

const insertMessage = `INSERT INTO message (tenant, id, session, parent, turn, role, state, protocol, content, blob, digest,
	seen, created_at, marks) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) ON CONFLICT DO NOTHING`

const holdBlob = `INSERT INTO blob (tenant, digest, content, refs) VALUES ($1, $2, $3, 1)
	ON CONFLICT (tenant, digest) DO UPDATE SET refs = blob.refs + 1`

const insertChain = `INSERT INTO chain (tenant, digest, kind, message, session, sketch) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`

func (w *writer) addMessages(ctx context.Context, s mooring.Session, list []mooring.Message) error {
	for i := range list {
		if err := w.addMessage(ctx, s, &list[i]); err != nil {
			return err
		}
	}
	return nil
}

// index lets a message be found by its words, by its marks, and an answer by the conversation up to it too. Each row costs a page
// somewhere in the index, so nothing else is in it.
func (w *writer) index(ctx context.Context, s mooring.Session, m *mooring.Message) error {
	if m.Seen != nil {
		if err := w.mark(ctx, s, m.ID, mooring.Mark{Kind: mooring.ByChain, Digest: m.Seen}); err != nil {
			return err
		}
	}
	for _, k := range m.Marks {
		if err := w.mark(ctx, s, m.ID, k); err != nil {
			return err
		}
	}
	return w.toIndex(ctx, s.Tenant, m)
}

func (w *writer) mark(ctx context.Context, s mooring.Session, id mooring.MessageID, k mooring.Mark) error {
	return w.later(ctx, insertChain, raw(s.Tenant), k.Digest, int64(k.Kind), id, s.ID, k.Sketch)
}

// joined are the keys of a message's marks, by which they are taken out of the index again: of each its kind, the length of its
// digest and the digest. Nil for none.
func joined(list []mooring.Mark) []byte {
	var out []byte
	for _, k := range list {
		out = append(out, byte(k.Kind), byte(len(k.Digest))) //nolint:gosec // a digest has at most 32 bytes, and there are few kinds
		out = append(out, k.Digest...)
	}
	return out
}

// parted is the way back.
func parted(b []byte) []mooring.Mark {
	var list []mooring.Mark
	for len(b) >= 2 && len(b) >= 2+int(b[1]) {
		end := 2 + int(b[1])
		list = append(list, mooring.Mark{Kind: mooring.ChainKind(b[0]), Digest: b[2:end]})
		b = b[end:]
	}
	return list
}

// addMessage writes a message. A second time it changes nothing but the queue of the index, which knows what it has.
func (w *writer) addMessage(ctx context.Context, s mooring.Session, m *mooring.Message) error {
	if len(m.Content) > inlineMax {
		return w.addLarge(ctx, s, m)
	}
	inline := m.Content
	if inline == nil {
		inline = []byte{} // no content is not NULL
	}
	if err := w.later(ctx, insertMessage, messageRow(s, m, inline, nil)...); err != nil {
		return err
	}
	return w.index(ctx, s, m)
}

// addLarge is for contents that stand apart: of one that is there already no further use is counted.
func (w *writer) addLarge(ctx context.Context, s mooring.Session, m *mooring.Message) error {
	blob := w.blobDigest(s.Tenant, m.Content)
	added, err := w.exec(ctx, insertMessage, messageRow(s, m, nil, blob)...)
	if err != nil || added == 0 {
		return err
	}
	if err := w.later(ctx, holdBlob, raw(s.Tenant), blob, m.Content); err != nil {
		return err
	}
	return w.index(ctx, s, m)
}

func messageRow(s mooring.Session, m *mooring.Message, inline, blob []byte) []any {
	return []any{
		raw(s.Tenant), m.ID, s.ID, m.Parent, m.Turn, text(m.Role), m.State, m.Protocol, inline, blob, m.Digest, m.Seen, micros(m.CreatedAt),
		joined(m.Marks),
	}
}

// blobDigest is keyed and names the tenant: neither a reader of the store nor another tenant learns which contents are equal.
func (w *writer) blobDigest(tenant mooring.Tenant, content []byte) []byte {
	mac := hmac.New(sha256.New, w.blobKey)
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(tenant)))
	mac.Write(size[:])
	mac.Write([]byte(tenant))
	mac.Write(content)
	return mac.Sum(nil)
}
