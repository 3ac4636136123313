package wire

import (
	"bytes"

	"mooring"
)

// Remainder gives the bytes of an event that is not whole: they were neither passed nor held back.
func (m *Meter) Remainder() []byte {
	if len(m.carry) == 0 {
		return nil
	}
	return m.carry
}

// Form gives the normalised form of a message; nil where it has none.
func Form(p mooring.Protocol, raw []byte) []byte {
	d, ok := dialectOf(p)
	raw = bytes.TrimSpace(raw)
	var n normal
	if !ok || !wellFormed(raw) || n.checked(d, raw) != nil {
		return nil
	}
	return n.form
}
