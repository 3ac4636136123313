package wire

import (
	"errors"

	"mooring"
)

// EventClass says what a stream has brought, for whoever holds the response header back.
type EventClass int

// The classes. Beyond Opening the first one in a pass counts: after content an error is no early one.
const (
	None    EventClass = iota // comments, pings, nothing
	Opening                   // an event that opens the answer and holds none of it
	Content                   // a piece of the answer, or an event of another kind
	Error                     // an error in the place of an answer
	End                       // the terminal event; it is held back
)

// Pass is what may go to the client now: Held, then Fresh. Both are valid until the next Feed.
type Pass struct {
	Held  []byte // carried over from earlier calls, with what completed it
	Fresh []byte // a part of the chunk
	Event EventClass
}

// MeterLimits bound, in bytes, what a Meter keeps; 0 is no bound.
type MeterLimits struct {
	MaxEvent  int // one event that is not whole yet, and what comes behind the terminal event
	MaxAnswer int // the answer that is put together
}

// Meter reads an event stream that passes through. It lets whole events pass unchanged, keeps the terminal event and all
// behind it, and puts the answer together. What passed, then Tail, then Remainder is what came, byte for byte.
type Meter struct {
	protocol mooring.Protocol
	dialect  dialect
	limits   MeterLimits
	split    splitter
	carry    []byte // the unit that is not whole yet, and what passes of this call
	spare    []byte // the other buffer, so that Held stays valid until the next call
	joined   []byte // data of an event with several data lines
	tail     []byte
	terminal bool
	answer   assembly
}

// keptCarry bounds the buffers that are kept after a large event.
const keptCarry = 1 << 20

// lastEvent bounds what is looked at to find a terminal event without its blank line.
const lastEvent = 256

// NewMeter makes the meter of one stream. A protocol that is not served passes unread.
func NewMeter(p mooring.Protocol, lim MeterLimits) *Meter {
	d, _ := dialectOf(p)
	return &Meter{protocol: p, dialect: d, limits: lim}
}

// Feed takes the next bytes of the stream. Where it gives an error, what it gives besides may still pass.
func (m *Meter) Feed(chunk []byte) (Pass, error) {
	if m.terminal {
		m.tail = append(m.tail, chunk...)
		return Pass{}, m.bounded(len(m.tail), m.limits.MaxEvent, "an event")
	}
	buf := chunk
	if len(m.carry) > 0 {
		m.carry = append(m.carry, chunk...)
		buf = m.carry
	}
	class, err := m.take(buf)
	pass := m.pass(buf, class)
	if m.terminal {
		m.tail, m.carry = m.carry, nil
	}
	if err == nil {
		err = m.bounded(len(m.carry), m.limits.MaxEvent, "an event")
	}
	return pass, err
}

// pass gives what is whole and keeps the rest. Where both lie in the carry, the rest moves to the other buffer.
func (m *Meter) pass(buf []byte, class EventClass) Pass {
	done := m.split.start
	m.split.shift(done)
	p := Pass{Event: class}
	switch {
	case len(m.carry) == 0:
		p.Fresh = buf[:done]
		m.carry = append(m.carry, buf[done:]...)
	case done > 0:
		p.Held = buf[:done]
		if cap(m.spare) > keptCarry {
			m.spare = nil
		}
		m.spare, m.carry = m.carry, append(m.spare[:0], buf[done:]...)
	}
	return p
}

// take reads all whole units, up to the terminal one.
func (m *Meter) take(buf []byte) (EventClass, error) {
	strongest := None
	for {
		unit, ok := m.split.next(buf)
		if !ok {
			return strongest, nil
		}
		class := m.event(unit)
		if strongest <= Opening && class > strongest {
			strongest = class
		}
		if class == End {
			m.split.start -= len(unit)
			m.terminal = true
			return strongest, nil
		}
		if err := m.bounded(m.answer.size, m.limits.MaxAnswer, "the answer"); err != nil {
			return strongest, err
		}
	}
}

// event reads one unit.
func (m *Meter) event(unit []byte) EventClass {
	var name, data []byte
	name, data, m.joined = fields(unit, m.joined)
	if (len(name) == 0 && len(data) == 0) || m.dialect.event == nil {
		return None
	}
	if m.dialect.ends(name, data) {
		return End
	}
	return m.dialect.event(&m.answer, name, data)
}

func (m *Meter) bounded(size, limit int, what string) error {
	if limit > 0 && size > limit {
		return mooring.Errorf(mooring.CodeUpstreamError, "%s of the upstream is larger than the limit of %d bytes", what, limit)
	}
	return nil
}

// Terminal says that the protocol's own end has come, if only its last line end is missing.
func (m *Meter) Terminal() bool { return m.terminal || m.unended() }

// unended looks for a terminal event that lacks its blank line.
func (m *Meter) unended() bool {
	if len(m.carry) == 0 || len(m.carry) > lastEvent || m.dialect.ends == nil {
		return false
	}
	name, data, _ := fields(m.carry, nil)
	return (string(data) == doneData || wellFormed(data)) && m.dialect.ends(name, data)
}

// Tail gives the terminal event and everything that came behind it, nil where it has not come.
func (m *Meter) Tail() []byte {
	if !m.terminal && m.unended() {
		return m.carry
	}
	return m.tail
}

// Remainder gives the bytes of an event that is not whole and was never passed; nil where they are the Tail.
func (m *Meter) Remainder() []byte {
	if len(m.carry) == 0 || m.Terminal() {
		return nil
	}
	return m.carry
}

// Finished says that the model has said why it stopped, though the terminal event may be missing.
func (m *Meter) Finished() bool { return len(m.answer.finish) > 0 }

// Terminator gives the event that ends a stream of the protocol.
func (m *Meter) Terminator() []byte { return []byte(m.dialect.terminator) }

// Answer gives what has arrived so far.
func (m *Meter) Answer() Answer {
	a := Answer{
		ID:     readable(plain(quoted(m.answer.id))),
		Model:  readable(plain(quoted(m.answer.model))),
		Finish: readable(plain(quoted(m.answer.finish))),
		Ended:  m.Terminal(),
		Err:    m.answer.err,
	}
	if m.dialect.event == nil {
		return a
	}
	a.Usage = m.dialect.usage(&m.answer)
	m.answer.ended = a.Ended
	a.Message = m.dialect.message(&m.answer)
	return a
}

var errNoWholeAnswer = errors.New("the stream holds no whole answer")

// Assemble makes the buffered answer that the stream stands for, for a client that did not ask for a stream. A stream without
// its terminal event counts as whole where the model has said why it stopped. Of several choices only the first is kept.
func (m *Meter) Assemble() ([]byte, error) {
	a := m.Answer()
	switch {
	case a.Err != nil:
		return nil, a.Err
	case a.Message == nil, !a.Ended && a.Finish == "":
		return nil, errNoWholeAnswer
	}
	return m.dialect.whole(&m.answer, a.Message), nil
}

// quoted makes a raw string of its escaped inside.
func quoted(escaped []byte) []byte {
	if len(escaped) == 0 {
		return nil
	}
	return appendEscaped(nil, escaped)
}
