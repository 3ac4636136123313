package wire

// Remainder gives the bytes of an event that is not whole: they were neither passed nor held back.
func (m *Meter) Remainder() []byte {
	if len(m.carry) == 0 {
		return nil
	}
	return m.carry
}
