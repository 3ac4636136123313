package wire

import (
	"bytes"
	"errors"
	"slices"

	"mooring"
)

// EventClass says what a stream has brought, for whoever holds the response header back.
type EventClass int

// The classes. Beyond Opening the first one in a pass counts: after content an error is no early one.
const (
	None    EventClass = iota // comments, pings, nothing
	Opening                   // an event that opens the answer and holds none of it
	Content                   // a piece of the answer, or an event of another kind
	Error                     // an error in the place of an answer; it is held back
	End                       // the terminal event, unless it is an Error; it is held back
)

// Pass is what may go to the client now: Held, then Fresh. Both are valid until the next Feed.
type Pass struct {
	Held  []byte // carried over from earlier calls, with what completed it
	Fresh []byte // a part of the chunk
	Event EventClass
}

// MeterLimits bound, in bytes, what a Meter keeps; 0 is no bound.
type MeterLimits struct {
	MaxEvent  int // one event that is not whole yet, and what is held back
	MaxAnswer int // the answer that is put together
}

// Meter reads an event stream that passes through. It lets whole events pass unchanged, keeps the first event at which a client
// stops reading (the terminal one, or an error) and all behind it, and puts the answer together. What passed, then Tail, then
// the event that is not whole yet is what came, byte for byte.
type Meter struct {
	protocol mooring.Protocol
	dialect  dialect
	limits   MeterLimits
	split    splitter
	carry    []byte // the unit that is not whole yet, and what passes of this call
	spare    []byte // the other buffer, so that Held stays valid until the next call
	joined   []byte // data of an event with several data lines
	tail     []byte // from the first event on that is held back
	holding  bool   // such an event has come
	terminal bool   // and it, or one behind it, was the terminal one
	answer   assembly
}

// keptCarry bounds the buffers that are kept after a large event.
const keptCarry = 1 << 20

// shortEvent is more than a terminal event takes that holds nothing.
const shortEvent = 256

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
	class, free, err := m.take(buf)
	pass := m.pass(buf, free, class)
	if m.terminal {
		m.tail, m.carry = append(m.tail, m.carry...), nil
	}
	if err == nil {
		err = m.bounded(len(m.tail)+len(m.carry), m.limits.MaxEvent, "an event")
	}
	return pass, err
}

// pass gives what is whole and free to go, and keeps the rest. Where both lie in the carry, the rest moves to the other buffer.
func (m *Meter) pass(buf []byte, free int, class EventClass) Pass {
	done := m.split.start
	m.split.shift(done)
	m.tail = append(m.tail, buf[free:done]...)
	p := Pass{Event: class}
	switch {
	case len(m.carry) == 0:
		p.Fresh = buf[:free]
		m.carry = append(m.carry, buf[done:]...)
	case done > 0:
		p.Held = buf[:free]
		if cap(m.spare) > keptCarry {
			m.spare = nil
		}
		m.spare, m.carry = m.carry, append(m.spare[:0], buf[done:]...)
	}
	return p
}

// take reads all whole units, up to the terminal one. What lies before the index free may go to the client.
func (m *Meter) take(buf []byte) (strongest EventClass, free int, err error) {
	for !m.terminal && err == nil {
		unit, ok := m.split.next(buf)
		if !ok {
			break
		}
		class := m.event(unit)
		if strongest <= Opening && class > strongest {
			strongest = class
		}
		m.holding = m.holding || m.terminal || m.Failed()
		if !m.holding {
			free = m.split.start
		}
		err = m.bounded(m.answer.size, m.limits.MaxAnswer, "the answer")
	}
	return strongest, free, err
}

// event reads one unit, and notes whether it is the terminal one. That one may be an error too.
func (m *Meter) event(unit []byte) EventClass {
	var name, data []byte
	name, data, m.joined = fields(unit, m.joined)
	if (len(name) == 0 && len(data) == 0) || m.dialect.event == nil {
		return None
	}
	m.terminal = m.dialect.ends(name, data)
	class := m.dialect.event(&m.answer, name, data)
	if m.terminal && class != Error {
		return End
	}
	return class
}

func (m *Meter) bounded(size, limit int, what string) error {
	if limit > 0 && size > limit {
		return mooring.Errorf(mooring.CodeUpstreamError, "%s of the upstream is larger than the limit of %d bytes", what, limit)
	}
	return nil
}

// Terminal says that the protocol's own end has come, whole.
func (m *Meter) Terminal() bool { return m.terminal }

// Ending says that nothing but the end is missing: the model has said why it stopped, an error has come, or the terminal event
// is there but for its line ends.
func (m *Meter) Ending() bool { return m.terminal || m.Finished() || m.Failed() || m.unended() }

// Complete says what Terminal says once nothing more comes: a terminal event that lacks nothing but line ends gets them, since
// no client sees an event without its blank line.
func (m *Meter) Complete() bool {
	if !m.terminal && m.unended() {
		whole := append(m.carry, lacking(m.carry)...)
		m.event(whole)
		m.tail = append(m.tail, whole...)
		m.carry, m.holding = nil, true
	}
	return m.terminal
}

// lacking gives the line ends that an event lacks where its stream has ended.
func lacking(event []byte) string {
	switch {
	case bytes.HasSuffix(event, []byte("\r\r")), bytes.HasSuffix(event, []byte("\n\r")): // the blank line is there
		return ""
	case bytes.HasSuffix(event, []byte{'\n'}):
		return "\n"
	}
	return "\n\n"
}

// unended looks for a terminal event that lacks its blank line.
func (m *Meter) unended() bool {
	bound := m.dialect.lastEvent
	switch {
	case len(m.carry) == 0, m.dialect.ends == nil, bound > 0 && len(m.carry) > bound:
		return false
	case bound == 0 && !bytes.HasSuffix(bytes.TrimRight(m.carry, "\r\n"), []byte{'}'}):
		return false // cut in its middle: not worth a look, long as it may be
	}
	name, data, _ := fields(m.carry, nil)
	return m.dialect.ends(name, data) && (string(data) == doneData || wellFormed(data))
}

// Tail gives the event that is held back and everything that came behind it; nil where none has come.
func (m *Meter) Tail() []byte { return m.tail }

// Finished says that the model has said why it stopped, in every choice that has come, though the terminal event may be missing.
func (m *Meter) Finished() bool {
	return len(m.answer.finish) > 0 && !slices.Contains(m.answer.choices, false)
}

// Failed says that an error has come in the answer's place, or in the middle of it.
func (m *Meter) Failed() bool { return m.answer.err != nil }

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

		Container: readable(plain(quoted(m.answer.container))),
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
