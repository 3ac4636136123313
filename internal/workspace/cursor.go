package workspace

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"

	"mooring"
)

// cursors turns places in a list into texts for clients and back. A cursor is signed for its tenant, so that nobody can
// make one up and nobody comes to depend on what is in it.
type cursors struct{ key []byte }

const (
	cursorTimeSize = 8
	cursorSealSize = 16 // half a SHA-256: 128 bits are beyond guessing, and the address stays short
)

func (c cursors) seal(t mooring.Tenant, at mooring.SessionCursor) string {
	raw := binary.BigEndian.AppendUint64(nil, uint64(at.UpdatedAt.UnixNano()))
	raw = append(raw, at.ID...)
	return base64.RawURLEncoding.EncodeToString(append(raw, c.sign(t, raw)...))
}

func (c cursors) open(t mooring.Tenant, text string) (mooring.SessionCursor, error) {
	refused := mooring.Errorf(mooring.CodeInvalidRequest, "This cursor is not one of yours; start again without it.")
	all, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(all) < cursorTimeSize+cursorSealSize {
		return mooring.SessionCursor{}, refused
	}
	raw, seal := all[:len(all)-cursorSealSize], all[len(all)-cursorSealSize:]
	if !hmac.Equal(seal, c.sign(t, raw)) {
		return mooring.SessionCursor{}, refused
	}
	nanos := int64(binary.BigEndian.Uint64(raw)) //nolint:gosec // the bits matter, not the sign: seal turned them the other way
	return mooring.SessionCursor{UpdatedAt: time.Unix(0, nanos).UTC(), ID: mooring.SessionID(raw[cursorTimeSize:])}, nil
}

func (c cursors) sign(t mooring.Tenant, raw []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte("list cursor\x00")) // the key signs other things elsewhere
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(t))))
	mac.Write([]byte(t))
	mac.Write(raw)
	return mac.Sum(nil)[:cursorSealSize]
}
