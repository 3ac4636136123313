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

// index lets a message be found by its marks, an answer by the conversation up to it too. Each row costs a page somewhere in the
// index, so nothing else is in it.
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
	return nil
}

func (w *writer) mark(ctx context.Context, s mooring.Session, id mooring.MessageID, k mooring.Mark) error {
	_, err := w.exec(ctx, insertChain, raw(s.Tenant), k.Digest, int64(k.Kind), id, s.ID, k.Sketch)
	return err
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

func (w *writer) addMessage(ctx context.Context, s mooring.Session, m *mooring.Message) error {
	var inline, blob []byte
	if len(m.Content) > inlineMax {
		blob = w.blobDigest(s.Tenant, m.Content)
	} else {
		if inline = m.Content; inline == nil {
			inline = []byte{} // no content is not NULL
		}
	}
	added, err := w.exec(ctx, insertMessage, raw(s.Tenant), m.ID, s.ID, m.Parent, m.Turn, text(m.Role), m.State, m.Protocol,
		inline, blob, m.Digest, m.Seen, micros(m.CreatedAt), joined(m.Marks))
	if err != nil || added == 0 {
		return err
	}
	if err = w.index(ctx, s, m); err != nil {
		return err
	}
	if err = w.toIndex(ctx, s.Tenant, m); err != nil || blob == nil {
		return err
	}
	_, err = w.exec(ctx, holdBlob, raw(s.Tenant), blob, m.Content)
	return err
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
